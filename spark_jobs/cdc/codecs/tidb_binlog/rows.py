"""Rows of TiDB Binlog's Kafka messages, read without touching one column after the other.

A row is parsed with all its columns merged into lists, one for each kind of value, in column order (see
``tidb_binlog_view.proto``). Which column has which kind is its *shape*:

1. The first bytes of the sealed columns tell the kinds exactly. For each such string of kinds the way from the lists to
   the row is decided once.
2. A row without NULL needs not even that after another of the same table and message: when its lists are as long, the
   kinds are the same, because a column's type decides its kind. (A default that Drainer filled in may be text in a
   column of numbers, never the other way round, so that the lists cannot be as long.) Whether a column is unsigned may
   change from message to message, unseen; so the last row of another message serves only if its integers are all
   signed or all unsigned.
3. What is against the rules (a column with two fields or none, text that is not UTF-8) is read column by column.
"""

from collections import Counter
from collections.abc import Callable, MutableSequence, Sequence
from itertools import accumulate, chain
from operator import attrgetter, itemgetter
from typing import Final

from google.protobuf.message import DecodeError as ProtobufError

from spark_jobs.cdc.codecs.pick import Pick, picker
from spark_jobs.cdc.codecs.tidb_binlog.layout import Layout
from spark_jobs.cdc.codecs.tidb_binlog.values import (
    FIELDS,
    INT,
    KINDS,
    NULL,
    STRING,
    UINT,
    Convert,
    Form,
    converter,
    form_of,
)
from spark_jobs.cdc.events import Row, Value
from spark_jobs.cdc.memory import Memory, is_plain
from spark_jobs.cdc.proto.tidb_binlog_view_pb2 import ColumnsView, MergedRowView, SealedRowView

_REMEMBERED_SHAPES: Final = 512
_FIRST_BYTE: Final = itemgetter(0)
_LISTS: Final = {NULL: "is_null"} | FIELDS


class RowReader:
    """Reads the rows of one layout."""

    __slots__ = ("_layout", "_plain", "_shapes", "_usual")

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._shapes: Memory[bytes, Shape] = Memory(_REMEMBERED_SHAPES)
        self._plain: Final = is_plain()
        self._usual: Shape | None = None

    def read(self, data: bytes, last: "Shape | None" = None) -> tuple[Row, "Shape"]:
        """The values, and what their fields tell; raises ``ValueError`` for damaged bytes.

        ``last``: that of the row before it in the same message.
        """
        usual = None if self._plain else last if last is not None and last.regular else self._usual
        try:
            merged = MergedRowView.FromString(data).columns
            if usual is not None:
                row = usual.row(merged)
                if row is not None:
                    return row, usual
            return self._read_by_kinds(SealedRowView.FromString(data).columns[:], merged)
        except ProtobufError:
            raise ValueError("a row is not a protobuf message") from None

    def _read_by_kinds(self, columns: list[bytes], merged: ColumnsView) -> tuple[Row, "Shape"]:
        readers = self._layout.readers
        if len(columns) != len(readers):
            raise ValueError(f"a row has {len(columns)} columns and column_info {len(readers)}")
        try:
            shape = self._shape(bytes(map(_FIRST_BYTE, columns)))
        except IndexError:
            raise ValueError("it holds no value and is not NULL") from None
        row = None if self._plain else shape.row(merged)
        if row is None:
            return tuple([reader[sealed] for reader, sealed in zip(readers, columns, strict=True)]), shape
        if shape.certain:
            self._usual = shape
        return row, shape

    def _shape(self, kinds: bytes) -> "Shape":
        shape = self._shapes.get(kinds)
        if shape is None:
            shape = Shape(kinds, self._layout)
            self._shapes.remember(kinds, shape)
        return shape

    def bad_column(self, data: bytes) -> str:
        """The name of the first column that cannot be read, or ""."""
        try:
            columns = SealedRowView.FromString(data).columns[:]
        except ProtobufError:
            return ""
        for column, reader, sealed in zip(self._layout.columns, self._layout.readers, columns, strict=False):
            try:
                reader[sealed]
            except ValueError:
                return column.name
        return ""


class Shape:
    """The kinds of a row's columns, and the way from the merged lists to the row.

    ``signed`` and ``unsigned``: positions with such numbers. ``regular``: each column has the kind of its type, and
    none is NULL. ``certain``: equal lengths of the lists mean this shape, in another message as well.
    """

    __slots__ = (
        "_conversions",
        "_counts",
        "_lists",
        "_nulls",
        "_pick",
        "_readable",
        "_text",
        "certain",
        "regular",
        "signed",
        "unsigned",
    )

    def __init__(self, kinds: bytes, layout: Layout) -> None:
        forms = [form_of(column.type.name) for column in layout.columns]
        fields = [field for field in _LISTS if field in kinds]
        self.signed = frozenset(at for at, kind in enumerate(kinds) if kind == INT)
        self.unsigned = frozenset(at for at, kind in enumerate(kinds) if kind == UINT)
        self.regular = all(kind in KINDS[form] for kind, form in zip(kinds, forms, strict=True))
        self.certain = self.regular and not (self.signed & layout.integers and self.unsigned & layout.integers)
        self._lists = _getter([_LISTS[field] for field in fields])
        self._nulls = NULL in kinds
        self._text = STRING in kinds  # protobuf gives text that is not UTF-8 as bytes
        self._counts = [kinds.count(field) for field in fields]
        self._pick = _row_picker(kinds, fields)
        self._conversions = _conversions(kinds, forms)
        self._readable = self._conversions is not None and sum(self._counts) == len(kinds)

    def row(self, merged: ColumnsView) -> Row | None:
        """The values; None if the columns do not have these kinds, or not in the regular way."""
        if not self._readable:
            return None
        containers = self._lists(merged)
        if [*map(len, containers)] != self._counts or (not self._nulls and merged.is_null):
            return None
        lists = [values[:] for values in containers]
        if (self._nulls and False in lists[0]) or (self._text and bytes in map(type, lists[-1])):
            return None
        row = self._pick([*chain.from_iterable(lists), None])
        return self._converted(row) if self._conversions else row

    def _converted(self, row: Row) -> Row:
        values = list(row)
        for at, convert in self._conversions or ():
            values[at] = convert(values[at])
        return tuple(values)


def _getter(names: list[str]) -> Callable[[ColumnsView], Sequence[MutableSequence[Value]]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda merged: [getattr(merged, name) for name in names]


def _row_picker(kinds: bytes, fields: list[int]) -> Pick:
    """From all lists, one behind the other, and None at the end, to the values in column order."""
    starts = dict(zip(fields, accumulate((kinds.count(field) for field in fields), initial=0), strict=False))
    seen: Counter[int] = Counter()
    order = []
    for kind in kinds:
        order.append(-1 if kind == NULL else starts.get(kind, 0) + seen[kind])
        seen[kind] += 1
    return picker(order)


def _conversions(kinds: bytes, forms: list[Form]) -> list[tuple[int, Convert]] | None:
    """What is to be done with values of another kind than Python's; None if a value cannot be had this way."""
    try:
        found = [converter(form, kind) for kind, form in zip(kinds, forms, strict=True) if kind != NULL]
    except KeyError:
        return None
    places = [at for at, kind in enumerate(kinds) if kind != NULL]
    return [(at, convert) for at, convert in zip(places, found, strict=True) if convert is not None]
