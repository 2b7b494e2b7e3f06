"""Halves of an update find each other, and order is kept."""

import msgspec
import pytest

from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, Column, ColumnType, Event, Heartbeat, RowChange, TableSchema
from spark_jobs.cdc.rows.halves import HalfJoiner, alone

TABLE = TableSchema("d", "t", (Column("id", ColumnType("bigint"), is_key=True),))
OTHER = TableSchema("d", "u", TABLE.columns)
WIDE = TableSchema("d", "t", (Column("id", ColumnType("bigint", unsigned=True), is_key=True),))


def before(sequence: int, table: TableSchema = TABLE) -> RowChange:
    return RowChange(kind=UPDATE, table=table, before=(sequence,), sequence=sequence, half="before")


def after(sequence: int, table: TableSchema = TABLE) -> RowChange:
    return RowChange(kind=UPDATE, table=table, after=(-sequence,), sequence=sequence, half="after")


def whole(sequence: int, table: TableSchema = TABLE) -> RowChange:
    return RowChange(kind=UPDATE, table=table, before=(sequence,), after=(-sequence,), sequence=sequence)


BEAT = Heartbeat(es_ms=1)
CASES = {
    "neighbours join": ([before(1), after(1)], [whole(1)]),
    "two updates": ([before(1), after(1), before(2), after(2)], [whole(1), whole(2)]),
    "what stands between comes after": ([before(1), BEAT, after(1), BEAT], [whole(1), BEAT, BEAT]),
    "crossed halves": ([before(1), before(2), after(2), after(1)], [whole(1), whole(2)]),
    "a lone before half": ([before(1), BEAT], [before(1), BEAT]),
    "a lone after half": ([after(1), BEAT], [after(1), BEAT]),
    "another number": ([before(1), after(2)], [before(1), after(2)]),
    "another table": ([before(1), after(1, OTHER)], [before(1), after(1, OTHER)]),
    "no number, neighbours": ([before(0), after(0)], [whole(0)]),
    "no number, something between": ([before(0), BEAT, after(0)], [before(0), BEAT, after(0)]),
    "no number, behind one that waits": (
        [before(1), before(0), after(0), before(0), BEAT, after(0), after(1)],
        [whole(1), whole(0), before(0), BEAT, after(0)],
    ),
    "the after half first": ([after(1), before(1)], [after(1), before(1)]),
    "one half is unsigned": ([before(1, WIDE), after(1)], [whole(1, WIDE)]),
}


def joined(events: list[Event], limit: int = 1000) -> list[Event]:
    joiner = HalfJoiner(limit)
    return [out for event in events for out in joiner.add(event)] + joiner.flush()


@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES.keys())
def test_halves_join(events, expected):
    assert joined(events) == expected


def test_a_whole_event_does_not_wait():
    assert HalfJoiner().add(BEAT) == [BEAT]


def test_a_half_does_not_wait_longer_than_its_limit():
    joiner = HalfJoiner(limit=2)
    assert joiner.add(before(1)) == []
    assert joiner.add(BEAT) == []
    assert joiner.add(BEAT) == [before(1), BEAT, BEAT]
    assert joiner.add(after(1)) == [after(1)]


@pytest.mark.parametrize(("half", "kind"), [(before(1), DELETE), (after(1), INSERT)])
def test_a_half_alone_is_a_delete_or_an_insert(half, kind):
    assert alone(half) == msgspec.structs.replace(half, kind=kind, half="")


def test_a_whole_event_stays_what_it_is():
    assert alone(whole(1)) == whole(1)
