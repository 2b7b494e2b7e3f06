"""Canal's messages to events, quickly.

Rules

1. The quick way reads row changes by the views of ``canal_view.proto``: one parse, values in lists, and what repeats
   from row to row as the key of a cache. Whatever it does not know or finds odd it leaves to the exact
   ``EntryReader``, whose word counts; what that reads teaches the caches.
2. In a merged list a value belongs to the column of its turn. That is certain if no column is NULL and there are as
   many values as columns. With NULLs it is certain only for a writer that spells out zeros and false (as Canal's own
   classes do, and proto3's never), because it spells out empty texts too: each column that is not NULL has its value.
3. Caches are bounded: that of rows forgets the rows when it is full, that of headers and structures everything.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import msgspec
from google.protobuf.message import DecodeError as WireError

from spark_jobs.cdc.codecs.canal_protobuf.entry import ROW_KINDS, EntryReader, joined, origin_of
from spark_jobs.cdc.codecs.canal_protobuf.envelope import AUTO, ENTRY, MESSAGES, PACKET, open_envelope, unit_of
from spark_jobs.cdc.codecs.canal_protobuf.images import Image, Images, Read
from spark_jobs.cdc.codecs.pick import Pick, picker
from spark_jobs.cdc.events import DELETE, INSERT, Event, Origin, Row, RowChange, RowKind, TableSchema
from spark_jobs.cdc.mysql.values import read_double, read_doubles, read_integer, read_integers
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.proto import canal_packet_pb2 as packets
from spark_jobs.cdc.proto import canal_view_pb2 as views
from spark_jobs.cdc.tso import MAX_MS

_UNIT_OF_FIRST_BYTE: Final = {0x18: PACKET, 0x12: MESSAGES, 0x0A: ENTRY}
_PLAIN: Final = (packets.COMPRESSION_UNSET, packets.NONE)
_MAX_CACHED_BYTES: Final = 1 << 24
_BYTES_PER_KEY: Final = 200
_ROW_DATA: Final = (entries.ROWDATA, entries.ENTRY_TYPE_UNSET)


_ALONE: Final = b"\x00"
"""Before the key of a RowChange with one row; no key of a row begins so, because no field has this tag."""

_SURELY_64_BITS: Final = 18
"""Digits that fit 64 bits whatever they are."""

_MANY_NUMBERS: Final = 8


class _Many(msgspec.Struct, frozen=True, eq=False):
    """How a row with many numbers is had of its texts: numbers are read all at once, which saves nothing for a few.

    ``integers``, ``doubles``: pick the texts of these. ``row`` picks the row from the texts (the others are read by
    then), behind which come the integers and the doubles.
    """

    integers: Pick
    doubles: Pick
    row: Pick


class _Columns(msgspec.Struct, frozen=True, eq=False):
    """The columns of an image, and how their values are read.

    ``integers`` and ``doubles`` are mostly written as Python writes them, which is quick to see; ``reads`` are others
    that are more than their text. ``zeros``: the writer spells out zeros, whatever the row.
    """

    image: Image
    integers: tuple[int, ...]
    doubles: tuple[int, ...]
    reads: tuple[tuple[int, Read], ...]
    many: _Many | None
    zeros: bool


class _Layout(msgspec.Struct, frozen=True, eq=False):
    """An image with a certain set of NULLs: how many values there must be, and where the NULLs go."""

    columns: _Columns
    count: int
    nulls: tuple[int, ...]


_Layouts: TypeAlias = tuple[_Layout | None, _Layout | None]
"""Those of the images before and after the change, None where the kind of change has none."""


class _Table:
    """What is known of a table.

    ``rows``: layouts by all that a row has besides its values, or the RowChange of which it is the only one; that is
    what most entries have, and it shows at once that nothing else is in it. ``images``: by what does not depend on
    values. ``changes``: what RowChanges have besides their rows.
    """

    def __init__(self) -> None:
        self.rows: dict[bytes, _Layouts] = {}
        self.images: dict[bytes, _Columns] = {}
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
        self._room = self._room_for_rows = _MAX_CACHED_BYTES

    def decode(self, message: bytes, /) -> Sequence[Event]:
        try:
            seen, batch_id = self._view(message)
            events: list[Event] = []
            unopened: Sequence[bytes] = ()
            for at in range(len(seen)):
                if not self._rows(seen[at], batch_id, events):
                    unopened = unopened or open_envelope(message, self._unit).entries
                    if len(unopened) != len(seen):  # given twice: the view has merged what should be replaced
                        return self._exact(message)
                    events += self._reader.read(unopened[at], at + 1, batch_id)
                    self._learn(unopened[at])
        except WireError:
            return self._exact(message)
        return events

    def _view(self, message: bytes) -> tuple[Sequence[views.EntryView], int]:
        """Entries and batch id; raises protobuf's ``DecodeError``."""
        unit = self._unit
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
        count = len(rows)
        try:
            for at in range(count):
                table, left, right = self._images_of(rows[at], change if count == 1 else None, kind, head)
                # the fields of an event by place, since names take a third of the time
                events.append(RowChange(kind, table, left, right, 0, es_ms, 0, batch_id, origin=origin))
            if count == 0 or (count > 1 and not _is_known(change, head.known)):
                raise ValueError
        except ValueError:
            del events[before:]
            return False
        return True

    def _images_of(
        self, row: views.RowDataView, alone: views.RowChangeView | None, kind: RowKind, head: _Head
    ) -> tuple[TableSchema, Row | None, Row | None]:
        """The table and the row before and after; ``ValueError`` if the exact reader must have it.

        ``alone``: the RowChange of which the row is the only one.
        """
        old: list[Any] = []
        new: list[Any] = []
        if kind is not INSERT:
            values = row.beforeColumns.value
            old = values[:]
            del values[:]
        if kind is not DELETE:
            values = row.afterColumns.value
            new = values[:]
            del values[:]
        key = row.SerializeToString() if alone is None else _ALONE + alone.SerializeToString()
        layouts = head.last_layouts
        if key != head.last_row or layouts is None:
            layouts = head.known.rows.get(key) or self._learn_row(key, row, alone, kind, head.known)
            head.last_row, head.last_layouts = key, layouts
        left, right = layouts
        if left is None:
            assert right is not None
            return right.columns.image.table, None, _values(right, new)
        if right is None:
            return left.columns.image.table, _values(left, old), None
        if left.columns is right.columns:
            return left.columns.image.table, _values(left, old), _values(right, new)
        return joined(self._images, left.columns.image, _values(left, old), right.columns.image, _values(right, new))

    def _learn_row(
        self, key: bytes, row: views.RowDataView, alone: views.RowChangeView | None, kind: RowKind, known: _Table
    ) -> _Layouts:
        """Of a row without its values; ``ValueError`` if not all of it is known from elsewhere."""
        before = None if kind is INSERT else _layout(row.beforeColumns, known)
        after = None if kind is DELETE else _layout(row.afterColumns, known)
        if kind is not INSERT:
            row.ClearField("beforeColumns")
        if kind is not DELETE:
            row.ClearField("afterColumns")
        if row.SerializeToString() or (alone is not None and not _is_known(alone, known)):
            raise ValueError
        self._room_for_rows -= len(key) + _BYTES_PER_KEY
        if self._room_for_rows < 0:  # rows with ever other NULLs: they go, and what their layouts are made of stays
            for table in self._tables.values():
                table.rows.clear()
            self._room_for_rows = _MAX_CACHED_BYTES
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
            head.known.images[key] = _columns(image, key)

    def _make_room(self, key: bytes) -> None:
        self._room -= len(key) + _BYTES_PER_KEY
        if self._room < 0:
            self._heads.clear()
            self._tables.clear()
            self._room = self._room_for_rows = _MAX_CACHED_BYTES


def _is_known(change: views.RowChangeView, known: _Table) -> bool:
    """Whether a RowChange has beside its rows what another had; afterwards it has no rows."""
    del change.rowDatas[:]
    return change.SerializeToString() in known.changes


def _layout(view: views.ImageView, known: _Table) -> _Layout:
    """The layout of an image without its values.

    ``ValueError`` if its columns are not known, or rule 2 does not hold.
    """
    data = view.SerializeToString()
    flags = views.FlagsView.FromString(data)
    stated = flags.isNull[:]
    nulls = tuple([at for at, is_null in enumerate(stated) if is_null])
    some_zeros = bool(nulls) and False in flags.updated[:]
    columns = known.images.get(_structure(flags))
    if columns is None:
        raise ValueError
    width = len(columns.image.table.columns)
    if nulls and not (len(stated) == width and (columns.zeros or some_zeros)):
        raise ValueError
    return _Layout(columns, width - len(nulls), nulls)


def _columns(image: Image, structure: bytes) -> _Columns:
    integers = tuple(at for at, read in image.reads if read is read_integer)
    doubles = tuple(at for at, read in image.reads if read is read_double)
    others = tuple((at, read) for at, read in image.reads if read not in (read_integer, read_double))
    many = None
    if len(integers) + len(doubles) >= _MANY_NUMBERS:
        width = len(image.table.columns)
        behind = {at: width + turn for turn, at in enumerate((*integers, *doubles))}
        places = [behind.get(at, at) for at in range(width)]
        many = _Many(picker(integers), picker(doubles), picker(places))
    zeros = views.ZerosView.FromString(structure)
    return _Columns(image, integers, doubles, others, many, 0 in zeros.index[:] or False in zeros.isKey[:])


def _structure(flags: views.FlagsView) -> bytes:
    """What an image says of its columns apart from values, NULLs and the codes that depend on values."""
    for name in ("sqlType", "updated", "isNull"):
        flags.ClearField(name)
    structure: bytes = flags.SerializeToString()
    return structure


def _values(layout: _Layout, texts: list[Any]) -> Row:
    """The texts of an image as values. ``ValueError`` if the exact reader must have it."""
    if len(texts) != layout.count:
        raise ValueError
    for at in layout.nulls:
        texts.insert(at, None)
    columns = layout.columns
    for at, read in columns.reads:
        text = texts[at]
        if text is not None:
            texts[at] = read(text)
    many = columns.many
    if many is not None:
        try:
            numbers = read_integers(many.integers(texts)) + read_doubles(many.doubles(texts))
            return many.row(texts + numbers)
        except TypeError:  # one of the numbers is NULL
            pass
    for at in columns.integers:
        text = texts[at]
        if text is not None:
            number = texts[at] = int(text)
            if len(text) > _SURELY_64_BITS or str(number) != text:
                texts[at] = read_integer(text)
    for at in columns.doubles:
        text = texts[at]
        if text is not None:
            double = texts[at] = float(text)
            if repr(double) != text or double - double:  # the latter of NaN and infinity
                texts[at] = read_double(text)
    return tuple(texts)
