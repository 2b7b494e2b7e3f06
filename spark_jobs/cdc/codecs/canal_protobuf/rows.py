"""Row images of Canal, written: what is fixed for a column is bytes already, a row adds values and lengths.

    Column = index, sqlType, name, isKey, updated, isNull | value | mysqlType

Rules

1. Every field is spelled out, false and 0 included, as Canal's own classes do; NULL alone has no ``value``;
   ``length`` is never filled. A column that is ABSENT is not listed; ``index`` stays its place in the table.
2. ``updated`` is false in the image before the change; in the one after it, it is true where the text differs from
   the one before or where there is none before: so in an insert everywhere.
3. ``sqlType`` depends on the value for unsigned integers (wider code above the signed range), and on NULL for json
   and set.
4. ``mysqlType`` is the source's own text where it came from Canal, else the type's text in Canal's manner.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, NoReturn, TypeAlias

import msgspec

from spark_jobs.cdc.codecs.canal_protobuf.wire import LengthTable, bytes_field, number_field, varint
from spark_jobs.cdc.codecs.canal_protobuf.writers import TextForm, WriteImage, WriteImages, image_writer, images_writer
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    BINARY_TYPES,
    CHOICE_TYPES,
    DELETE,
    FLOAT_TYPES,
    INSERT,
    NUMBER_TYPES,
    Column,
    ColumnType,
    Row,
    RowChange,
    TableSchema,
    Value,
    _Absent,
)
from spark_jobs.cdc.memory import Memory
from spark_jobs.cdc.mysql.types import Dialect, canal_text, sql_code_of, wider_code
from spark_jobs.cdc.mysql.values import to_text

_BEFORE, _AFTER = b"\x0a", b"\x12"
_REMEMBERED_LENGTHS: Final = 128
_MAX_HEADERS: Final = 64
ROWS_BEFORE_WRITERS: Final = 1000
"""Making functions for a table costs as much as they save in about so many rows."""

_LENGTHS: Final = LengthTable()
_NO_TEXT: Final = (TypeError, ValueError, AttributeError, ArithmeticError, IndexError)
_CONVERTED: Final = NUMBER_TYPES | CHOICE_TYPES | BINARY_TYPES | FLOAT_TYPES | {""}

Text = bytes | Literal[_Absent.ABSENT] | None
Write = Callable[[Value], bytes]
Columns = tuple[Column, ...]


class Cell(dict[int, bytes]):
    """A column of one image, without its end: all that stands before its value, by the value's length.

    Each begins with the end of the column before it, so that a row takes two parts for a column and not three.
    ``null``: the same for NULL. ``wide``: the cell for values that need the wider sqlType.
    """

    def __init__(self, tag: bytes, columns: Columns, position: int, *, updated: bool, wide: int | None = None) -> None:
        super().__init__()
        column = columns[position]
        code = sql_code_of(column.type, Dialect.CANAL)
        self._end_before = _end(columns[position - 1]) if position else b""
        self._end = _end(column)
        self._lead = self._end_before + tag
        self._head = _head(column, position, code(0) if wide is None else wide, updated) + b"\x30\x00\x42"
        self._size = len(self._head) + len(self._end)
        null = _head(column, position, code(None), updated) + b"\x30\x01"
        self.null = self._lead + varint(len(null) + len(self._end)) + null
        wider = wider_code(column.type) if wide is None else None
        self.wide = self if wider is None else Cell(tag, columns, position, updated=updated, wide=wider[1])

    def __missing__(self, length: int) -> bytes:
        size = _LENGTHS[length]
        start = self._lead + _LENGTHS[self._size + len(size) + length] + self._head + size
        if len(self) < _REMEMBERED_LENGTHS:
            self[length] = start
        return start

    def column(self, text: bytes | None) -> bytes:
        """The whole column with this value and nothing of the one before it."""
        start = self.null if text is None else self[len(text)] + text
        return start[len(self._end_before) :] + self._end


def _end(column: Column) -> bytes:
    return bytes_field(10, (column.source_type or canal_text(column.type)).encode())


def _head(column: Column, position: int, sql_type: int, updated: bool) -> bytes:
    index = position if column.ordinal < 0 else column.ordinal
    return b"".join(
        (
            number_field(1, index),
            number_field(2, sql_type),
            bytes_field(3, column.name.encode()),
            number_field(4, column.is_key),
            number_field(5, updated),
        )
    )


class Writers(NamedTuple):
    """Functions of one table for images without ABSENT columns; they raise what ``_NO_TEXT`` names for all others."""

    inserted: WriteImage
    deleted: WriteImage
    changed: WriteImages


HeaderParts: TypeAlias = tuple[bytes, bytes, bytes, bytes]
"""An entry's header without what differs from event to event: what stands before, between and behind three numbers."""


class TablePlan(msgspec.Struct, eq=False):
    """How to write the rows of a table. ``wider``: the columns whose sqlType depends on the value, and the limit.

    ``rows``: how many were written one column after the other, before the table got ``writers``. ``headers``: of its
    entries, by kind and origin.
    """

    table: TableSchema
    writes: tuple[Write, ...]
    before: tuple[Cell, ...]
    kept: tuple[Cell, ...]
    updated: tuple[Cell, ...]
    wider: tuple[tuple[int, int], ...]
    rows: int = 0
    writers: Writers | None = None
    headers: Memory[tuple[object, ...], HeaderParts] = msgspec.field(default_factory=lambda: Memory(_MAX_HEADERS))


def plan_of(table: TableSchema) -> TablePlan:
    columns = table.columns
    places = range(len(columns))
    limits = ((position, wider_code(column.type)) for position, column in enumerate(columns))
    try:
        return TablePlan(
            table=table,
            writes=tuple(_write(column.type) for column in columns),
            before=tuple(Cell(_BEFORE, columns, at, updated=False) for at in places),
            kept=tuple(Cell(_AFTER, columns, at, updated=False) for at in places),
            updated=tuple(Cell(_AFTER, columns, at, updated=True) for at in places),
            wider=tuple((position, limit[0]) for position, limit in limits if limit is not None),
        )
    except UnicodeEncodeError:
        raise EncodeError("canal", f"a column name or type of {table.schema}.{table.table} is not UTF-8") from None


def _writers(plan: TablePlan) -> Writers:
    limits, end = dict(plan.wider), _end(plan.table.columns[-1]) if plan.table.columns else b""
    columns = enumerate(zip(plan.table.columns, plan.writes, strict=True))
    forms = [TextForm(write, _inline(column.type), limits.get(at)) for at, (column, write) in columns]
    return Writers(
        inserted=image_writer(forms, plan.updated, end),
        deleted=image_writer(forms, plan.before, end),
        changed=images_writer(forms, plan.before, plan.kept, plan.updated, end),
    )


def _write(type_: ColumnType) -> Write:
    if type_.name in NUMBER_TYPES:
        return b"%04d".__mod__ if type_.name == "year" else b"%d".__mod__
    if type_.name not in _CONVERTED:
        return str.encode  # type: ignore[return-value]
    text = to_text(type_, Dialect.CANAL)
    return lambda value: text(value).encode()


def _inline(type_: ColumnType) -> str:
    """What ``_write`` gives, as an expression; of a double where Java's text is Python's."""
    if type_.name in NUMBER_TYPES:
        return "b'%04d' % {value}" if type_.name == "year" else "b'%d' % {value}"
    if type_.name == "double":
        return "repr({value}).encode() if 1e-3 <= {value} < 1e7 else {write}({value})"
    return "{write}({value})" if type_.name in _CONVERTED else "{value}.encode()"


def row_data(change: RowChange, plan: TablePlan) -> bytes:
    """A RowData message. ``EncodeError`` for an image that is missing or a value that the format has no form for."""
    writers = plan.writers
    if writers is None:
        if plan.rows < ROWS_BEFORE_WRITERS:
            plan.rows += 1
            return _one_by_one(change, plan)
        writers = plan.writers = _writers(plan)
    kind, before, after = change.kind, change.before, change.after
    try:
        if kind is DELETE:
            data = writers.deleted(before)
        elif kind is INSERT or before is None:
            data = writers.inserted(after)
        else:
            data = writers.changed(before, after)
    except _NO_TEXT:
        data = _one_by_one(change, plan)
    return data or _one_by_one(change, plan)


def _one_by_one(change: RowChange, plan: TablePlan) -> bytes:
    """Whatever the row is like: with columns that are ABSENT, or with something wrong, which is said."""
    kind, before, after = change.kind, change.before, change.after
    data = b""
    old: list[Text] = []
    if kind is DELETE and before is None:
        _refuse(plan, "a DELETE needs the row before the change")
    if kind is not DELETE and after is None:
        _refuse(plan, f"an {kind} needs the row after the change")
    if before is not None and kind is not INSERT:
        old = _texts(plan, before)
        data = _parts(_widened(plan.before, _wide(plan, before)), old)
    if after is not None and kind is not DELETE:
        new = _texts(plan, after)
        wide = _wide(plan, after)
        kept, updated = _widened(plan.kept, wide), _widened(plan.updated, wide)
        data += _parts([kept[at] if old and old[at] == new[at] else updated[at] for at in range(len(new))], new)
    if not data:
        _refuse(plan, f"its {kind} carries no column")
    return data


def _parts(cells: Sequence[Cell], texts: list[Text]) -> bytes:
    return b"".join(cell.column(text) for cell, text in zip(cells, texts, strict=True) if text is not ABSENT)


def _wide(plan: TablePlan, row: Row) -> list[int]:
    """The columns whose value needs the wider sqlType."""
    found = []
    for position, limit in plan.wider:
        value = row[position]
        if isinstance(value, int) and value > limit:
            found.append(position)
    return found


def _widened(cells: tuple[Cell, ...], wide: list[int]) -> tuple[Cell, ...]:
    if not wide:
        return cells
    chosen = list(cells)
    for position in wide:
        chosen[position] = cells[position].wide
    return tuple(chosen)


def _texts(plan: TablePlan, row: Row) -> list[Text]:
    """For a row with columns that are ABSENT, or with a value that has no text."""
    columns = plan.table.columns
    if len(row) != len(columns):
        _refuse(plan, f"a row has {len(row)} values for {len(columns)} columns")
    return [
        value if value is None or value is ABSENT else _text(plan, column, write, value)
        for column, write, value in zip(columns, plan.writes, row, strict=True)
    ]


def _text(plan: TablePlan, column: Column, write: Write, value: Value) -> bytes:
    try:
        return write(value)
    except UnicodeEncodeError:
        _refuse(plan, f"column {column.name!r}: the text is not UTF-8, and Canal has no other text")
    except _NO_TEXT:
        _refuse(plan, f"column {column.name!r} of type {column.type.name}: {str(value)[:80]!r} is no value of the type")


def _refuse(plan: TablePlan, reason: str) -> NoReturn:
    raise EncodeError("canal", f"{plan.table.schema}.{plan.table.table}: {reason}")
