"""Looking for watermarks from the end, against a look at everything; and what messages weigh."""

import random

import pytest

from spark_jobs.sources.base import Strand
from spark_jobs.sources.kafka.client import settings_of
from spark_jobs.sources.kafka.reading import Range
from spark_jobs.sources.kafka.tail import FIRST_WINDOW, Tail, read_small, scan, search, weigh
from tests.pipeline.messages import insert, row, ts, watermark

MARKS = (b"TIDB_WATERMARK",)


def last_watermark(values):
    return max((ts_of(value) for value in values if value.startswith(b'{"id":0,"database":"","table":""')), default=0)


def ts_of(value):
    return int(value.split(b'"watermarkTs":')[1].split(b"}")[0])


def look(orders, ranges, needed):
    tail = Tail(settings_of(orders.source()), "canal-json", ranges)
    return {found.strand: found for found in tail(MARKS, frozenset(needed))}


def test_the_search_finds_what_a_whole_scan_finds(topic):
    chance = random.Random(7)
    orders, values = topic(4), {}
    for number, frequency in enumerate((0.5, 0.01, 0.0005, 0.0)):
        values[Strand(orders.name, number)] = [
            watermark(ts(at)) if chance.random() < frequency else insert("orders", at, ts(at)) for at in range(1, 6000)
        ]
        orders.put(*values[Strand(orders.name, number)], partition=number)
    for start, end in ((0, 5999), (1000, 4000), (3000, 3001)):
        ranges = dict.fromkeys(values, Range(start, end))
        found = look(orders, ranges, ranges)
        assert {strand: last_watermark(item.candidates) for strand, item in found.items()} == {
            strand: last_watermark(all_of[start:end]) for strand, all_of in values.items()
        }
        assert all(item.timed for item in found.values())
    assert look(orders, dict.fromkeys(values, Range(5, 5)), values) == {}


def test_only_the_end_is_read_where_a_watermark_stands_there_or_none_is_needed(topic):
    orders = topic(2)
    for number in range(2):
        orders.put(*(insert("orders", at, ts(at)) for at in range(1, 5001)), partition=number)
    orders.put(watermark(ts(5000)), partition=0)
    first, second = Strand(orders.name, 0), Strand(orders.name, 1)
    looked = {first: 0, second: 0}

    def enough(strand, values):
        looked[strand] += len(values)
        return any(MARKS[0] in value for value in values)

    ranges = {first: Range(0, 5001), second: Range(0, 5000)}
    search(settings_of(orders.source()), ranges, enough, whole=[first])
    assert looked == {first: FIRST_WINDOW, second: FIRST_WINDOW}


def test_a_row_that_speaks_of_watermarks_is_none_and_the_search_goes_on(topic):
    orders = topic()
    speaks = row("orders", {"id": "1", "name": "TIDB_WATERMARK"}, ts(9))
    rows = [insert("orders", at, ts(at)) for at in range(10, 10 + FIRST_WINDOW)]
    orders.put(watermark(ts(5)), *rows, speaks)
    strand = Strand(orders.name, 0)
    found = look(orders, {strand: Range(0, FIRST_WINDOW + 2)}, [strand])
    assert found[strand].candidates == (watermark(ts(5)),)


def test_aborted_messages_and_marks_of_transactions_at_the_end_hold_nobody_up(topic):
    orders = topic()
    orders.transactions(([watermark(ts(10))], True), ([watermark(ts(99))], False))
    strand = Strand(orders.name, 0)
    assert look(orders, {strand: Range(0, 4)}, [strand])[strand].candidates == (watermark(ts(10)),)


@pytest.mark.parametrize("extension", [True, False])
def test_rows_that_say_their_commit_ts_are_told_from_those_that_do_not(extension):
    found = scan(Strand("t", 0), [None, b"", insert("orders", 1, ts(1), extension=extension)], MARKS)
    assert (found.candidates, found.timed) == ((), extension)


def test_a_small_range_is_read_at_once_and_a_heavy_one_is_weighed(topic):
    orders = topic(2)
    orders.put(*[b"x" * 1000] * 50, partition=0)
    strand, empty = Strand(orders.name, 0), Strand(orders.name, 1)
    settings = settings_of(orders.source())
    small = read_small(settings, {strand: Range(10, 20), empty: Range(0, 0)}, 100_000)
    assert small.bytes_per_message == 1000
    assert small.blocks is not None
    assert {key: block.offsets for key, block in small.blocks.items()} == {strand: list(range(10, 20))}
    heavy = read_small(settings, {strand: Range(0, 50)}, 20_000)
    assert (heavy.blocks, heavy.bytes_per_message) == (None, 1000)
    orders.put(*[b"x" * 3000] * 50, partition=0)
    assert weigh(settings, {strand: Range(0, 100)}).bytes_per_message == 2000
