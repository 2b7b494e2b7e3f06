"""Payloads of Drainer's local files → events. The rules of the format stand in ``drainer``."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError as ProtobufError

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
    Event,
    Row,
    RowChange,
    RowKind,
    TableSchema,
)
from spark_jobs.cdc.proto import drainer_file_pb2 as wire
from spark_jobs.cdc.tso import physical_ms

PROTOCOL: Final = "drainer"
_DML, _DDL = 0, 1
_KINDS: Final[dict[int, RowKind]] = {0: INSERT, 1: UPDATE, 2: DELETE}
_SIGNED: Final = frozenset({VARINT, COMPARABLE_INT})
_UNSIGNED: Final = frozenset({UVARINT, COMPARABLE_UINT})
_REMEMBERED_LAYOUTS: Final = 4096

_LayoutKey = tuple[bytes, bytes, tuple[tuple[bytes, bytes, bytes], ...]]
_Image = tuple[Layout, RowKind, Row | None, Row | None]


class DrainerDecoder:
    """One payload is one transaction (its rows in their order) or one DDL statement."""

    def __init__(self) -> None:
        self._readers = {form: Reader(form, open_datum) for form in Form}
        self._layouts: dict[_LayoutKey, Layout] = {}

    def decode(self, message: bytes, /) -> Sequence[Event]:
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

    def _rows(self, binlog: wire.Binlog) -> Sequence[Event]:
        signs: dict[Layout, Signs] = {}
        images = []
        for number, event in enumerate(binlog.dml_data.events):
            try:
                images.append(self._image(event, signs))
            except (ValueError, ProtobufError) as error:
                name = f"{to_text(event.schema_name)}.{to_text(event.table_name)}"
                raise DecodeError(PROTOCOL, f"event {number}, of table {name}: {error}") from None
        commit_ts, es_ms = binlog.commit_ts, physical_ms(binlog.commit_ts)
        schemas = {layout: layout.schema(learned.unsigned) for layout, learned in signs.items()}
        return [
            RowChange(kind=kind, table=schemas[layout], before=before, after=after, commit_ts=commit_ts, es_ms=es_ms)
            for layout, kind, before, after in images
        ]

    def _image(self, event: wire.Event, signs: dict[Layout, Signs]) -> _Image:
        kind = _KINDS.get(event.tp)
        if kind is None:
            raise ValueError(f"tp is {event.tp}, and only 0, 1 and 2 are known")
        columns = [wire.Column.FromString(sealed) for sealed in event.row]
        layout = self._layout(event, columns)
        learned = signs.setdefault(layout, Signs(layout))
        values = [column.value for column in columns]
        first = _row(layout, values)
        _learn(learned, values)
        if kind is INSERT:
            return layout, kind, None, first
        if kind is DELETE:
            return layout, kind, first, None
        changed = [column.changed_value for column in columns]
        second = _row(layout, changed)
        _learn(learned, changed)
        return layout, kind, first, second

    def _layout(self, event: wire.Event, columns: list[wire.Column]) -> Layout:
        types = tuple([(column.name, column.tp, column.mysql_type) for column in columns])
        key = event.schema_name, event.table_name, types
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= _REMEMBERED_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = Layout(_schema(*key), self._readers)
        return layout


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
