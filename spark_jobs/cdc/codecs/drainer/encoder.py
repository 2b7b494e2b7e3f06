"""Events → payloads of Drainer's local files. The rules of the format stand in ``drainer``."""

from collections.abc import Callable, Sequence
from typing import Final

from spark_jobs.cdc.codecs.drainer.statement import stored_statement
from spark_jobs.cdc.codecs.drainer.types import OTHER_TYPE_NUMBER, TYPE_NUMBERS
from spark_jobs.cdc.codecs.protobuf_bytes import delimited, varint
from spark_jobs.cdc.codecs.tidb_binlog.cells import expect, from_text
from spark_jobs.cdc.codecs.tidb_binlog.datum import write_bytes, write_float, write_int, write_uint
from spark_jobs.cdc.codecs.tidb_binlog.transactions import TransactionEncoder
from spark_jobs.cdc.codecs.tidb_binlog.values import Form, form_of
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Event,
    Row,
    RowChange,
    RowKind,
    TableSchema,
    Value,
)
from spark_jobs.cdc.memory import MAX_COLUMNS, Memory
from spark_jobs.cdc.mysql.values import choice_number

PROTOCOL: Final = "drainer"

_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH = b"\x0a", b"\x12", b"\x1a", b"\x22", b"\x2a"
_DML, _DDL = b"\x08\x00\x10", b"\x08\x01\x10"
_TP: Final[dict[RowKind, bytes]] = {INSERT: b"\x18\x00", UPDATE: b"\x18\x01", DELETE: b"\x18\x02"}
_NULL: Final = b"\x00"

_Write = Callable[[Value], bytes]


class DrainerEncoder:
    """One payload for a transaction, row by row, or for a DDL statement; see ``TransactionEncoder``."""

    def __init__(self) -> None:
        self._tables: Memory[int, _TableWriter] = Memory(MAX_COLUMNS)
        self._transactions = TransactionEncoder(PROTOCOL, self._row, _transaction, _ddl)
        self.encode: Callable[[Event], Sequence[bytes]] = self._transactions.encode
        self.flush: Callable[[], Sequence[bytes]] = self._transactions.flush

    def _row(self, event: RowChange) -> tuple[None, bytes]:
        table = self._tables.get(id(event.table))
        if table is None:
            table = _TableWriter(event.table)
            self._tables.remember(id(event.table), table, len(event.table.columns) + 1)
        return None, table.event(event)


class _TableWriter:
    """What is decided once for a ``TableSchema``, which it keeps alive so that its identity stays its own."""

    __slots__ = ("_columns", "_head", "schema")

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        try:
            self._head = delimited(_FIRST, from_text(schema.schema)) + delimited(_SECOND, from_text(schema.table))
            self._columns = [(_column_head(column), _value_writer(column.type)) for column in schema.columns]
        except UnicodeEncodeError as error:
            raise EncodeError(
                PROTOCOL, f"a name in table {schema.schema}.{schema.table} is not text: {error}"
            ) from None

    def event(self, event: RowChange) -> bytes:
        """The field ``events`` of DMLData with one row in it."""
        if event.kind is UPDATE:
            columns = self._two_values(event, self._full(event, event.before), self._full(event, event.after))
        else:
            columns = self._one_value(event, self._full(event, event.after if event.kind is INSERT else event.before))
        return delimited(_FIRST, b"".join([self._head, _TP[event.kind], *columns]))

    def _full(self, event: RowChange, row: Row | None) -> Row:
        if row is None or len(row) != len(self._columns):
            raise EncodeError(PROTOCOL, f"{self._where(event)} does not have the images and columns it should have")
        return row

    def _one_value(self, event: RowChange, row: Row) -> list[bytes]:
        return [
            delimited(_FOURTH, head + delimited(_FOURTH, self._datum(event, at, value)))
            for at, ((head, _), value) in enumerate(zip(self._columns, row, strict=True))
            if value is not ABSENT
        ]

    def _two_values(self, event: RowChange, old: Row, new: Row) -> list[bytes]:
        return [
            delimited(
                _FOURTH,
                head
                + delimited(_FOURTH, self._datum(event, at, before))
                + delimited(_FIFTH, self._datum(event, at, after)),
            )
            for at, ((head, _), before, after) in enumerate(zip(self._columns, old, new, strict=True))
            if before is not ABSENT or after is not ABSENT
        ]

    def _datum(self, event: RowChange, at: int, value: Value) -> bytes:
        try:
            return _NULL if value is None else self._columns[at][1](value)
        except ValueError as error:
            column = self.schema.columns[at].name
            raise EncodeError(PROTOCOL, f"{self._where(event)}: column {column}: {error}") from None

    def _where(self, event: RowChange) -> str:
        return f"{event.kind} in table {self.schema.schema}.{self.schema.table} at commit-ts {event.commit_ts}"


def _column_head(column: Column) -> bytes:
    number = TYPE_NUMBERS.get(column.type.name, OTHER_TYPE_NUMBER)
    fields = (from_text(column.name), bytes((number,)), from_text(column.type.name))
    return b"".join(map(delimited, (_FIRST, _SECOND, _THIRD), fields))


def _text(value: Value) -> bytes:
    return write_bytes(from_text(expect(value, str)))


def _bytes(value: Value) -> bytes:
    return write_bytes(expect(value, bytes))


def _float(value: Value) -> bytes:
    return write_float(expect(value, float))


def _signed(value: Value) -> bytes:
    number = expect(value, int)
    if number >= 1 << 63:
        return _unsigned(number)
    if number < -(1 << 63):
        raise ValueError(f"{number} does not fit 64 bits")
    return write_int(number)


def _unsigned(value: Value) -> bytes:
    number = expect(value, int)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{number} is not an unsigned number of 64 bits")
    return write_uint(number)


def _by_kind(value: Value) -> bytes:
    """The value says what it is, since the type does not."""
    write = _KINDS.get(type(value))
    if write is None:
        raise ValueError(f"{value!r:.80} has no form in a column without a type")
    return write(value)


_KINDS: Final[dict[type, _Write]] = {int: _signed, float: _float, bytes: _bytes, str: _text}

_WRITE: Final[dict[Form, _Write]] = {
    Form.INTEGER: _signed,
    Form.YEAR: _signed,
    Form.BIT: _unsigned,
    Form.FLOAT: _float,
    Form.BINARY: _bytes,
    Form.GEOMETRY: _bytes,
    Form.TEXT: _text,
    Form.JSON: _text,
    Form.UNTYPED: _by_kind,
}


def _value_writer(type_: ColumnType) -> _Write:
    form = form_of(type_.name)
    if form is Form.CHOICE:
        number = choice_number(type_)
        return lambda value: _unsigned(number(value))
    return _unsigned if type_.unsigned and form is Form.INTEGER else _WRITE[form]


def _transaction(commit_ts: int, rows: list[tuple[None, bytes]]) -> bytes:
    return _DML + varint(commit_ts) + delimited(_THIRD, b"".join([event for _, event in rows]))


def _ddl(event: Ddl) -> bytes:
    stored = from_text(stored_statement(event.schema, event.query))
    return _DDL + varint(event.commit_ts) + delimited(_FOURTH, stored)
