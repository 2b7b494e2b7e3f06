"""What a TiDB Binlog ``Table`` says about its columns and keys, as a ``TableSchema`` and back.

Rules

1. ``flen`` and ``decimal`` are -1 where not specified. Drainer before 5.4 does not send them, before 3.0.9 it sends no
   ``unique_keys``; an absent field is like -1 and like "nothing is told about keys".
2. They are kept as ``ColumnType.length`` and ``scale`` where they say something about the type: ``decimal`` of an
   integer or a string, and ``flen`` of an enum, a set, or a float without digits, do not.
3. UNSIGNED, enum elements, generated columns, defaults and nullability are not in the message. UNSIGNED is learned from
   the values: the caller says which columns have shown a ``uint64_value``, and which no number at all.
"""

from typing import Final

import msgspec

from spark_jobs.cdc.codecs.tidb_binlog.cells import from_text
from spark_jobs.cdc.codecs.tidb_binlog.values import Form, Reader, form_of, to_text
from spark_jobs.cdc.events import CHOICE_TYPES, FLOAT_TYPES, INTEGER_TYPES, Column, ColumnType, Index, TableSchema
from spark_jobs.cdc.memory import Living, Memory
from spark_jobs.cdc.proto.tidb_binlog_view_pb2 import ColumnInfoView, KeyView, TableView

_UNSPECIFIED: Final = -1
_MAX_SIGNS: Final = 1024
"""Of one structure: sets of columns that are unsigned or of unknown sign."""

_SCALED: Final = FLOAT_TYPES | {"decimal", "datetime", "timestamp", "time"}


class Layout:
    """What is decided once for rows of one structure.

    ``structure`` is without what only values tell. ``readers`` are parallel to the columns; ``integers`` are the
    positions of the columns that may be unsigned.
    """

    __slots__ = ("_living", "_schemas", "integers", "readers", "structure")

    def __init__(self, schema: TableSchema, readers: dict[Form, Reader], living: Living) -> None:
        self._living = living
        self.structure: Final = living.one(schema)
        self._schemas: Memory[tuple[frozenset[int], frozenset[int]], TableSchema] = Memory(_MAX_SIGNS)
        self.readers = tuple(readers[form_of(column.type.name)] for column in schema.columns)
        self.integers = frozenset(at for at, column in enumerate(schema.columns) if column.type.name in INTEGER_TYPES)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.structure.columns

    def schema(self, unsigned: frozenset[int] = frozenset(), unknown: frozenset[int] = frozenset()) -> TableSchema:
        """The schema in which the columns at these positions are UNSIGNED, or of unknown sign; the same object."""
        if not unsigned and not unknown:
            return self.structure
        key = unsigned, unknown
        found = self._schemas.get(key)
        if found is None:
            columns = list(self.structure.columns)
            for at in unsigned:
                columns[at] = _retyped(columns[at], unsigned=True)
            for at in unknown:
                columns[at] = _retyped(columns[at], sign_known=False)
            found = self._living.one(msgspec.structs.replace(self.structure, columns=tuple(columns)))
            self._schemas.remember(key, found)
        return found


class Signs:
    """Learns from the values of one message which integer columns are unsigned.

    A column's first number tells; NULL and filled-in text tell nothing.
    """

    __slots__ = ("undecided", "unsigned")

    def __init__(self, layout: Layout) -> None:
        self.undecided = layout.integers
        self.unsigned: frozenset[int] = frozenset()

    def learn(self, signed: frozenset[int], unsigned: frozenset[int]) -> None:
        """The columns of a row that hold signed and unsigned numbers."""
        self.unsigned |= self.undecided & unsigned
        self.undecided -= signed | unsigned


def _retyped(column: Column, **changes: bool) -> Column:
    return msgspec.structs.replace(column, type=msgspec.structs.replace(column.type, **changes))


def schema_of(table: TableView) -> TableSchema:
    """The structure that a ``Table`` tells, every integer signed; protobuf's ``DecodeError`` for damaged bytes."""
    columns = tuple(_column(ColumnInfoView.FromString(sealed)) for sealed in table.column_info)
    keys = tuple(_index(KeyView.FromString(sealed)) for sealed in table.unique_keys)
    return TableSchema(to_text(table.schema_name), to_text(table.table_name), columns, keys or None)


def _column(info: ColumnInfoView) -> Column:
    name = to_text(info.mysql_type).lower()
    bare = name in CHOICE_TYPES or (name in FLOAT_TYPES and info.decimal < 0)
    type_ = ColumnType(
        name=name,
        length=None if bare or info.flen < 0 else info.flen,
        scale=None if name not in _SCALED or info.decimal < 0 else info.decimal,
    )
    return Column(name=to_text(info.name), type=type_, is_key=info.is_primary_key)


def _index(key: KeyView) -> Index:
    return Index(to_text(key.name), tuple(to_text(name) for name in key.column_names))


class Generation(msgspec.Struct, frozen=True):
    """Which fields Drainers of an age write."""

    lengths: bool = True
    unique_keys: bool = True


def table_head(table: TableSchema, generation: Generation) -> bytes:
    """The fields of a ``Table`` that come before its mutations."""
    view = TableView(
        schema_name=from_text(table.schema),
        table_name=from_text(table.table),
        column_info=[_column_info(column, generation) for column in table.columns],
    )
    return bytes(view.SerializeToString())


def table_tail(table: TableSchema, generation: Generation) -> bytes:
    """The fields of a ``Table`` that come after its mutations."""
    if not generation.unique_keys:
        return b""
    view = TableView(unique_keys=[_key(index) for index in table.indexes or () if index.unique])
    return bytes(view.SerializeToString())


def _column_info(column: Column, generation: Generation) -> bytes:
    info = ColumnInfoView(
        name=from_text(column.name), mysql_type=from_text(column.type.name), is_primary_key=column.is_key
    )
    if generation.lengths:
        info.flen = _int32(column.type.length)
        info.decimal = _int32(column.type.scale)
    return bytes(info.SerializeToString())


def _int32(number: int | None) -> int:
    """Lengths that do not fit (longtext has 4294967295) are not specified, as in TiDB."""
    return number if number is not None and number < 1 << 31 else _UNSPECIFIED


def _key(index: Index) -> bytes:
    view = KeyView(name=from_text(index.name), column_names=[from_text(name) for name in index.columns])
    return bytes(view.SerializeToString())
