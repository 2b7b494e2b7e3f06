"""Joins the two halves of an update that a format cuts in two messages.

Rules

1. A before half and the next after half with the same sequence number and the same table become one UPDATE, which
   stands where the before half stood. It takes its times and origin from the after half. Halves without a sequence
   number (0) are joined only where one directly follows the other.
2. Order is kept: whatever is read behind a waiting before half waits too.
3. A half waits for ``limit`` events at most, then it goes on alone; so does an after half that nothing waits for. A
   half travels alone where an update changed the key and its halves went to different shards; ``alone`` says what it
   then means.
4. One joiner for each ordered stream (a shard, a file).
"""

from collections import deque

import msgspec

from spark_jobs.cdc.events import DELETE, INSERT, Column, Event, RowChange, TableSchema


class HalfJoiner:
    """Takes events in order and gives them back in order, halves joined. Keeps ``limit`` events at most.

    ``joined_at``: the place, in the queue as it was, of the event that the last one completed; -1: it was none's half.
    """

    def __init__(self, limit: int = 1000) -> None:
        self.joined_at = -1
        self._limit = limit
        self._waiting: deque[Event] = deque()

    def add(self, event: Event) -> list[Event]:
        """Takes the next event; returns those that need not wait any more."""
        self.joined_at = -1
        if not (self._waiting and isinstance(event, RowChange) and event.half == "after" and self._join(event)):
            self._waiting.append(event)
        free: list[Event] = []
        while self._waiting and not self._must_wait():
            free.append(self._waiting.popleft())
        return free

    def flush(self) -> list[Event]:
        """Returns all that still waits, as it is."""
        rest = list(self._waiting)
        self._waiting.clear()
        return rest

    def _must_wait(self) -> bool:
        first = self._waiting[0]
        limit = self._limit if isinstance(first, RowChange) and first.sequence else 1
        return _is_before_half(first) and len(self._waiting) <= limit

    def _join(self, after: RowChange) -> bool:
        last = len(self._waiting) - 1
        for index in range(0 if after.sequence else last, last + 1):
            before = self._waiting[index]
            if isinstance(before, RowChange) and _is_before_half(before) and _same_update(before, after):
                table = _common_table(before.table, after.table)
                self._waiting[index] = msgspec.structs.replace(after, table=table, before=before.before, half="")
                self.joined_at = index
                return True
        return False


def alone(half: RowChange) -> RowChange:
    """What a half without its other half does to the table: the old row is gone, or the new row is there."""
    if half.half == "before":
        return msgspec.structs.replace(half, kind=DELETE, half="")
    if half.half == "after":
        return msgspec.structs.replace(half, kind=INSERT, half="")
    return half


def _is_before_half(event: Event) -> bool:
    return isinstance(event, RowChange) and event.half == "before"


def _same_update(before: RowChange, after: RowChange) -> bool:
    return (
        before.sequence == after.sequence
        and (before.table.schema, before.table.table) == (after.table.schema, after.table.table)
        and [column.name for column in before.table.columns] == [column.name for column in after.table.columns]
    )


def _common_table(before: TableSchema, after: TableSchema) -> TableSchema:
    """The table of both halves; a column that only one half shows to be unsigned is unsigned."""
    if before is after or before == after:
        return after
    columns = tuple(_wider(*pair) for pair in zip(before.columns, after.columns, strict=True))
    return msgspec.structs.replace(after, columns=columns)


def _wider(before: Column, after: Column) -> Column:
    return before if before.type.unsigned and not after.type.unsigned else after
