"""What the envelope of a Canal-JSON message says, as events.

Rules

1. INSERT and DELETE have their rows in ``data``. UPDATE has the new rows in ``data`` and the old ones in ``old``, in
   the same order; a column that ``old`` leaves out did not change, so its old value is the one in ``data``. Neither
   the source nor the event tells such a column from one that was written with an equal value. An UPDATE whose ``old``
   is null changed nothing.
2. TiCDC before v5.4 repeats ``data`` in the ``old`` of a DELETE; it is not looked at.
3. Canal packs the rows of one binlog event into one message; each becomes an event of its own, in order.
4. Statements, watermarks, heartbeats, XA and GTID marks have no rows. DML in statement format is a statement too.
"""

import binascii
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Raw
from msgspec.structs import replace

from spark_jobs.cdc.codecs.canal_json.envelope import NO_EXTENSION, PROTOCOL, Envelope, Kind
from spark_jobs.cdc.codecs.canal_json.structure import Structure
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import (
    DELETE,
    INSERT,
    NO_ORIGIN,
    UPDATE,
    Ddl,
    Heartbeat,
    Origin,
    Row,
    RowChange,
    RowKind,
    TransactionMark,
    Watermark,
)

KINDS: Final = {"INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE}

Rowless: TypeAlias = Ddl | Watermark | Heartbeat | TransactionMark


def row_changes(envelope: Envelope, structure: Structure) -> Sequence[RowChange]:
    """The rows of a message that has some; raises ``DecodeError``."""
    kind = KINDS[envelope.type]
    rows, old = envelope.data or [], envelope.old
    if len(rows) == 1 and (not old or (len(old) == 1 and kind is not INSERT)):
        row = structure.row(rows[0])
        if kind is INSERT:
            return (_change(envelope, structure, INSERT, None, row),)
        if kind is DELETE:
            return (_change(envelope, structure, DELETE, row, None),)
        before = structure.old_row(old[0], row) if old else row
        return (_change(envelope, structure, UPDATE, before, row),)
    return _changes(envelope, structure, kind, rows)


def without_rows(envelope: Envelope) -> tuple[()] | tuple[Rowless]:
    """What a message without rows says; raises ``DecodeError``."""
    make = _WITHOUT_ROWS.get(envelope.kind)
    return (make(envelope),) if make is not None else ()


def _changes(envelope: Envelope, structure: Structure, kind: RowKind, rows: list[Raw]) -> list[RowChange]:
    if kind is UPDATE:
        olds: Sequence[Raw | None] = envelope.old or [None] * len(rows)
        if len(olds) != len(rows):
            raise DecodeError(PROTOCOL, f"{len(rows)} rows in data and {len(olds)} in old")
        return [_update(envelope, structure, old, new) for old, new in zip(olds, rows, strict=True)]
    if kind is DELETE:
        return [_change(envelope, structure, DELETE, structure.row(row), None) for row in rows]
    if envelope.old:
        raise DecodeError(PROTOCOL, "an INSERT with old")
    return [_change(envelope, structure, INSERT, None, structure.row(row)) for row in rows]


def _update(envelope: Envelope, structure: Structure, old: Raw | None, new: Raw) -> RowChange:
    after = structure.row(new)
    before = after if old is None else structure.old_row(old, after)
    return _change(envelope, structure, UPDATE, before, after)


def _change(
    envelope: Envelope, structure: Structure, kind: RowKind, before: Row | None, after: Row | None
) -> RowChange:
    tidb = envelope.extension or NO_EXTENSION
    change = RowChange(
        kind=kind,
        table=structure.table,
        before=before,
        after=after,
        commit_ts=tidb.commit_ts,
        es_ms=envelope.es,
        ts_ms=envelope.ts,
        sequence=envelope.id,
    )
    if envelope.gtid or tidb.only_handle_key or tidb.claim_check_location or tidb.rowkey:
        return replace(
            change,
            only_handle_key=tidb.only_handle_key,
            claim_check=tidb.claim_check_location,
            row_key=row_key(tidb.rowkey),
            origin=_origin(envelope),
        )
    return change


def row_key(text: str) -> bytes:
    """``_tidb.rowkey`` as bytes; raises ``DecodeError``."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise DecodeError(PROTOCOL, f"rowkey is not base64: {error}") from None


def _origin(envelope: Envelope) -> Origin:
    return Origin(gtid=envelope.gtid) if envelope.gtid else NO_ORIGIN


def _statement(envelope: Envelope) -> Ddl:
    return Ddl(
        schema=envelope.database,
        table=envelope.table,
        query=envelope.sql or "",
        canal_type=envelope.type,
        is_ddl=envelope.is_ddl,
        commit_ts=envelope.commit_ts,
        es_ms=envelope.es,
        ts_ms=envelope.ts,
        sequence=envelope.id,
        origin=_origin(envelope),
    )


def _watermark(envelope: Envelope) -> Watermark:
    if envelope.watermark_ts == 0:
        raise DecodeError(PROTOCOL, "a watermark without _tidb.watermarkTs")
    return Watermark(watermark_ts=envelope.watermark_ts, es_ms=envelope.es, ts_ms=envelope.ts)


def _heartbeat(envelope: Envelope) -> Heartbeat:
    return Heartbeat(es_ms=envelope.es, ts_ms=envelope.ts, origin=_origin(envelope))


def _mark(envelope: Envelope) -> TransactionMark:
    return TransactionMark(
        kind=envelope.type,  # type: ignore[arg-type]  # MARK_TYPES are its kinds
        query=envelope.sql or "",
        commit_ts=envelope.commit_ts,
        es_ms=envelope.es,
        ts_ms=envelope.ts,
        sequence=envelope.id,
        schema=envelope.database,
        table=envelope.table,
        origin=_origin(envelope),
    )


_WITHOUT_ROWS: Final[dict[Kind, Callable[[Envelope], Rowless]]] = {
    Kind.STATEMENT: _statement,
    Kind.WATERMARK: _watermark,
    Kind.HEARTBEAT: _heartbeat,
    Kind.MARK: _mark,
}
