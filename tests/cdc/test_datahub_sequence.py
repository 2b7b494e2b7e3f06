"""Sequence numbers: unique, shared by halves, never backwards."""

import pytest

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.datahub.sequence import Numbering, SequenceIds
from spark_jobs.cdc.events import INSERT, UPDATE, Ddl, RowChange, TableSchema

TABLE = TableSchema("d", "t", ())


def row(sequence: int = 0, half: str = "", es_ms: int = 0, commit_ts: int = 0) -> RowChange:
    kind = UPDATE if half else INSERT
    return RowChange(kind=kind, table=TABLE, sequence=sequence, half=half, es_ms=es_ms, commit_ts=commit_ts)


def test_numbers_are_the_base_and_a_counter():
    ids = SequenceIds(1649991610688)
    assert [ids.next(), ids.next()] == [1649991610688000000, 1649991610688000001]


def test_the_counter_carries_into_the_base():
    ids = SequenceIds(1649991610688, last=1649991610688999999)
    assert ids.next() == 1649991610689000000


@pytest.mark.parametrize(
    ("now_ms", "expected"),
    [(1649991610688, 1649991610700000001), (1649991610800, 1649991610800000000)],
    ids=["the clock was set back", "the clock went on"],
)
def test_a_restart_never_goes_backwards(now_ms, expected):
    assert SequenceIds(now_ms, last=1649991610700000000).next() == expected


def test_two_halves_in_turn_share_a_number():
    numbering = Numbering(base_ms=1)
    events = [row(), row(half="before"), row(half="after"), row(half="after"), row(half="before"), row()]
    assert [numbering.number(event) - 10**6 for event in events] == [0, 1, 1, 2, 3, 4]


def test_a_statement_takes_a_number():
    numbering = Numbering(base_ms=1)
    numbering.number(row())
    assert numbering.number(Ddl(schema="d", table="t", query="q")) == 10**6 + 1


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("own", [10**6, 1605339516000000004, 10**6 + 1]),
        ("all", [7, 1605339516000000004, 10**6]),
        ("none", [10**6, 10**6 + 1, 10**6 + 2]),
    ],
)
def test_which_numbers_of_the_input_are_kept(keep, expected):
    numbering = Numbering(keep, base_ms=1)
    assert [numbering.number(row(sequence)) for sequence in (7, 1605339516000000004, 0)] == expected


@pytest.mark.parametrize("event", [row(es_ms=5), row(commit_ts=tso.compose(5, 9))], ids=["es", "commit-ts"])
def test_without_a_base_the_first_event_gives_it(event):
    assert Numbering().number(event) == 5 * 10**6


def test_the_state_is_the_last_number():
    first = Numbering(base_ms=3)
    assert first.last == 3 * 10**6 - 1
    number = first.number(row())
    assert first.last == number
    assert Numbering(base_ms=1, last=first.last).number(row()) == number + 1
