"""Opens and reads DataHub Blob records; the rules stand in ``datahub/blob.py``."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET

from spark_jobs.cdc.codec import Opened, Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.datahub import blob_message as wire
from spark_jobs.cdc.codecs.datahub.blob_message import CHECKPOINT_TIME, NAME
from spark_jobs.cdc.codecs.datahub.blob_shapes import Shape, shape_of, widened
from spark_jobs.cdc.codecs.datahub.streamx import TooLong, readers
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    Ddl,
    Event,
    Heartbeat,
    Origin,
    Row,
    RowChange,
    TableSchema,
    TransactionMark,
    Value,
)
from spark_jobs.cdc.memory import Living, Memory

DECODE_OPTIONS: Final = (Option("time-zone", "str", "UTC", "zone of the datetime columns that DATE is read as"),)

Rowless: TypeAlias = Ddl | Heartbeat | TransactionMark

_COUNTED_OPS = 100
_CACHED_SCHEMA_BYTES = 1 << 25
_ENTRY_BYTES = 1 << 9
_MAX_SEQUENCE_DIGITS = 100
_BYTE = re.compile(r" \(byte (\d+)\)$")


class Opener:
    """Opens Blob messages. ``skipped`` counts the messages with an ``op`` that nobody knows, by op."""

    protocol: Final = NAME
    timed: Final = False
    marks: Final[tuple[bytes, ...]] = ()
    halves: Final = True

    def __init__(self, options: Mapping[str, str]) -> None:
        self._readers = readers(Options(NAME, options, DECODE_OPTIONS).zone("time-zone"))
        self._message = msgspec.json.Decoder(wire.Message)
        self._schema = msgspec.json.Decoder(wire.Schema | None)
        self._shapes: Memory[bytes, Shape] = Memory(_CACHED_SCHEMA_BYTES)
        self._living = Living()
        self.skipped: Counter[str] = Counter()

    def open(self, message: bytes, /) -> Sequence[Opened]:
        """One message; raises ``DecodeError``."""
        parsed = self._parsed(message)
        payload, schema = parsed.payload, bytes(parsed.schema)
        if payload.op in wire.ROW_OPS:
            return (BlobRow(self, payload, self._shape(schema)),)
        return self._without_row(payload, schema)

    def events(self, message: bytes, /) -> Sequence[Event]:
        """The same with the row decoded."""
        parsed = self._parsed(message)
        payload, schema = parsed.payload, bytes(parsed.schema)
        if payload.op in wire.ROW_OPS:
            return (self.row(payload, self._shape(schema)),)
        return self._without_row(payload, schema)

    def _parsed(self, message: bytes) -> wire.Message:
        try:
            return self._message.decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _not_json(error) from None

    def _without_row(self, payload: wire.Payload, schema: bytes) -> tuple[()] | tuple[Rowless]:
        if payload.op in wire.DDL_OPS or payload.ddl:
            return (self._ddl(payload, self._shape(schema)),)
        if payload.op == "MHEARTBEAT":
            return (self._heartbeat(payload, self._shape(schema)),)
        if payload.op in wire.MARK_OPS:
            return (self._mark(payload, self._shape(schema)),)
        op = payload.op[:40]
        self.skipped[op if op in self.skipped or len(self.skipped) < _COUNTED_OPS else "others"] += 1
        return ()

    def row(self, payload: wire.Payload, shape: Shape) -> RowChange:
        """The row of a message; raises ``DecodeError``."""
        _check(payload, shape)
        while True:
            try:
                return _row_change(payload, shape)
            except _TooLongAt as error:
                shape = self._interned(widened(shape, error.column))

    def _ddl(self, payload: wire.Payload, shape: Shape) -> Ddl:
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

    def _heartbeat(self, payload: wire.Payload, shape: Shape) -> Heartbeat:
        return Heartbeat(
            es_ms=payload.timestamp.eventTime,
            ts_ms=payload.timestamp.systemTime or 0,
            checkpoint_ms=payload.timestamp.checkpointTime or 0,
            origin=shape.origin,
        )

    def _mark(self, payload: wire.Payload, shape: Shape) -> TransactionMark:
        return TransactionMark(
            kind=wire.MARK_OPS[payload.op],
            es_ms=payload.timestamp.eventTime,
            ts_ms=payload.timestamp.systemTime or 0,
            sequence=_sequence(payload.sequenceId),
            schema=shape.schema,
            table=shape.table,
            origin=_origin(payload, shape),
        )

    def _shape(self, text: bytes) -> Shape:
        found = self._shapes.get(text)
        if found is None:
            found = self._interned(shape_of(self._parse_schema(text), self._readers))
            self._shapes.remember(text, found, len(text) + _ENTRY_BYTES)
        return found

    def _parse_schema(self, text: bytes) -> wire.Schema:
        try:
            return self._schema.decode(text) or wire.Schema()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(NAME, f"schema: {_shortened(error)}") from None

    def _interned(self, shape: Shape) -> Shape:
        """The shape with the one ``TableSchema`` object that all rows of this structure share."""
        if shape.columns is None:
            return shape
        return msgspec.structs.replace(shape, columns=self._living.one(shape.columns))


class BlobRow:
    """The row of a message. A number that is too long for BIGINT changes its structure, so ``table`` decodes."""

    __slots__ = ("_changes", "_opener", "_payload", "_shape", "es_ms", "name", "schema")

    commit_ts: Final = 0
    is_partial: Final = False

    def __init__(self, opener: Opener, payload: wire.Payload, shape: Shape) -> None:
        _check(payload, shape)
        self.schema = shape.schema
        self.name = shape.table
        self.es_ms = payload.timestamp.eventTime
        self._opener = opener
        self._payload = payload
        self._shape = shape
        self._changes: tuple[RowChange] | None = None

    @property
    def table(self) -> TableSchema:
        """Decodes the row; raises ``DecodeError``."""
        return self.changes()[0].table

    def changes(self) -> tuple[RowChange]:
        """The row; raises ``DecodeError``."""
        if self._changes is None:
            self._changes = (self._opener.row(self._payload, self._shape),)
        return self._changes


class Decoder:
    """Reads Blob messages. ``skipped`` counts the messages with an ``op`` that nobody knows, by op."""

    def __init__(self, options: Mapping[str, str]) -> None:
        opener = Opener(options)
        self.decode: Final = opener.events
        """The events of a message; raises ``DecodeError``."""
        self.skipped: Final = opener.skipped


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


def _check(payload: wire.Payload, shape: Shape) -> None:
    if shape.columns is None or not shape.table:
        raise DecodeError(NAME, f"op {payload.op} without schema.dataColumn and schema.source.tableName")


def _row_change(payload: wire.Payload, shape: Shape) -> RowChange:
    kind, half = wire.ROW_OPS[payload.op]
    if payload.op == "UPDATE" and not (payload.before and payload.after):
        half = "before" if payload.before else "after"
    assert shape.columns is not None
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


def _row(image: wire.Image | msgspec.UnsetType | None, shape: Shape, op: str, side: str) -> Row:
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


def _origin(payload: wire.Payload, shape: Shape) -> Origin:
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
