"""Halves of updates, joined before they go on, where a format sends an update as two messages.

A half whose other one has not come yet waits, with everything behind it, as raw messages that are held until the next
batch: so an update that a batch's end cuts in two is whole all the same. One that stays alone is a delete or an insert
(``spark_jobs.cdc.rows.halves``).
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import msgspec

from spark_jobs.cdc.codec import Opened
from spark_jobs.cdc.events import Ddl, Event, Heartbeat, RowChange, TableSchema, TransactionMark, Watermark
from spark_jobs.cdc.rows.halves import HalfJoiner, alone
from spark_jobs.pipeline.held import HeldMessage
from spark_jobs.sources.base import Place, Strand


class ReadRows:
    """Rows that are decoded already."""

    __slots__ = ("_changes", "commit_ts", "es_ms", "is_partial", "name", "schema", "table")

    def __init__(self, change: RowChange) -> None:
        self._changes = (change,)
        self.table: TableSchema = change.table
        self.schema, self.name = change.table.schema, change.table.table
        self.commit_ts, self.es_ms, self.is_partial = change.commit_ts, change.es_ms, bool(change.half)

    def changes(self) -> Sequence[RowChange]:
        return self._changes


class Part(msgspec.Struct, frozen=True):
    """A message of which an event is made, and where it stands."""

    raw: HeldMessage
    place: Callable[[], Place]


class Joined(msgspec.Struct, frozen=True):
    """What goes on: as opened, with the messages that it is made of; the first gives its offset and time."""

    opened: tuple[Opened, ...]
    parts: tuple[Part, ...]


class Pairs:
    """One strand's halves. ``_parts``: the messages of each event that waits."""

    def __init__(self, strand: Strand) -> None:
        self._strand = strand
        self._joiner = HalfJoiner()
        self._parts: deque[list[Part]] = deque()

    def add(
        self,
        opened: Sequence[Opened],
        value: bytes,
        offset: int,
        place: Callable[[], Place],
        time_of: Callable[[RowChange | Ddl], int],
    ) -> Iterator[Joined]:
        """The next message; gives what need not wait any more. All of it is to be taken, whatever is wrong with one."""
        for event in list(_events(opened)):
            commit_ts = time_of(event) if isinstance(event, RowChange | Ddl) else 0
            part = Part(HeldMessage(*self._strand, offset, commit_ts, value), place)
            free = self._joiner.add(event)
            if self._joiner.joined_at >= 0:
                self._parts[self._joiner.joined_at].append(part)
            else:
                self._parts.append([part])
            for one in free:
                rows: Opened = ReadRows(alone(one)) if isinstance(one, RowChange) else one
                yield Joined((rows,), tuple(self._parts.popleft()))

    def waiting(self) -> list[HeldMessage]:
        """The raw messages of what still waits."""
        return sorted((part.raw for group in self._parts for part in group), key=lambda raw: raw.offset)


def _events(opened: Sequence[Opened]) -> Iterator[Event]:
    for item in opened:
        if isinstance(item, Ddl | Watermark | Heartbeat | TransactionMark):
            yield item
        else:
            yield from item.changes()
