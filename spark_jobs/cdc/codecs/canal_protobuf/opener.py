"""Opens Canal's messages.

Rules

1. The rows of an entry are one ``Rows`` as long as they have one structure; they have one kind and one time. Of an
   entry with one row, which most are, nothing is read but its header until its rows are asked for.
2. Canal says nowhere that an image lacks columns (binlog_row_image MINIMAL or NOBLOB). A row is partial if columns are
   missing before one that it has, if its two images have not the same ones, and if a DELETE has nothing but its key.
"""

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError as WireError

from spark_jobs.cdc.codec import Opened
from spark_jobs.cdc.codecs.canal_protobuf.envelope import (
    AUTO,
    ENTRY,
    MESSAGES,
    PACKET,
    PROTOCOL,
    open_envelope,
    refuse,
    unit_of,
)
from spark_jobs.cdc.codecs.canal_protobuf.quick import Known, QuickReader
from spark_jobs.cdc.codecs.opened import grouped
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import ABSENT, DELETE, Event, RowChange, TableSchema
from spark_jobs.cdc.proto import canal_packet_pb2 as packets
from spark_jobs.cdc.proto import canal_view_pb2 as views

_UNIT_OF_FIRST_BYTE: Final = {0x18: PACKET, 0x12: MESSAGES, 0x0A: ENTRY}
_PLAIN: Final = (packets.COMPRESSION_UNSET, packets.NONE)


class EntryRows:
    """The rows of an entry whose header is known."""

    __slots__ = ("_entry", "_events", "_known", "_message", "_place", "commit_ts", "es_ms", "name", "schema")

    def __init__(self, message: "_Message", place: int, known: Known) -> None:
        self._message = message
        self._place = place
        self._known = known
        self.schema = known[0].schema
        self.name = known[0].table
        self.commit_ts = 0
        self.es_ms = known[1]
        self._events: Sequence[Event] | None = None

    @property
    def is_partial(self) -> bool:
        """Whether columns are missing; true for what cannot be read."""
        try:
            return is_partial(self.changes())
        except DecodeError:
            return True

    @property
    def table(self) -> TableSchema:
        """Decodes the rows; raises ``DecodeError``."""
        return self.changes()[0].table

    def changes(self) -> Sequence[RowChange]:
        """The rows; raises ``DecodeError``."""
        try:
            changes = [event for event in self.events() if isinstance(event, RowChange)]
        except WireError:
            refuse("a field is given twice")
        return changes or refuse("a field is given twice")

    def events(self) -> Sequence[Event]:
        """The same, but for a field that is given twice: whatever comes of it, or ``WireError``."""
        if self._events is None:
            self._events = self._message.rows(self._place, self._known)
        return self._events


class _Message:
    """A message that is being read."""

    __slots__ = ("_batch_id", "_bytes", "_entries", "_reader", "_seen", "_unit")

    def __init__(
        self, reader: QuickReader, message: bytes, unit: str, seen: Sequence[views.EntryView], batch_id: int
    ) -> None:
        self._reader = reader
        self._bytes = message
        self._unit = unit
        self._seen = seen
        self._batch_id = batch_id
        self._entries: Sequence[bytes] | None = None

    def rows(self, place: int, known: Known) -> Sequence[Event]:
        """The rows of an entry; raises ``DecodeError`` and ``WireError``."""
        rows: list[Event] = []
        if self._reader.rows(self._seen[place], known, self._batch_id, rows):
            return rows
        return self.exactly(place)

    def exactly(self, place: int) -> Sequence[Event]:
        """The events of an entry by the exact reader."""
        if self._entries is None:
            self._entries = open_envelope(self._bytes, self._unit).entries
        if len(self._entries) != len(self._seen):  # given twice: the view has merged what should be replaced
            raise WireError
        return self._reader.read(self._entries[place], place + 1, self._batch_id)


class CanalOpener:
    """Opens the messages of one changefeed; ``unit`` is one of ``UNITS``."""

    protocol: Final = PROTOCOL
    timed: Final = False
    marks: Final[tuple[bytes, ...]] = ()
    halves: Final = False

    def __init__(self, unit: str = AUTO) -> None:
        self._unit = unit
        self.reader: Final = QuickReader()

    def open(self, message: bytes, /) -> Sequence[Opened]:
        """One message; raises ``DecodeError``."""
        try:
            seen, batch_id = _view(message, self._unit)
            opened = _Message(self.reader, message, self._unit, seen, batch_id)
            found: list[Opened] = []
            for place, entry in enumerate(seen):
                known = self.reader.known(entry)
                if known is not None and len(entry.storeValue.rowDatas) == 1:
                    found.append(EntryRows(opened, place, known))
                else:
                    events = opened.exactly(place) if known is None else opened.rows(place, known)
                    found += grouped(events, is_partial)
        except WireError:
            return grouped(self.exactly(message), is_partial)
        return found

    def events(self, message: bytes) -> list[Event]:
        """The same with the rows decoded."""
        reader = self.reader
        try:
            seen, batch_id = _view(message, self._unit)
            opened = None
            found: list[Event] = []
            for place, entry in enumerate(seen):
                known = reader.known(entry)
                if known is None or not reader.rows(entry, known, batch_id, found):
                    opened = opened or _Message(reader, message, self._unit, seen, batch_id)
                    found += opened.exactly(place)
        except WireError:
            return self.exactly(message)
        return found

    def exactly(self, message: bytes) -> list[Event]:
        """The events of a message by the exact reader."""
        envelope = open_envelope(message, self._unit)
        events: list[Event] = []
        for number, data in enumerate(envelope.entries, 1):
            events += self.reader.exact.read(data, number, envelope.batch_id)
        return events


def _view(message: bytes, unit: str) -> tuple[Sequence[views.EntryView], int]:
    """Entries and batch id; raises protobuf's ``DecodeError``."""
    if unit == AUTO:
        unit = _UNIT_OF_FIRST_BYTE.get(message[0], "") if message else PACKET
        unit = unit or unit_of(message)
    if unit == PACKET:
        packet = views.PacketView.FromString(message)
        if packet.type != packets.MESSAGES or packet.compression not in _PLAIN:
            raise WireError
        messages = packet.body
    elif unit == MESSAGES:
        messages = views.MessagesView.FromString(message)
    else:
        return (views.EntryView.FromString(message),), 0
    return messages.messages, messages.batch_id


def is_partial(changes: Sequence[RowChange]) -> bool:
    """Whether one of these rows of one structure may lack columns; see rule 2."""
    columns = changes[0].table.columns
    if [column.ordinal for column in columns] != [*range(len(columns))]:
        return True
    if changes[0].kind is DELETE and all(column.is_key for column in columns):
        return True
    return any(ABSENT in (change.before or ()) or ABSENT in (change.after or ()) for change in changes)
