"""Events to Canal-JSON messages, as TiCDC or as Canal's own server writes them; one event is one message.

Rules

1. ``es`` is the event's own source time, or that of its commit-ts; ``ts`` the event's own build time, or ``es``.
2. TiCDC writes watermarks only with the extension; begin, end, heartbeats and marks never.
3. Canal writes XA COMMIT and ROLLBACK as statements; begin, end, watermarks and heartbeats never.
4. A statement that comes without a word of Canal's for its kind gets the one that its text tells.
5. ``delete-only-output-handle-key-columns``: the handle key is the primary key, else the first of the unique indexes
   with the fewest columns that are all NOT NULL; without one the whole row is written, so that nothing is lost.
6. A row of which the source sent the key alone is refused where the mark that says so has no place: without extension.
7. The half of an update is refused: formats that cut updates must be joined before.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET, Raw

from spark_jobs.cdc import tso
from spark_jobs.cdc.bounded_cache import remember
from spark_jobs.cdc.codecs.canal_json_envelope import PROTOCOL, ROW_TYPES, STATEMENT_TYPES, WATERMARK_TYPE
from spark_jobs.cdc.codecs.canal_json_layout import (
    CanalRow,
    CommitTs,
    JsonRows,
    TicdcRow,
    canal_json,
    canal_rowless,
    marked_extension,
    rowless_extension,
    ticdc_json,
    ticdc_rowless,
)
from spark_jobs.cdc.codecs.canal_json_options import encode_options
from spark_jobs.cdc.codecs.canal_json_plan import WRONG_VALUE, TablePlans
from spark_jobs.cdc.codecs.canal_json_text import json_of
from spark_jobs.cdc.ddl import canal_type_of
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import (
    DELETE,
    INSERT,
    UPDATE,
    Ddl,
    Event,
    RowChange,
    TableSchema,
    TransactionMark,
    Watermark,
)
from spark_jobs.cdc.key_only import refuse_key_only
from spark_jobs.cdc.mysql_types import Dialect


class Encoder:
    """Writes one dialect; keeps a plan per table schema."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = encode_options(options)
        self._plans: dict[int, TablePlans] = {}
        self._is_canal = self.options.dialect is Dialect.CANAL
        self._extension = self.options.extension
        self._only_updated = self.options.only_updated
        self._delete_old = self.options.delete_old
        self._write: dict[type, Callable[..., bytes | None]] = (
            {Ddl: _canal_statement, TransactionMark: _canal_mark}
            if self._is_canal
            else {Ddl: self._ticdc_statement, Watermark: self._ticdc_watermark}
        )

    def encode(self, event: Event, /) -> list[bytes]:
        if type(event) is RowChange:
            return [self._row(event)]
        write = self._write.get(type(event))
        message = write(event) if write is not None else None
        return [] if message is None else [message]

    def flush(self) -> list[bytes]:
        return []

    def _row(self, change: RowChange) -> bytes:
        if not self._extension and (change.only_handle_key or change.claim_check):
            refuse_key_only(change, PROTOCOL)
        plans = self._plans.get(id(change.table)) or self._add(change.table)
        kind, row, before = change.kind, change.after, None
        if kind is INSERT:
            plan = plans.insert
        elif kind is DELETE:
            plan, row = plans.delete, change.before
        else:
            plan, before = plans.update, change.before
        if row is None or (before is None and kind is UPDATE):
            raise EncodeError(PROTOCOL, _missing(change))
        try:
            make = plan.object  # a method call on what is an attribute is slow
            data = make(row)
            if data is None:
                plan = plans.partial(plan, row)
                make = plan.object
                data = make(row)
            old: JsonRows | None = None
            if before is not None:
                old = [plan.changes(before, row) if self._only_updated else make(before) or plan.cells(before)]
            elif self._delete_old and kind is DELETE:
                old = [data]
            parts = plan.parts(row)
        except WRONG_VALUE:
            plan.explain(row, before)
        es = change.es_ms or tso.physical_ms(change.commit_ts)
        ts = change.ts_ms or es
        if self._is_canal:
            database, middle, names, type_ = parts
            gtid = Raw(json_of(change.origin.gtid, Dialect.CANAL))
            return canal_json(CanalRow([data], database, es, gtid, change.sequence, middle, old, names, ts, type_))
        head, middle = parts
        return ticdc_json(TicdcRow(head, es, ts, middle, old, [data], _tidb(change) if self._extension else UNSET))

    def _add(self, table: TableSchema) -> TablePlans:
        plans = TablePlans(table, self.options)
        remember(self._plans, id(table), plans)
        return plans

    def _ticdc_statement(self, ddl: Ddl) -> bytes:
        es = ddl.es_ms or tso.physical_ms(ddl.commit_ts)
        extension = rowless_extension(commit_ts=ddl.commit_ts) if self._extension else b""
        names = (ddl.schema, ddl.table)
        return ticdc_rowless(_type_of(ddl), ddl.is_ddl, names, es, ddl.ts_ms or es, ddl.query, extension)

    def _ticdc_watermark(self, mark: Watermark) -> bytes | None:
        if not self._extension:
            return None
        es = mark.es_ms or tso.physical_ms(mark.watermark_ts)
        extension = rowless_extension(watermark_ts=mark.watermark_ts)
        return ticdc_rowless(WATERMARK_TYPE, False, ("", ""), es, mark.ts_ms or es, "", extension)


def _tidb(change: RowChange) -> CommitTs | Raw:
    if change.row_key or change.only_handle_key or change.claim_check:
        return marked_extension(change.commit_ts, change.only_handle_key, change.claim_check, change.row_key)
    return CommitTs(change.commit_ts)


def _canal_statement(ddl: Ddl) -> bytes:
    return _canal_rowless(ddl, _type_of(ddl), ddl.is_ddl)


def _type_of(ddl: Ddl) -> str:
    return ddl.canal_type if ddl.canal_type in _DDL_TYPES else canal_type_of(ddl.query)


_DDL_TYPES: Final = STATEMENT_TYPES | ROW_TYPES  # the latter for DML in statement format


def _canal_mark(mark: TransactionMark) -> bytes | None:
    return _canal_rowless(mark, mark.kind, False) if mark.kind in _CANAL_MARKS else None


_CANAL_MARKS: Final = frozenset({"XACOMMIT", "XAROLLBACK"})


def _canal_rowless(event: Ddl | TransactionMark, kind: str, is_ddl: bool) -> bytes:
    es = event.es_ms or tso.physical_ms(event.commit_ts)
    names, times = (event.schema, event.table), (es, event.ts_ms or es)
    return canal_rowless(kind, is_ddl, names, event.query, times, event.origin.gtid, event.sequence)


def _missing(change: RowChange) -> str:
    new_is_missing = change.after is None and change.kind is not DELETE
    image = "new" if new_is_missing else "old"
    return f"{change.table.schema}.{change.table.table}: a {change.kind} without its {image} image"
