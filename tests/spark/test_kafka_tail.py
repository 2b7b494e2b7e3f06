"""Looking for watermarks from the end, against a look at everything."""

import random

import pytest
from confluent_kafka import Producer

from spark_jobs.pipeline.queue_feed import greatest_watermark, scan_values
from spark_jobs.sources.kafka_tail import FIRST_WINDOW, KafkaTail, Partition, Range
from tests.pipeline.messages import insert, ts, watermark
from tests.spark.parsed import kafka_source


@pytest.fixture
def open_tail(kafka):
    tails = []

    def make(topic):
        tails.append(KafkaTail(kafka_source(f"kafka://{kafka.bootstrap}/{topic}?protocol=canal-json")))
        return tails[-1]

    yield make
    for tail in tails:
        tail.close()


def search(tail, ranges, whole):
    """The greatest watermark that the search finds for each partition, and how many messages it looked at."""
    found = dict.fromkeys(ranges, 0)
    looked = 0

    def look(partition: Partition, values: list[bytes]) -> bool:
        nonlocal looked
        looked += len(values)
        found[partition] = greatest_watermark(scan_values(*partition, values).candidates)
        return found[partition] > 0

    tail.search(ranges, look, whole=whole)
    return found, looked


def test_the_search_finds_what_a_whole_scan_finds(kafka, open_tail):
    chance = random.Random(7)
    values = {}
    kafka.create_topic("tail-search", partitions=4)
    for number, frequency in enumerate((0.5, 0.01, 0.0005, 0.0)):
        values[number] = [
            watermark(ts(at)) if chance.random() < frequency else insert("orders", at, ts(at)) for at in range(1, 6000)
        ]
        kafka.produce("tail-search", values[number], partition=number)
    tail = open_tail("tail-search")
    for start, end in ((0, 5999), (1000, 4000), (3000, 3001), (10, 10)):
        ranges = {("tail-search", number): Range(start, end) for number in values}
        found, _ = search(tail, ranges, ranges)
        expected = {
            ("tail-search", n): greatest_watermark(scan_values("", n, v[start:end]).candidates)
            for n, v in values.items()
        }
        assert found == expected


def test_only_the_end_is_read_where_a_watermark_stands_there_or_none_is_needed(kafka, open_tail):
    kafka.create_topic("tail-short", partitions=2)
    for number in range(2):
        kafka.produce("tail-short", [insert("orders", at, ts(at)) for at in range(1, 5001)], partition=number)
    kafka.produce("tail-short", [watermark(ts(5000))], partition=0)
    ranges = {("tail-short", 0): Range(0, 5001), ("tail-short", 1): Range(0, 5000)}
    found, looked = search(open_tail("tail-short"), ranges, [("tail-short", 0)])
    assert found == {("tail-short", 0): ts(5000), ("tail-short", 1): 0}
    assert looked == 2 * FIRST_WINDOW


def test_aborted_messages_and_marks_of_transactions_at_the_end_hold_nobody_up(kafka, open_tail):
    kafka.create_topic("tail-transactions")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "tail"})
    producer.init_transactions()
    for value, commits in ((watermark(ts(10)), True), (watermark(ts(99)), False)):
        producer.begin_transaction()
        producer.produce("tail-transactions", value)
        producer.flush()
        (producer.commit_transaction if commits else producer.abort_transaction)()
    part = {("tail-transactions", 0): Range(0, 4)}
    found, looked = search(open_tail("tail-transactions"), part, part)
    assert (found, looked) == ({("tail-transactions", 0): ts(10)}, 1)
