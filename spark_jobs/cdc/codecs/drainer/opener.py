"""Opens payloads of Drainer's local files. The rules of the format stand in ``drainer``.

Consecutive events with the same columns of one table are one ``Rows``. Which of the columns are unsigned is learnt from
all of a transaction's events with these columns, so ``table`` decodes them. Only an insert has all columns.
"""

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError as ProtobufError

from spark_jobs.cdc.codec import Opened
from spark_jobs.cdc.codecs.drainer.statement import read_statement
from spark_jobs.cdc.codecs.drainer.types import TYPE_NAMES
from spark_jobs.cdc.codecs.tidb_binlog.datum import COMPARABLE_INT, COMPARABLE_UINT, UVARINT, VARINT, open_datum
from spark_jobs.cdc.codecs.tidb_binlog.layout import Layout, Signs
from spark_jobs.cdc.codecs.tidb_binlog.values import Form, Reader, to_text
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import (
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Row,
    RowChange,
    RowKind,
    TableSchema,
)
from spark_jobs.cdc.memory import MAX_COLUMNS, Living, Memory
from spark_jobs.cdc.proto import drainer_file_pb2 as wire
from spark_jobs.cdc.tso import physical_ms

PROTOCOL: Final = "drainer"
_DML, _DDL = 0, 1
_KINDS: Final[dict[int, RowKind]] = {0: INSERT, 1: UPDATE, 2: DELETE}
_SIGNED: Final = frozenset({VARINT, COMPARABLE_INT})
_UNSIGNED: Final = frozenset({UVARINT, COMPARABLE_UINT})

_LayoutKey = tuple[bytes, bytes, tuple[tuple[bytes, bytes, bytes], ...]]
_Image = tuple[RowKind, Row | None, Row | None]


class DrainerOpener:
    """One payload is one transaction (its rows in their order) or one DDL statement."""

    protocol: Final = PROTOCOL
    timed: Final = True
    marks: Final[tuple[bytes, ...]] = ()
    halves: Final = False

    def __init__(self) -> None:
        self._readers = {form: Reader(form, open_datum) for form in Form}
        self._layouts: Memory[_LayoutKey, Layout] = Memory(MAX_COLUMNS)
        self._living = Living()

    def open(self, message: bytes, /) -> Sequence[Opened]:
        """One payload; raises ``DecodeError``."""
        try:
            binlog = wire.Binlog.FromString(message)
        except ProtobufError:
            raise DecodeError(PROTOCOL, "the bytes are not a protobuf message Binlog") from None
        if binlog.commit_ts < 0:
            raise DecodeError(PROTOCOL, "commit_ts is missing or negative")
        if binlog.tp == _DML:
            return self._rows(binlog)
        if binlog.tp == _DDL:
            return (_ddl(binlog),)
        raise DecodeError(PROTOCOL, f"tp is {binlog.tp}, and only 0 (DML) and 1 (DDL) are known")

    def _rows(self, binlog: wire.Binlog) -> list[Opened]:
        alike: dict[int, _Alike] = {}
        found: list[Opened] = []
        rows: EventRows | None = None
        for number, event in enumerate(binlog.dml_data.events):
            try:
                columns = [wire.Column.FromString(sealed) for sealed in event.row]
                kind = _KINDS.get(event.tp)
                if kind is None:
                    raise ValueError(f"tp is {event.tp}, and only 0, 1 and 2 are known")
                layout = self._layout(event, columns)
            except (ValueError, ProtobufError) as error:
                raise _fault(number, event, error) from None
            events = alike.get(id(layout.structure))  # of equal ones always the same object, which the layout holds
            if events is None:
                events = alike[id(layout.structure)] = _Alike(layout)
            if rows is None or rows.events is not events:
                rows = EventRows(events, binlog.commit_ts)
                found.append(rows)
            rows.count += 1
            if kind is INSERT:
                rows.is_partial = False
            events.listed.append((number, event, kind, columns))
        return found

    def _layout(self, event: wire.Event, columns: list[wire.Column]) -> Layout:
        types = tuple([(column.name, column.tp, column.mysql_type) for column in columns])
        key = event.schema_name, event.table_name, types
        layout = self._layouts.get(key)
        if layout is None:
            layout = Layout(_schema(*key), self._readers, self._living)
            self._layouts.remember(key, layout, len(types) + 1)
        return layout


def _fault(number: int, event: wire.Event, error: Exception) -> DecodeError:
    name = f"{to_text(event.schema_name)}.{to_text(event.table_name)}"
    return DecodeError(PROTOCOL, f"event {number}, of table {name}: {error}")


class _Alike:
    """The events of a transaction with the same columns of one table."""

    __slots__ = ("_decoded", "layout", "listed")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.listed: list[tuple[int, wire.Event, RowKind, list[wire.Column]]] = []
        self._decoded: tuple[TableSchema, list[_Image]] | None = None

    def decoded(self) -> tuple[TableSchema, list[_Image]]:
        """Raises ``DecodeError``."""
        if self._decoded is None:
            signs = Signs(self.layout)
            images = []
            for number, event, kind, columns in self.listed:
                try:
                    images.append(_image(self.layout, kind, columns, signs))
                except ValueError as error:
                    raise _fault(number, event, error) from None
            self._decoded = self.layout.schema(signs.unsigned, signs.undecided), images
        return self._decoded


def _image(layout: Layout, kind: RowKind, columns: list[wire.Column], signs: Signs) -> _Image:
    values = [column.value for column in columns]
    first = _row(layout, values)
    _learn(signs, values)
    if kind is INSERT:
        return kind, None, first
    if kind is DELETE:
        return kind, first, None
    changed = [column.changed_value for column in columns]
    second = _row(layout, changed)
    _learn(signs, changed)
    return kind, first, second


class EventRows:
    """Neighbours among the events of a transaction."""

    __slots__ = ("_begin", "commit_ts", "count", "es_ms", "events", "is_partial", "name", "schema")

    def __init__(self, events: _Alike, commit_ts: int) -> None:
        self.events = events
        self.schema = events.layout.structure.schema
        self.name = events.layout.structure.table
        self.commit_ts = commit_ts
        self.es_ms = physical_ms(commit_ts)
        self.is_partial = True
        self.count = 0
        self._begin = len(events.listed)

    @property
    def table(self) -> TableSchema:
        """Decodes the rows; raises ``DecodeError``."""
        return self.events.decoded()[0]

    def changes(self) -> Sequence[RowChange]:
        """The rows; raises ``DecodeError``."""
        table, images = self.events.decoded()
        commit_ts, es_ms = self.commit_ts, self.es_ms
        return [
            RowChange(kind=kind, table=table, before=before, after=after, commit_ts=commit_ts, es_ms=es_ms)
            for kind, before, after in images[self._begin : self._begin + self.count]
        ]


def _learn(signs: Signs, values: list[bytes]) -> None:
    flags = {at: values[at][0] for at in signs.undecided}
    signs.learn(
        frozenset(at for at, flag in flags.items() if flag in _SIGNED),
        frozenset(at for at, flag in flags.items() if flag in _UNSIGNED),
    )


def _row(layout: Layout, values: list[bytes]) -> Row:
    try:
        return tuple([reader[sealed] for reader, sealed in zip(layout.readers, values, strict=True)])
    except ValueError as error:
        raise ValueError(f"{_bad_column(layout, values)}: {error}") from None


def _bad_column(layout: Layout, values: list[bytes]) -> str:
    for column, reader, sealed in zip(layout.columns, layout.readers, values, strict=True):
        try:
            reader[sealed]
        except ValueError:
            return f"column {column.name}"
    return "a column"


def _schema(schema: bytes, table: bytes, types: tuple[tuple[bytes, bytes, bytes], ...]) -> TableSchema:
    columns = tuple(
        Column(to_text(name), ColumnType(to_text(mysql_type).lower() or _name_of(tp))) for name, tp, mysql_type in types
    )
    return TableSchema(to_text(schema), to_text(table), columns)


def _name_of(tp: bytes) -> str:
    name = TYPE_NAMES.get(tp[0]) if tp else None
    if name is None:
        raise ValueError("a column has neither mysql_type nor a known tp")
    return name


def _ddl(binlog: wire.Binlog) -> Ddl:
    if not binlog.HasField("ddl_query"):
        raise DecodeError(PROTOCOL, "a message of type DDL has no ddl_query")
    schema, query = read_statement(to_text(binlog.ddl_query))
    commit_ts = binlog.commit_ts
    return Ddl(schema=schema, table="", query=query, commit_ts=commit_ts, es_ms=physical_ms(commit_ts))
