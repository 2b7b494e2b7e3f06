"""Where the messages after a commit-ts begin."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.cdc.tso_search import Place, first_after

CASES = json.loads((Path(__file__).parents[1] / "data/tidb_binlog/seek.json").read_text())


def queue(messages):
    """A probe over {offset: commit_ts}, which may have gaps."""
    return lambda offset: next((messages[at] for at in sorted(messages) if at >= offset), None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case['commit_ts'])}-messages-{case['target_ts']}")
def test_a_vector_is_found(case):
    start = case["log_start_offset"]
    messages = dict(enumerate(case["commit_ts"], start))
    assert first_after(case["target_ts"], start, start + len(messages), queue(messages)).offset == case["expect_offset"]


def never(offset):
    raise AssertionError("an empty queue is not probed")


def test_an_empty_queue_answers_at_once():
    assert first_after(5, 0, 0, never) == Place(0)
    assert first_after(5, 9, 9, never) == Place(9)


def test_a_queue_of_nothing_but_gaps_answers_its_end():
    assert first_after(5, 3, 9, lambda offset: None) == Place(9)


@pytest.mark.parametrize(("oldest", "cut_off"), [(100, True), (0, False)])
def test_a_target_before_the_first_message_tells_whether_anything_can_be_missing(oldest, cut_off):
    assert first_after(5, oldest, oldest + 2, queue({oldest: 10, oldest + 1: 20})) == Place(oldest, cut_off)


def test_gaps_are_passed_over():
    messages = {0: 10, 4: 20, 5: 30, 9: 40}
    assert first_after(20, 0, 12, queue(messages)).offset == 5
    assert queue(messages)(first_after(30, 0, 12, queue(messages)).offset) == 40
    assert queue(messages)(first_after(40, 0, 12, queue(messages)).offset) is None


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(0, 50), st.integers(0, 210))
def test_an_ordered_queue_is_searched_exactly_with_few_probes(commit_ts, oldest, target):
    messages = dict(enumerate(sorted(commit_ts), oldest))
    probes = []

    def probe(offset):
        probes.append(offset)
        return messages[offset]

    found = first_after(target, oldest, oldest + len(messages), probe).offset
    assert found == next((at for at, ts in messages.items() if ts > target), oldest + len(messages))
    assert len(probes) <= len(messages).bit_length() + 2


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.data())
def test_a_queue_that_repeats_itself_loses_nothing(steps, data):
    """Each run begins at most where the last one had come to, as Drainer does after a restart."""
    log: list[int] = []
    sent = 0
    for step in steps:
        begin = data.draw(st.integers(0, sent))
        log += range(begin + 1, sent + step + 1)
        sent += step
    target = data.draw(st.integers(0, sent + 1))
    found = first_after(target, 0, len(log), dict(enumerate(log)).get).offset
    assert set(range(target + 1, sent + 1)) <= set(log[found:])
