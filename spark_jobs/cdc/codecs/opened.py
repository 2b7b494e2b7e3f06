"""Openers and decoders, each made of the other.

Most codecs have an opener of their own, and their decoder is that with the rows decoded (``OpenedDecoder``). Where a
message must be decoded to know what it holds, it is the other way round (``DecodedOpener``).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.codec import Decoder, Opened, Opener
from spark_jobs.cdc.events import Ddl, Event, Heartbeat, RowChange, TableSchema, TransactionMark, Watermark

ROWLESS: Final = frozenset({Ddl, Watermark, Heartbeat, TransactionMark})
"""The types of what an opener finds besides ``Rows``."""


class OpenedDecoder:
    """What an opener finds, its rows decoded."""

    def __init__(self, opener: Opener) -> None:
        self._open: Final[Callable[[bytes], Sequence[Opened]]] = opener.open

    def decode(self, message: bytes, /) -> Sequence[Event]:
        """The events of a message; raises ``DecodeError``."""
        found = self._open(message)
        if not found:
            return ()
        events: list[Event] = []
        for opened in found:
            if isinstance(opened, Ddl | Watermark | Heartbeat | TransactionMark):
                events.append(opened)
            else:
                events += opened.changes()
        return events


class DecodedRows(msgspec.Struct, frozen=True):
    """Rows that are decoded already: at least one, all of one table object."""

    schema: str
    name: str
    commit_ts: int
    es_ms: int
    is_partial: bool
    table: TableSchema
    decoded: Sequence[RowChange]

    def changes(self) -> Sequence[RowChange]:
        """The rows."""
        return self.decoded


IsPartial = Callable[[Sequence[RowChange]], bool]


def never_partial(changes: Sequence[RowChange]) -> bool:
    """For formats whose images have every column."""
    return False


def grouped(events: Iterable[Event], is_partial: IsPartial = never_partial) -> list[Opened]:
    """Events in their order, with neighbours of one table, one structure and one commit-ts put together."""
    found: list[Opened] = []
    run: list[RowChange] = []
    for event in events:
        if run and not (isinstance(event, RowChange) and _goes_with(event, run[-1])):
            found.append(_rows(run, is_partial))
            run = []
        if isinstance(event, RowChange):
            run.append(event)
        else:
            found.append(event)
    if run:
        found.append(_rows(run, is_partial))
    return found


def _goes_with(one: RowChange, other: RowChange) -> bool:
    return one.table is other.table and (one.commit_ts, one.es_ms) == (other.commit_ts, other.es_ms)


def _rows(run: list[RowChange], is_partial: IsPartial) -> DecodedRows:
    first = run[0]
    table = first.table
    return DecodedRows(table.schema, table.table, first.commit_ts, first.es_ms, is_partial(run), table, run)


class DecodedOpener:
    """What a decoder finds, with the rows of one table put together."""

    marks: Final[tuple[bytes, ...]] = ()

    def __init__(self, protocol: str, decoder: Decoder, *, timed: bool, halves: bool) -> None:
        self.protocol: Final = protocol
        self.timed: Final = timed
        self.halves: Final = halves
        self._decode = decoder.decode

    def open(self, message: bytes, /) -> Sequence[Opened]:
        """One message; raises ``DecodeError``."""
        return grouped(self._decode(message))
