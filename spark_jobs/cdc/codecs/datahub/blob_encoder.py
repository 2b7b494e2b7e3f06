"""Writes DataHub Blob records; the rules stand in ``datahub/blob.py``."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from spark_jobs.cdc import tso
from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.datahub import blob_message as wire
from spark_jobs.cdc.codecs.datahub.blob_message import CHECKPOINT_TIME, NAME
from spark_jobs.cdc.codecs.datahub.sequence import SEQUENCE_OPTIONS, Numbering
from spark_jobs.cdc.codecs.datahub.streamx import WRITE_OPTIONS, Json, Rules, Write, writer
from spark_jobs.cdc.ddl import canal_type_of
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Ddl,
    Event,
    Heartbeat,
    Origin,
    RowChange,
    TableSchema,
    TransactionMark,
    Watermark,
)
from spark_jobs.cdc.memory import MAX_COLUMNS, Memory
from spark_jobs.cdc.rows.key_only import refuse_key_only

ENCODE_OPTIONS: Final = (
    *WRITE_OPTIONS,
    *SEQUENCE_OPTIONS,
    Option("watermark", "choice", "heartbeat", "watermarks as heartbeats, or not at all", ("heartbeat", "drop")),
)


class _Plan(msgspec.Struct, frozen=True):
    """What one table decided: the bytes of ``schema`` and a writer for each column. Holds the table, so that its id
    stays its own."""

    table: TableSchema
    schema: Raw
    writers: tuple[tuple[str, Write], ...]


class Encoder:
    """Writes Blob messages. ``dropped`` counts the events that have no form here (watermarks, if so asked).

    ``numbering.last`` is the state to keep across restarts.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        given = Options(NAME, options, ENCODE_OPTIONS)
        self._rules = Rules.of(given)
        self._drop_watermarks = given.text("watermark") == "drop"
        self._json = msgspec.json.Encoder()
        self._plans: Memory[tuple[int, str, str, str], _Plan] = Memory(MAX_COLUMNS)
        self.numbering = Numbering.of(given)
        self.dropped: Counter[str] = Counter()

    def encode(self, event: Event, /) -> Sequence[bytes]:
        return self._writers[type(event)](self, event)

    def flush(self) -> Sequence[bytes]:
        return ()

    def _row(self, event: RowChange) -> list[bytes]:
        if event.only_handle_key or event.claim_check:
            refuse_key_only(event, NAME)
        plan = self._plan(event.table, event.origin)
        images = [(op, side, self._image(event, side, plan)) for op, side in _messages_of(event)]
        sequence = str(self.numbering.number(event))
        time = _timestamp(event)
        return [
            self._dump(
                plan.schema,
                wire.PayloadOut(
                    op=op,
                    before=image if side == "before" else UNSET,
                    after=image if side == "after" else UNSET,
                    sequenceId=sequence,
                    timestamp=time,
                ),
            )
            for op, side, image in images
        ]

    def _image(self, event: RowChange, side: str, plan: _Plan) -> wire.ImageOut:
        row = event.before if side == "before" else event.after
        if row is None:
            raise EncodeError(NAME, f"{event.kind} of {_full_name(event.table)} without its {side} image")
        data: dict[str, Json | Raw] = {}
        name = ""
        try:
            for (name, write), value in zip(plan.writers, row, strict=True):
                if value is not ABSENT:
                    data[name] = None if value is None else write(value)
        except (ValueError, TypeError, OverflowError) as error:
            raise EncodeError(NAME, f"column {name!r} of {_full_name(event.table)}: {error}") from None
        return wire.ImageOut(data)

    def _ddl(self, event: Ddl) -> list[bytes]:
        source = _source(event.schema, event.table, event.origin)
        payload = wire.PayloadOut(
            op=_ddl_op(event),
            sequenceId=str(self.numbering.number(event)),
            ddl=wire.Statement(event.query, event.ddl_meta),
            timestamp=_timestamp(event),
        )
        return [self._dump(self._schema(wire.Schema(source=source), event), payload)]

    def _heartbeat(self, event: Heartbeat) -> list[bytes]:
        time = wire.Timestamp(
            eventTime=event.es_ms,
            systemTime=event.ts_ms or UNSET,
            checkpointTime=event.checkpoint_ms or event.es_ms,
        )
        return [self._dump(Raw(b"{}"), wire.PayloadOut(op="MHEARTBEAT", timestamp=time))]

    def _watermark(self, event: Watermark) -> list[bytes]:
        if self._drop_watermarks:
            self.dropped["Watermark"] += 1
            return []
        return self._heartbeat(Heartbeat(es_ms=tso.physical_ms(event.watermark_ts)))

    def _mark(self, event: TransactionMark) -> list[bytes]:
        payload = wire.PayloadOut(
            op=_MARK_NAMES[event.kind],
            sequenceId=str(event.sequence) if event.sequence else UNSET,
            timestamp=_timestamp(event),
        )
        source = _source(event.schema, event.table, event.origin)
        schema = wire.Schema(source=source) if event.schema or event.table or event.origin.db_type else wire.Schema()
        return [self._dump(self._schema(schema, event), payload)]

    def _plan(self, table: TableSchema, origin: Origin) -> _Plan:
        key = (id(table), origin.db_type, origin.db_version, origin.schema_name)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._make_plan(table, origin)
            self._plans.remember(key, plan, len(table.columns) + 1)
        return plan

    def _make_plan(self, table: TableSchema, origin: Origin) -> _Plan:
        columns = [(column.name, *writer(column.type, self._rules)) for column in table.columns]
        schema = wire.Schema(
            dataColumn=[wire.DataColumn(name, streamx) for name, streamx, _ in columns],
            source=_source(table.schema, table.table, origin),
            primaryKey=list(_key_in_order(table)),
        )
        return _Plan(table, self._schema(schema, table), tuple((name, write) for name, _, write in columns))

    def _schema(self, schema: wire.Schema, named: TableSchema | Ddl | TransactionMark) -> Raw:
        try:
            return Raw(self._json.encode(schema))
        except UnicodeEncodeError:
            raise EncodeError(NAME, f"a name in {named.schema}.{named.table} is not UTF-8") from None

    def _dump(self, schema: Raw, payload: wire.PayloadOut) -> bytes:
        try:
            return self._json.encode(wire.MessageOut(schema, payload))
        except UnicodeEncodeError as error:
            raise EncodeError(NAME, f"a text is not UTF-8 (at its character {error.start}), JSON needs that") from None

    _writers: Final[dict[type, Callable[..., list[bytes]]]] = {
        RowChange: _row,
        Ddl: _ddl,
        Heartbeat: _heartbeat,
        Watermark: _watermark,
        TransactionMark: _mark,
    }


_MARK_NAMES: Final = {kind: op for op, kind in wire.MARK_OPS.items()}
_WHOLE: Final = {
    INSERT: (("INSERT", "after"),),
    UPDATE: (("UPDATE_BEFOR", "before"), ("UPDATE_AFTER", "after")),
    DELETE: (("DELETE", "before"),),
}


def _messages_of(event: RowChange) -> tuple[tuple[str, str], ...]:
    """(op, image) of each message that an event becomes; an update whose old row is not known is its after half."""
    messages = _WHOLE[event.kind]
    half = event.half or ("after" if event.kind is UPDATE and event.before is None else "")
    return tuple(message for message in messages if not half or message[1] == half)


def _key_in_order(table: TableSchema) -> tuple[str, ...]:
    primary = next((index.columns for index in table.indexes or () if index.name == "PRIMARY"), None)
    return primary or table.key_columns


def _source(database: str, table: str, origin: Origin) -> wire.Source:
    return wire.Source(
        dbName=database,
        dbType=origin.db_type or "MySQL",
        tableName=table,
        dbVersion=origin.db_version or UNSET,
        schemaName=origin.schema_name or UNSET,
    )


def _timestamp(event: RowChange | Ddl | TransactionMark) -> wire.Timestamp:
    event_ms = event.es_ms or tso.physical_ms(event.commit_ts)
    checkpoint = dict(event.origin.props).get(CHECKPOINT_TIME, "") if event.origin.props else ""
    return wire.Timestamp(
        eventTime=event_ms,
        systemTime=event.ts_ms or UNSET,
        checkpointTime=int(checkpoint) if checkpoint.isdigit() else event_ms,
    )


def _ddl_op(event: Ddl) -> str:
    return event.canal_type if event.canal_type in wire.DDL_OPS else canal_type_of(event.query)


def _full_name(table: TableSchema) -> str:
    return f"{table.schema}.{table.table}"
