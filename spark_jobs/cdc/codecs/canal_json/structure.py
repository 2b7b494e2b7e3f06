"""Table structures as Canal-JSON messages tell them, and readers of rows made for one structure.

Rules

1. Columns are those of ``sqlType``, in its order, then what ``mysqlType`` alone has, by name; their types are the texts
   of ``mysqlType`` (whose order means nothing, since TiCDC's is random); keys are those that ``pkNames`` lists. The
   codes of ``sqlType`` vary with the values and are no part of the structure.
2. The same structure is always the same ``TableSchema`` object. It is found by the raw bytes of the three members.
3. A row holds texts and nulls. A missing column is ``ABSENT`` in ``data``; in ``old`` it did not change, so it is as in
   ``data``. A column that the structure does not have is an error, never dropped.
4. Numbers may also be bare JSON numbers, an integer may be written as ``1.0``, and the text ``null`` in a column of
   numbers is NULL: the reader in C takes them.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Final, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Raw

from spark_jobs.cdc.codecs.canal_json.cache import StructureCache, read_types, types_checker
from spark_jobs.cdc.codecs.canal_json.envelope import PROTOCOL, Envelope, Int64, unreadable
from spark_jobs.cdc.codecs.canal_json.rows import Conversion, row_reader
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import (
    ABSENT,
    BINARY_TYPES,
    CHOICE_TYPES,
    NUMBER_TYPES,
    Column,
    ColumnType,
    Row,
    TableSchema,
    Value,
)
from spark_jobs.cdc.memory import MAX_COLUMNS as ROOM
from spark_jobs.cdc.memory import Living, Memory
from spark_jobs.cdc.mysql.types import parse_type
from spark_jobs.cdc.mysql.values import FromText, from_text, read_bytes, read_text

MAX_COLUMNS: Final = 4096  # MySQL's own limit
_MAX_UINT64: Final = (1 << 64) - 1

_CODES = msgspec.json.Decoder(dict[str, int] | None)
_NAMES = msgspec.json.Decoder(list[str] | None)
_CELLS = msgspec.json.Decoder(dict[str, Raw])
_CELL = msgspec.json.Decoder(str | int | float | None)

_NEGATIVE_ZERO = re.compile(rb'"-0(?:\.0*)?(?:[eE][^"]*)?"')
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)


class Structures:
    """The structures seen so far."""

    def __init__(self) -> None:
        self._by_columns: Memory[tuple[str, str, tuple[tuple[str, str, bool], ...]], Structure] = Memory(ROOM)
        self._living = Living()
        self.of: Final = StructureCache(self._read).of
        """The structure of a message with rows; raises ``DecodeError``."""

    def _read(self, envelope: Envelope) -> "Structure":
        columns = _columns(envelope)
        key = (envelope.database, envelope.table, columns)
        found = self._by_columns.get(key)
        if found is None:
            found = Structure(self._living.one(_table(envelope.database, envelope.table, columns)))
            self._by_columns.remember(key, found, len(columns) + 1)
        return found


def _columns(envelope: Envelope) -> tuple[tuple[str, str, bool], ...]:
    """(name, type text, is key) of each column."""
    try:
        codes = _CODES.decode(envelope.sql_type)
        types = read_types(envelope.mysql_type)
        keys = frozenset(_NAMES.decode(envelope.pk_names) or ())
    except (msgspec.MsgspecError, RecursionError) as error:
        raise DecodeError(PROTOCOL, f"sqlType, mysqlType or pkNames: {error}") from None
    if codes is None or types is None:
        raise DecodeError(PROTOCOL, "rows without sqlType and mysqlType")
    names = dict.fromkeys((*codes, *sorted(types)))
    if len(names) > MAX_COLUMNS:
        raise DecodeError(PROTOCOL, f"{len(names)} columns; a table has at most {MAX_COLUMNS}")
    untyped = [name for name in names if name not in types]
    if untyped:
        raise DecodeError(PROTOCOL, f"column {untyped[0]!r} is in sqlType but not in mysqlType")
    return tuple((name, types[name], name in keys) for name in names)


def _table(schema: str, table: str, columns: tuple[tuple[str, str, bool], ...]) -> TableSchema:
    return TableSchema(
        schema,
        table,
        tuple(Column(name, _type(name, text), is_key=is_key, source_type=text) for name, text, is_key in columns),
    )


def _type(name: str, text: str) -> ColumnType:
    try:
        return parse_type(text)
    except ValueError as error:
        raise DecodeError(PROTOCOL, f"mysqlType of column {name!r}: {error}") from None


class Structure:
    """One structure of one table, with the readers of its rows.

    Rows are read by structs that are made for the structure: one that requires every column, and one for ``old`` that
    does not. What these refuse is read again, cell by cell, for its value or for a precise error.
    """

    def __init__(self, table: TableSchema) -> None:
        self.table = table
        self._readers = tuple((column.name, from_text(column.type)) for column in table.columns)
        self._names = frozenset(name for name, _ in self._readers)
        self._old_is_partial = False
        whole, part = _struct_reader(table, required=True), _struct_reader(table, required=False)
        self.row: Final = _row_reader(table, whole, self._row_by_cells)
        """A member of ``data``; raises ``DecodeError``."""
        self.plain: Final = None if _doubles(table) or any(_conversions(table)) else whole
        """The struct that holds the values of a member of ``data`` as they are; None if none does.

        Raises ``MsgspecError`` and ``ValueError`` for what ``row`` may yet read.
        """
        self.whole_row: Final = _row_reader(table, whole, _nothing)
        """A row that has all columns and can be read without doubt; None for every other."""
        self._part: Final = _row_reader(table, part, self._row_by_cells)
        self.two_texts: Final = any(column.type.name in _TYPES_WITH_TWO_TEXTS for column in table.columns)
        """There is a column whose values Canal's own server writes in another form than TiCDC."""

    @cached_property
    def has_types(self) -> Callable[[bytes | Raw], bool]:
        """Whether a text of ``mysqlType`` says the types of this structure, in any order."""
        return types_checker({column.name: column.source_type for column in self.table.columns})

    def old_row(self, raw: Raw | bytes, new: Row) -> Row:
        """A member of ``old``, where the columns that it leaves out are as in ``new``; raises ``DecodeError``."""
        if not self._old_is_partial:
            whole = self.whole_row(raw)
            if whole is not None:
                return whole
            self._old_is_partial = True  # likely the source's habit: spares the next rows the detour
        return tuple([after if old is ABSENT else old for old, after in zip(self._part(raw), new, strict=True)])

    def _row_by_cells(self, raw: Raw | bytes) -> Row:
        try:
            cells = _CELLS.decode(raw)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise unreadable(error) from None
        unknown = cells.keys() - self._names
        if unknown:
            raise DecodeError(PROTOCOL, f"column {min(unknown)[:80]!r} is in data or old but not in sqlType")
        return tuple([_value(name, cells[name], read) if name in cells else ABSENT for name, read in self._readers])


def _value(name: str, raw: Raw, read: FromText) -> Value:
    try:
        cell = _CELL.decode(raw)
        if cell is None:
            return None
        if not isinstance(cell, str) and read in (read_text, read_bytes):
            raise ValueError("a number where text belongs")
        return read(str(cell))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DecodeError(PROTOCOL, f"column {name[:80]!r}: {error}") from None


R = TypeVar("R")
StructReader: TypeAlias = Callable[[Raw | bytes], msgspec.Struct]


def _row_reader(
    table: TableSchema, read: StructReader | None, otherwise: Callable[[Raw | bytes], R]
) -> Callable[[Raw | bytes], Row | R]:
    """A reader of rows; what it refuses is read by ``otherwise``."""
    if read is None:
        return otherwise
    return row_reader(read, _conversions(table), _doubles(table), _check_double, _REFUSED, otherwise)


def _struct_reader(table: TableSchema, *, required: bool) -> StructReader | None:
    """A reader of rows as structs with the fields ``c0``, ``c1`` …; None if there can be no such struct.

    It refuses columns that the table has not and, if all are ``required``, missing ones.
    """
    fields = [f"c{index}" for index in range(len(table.columns))]
    types = [_field_type(column.type) for column in table.columns]
    columns = list(zip(fields, types, strict=True))
    try:
        row = msgspec.defstruct(
            "Row",
            columns if required else [(field, type_, ABSENT) for field, type_ in columns],
            rename={field: column.name for field, column in zip(fields, table.columns, strict=True)},
            forbid_unknown_fields=True,
            gc=False,
        )
    except ValueError:
        return None  # a column has a name that such a struct cannot have: quotes, backslashes
    return msgspec.json.Decoder(row, strict=False).decode


def _conversions(table: TableSchema) -> list[Conversion]:
    return [_conversion(column.type) for column in table.columns]


def _doubles(table: TableSchema) -> list[int]:
    return [index for index, column in enumerate(table.columns) if column.type.name == "double"]


def _nothing(raw: Raw | bytes) -> None:
    return None


_NUMBERS: Final = NUMBER_TYPES | CHOICE_TYPES
_TYPES_WITH_TWO_TEXTS: Final = frozenset({"float", "double", "year"})


def _field_type(type_: ColumnType) -> type:
    """What the reader in C makes of a column: the value itself, except where ``_conversion`` goes on from there."""
    if type_.name in _NUMBERS:
        return cast(type, int | None if _may_exceed_int64(type_) else Int64 | None)
    return cast(type, float | None if type_.name == "double" else str | None)


def _conversion(type_: ColumnType) -> Conversion:
    if _may_exceed_int64(type_):
        return _at_most_uint64
    return from_text(type_) if type_.name == "float" or type_.name in BINARY_TYPES else None


def _may_exceed_int64(type_: ColumnType) -> bool:
    return type_.name in ("bit", "set") or (type_.name == "bigint" and type_.unsigned)


def _at_most_uint64(value: int) -> int:
    if value > _MAX_UINT64:
        raise ValueError("more than 64 bits")
    return value


def _check_double(value: float, raw: Raw | bytes) -> None:
    """The reader in C takes NaN and infinity, and loses the sign of -0."""
    if value or _NEGATIVE_ZERO.search(raw):
        raise ValueError("a double that must be read from its text")
