"""Events → TiDB Binlog's Kafka messages. The rules of the format stand in ``tidb_binlog``."""

from collections.abc import Callable, Sequence
from typing import Final

from spark_jobs.cdc.codecs.protobuf_bytes import delimited, varint
from spark_jobs.cdc.codecs.tidb_binlog.cells import NULL_CELL, cell_writer, from_text
from spark_jobs.cdc.codecs.tidb_binlog.layout import Generation, table_head, table_tail
from spark_jobs.cdc.codecs.tidb_binlog.transactions import TransactionEncoder
from spark_jobs.cdc.codecs.tidb_binlog.writers import row_writer
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import DELETE, UPDATE, Ddl, Event, Row, RowChange, TableSchema
from spark_jobs.cdc.memory import MAX_COLUMNS, Memory

PROTOCOL: Final = "tidb-binlog"

_FIRST, _SECOND, _THIRD, _FOURTH = b"\x0a", b"\x12", b"\x1a", b"\x22"
_DML, _DDL = b"\x08\x00\x10", b"\x08\x01\x10"
"""The type, and the tag of commit_ts."""


class TidbBinlogEncoder:
    """One message for a transaction, grouped by table, or for a DDL statement; see ``TransactionEncoder``."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._tables: Memory[int, _TableWriter] = Memory(MAX_COLUMNS)
        self._transactions = TransactionEncoder(PROTOCOL, self._row, _transaction, _ddl)
        self.encode: Callable[[Event], Sequence[bytes]] = self._transactions.encode
        self.flush: Callable[[], Sequence[bytes]] = self._transactions.flush

    def _row(self, event: RowChange) -> tuple["_TableWriter", bytes]:
        table = self._table(event.table)
        return table, table.mutation(event)

    def _table(self, table: TableSchema) -> "_TableWriter":
        found = self._tables.get(id(table))
        if found is None:
            found = _TableWriter(table, self._generation)
            self._tables.remember(id(table), found, len(table.columns) + 1)
        return found


class _TableWriter:
    """What is decided once for a ``TableSchema``, which it keeps alive so that its identity stays its own."""

    __slots__ = ("cells", "head", "name", "schema", "tail", "write")

    def __init__(self, schema: TableSchema, generation: Generation) -> None:
        self.schema = schema
        self.name = schema.schema, schema.table
        try:
            self.head = table_head(schema, generation)
            self.tail = table_tail(schema, generation)
        except UnicodeEncodeError as error:
            raise EncodeError(PROTOCOL, f"a name in table {self.name} is not text: {error}") from None
        types = [column.type for column in schema.columns]
        self.cells = tuple(map(cell_writer, types))
        self.write = row_writer(types, self.cells)

    def is_like(self, other: "_TableWriter") -> bool:
        """Whether rows of both can stand in one ``Table``."""
        return self is other or (self.head == other.head and self.tail == other.tail)

    def mutation(self, event: RowChange) -> bytes:
        """The field ``mutations`` of a table with one row in it."""
        kind, image = (_DELETED, event.before) if event.kind is DELETE else (_INSERTED, event.after)
        old = b""
        if event.kind is UPDATE:
            kind, old = _UPDATED, delimited(_THIRD, self._row(event.before, event))
        row = self._row(image, event)
        return delimited(_FOURTH, b"".join((kind, varint(len(row)), row, old)))

    def _row(self, row: Row | None, event: RowChange) -> bytes:
        try:
            return self.write(row)  # type: ignore[arg-type]
        except _NO_ROW:
            pass
        if row is None or len(row) != len(self.cells):
            raise EncodeError(PROTOCOL, f"{self._where(event)} does not have the images and columns it should have")
        try:
            return b"".join(
                [NULL_CELL if value is None else cell(value) for cell, value in zip(self.cells, row, strict=True)]
            )
        except ValueError:
            raise EncodeError(PROTOCOL, f"{self._where(event)}: {self._bad_column(row)}") from None

    def _where(self, event: RowChange) -> str:
        return f"{event.kind} in table {'.'.join(self.name)} at commit-ts {event.commit_ts}"

    def _bad_column(self, row: Row) -> str:
        for column, cell, value in zip(self.schema.columns, self.cells, row, strict=True):
            try:
                if value is not None:
                    cell(value)
            except ValueError as error:
                return f"column {column.name}: {error}"
        return "a value cannot be written"


_INSERTED, _UPDATED, _DELETED = b"\x08\x00\x12", b"\x08\x01\x12", b"\x08\x02\x12"
"""A mutation's type, and the tag of its row."""

_NO_ROW: Final = (TypeError, ValueError, AttributeError, LookupError)


def _transaction(commit_ts: int, rows: list[tuple[_TableWriter, bytes]]) -> bytes:
    tables = [delimited(_FIRST, b"".join([table.head, *mutations, table.tail])) for table, mutations in _by_table(rows)]
    return _DML + varint(commit_ts) + delimited(_THIRD, b"".join(tables))


def _by_table(rows: list[tuple[_TableWriter, bytes]]) -> list[tuple[_TableWriter, list[bytes]]]:
    """A table whose structure changes on the way goes on in a new entry, so that its rows stay in order."""
    entries: list[tuple[_TableWriter, list[bytes]]] = []
    last: dict[tuple[str, str], tuple[_TableWriter, list[bytes]]] = {}
    for table, mutation in rows:
        entry = last.get(table.name)
        if entry is None or not table.is_like(entry[0]):
            entry = last[table.name] = (table, [])
            entries.append(entry)
        entry[1].append(mutation)
    return entries


def _ddl(event: Ddl) -> bytes:
    fields = [from_text(text) for text in (event.schema, event.table, event.query)]
    content = b"".join(map(delimited, (_FIRST, _SECOND, _THIRD), fields))
    return _DDL + varint(event.commit_ts) + delimited(_FOURTH, content)
