"""Reads DataHub Blob records; the rules stand in ``datahub/blob.py``."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.datahub import blob_message as wire
from spark_jobs.cdc.codecs.datahub.blob_message import CHECKPOINT_TIME, NAME
from spark_jobs.cdc.codecs.datahub.streamx import READ_AS, UNSIGNED_LONG, Read, TooLong, read_unsigned, readers
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    Column,
    Ddl,
    Event,
    Heartbeat,
    Index,
    Origin,
    Row,
    RowChange,
    TableSchema,
    TransactionMark,
    Value,
)

DECODE_OPTIONS: Final = (Option("time-zone", "str", "UTC", "zone of the datetime columns that DATE is read as"),)

_CACHED_TABLES = 1000
_COUNTED_OPS = 100
_CACHED_SCHEMA_BYTES = 1 << 16
_MAX_SEQUENCE_DIGITS = 100
_BYTE = re.compile(r" \(byte (\d+)\)$")


class _Shape(msgspec.Struct, frozen=True):
    """What one text of ``schema`` decided. ``columns`` is None where the message has no ``dataColumn``."""

    schema: str
    table: str
    origin: Origin
    columns: TableSchema | None
    readers: tuple[tuple[str, Read], ...]


class Decoder:
    """Reads Blob messages. ``skipped`` counts the messages with an ``op`` that nobody knows, by op."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._readers = readers(Options(NAME, options, DECODE_OPTIONS).zone("time-zone"))
        self._message = msgspec.json.Decoder(wire.Message)
        self._schema = msgspec.json.Decoder(wire.Schema | None)
        self._shapes: dict[bytes, _Shape] = {}
        self._tables: dict[TableSchema, TableSchema] = {}
        self.skipped: Counter[str] = Counter()

    def decode(self, message: bytes, /) -> Sequence[Event]:
        try:
            parsed = self._message.decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _not_json(error) from None
        payload = parsed.payload
        if payload.op in wire.ROW_OPS:
            return (self._row(payload, bytes(parsed.schema)),)
        if payload.op in wire.DDL_OPS or payload.ddl:
            return (self._ddl(payload, self._shape(bytes(parsed.schema))),)
        if payload.op == "MHEARTBEAT":
            return (self._heartbeat(payload, self._shape(bytes(parsed.schema))),)
        if payload.op in wire.MARK_OPS:
            return (self._mark(payload, self._shape(bytes(parsed.schema))),)
        op = payload.op[:40]
        self.skipped[op if op in self.skipped or len(self.skipped) < _COUNTED_OPS else "others"] += 1
        return ()

    def _row(self, payload: wire.Payload, schema: bytes) -> RowChange:
        shape = self._shape(schema)
        while True:
            try:
                return _row_change(payload, shape)
            except _TooLongAt as error:
                shape = self._interned(_widened(shape, error.column))

    def _ddl(self, payload: wire.Payload, shape: _Shape) -> Ddl:
        if not payload.ddl:
            raise DecodeError(NAME, f"op {payload.op} without ddl.text")
        return Ddl(
            schema=shape.schema,
            table=shape.table,
            query=payload.ddl.text,
            canal_type=payload.op,
            es_ms=payload.timestamp.eventTime,
            ts_ms=payload.timestamp.systemTime or 0,
            sequence=_sequence(payload.sequenceId),
            ddl_meta=payload.ddl.ddlMeta,
            origin=_origin(payload, shape),
        )

    def _heartbeat(self, payload: wire.Payload, shape: _Shape) -> Heartbeat:
        return Heartbeat(
            es_ms=payload.timestamp.eventTime,
            ts_ms=payload.timestamp.systemTime or 0,
            checkpoint_ms=payload.timestamp.checkpointTime or 0,
            origin=shape.origin,
        )

    def _mark(self, payload: wire.Payload, shape: _Shape) -> TransactionMark:
        return TransactionMark(
            kind=wire.MARK_OPS[payload.op],
            es_ms=payload.timestamp.eventTime,
            ts_ms=payload.timestamp.systemTime or 0,
            sequence=_sequence(payload.sequenceId),
            schema=shape.schema,
            table=shape.table,
            origin=_origin(payload, shape),
        )

    def _shape(self, text: bytes) -> _Shape:
        found = self._shapes.get(text)
        if found is None:
            found = self._interned(_shape_of(self._parse_schema(text), self._readers))
            if len(text) <= _CACHED_SCHEMA_BYTES:
                if len(self._shapes) >= _CACHED_TABLES:
                    self._shapes.clear()
                self._shapes[text] = found
        return found

    def _parse_schema(self, text: bytes) -> wire.Schema:
        try:
            return self._schema.decode(text) or wire.Schema()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(NAME, f"schema: {_shortened(error)}") from None

    def _interned(self, shape: _Shape) -> _Shape:
        """The shape with the one ``TableSchema`` object that all rows of this structure share."""
        if shape.columns is None:
            return shape
        if len(self._tables) >= _CACHED_TABLES:
            self._tables.clear()
        return msgspec.structs.replace(shape, columns=self._tables.setdefault(shape.columns, shape.columns))


class _TooLongAt(Exception):
    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


def _not_json(error: Exception) -> DecodeError:
    text = _shortened(error)
    at = _BYTE.search(text)
    return DecodeError(NAME, _BYTE.sub("", text), offset=int(at[1]) if at else None)


def _shortened(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:300]


def _shape_of(schema: wire.Schema, read_as: Mapping[str, Read]) -> _Shape:
    source = schema.source or wire.Source()
    origin = Origin(db_type=source.dbType or "", db_version=source.dbVersion or "", schema_name=source.schemaName or "")
    database, table = source.dbName or "", source.tableName or ""
    if not schema.dataColumn:
        return _Shape(database, table, origin, None, ())
    types = _types(schema.dataColumn)
    # the documented skeleton lists key names that are no columns
    keys = tuple(name for name in schema.primaryKey or () if name in types)
    columns = tuple(Column(name, READ_AS[streamx], is_key=name in keys) for name, streamx in types.items())
    in_table_order = tuple(column.name for column in columns if column.is_key)
    indexes = None if keys == in_table_order else (Index("PRIMARY", keys),)
    return _Shape(
        database,
        table,
        origin,
        TableSchema(database, table, columns, indexes),
        tuple((name, read_as[streamx]) for name, streamx in types.items()),
    )


def _types(columns: list[wire.DataColumn]) -> dict[str, str]:
    types = {column.name: column.type.upper() for column in columns}
    if len(types) < len(columns):
        raise DecodeError(NAME, "schema.dataColumn names a column twice")
    for name, streamx in types.items():
        if streamx not in READ_AS:
            raise DecodeError(NAME, f"column {name!r} has type {streamx[:40]!r}, which is none of {', '.join(READ_AS)}")
    return types


def _widened(shape: _Shape, name: str) -> _Shape:
    assert shape.columns is not None
    columns = tuple(
        msgspec.structs.replace(column, type=UNSIGNED_LONG) if column.name == name else column
        for column in shape.columns.columns
    )
    return msgspec.structs.replace(
        shape,
        columns=msgspec.structs.replace(shape.columns, columns=columns),
        readers=tuple((key, read_unsigned if key == name else read) for key, read in shape.readers),
    )


def _row_change(payload: wire.Payload, shape: _Shape) -> RowChange:
    kind, half = wire.ROW_OPS[payload.op]
    if payload.op == "UPDATE" and not (payload.before and payload.after):
        half = "before" if payload.before else "after"
    if shape.columns is None or not shape.table:
        raise DecodeError(NAME, f"op {payload.op} without schema.dataColumn and schema.source.tableName")
    return RowChange(
        kind=kind,
        table=shape.columns,
        before=None if kind is INSERT or half == "after" else _row(payload.before, shape, payload.op, "before"),
        after=None if kind is DELETE or half == "before" else _row(payload.after, shape, payload.op, "after"),
        es_ms=payload.timestamp.eventTime,
        ts_ms=payload.timestamp.systemTime or 0,
        sequence=_sequence(payload.sequenceId),
        half=half,
        origin=_origin(payload, shape),
    )


def _row(image: wire.Image | msgspec.UnsetType | None, shape: _Shape, op: str, side: str) -> Row:
    if not image:
        raise DecodeError(NAME, f"op {op} without payload.{side}")
    data = image.dataColumn
    values: list[Value] = []
    name = ""
    try:
        for name, read in shape.readers:
            value = data.get(name, ABSENT)
            values.append(value if value is None or value is ABSENT else read(value))
    except ValueError as error:
        raise DecodeError(NAME, f"column {name!r} in payload.{side}: {error}") from None
    except TooLong:
        raise _TooLongAt(name) from None
    if len(data) - len(values) + values.count(ABSENT):
        untyped = ", ".join(sorted(data.keys() - dict(shape.readers).keys()))
        raise DecodeError(NAME, f"payload.{side} has columns without a type in schema.dataColumn: {untyped[:200]}")
    return tuple(values)


def _origin(payload: wire.Payload, shape: _Shape) -> Origin:
    checkpoint = payload.timestamp.checkpointTime or payload.timestamp.eventTime
    if checkpoint == payload.timestamp.eventTime:
        return shape.origin
    return msgspec.structs.replace(shape.origin, props=((CHECKPOINT_TIME, str(checkpoint)),))


def _sequence(given: int | str | msgspec.UnsetType | None) -> int:
    if given is None or given is UNSET:
        return 0
    text = str(given)
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_SEQUENCE_DIGITS):
        raise DecodeError(NAME, f"sequenceId {text[:40]!r} is not a number")
    return int(text)
