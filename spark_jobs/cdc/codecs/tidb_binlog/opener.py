"""Opens TiDB Binlog's Kafka messages. The rules of the format stand in ``tidb_binlog``.

Each ``Table`` of a transaction is one ``Rows``, in their order; the same name may come again. Its structure hangs on
the values (unsigned columns), so ``table`` decodes. Images have every column.
"""

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError as ProtobufError

from spark_jobs.cdc.codec import Opened
from spark_jobs.cdc.codecs.tidb_binlog.layout import Layout, Signs, schema_of
from spark_jobs.cdc.codecs.tidb_binlog.rows import RowReader
from spark_jobs.cdc.codecs.tidb_binlog.values import Form, Reader, open_column, to_text
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, Ddl, Row, RowChange, RowKind, TableSchema
from spark_jobs.cdc.memory import MAX_COLUMNS, Living, Memory
from spark_jobs.cdc.proto.tidb_binlog_view_pb2 import BinlogView, TableMutationView, TableView
from spark_jobs.cdc.tso import physical_ms

PROTOCOL: Final = "tidb-binlog"
DML, DDL = 0, 1
KINDS: Final[dict[int, RowKind]] = {0: INSERT, 1: UPDATE, 2: DELETE}

_StructureKey = tuple[bytes, bytes, tuple[bytes, ...], tuple[bytes, ...]]


class TidbBinlogOpener:
    """One message is one transaction (its rows, table by table) or one DDL statement."""

    protocol: Final = PROTOCOL
    timed: Final = True
    marks: Final[tuple[bytes, ...]] = ()
    halves: Final = False

    def __init__(self) -> None:
        self._readers = {form: Reader(form, open_column) for form in Form}
        self._structures: Memory[_StructureKey, _Known] = Memory(MAX_COLUMNS)
        self._known: Memory[bytes, _Known] = Memory(MAX_COLUMNS)
        self._living = Living()

    def open(self, message: bytes, /) -> Sequence[Opened]:
        """One message; raises ``DecodeError``."""
        try:
            binlog = BinlogView.FromString(message)
        except ProtobufError:
            raise DecodeError(PROTOCOL, "the bytes are not a protobuf message Binlog") from None
        commit_ts = binlog.commit_ts
        if commit_ts < 0:
            raise DecodeError(PROTOCOL, "commit_ts is missing or negative")
        if binlog.type == DML:
            tables = enumerate(binlog.dml_data.tables[:])
            return [TableRows(*self._table(sealed, number), commit_ts) for number, sealed in tables]
        if binlog.type == DDL:
            return (_statement(binlog, commit_ts),)
        raise DecodeError(PROTOCOL, f"type is {binlog.type}, and only 0 (DML) and 1 (DDL) are known")

    def _table(self, sealed: bytes, number: int) -> tuple["_Known", list[TableMutationView]]:
        """What is known of a table, and its mutations. Messages of one table differ in their mutations only."""
        names = _names(sealed)
        known = self._known.get(names)
        try:
            if known is not None:
                mutations = known.mutations(sealed)
                if mutations:
                    return known, mutations
            table = TableView.FromString(sealed)
            known = self._find(table)
        except ProtobufError:
            raise DecodeError(PROTOCOL, f"table {number} is not a protobuf message Table") from None
        self._known.remember(names, known, known.weight)
        return known, table.mutations[:]

    def _find(self, table: TableView) -> "_Known":
        key = table.schema_name, table.table_name, tuple(table.column_info), tuple(table.unique_keys)
        found = self._structures.get(key)
        if found is None:
            found = _Known(table, Layout(schema_of(table), self._readers, self._living))
            self._structures.remember(key, found, found.weight)
        return found


class TableRows:
    """The rows of one ``Table``."""

    __slots__ = ("_decoded", "_known", "_mutations", "commit_ts", "es_ms", "name", "schema")

    is_partial: Final = False

    def __init__(self, known: "_Known", mutations: list[TableMutationView], commit_ts: int) -> None:
        self._known = known
        self._mutations = mutations
        self.schema = known.schema
        self.name = known.name
        self.commit_ts = commit_ts
        self.es_ms = physical_ms(commit_ts)
        self._decoded: tuple[TableSchema, list[_Image]] | None = None

    @property
    def table(self) -> TableSchema:
        """Decodes the rows; raises ``DecodeError``."""
        return self._decode()[0]

    def changes(self) -> Sequence[RowChange]:
        """The rows; raises ``DecodeError``."""
        table, images = self._decode()
        commit_ts, es_ms = self.commit_ts, self.es_ms
        return [
            RowChange(kind=kind, table=table, before=before, after=after, commit_ts=commit_ts, es_ms=es_ms)
            for kind, before, after in images
        ]

    def _decode(self) -> tuple[TableSchema, list["_Image"]]:
        if self._decoded is None:
            images, signs = _images(self._known, self._mutations)
            self._decoded = self._known.layout.schema(signs.unsigned, signs.undecided), images
        return self._decoded


def _statement(binlog: BinlogView, commit_ts: int) -> Ddl:
    if not binlog.HasField("ddl_data"):
        raise DecodeError(PROTOCOL, "a message of type DDL has no ddl_data")
    data = binlog.ddl_data
    return Ddl(
        schema=to_text(data.schema_name),
        table=to_text(data.table_name),
        query=to_text(data.ddl_query),
        commit_ts=commit_ts,
        es_ms=physical_ms(commit_ts),
    )


def _names(sealed: bytes) -> bytes:
    """The fields schema_name and table_name at the beginning, if both are short; anything else otherwise."""
    try:
        schema = sealed[1]
        return sealed[: schema + 4 + sealed[schema + 3]]
    except IndexError:
        return b""


class _Known:
    """A structure, and the bytes of a ``Table`` before and after its mutations."""

    __slots__ = ("_after", "_before", "layout", "name", "rows", "schema", "weight")

    def __init__(self, table: TableView, layout: Layout) -> None:
        self.layout = layout
        self.schema = to_text(table.schema_name)
        self.name = to_text(table.table_name)
        self.rows = RowReader(layout)
        self.weight = len(layout.columns) + 1
        before = TableView(schema_name=table.schema_name, table_name=table.table_name, column_info=table.column_info)
        self._before = before.SerializeToString()
        self._after = TableView(unique_keys=table.unique_keys).SerializeToString()

    def mutations(self, sealed: bytes) -> list[TableMutationView]:
        """The mutations of a table with just these bytes around them; none if it has other ones."""
        begin, end = len(self._before), len(sealed) - len(self._after)
        if begin > end or not sealed.startswith(self._before) or not sealed.endswith(self._after):
            return []
        table = TableView.FromString(sealed[begin:end])
        mutations = table.mutations[:]
        return mutations if mutations and len(table.ListFields()) == 1 else []


_Image = tuple[RowKind, Row | None, Row | None]


def _images(known: _Known, mutations: list[TableMutationView]) -> tuple[list[_Image], Signs]:
    """Before and after image of every row, and what they say of the signs of columns."""
    images: list[_Image] = []
    signs = Signs(known.layout)
    read, shape = known.rows.read, None
    for number, mutation in enumerate(mutations):
        kind = KINDS.get(mutation.type)
        try:
            row, shape = read(mutation.row, shape)
            if signs.undecided:
                signs.learn(shape.signed, shape.unsigned)
            if kind is INSERT:
                images.append((INSERT, None, row))
            elif kind is UPDATE:
                old, shape = read(mutation.change_row, shape)
                images.append((UPDATE, old, row))
                if signs.undecided:
                    signs.learn(shape.signed, shape.unsigned)
            elif kind is DELETE:
                images.append((DELETE, row, None))
            else:
                raise ValueError(f"type {mutation.type} is none of 0, 1, 2")
        except ValueError as error:
            raise _fault(known, number, mutation, error) from None
    return images, signs


def _fault(known: _Known, number: int, mutation: TableMutationView, error: ValueError) -> DecodeError:
    schema = known.layout.schema()
    column = known.rows.bad_column(mutation.row) or known.rows.bad_column(mutation.change_row)
    where = f"table {schema.schema}.{schema.table}, mutation {number}{column and f', column {column}'}"
    return DecodeError(PROTOCOL, f"{where}: {error}")
