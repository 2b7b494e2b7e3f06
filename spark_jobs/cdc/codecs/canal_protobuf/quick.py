"""Reads the entries of Canal's messages quickly.

Rules

1. The quick way reads row changes by the views of ``canal_view.proto``: one parse, values in lists, and what repeats
   from row to row as the key of a memory. Whatever it does not know or finds odd it leaves to the exact
   ``EntryReader``, whose word counts; what that reads teaches the memories.
2. In a merged list a value belongs to the column of its turn. That is certain if no column is NULL and there are as
   many values as columns. With NULLs it is certain only for a writer that spells out zeros and false (as Canal's own
   classes do, and proto3's never), because it spells out empty texts too: each column that is not NULL has its value.
3. Memories are bounded: when they are full, the table goes of which nothing new was learnt for longest.
"""

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec
from google.protobuf.message import DecodeError as WireError

from spark_jobs.cdc.codecs.canal_protobuf.entry import ROW_KINDS, EntryReader, joined, origin_of
from spark_jobs.cdc.codecs.canal_protobuf.images import Images
from spark_jobs.cdc.codecs.canal_protobuf.layouts import Columns, Layout, columns_of, layout_of, structure_of, values_of
from spark_jobs.cdc.events import DELETE, INSERT, Event, Origin, Row, RowChange, RowKind, TableSchema
from spark_jobs.cdc.memory import is_plain
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.proto import canal_view_pb2 as views
from spark_jobs.cdc.tso import MAX_MS

MAX_REMEMBERED_BYTES: Final = 1 << 24
_MAX_ROW_BYTES: Final = 1 << 21
"""Of one table."""

_BYTES_PER_KEY: Final = 200
_ROW_DATA: Final = (entries.ROWDATA, entries.ENTRY_TYPE_UNSET)


_ALONE: Final = b"\x00"
"""Before the key of a RowChange with one row; no key of a row begins so, because no field has this tag."""


_Layouts: TypeAlias = tuple[Layout | None, Layout | None]
"""Those of the images before and after the change, None where the kind of change has none."""


class _Table:
    """What is known of a table.

    ``rows``: layouts by all that a row has besides its values, or the RowChange of which it is the only one; that is
    what most entries have, and it shows at once that nothing else is in it. ``images``: by what does not depend on
    values. ``changes``: what RowChanges have besides their rows. ``heads``: the keys of its headers.
    """

    def __init__(self) -> None:
        self.rows: dict[bytes, _Layouts] = {}
        self.images: dict[bytes, Columns] = {}
        self.changes: set[bytes] = set()
        self.heads: list[bytes] = []
        self.bytes = self.row_bytes = 0

    def forget_rows(self) -> int:
        """How many bytes are free then. What the layouts are made of stays."""
        freed = self.row_bytes
        self.rows.clear()
        self.bytes -= freed
        self.row_bytes = 0
        return freed


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


Known: TypeAlias = tuple[_Head, int, int, int]
"""A header, and the numbers that it is without: executeTime, logfileOffset, eventLength."""


class QuickReader:
    """Reads entries; remembers what those of a table have in common."""

    def __init__(self) -> None:
        self.images: Final = Images()
        self.exact: Final = EntryReader(self.images)
        self._heads: dict[bytes, _Head] = {}
        self._tables: OrderedDict[tuple[str, str], _Table] = OrderedDict()
        self._room = MAX_REMEMBERED_BYTES
        self._plain: Final = is_plain()

    def known(self, entry: views.EntryView) -> "Known | None":
        """What the header of an entry with rows says; None if the exact reader must have it."""
        header = entry.header
        offset, es_ms, length = header.logfileOffset, header.executeTime, header.eventLength
        header.logfileOffset = header.executeTime = header.eventLength = 0
        head = self._heads.get(header.SerializeToString())
        if head is None or head.kind is None or entry.entryType not in _ROW_DATA or abs(es_ms) > MAX_MS:
            return None
        return head, es_ms, offset, length

    def rows(self, entry: views.EntryView, known: "Known", batch_id: int, events: list[Event]) -> bool:
        """Adds the rows of an entry to the events, which can be done once.

        False, with nothing added, if the exact reader must have it.
        """
        head, es_ms, offset, length = known
        kind, base, before = head.kind, head.origin, len(events)
        assert kind is not None
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

    def read(self, data: bytes, number: int, batch_id: int) -> Sequence[Event]:
        """The events of the entry with this number (from 1) in its message, by the exact reader; learns from them."""
        events = self.exact.read(data, number, batch_id)
        if not self._plain:
            with suppress(WireError):
                self._learn(data)
        return events

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
            layouts = head.known.rows.get(key) or self._learn_row(key, row, alone, kind, head)
            head.last_row, head.last_layouts = key, layouts
        left, right = layouts
        if left is None:
            assert right is not None
            return right.columns.image.table, None, values_of(right, new)
        if right is None:
            return left.columns.image.table, values_of(left, old), None
        if left.columns is right.columns:
            return left.columns.image.table, values_of(left, old), values_of(right, new)
        return joined(self.images, left.columns.image, values_of(left, old), right.columns.image, values_of(right, new))

    def _learn_row(
        self, key: bytes, row: views.RowDataView, alone: views.RowChangeView | None, kind: RowKind, head: _Head
    ) -> _Layouts:
        """Of a row without its values; ``ValueError`` if not all of it is known from elsewhere."""
        known = head.known
        before = None if kind is INSERT else layout_of(row.beforeColumns, known.images)
        after = None if kind is DELETE else layout_of(row.afterColumns, known.images)
        if kind is not INSERT:
            row.ClearField("beforeColumns")
        if kind is not DELETE:
            row.ClearField("afterColumns")
        if row.SerializeToString() or (alone is not None and not _is_known(alone, known)):
            raise ValueError
        if known.row_bytes > _MAX_ROW_BYTES:  # rows with ever other NULLs
            self._room += known.forget_rows()
        known.row_bytes += len(key) + _BYTES_PER_KEY
        self._make_room(key, head.schema, head.table, known)
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
        self._make_room(rest, head.schema, head.table, head.known)
        head.known.changes.add(rest)

    def _learn_head(self, view: views.HeaderView) -> _Head:
        view.logfileOffset = view.executeTime = view.eventLength = 0
        key = view.SerializeToString()
        header = entries.Header.FromString(key)
        known = self._tables.get((header.schemaName, header.tableName)) or _Table()
        kind = ROW_KINDS.get(header.eventType)
        head = _Head(kind, header.schemaName, header.tableName, known, origin_of(header, "the entry"))
        if key not in self._heads:
            self._make_room(key, head.schema, head.table, known)
            known.heads.append(key)
        self._heads[key] = head
        return head

    def _learn_image(self, view: views.ImageView, listed: Sequence[entries.Column], head: _Head) -> None:
        if not listed:
            return
        image = self.images.read(listed, head.schema, head.table, "the image")[0]
        if [column.name for column in image.table.columns] == [column.name for column in listed]:
            del view.value[:]
            key = structure_of(views.FlagsView.FromString(view.SerializeToString()))
            self._make_room(key, head.schema, head.table, head.known)
            head.known.images[key] = columns_of(image, key)

    def _make_room(self, key: bytes, schema: str, name: str, table: _Table) -> None:
        """For a key of this table; other tables go first."""
        if self._tables.setdefault((schema, name), table) is not table:
            return  # it was forgotten while rows of it waited to be read
        size = len(key) + _BYTES_PER_KEY
        table.bytes += size
        self._room -= size
        self._tables.move_to_end((schema, name))
        while self._room < 0 and self._tables:
            _, gone = self._tables.popitem(last=False)
            self._room += gone.bytes
            for head in gone.heads:
                del self._heads[head]
            gone.bytes = gone.row_bytes = 0
            for memory in (gone.rows, gone.images, gone.changes, gone.heads):
                memory.clear()


def _is_known(change: views.RowChangeView, known: _Table) -> bool:
    """Whether a RowChange has beside its rows what another had; afterwards it has no rows."""
    del change.rowDatas[:]
    return change.SerializeToString() in known.changes
