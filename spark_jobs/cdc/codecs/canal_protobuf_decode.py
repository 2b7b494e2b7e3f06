"""Canal's messages to events, quickly.

Rules

1. The quick way reads row changes by the views of ``canal_view.proto``: one parse, values in lists, and what repeats
   from row to row as the key of a cache. Whatever it does not know or finds odd it leaves to the exact
   ``EntryReader``, whose word counts; what that reads teaches the caches.
2. In a merged list a value belongs to the column of its turn. That is certain if no column is NULL and there are as
   many values as columns. With NULLs it is certain only for a writer that spells out zeros and false (as Canal's own
   classes do, and proto3's never), because it spells out empty texts too: each column that is not NULL has its value.
3. Caches are bounded; they forget everything when they are full.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import msgspec
from google.protobuf.message import DecodeError as WireError

from spark_jobs.cdc.codecs.canal_protobuf_entry import ROW_KINDS, EntryReader, joined, origin_of
from spark_jobs.cdc.codecs.canal_protobuf_envelope import AUTO, ENTRY, MESSAGES, PACKET, open_envelope, unit_of
from spark_jobs.cdc.codecs.canal_protobuf_images import Image, Images, Read
from spark_jobs.cdc.events import DELETE, INSERT, Event, Origin, Row, RowChange, RowKind, TableSchema
from spark_jobs.cdc.mysql_values import read_integer
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.proto import canal_packet_pb2 as packets
from spark_jobs.cdc.proto import canal_view_pb2 as views
from spark_jobs.cdc.tso import MAX_MS

_UNIT_OF_FIRST_BYTE: Final = {0x18: PACKET, 0x12: MESSAGES, 0x0A: ENTRY}
_PLAIN: Final = (packets.COMPRESSION_UNSET, packets.NONE)
_MAX_CACHED_BYTES: Final = 1 << 24
_BYTES_PER_KEY: Final = 200
_ROW_DATA: Final = (entries.ROWDATA, entries.ENTRY_TYPE_UNSET)
_SURELY_64_BITS: Final = 18
"""Digits that fit 64 bits whatever they are."""


class _Layout(msgspec.Struct, frozen=True, eq=False):
    """An image with a certain set of NULLs: where they go, how many values there must be, and how they are read."""

    image: Image
    count: int
    nulls: tuple[int, ...]
    numbers: tuple[int, ...]
    reads: tuple[tuple[int, Read], ...]


_Layouts: TypeAlias = tuple[_Layout | None, _Layout | None]
"""Those of the images before and after the change, None where the kind of change has none."""


class _Table:
    """What is known of a table.

    ``rows``: layouts by all that a row has besides its values. ``images``: by what does not depend on values.
    ``changes``: what RowChanges have besides their rows.
    """

    def __init__(self) -> None:
        self.rows: dict[bytes, _Layouts] = {}
        self.images: dict[bytes, Image] = {}
        self.changes: set[bytes] = set()


class _Head(msgspec.Struct, eq=False):
    """A header without the numbers that differ from event to event. ``kind`` is None for what is no row change.

    ``last_row`` and ``last_layouts``: those of the latest row, mostly the next one's as well.
    """

    kind: RowKind | None
    schema: str
    table: str
    known: _Table
    origin: Origin
    last_row: bytes = b""
    last_layouts: _Layouts | None = None


class Decoder:
    """Reads the messages of one changefeed; ``unit`` is one of ``UNITS``."""

    def __init__(self, unit: str = AUTO) -> None:
        self._unit = unit
        self._images = Images()
        self._reader = EntryReader(self._images)
        self._heads: dict[bytes, _Head] = {}
        self._tables: dict[tuple[str, str], _Table] = {}
        self._room = _MAX_CACHED_BYTES

    def decode(self, message: bytes, /) -> Sequence[Event]:
        try:
            return self._quick(message)
        except WireError:
            return self._exact(message)

    def _quick(self, message: bytes) -> Sequence[Event]:
        seen, batch_id = self._view(message)
        if seen is None:
            return self._exact(message)
        events: list[Event] = []
        unopened: Sequence[bytes] = ()
        for at in range(len(seen)):
            if not self._rows(seen[at], batch_id, events):
                unopened = unopened or open_envelope(message, self._unit).entries
                if len(unopened) != len(seen):  # an envelope given twice: the view has merged what should be replaced
                    return self._exact(message)
                events += self._reader.read(unopened[at], at + 1, batch_id)
                self._learn(unopened[at])
        return events

    def _view(self, message: bytes) -> tuple[Sequence[views.EntryView] | None, int]:
        unit = self._unit
        if unit == AUTO:
            unit = _UNIT_OF_FIRST_BYTE.get(message[0], "") if message else PACKET
            unit = unit or unit_of(message)
        if unit == PACKET:
            packet = views.PacketView.FromString(message)
            if packet.type != packets.MESSAGES or packet.compression not in _PLAIN:
                return None, 0
            messages = packet.body
        elif unit == MESSAGES:
            messages = views.MessagesView.FromString(message)
        else:
            return (views.EntryView.FromString(message),), 0
        return messages.messages, messages.batch_id

    def _exact(self, message: bytes) -> list[Event]:
        envelope = open_envelope(message, self._unit)
        events: list[Event] = []
        for number, data in enumerate(envelope.entries, 1):
            events += self._reader.read(data, number, envelope.batch_id)
        return events

    def _rows(self, entry: views.EntryView, batch_id: int, events: list[Event]) -> bool:
        """Adds the rows of an entry to the events; False, with nothing added, if the exact reader must have it."""
        header = entry.header
        offset, es_ms, length = header.logfileOffset, header.executeTime, header.eventLength
        header.logfileOffset = header.executeTime = header.eventLength = 0
        head = self._heads.get(header.SerializeToString())
        if head is None or head.kind is None or entry.entryType not in _ROW_DATA or abs(es_ms) > MAX_MS:
            return False
        kind, base, before = head.kind, head.origin, len(events)
        origin = Origin(base.db_type, "", "", base.server_id, base.log_file, offset, length, base.gtid, base.props)
        change = entry.storeValue
        rows = change.rowDatas
        for at in range(len(rows)):
            images = self._images_of(rows[at], kind, head)
            if images is None:
                break
            table, left, right = images
            events.append(
                RowChange(
                    kind=kind, table=table, before=left, after=right, es_ms=es_ms, sequence=batch_id, origin=origin
                )
            )
        if len(events) - before == len(rows) > 0:
            del rows[:]
            if change.SerializeToString() in head.known.changes:
                return True
        del events[before:]
        return False

    def _images_of(
        self, row: views.RowDataView, kind: RowKind, head: _Head
    ) -> tuple[TableSchema, Row | None, Row | None] | None:
        """The table and the row before and after; None if the exact reader must have it."""
        old = None if kind is INSERT else _taken(row.beforeColumns)
        new = None if kind is DELETE else _taken(row.afterColumns)
        key = row.SerializeToString()
        layouts = head.last_layouts
        if key != head.last_row:
            layouts = head.known.rows.get(key) or self._layouts(key, kind, head.known)
            head.last_row, head.last_layouts = key, layouts
        if layouts is None:
            return None
        try:
            return self._values_of(layouts, old, new)
        except ValueError:
            return None

    def _values_of(
        self, layouts: _Layouts, old: list[Any] | None, new: list[Any] | None
    ) -> tuple[TableSchema, Row | None, Row | None]:
        old_layout, layout = layouts
        if layout is not None and new is not None:
            if old_layout is None or old is None:
                return layout.image.table, None, _values(layout, new)
            if layout.image is old_layout.image and layout.nulls == old_layout.nulls:
                return layout.image.table, *_both_values(layout, old, new)
            old_values, values = _values(old_layout, old), _values(layout, new)
            return joined(self._images, old_layout.image, old_values, layout.image, values)
        if old_layout is None or old is None:
            raise ValueError
        return old_layout.image.table, _values(old_layout, old), None

    def _layouts(self, key: bytes, kind: RowKind, known: _Table) -> _Layouts | None:
        row = views.RowDataView.FromString(key)
        before = None if kind is INSERT else _layout(row.beforeColumns, known)
        after = None if kind is DELETE else _layout(row.afterColumns, known)
        if (before is None and kind is not INSERT) or (after is None and kind is not DELETE):
            return None
        row.ClearField("beforeColumns" if kind is not INSERT else "afterColumns")
        row.ClearField("afterColumns" if kind is not DELETE else "beforeColumns")
        if row.SerializeToString():
            return None
        self._make_room(key)
        known.rows[key] = before, after
        return before, after

    def _learn(self, data: bytes) -> None:
        """Remembers the header and the images of an entry that the exact reader has read without complaint."""
        seen = views.EntryView.FromString(data)
        head = self._learn_head(seen.header)
        entry = entries.Entry.FromString(data)
        if head.kind is None or entry.entryType not in _ROW_DATA:
            return
        rows = entries.RowChange.FromString(entry.storeValue).rowDatas
        seen_rows = seen.storeValue.rowDatas
        if len(seen_rows) != len(rows):
            return
        for view, row in zip(seen_rows, rows, strict=True):
            if head.kind is not INSERT:
                self._learn_image(view.beforeColumns, row.beforeColumns, head)
            if head.kind is not DELETE:
                self._learn_image(view.afterColumns, row.afterColumns, head)
        del seen_rows[:]
        rest = seen.storeValue.SerializeToString()
        self._make_room(rest)
        head.known.changes.add(rest)

    def _learn_head(self, view: views.HeaderView) -> _Head:
        view.logfileOffset = view.executeTime = view.eventLength = 0
        key = view.SerializeToString()
        header = entries.Header.FromString(key)
        known = self._tables.setdefault((header.schemaName, header.tableName), _Table())
        kind = ROW_KINDS.get(header.eventType)
        head = _Head(kind, header.schemaName, header.tableName, known, origin_of(header, "the entry"))
        self._make_room(key)
        self._heads[key] = head
        return head

    def _learn_image(self, view: views.ImageView, listed: Sequence[entries.Column], head: _Head) -> None:
        if not listed:
            return
        image = self._images.read(listed, head.schema, head.table, "the image")[0]
        if [column.name for column in image.table.columns] == [column.name for column in listed]:
            del view.value[:]
            key = _structure(views.FlagsView.FromString(view.SerializeToString()))
            self._make_room(key)
            head.known.images[key] = image

    def _make_room(self, key: bytes) -> None:
        self._room -= len(key) + _BYTES_PER_KEY
        if self._room < 0:
            self._heads.clear()
            self._tables.clear()
            self._room = _MAX_CACHED_BYTES


def _taken(view: views.ImageView) -> list[Any]:
    """The values of an image, which then has them no more."""
    values = view.value
    texts: list[Any] = values[:]
    del values[:]
    return texts


def _layout(view: views.ImageView, known: _Table) -> _Layout | None:
    """The layout of an image without its values; None if its columns are not known, or rule 2 does not hold."""
    data = view.SerializeToString()
    flags = views.FlagsView.FromString(data)
    nulls = tuple(position for position, is_null in enumerate(flags.isNull) if is_null)
    stated = len(flags.isNull)
    image = known.images.get(_structure(flags))
    if image is None:
        return None
    width = len(image.table.columns)
    if nulls and not (stated == width and _spells_out_zeros(data)):
        return None
    reads = [(position, read) for position, read in image.reads if position not in nulls]
    return _Layout(
        image=image,
        count=width - len(nulls),
        nulls=nulls,
        numbers=tuple(position for position, read in reads if read is read_integer),
        reads=tuple((position, read) for position, read in reads if read is not read_integer),
    )


def _spells_out_zeros(data: bytes) -> bool:
    zeros = views.ZerosView.FromString(data)
    return 0 in zeros.index or False in zeros.isKey or False in zeros.updated


def _structure(flags: views.FlagsView) -> bytes:
    """What an image says of its columns apart from values, NULLs and the codes that depend on values."""
    for name in ("sqlType", "updated", "isNull"):
        flags.ClearField(name)
    structure: bytes = flags.SerializeToString()
    return structure


def _place_nulls(layout: _Layout, texts: list[Any]) -> None:
    if len(texts) != layout.count:
        raise ValueError
    for position in layout.nulls:
        texts.insert(position, None)


def _values(layout: _Layout, texts: list[Any]) -> Row:
    """The texts of an image as values. ``ValueError`` if the exact reader must have it."""
    _place_nulls(layout, texts)
    for position in layout.numbers:
        text = texts[position]
        number = texts[position] = int(text)
        if len(text) > _SURELY_64_BITS or str(number) != text:
            texts[position] = read_integer(text)
    for position, read in layout.reads:
        texts[position] = read(texts[position])
    return tuple(texts)


def _both_values(layout: _Layout, old: list[Any], new: list[Any]) -> tuple[Row, Row]:
    """The same for two images of one layout; equal texts are converted once."""
    _place_nulls(layout, old)
    _place_nulls(layout, new)
    for position in layout.numbers:
        text, other = old[position], new[position]
        number = int(text)
        if len(text) > _SURELY_64_BITS or str(number) != text:
            number = read_integer(text)
        old[position] = number
        if other != text:
            number = int(other)
            if len(other) > _SURELY_64_BITS or str(number) != other:
                number = read_integer(other)
        new[position] = number
    for position, read in layout.reads:
        text, other = old[position], new[position]
        value = old[position] = read(text)
        new[position] = value if other == text else read(other)
    return tuple(old), tuple(new)
