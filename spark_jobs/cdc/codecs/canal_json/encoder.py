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

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_json.envelope import PROTOCOL, ROW_TYPES, STATEMENT_TYPES, WATERMARK_TYPE
from spark_jobs.cdc.codecs.canal_json.layout import Times, canal_rowless, rowless_extension, ticdc_rowless
from spark_jobs.cdc.codecs.canal_json.options import encode_options
from spark_jobs.cdc.codecs.canal_json.plan import WRONG_VALUE, RowPlan, TablePlans
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
from spark_jobs.cdc.memory import MAX_COLUMNS, Memory
from spark_jobs.cdc.mysql.types import Dialect
from spark_jobs.cdc.rows.key_only import refuse_key_only


class Encoder:
    """Writes one dialect; keeps a plan per table schema."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = encode_options(options)
        self._plans: Memory[int, TablePlans] = Memory(MAX_COLUMNS)
        self._last: TablePlans | None = None
        self._extension = self.options.extension
        self._times = Times()
        self._write: dict[type, Callable[..., bytes | None]] = (
            {Ddl: _canal_statement, TransactionMark: _canal_mark}
            if self.options.dialect is Dialect.CANAL
            else {Ddl: self._ticdc_statement, Watermark: self._ticdc_watermark}
        )

    def encode(self, event: Event, /) -> Sequence[bytes]:
        if type(event) is not RowChange:
            make = self._write.get(type(event))
            message = make(event) if make is not None else None
            return () if message is None else (message,)
        table, plans = event.table, self._last
        if plans is None or table is not plans.table:  # the rows of a table come in runs
            plans = self._last = self._plans.get(id(table)) or self._add(table)
        kind = event.kind
        plan = plans.insert if kind is INSERT else plans.update if kind is UPDATE else plans.delete
        write = plan.write  # a method call on what is an attribute is slow
        try:
            message = write(event)
        except WRONG_VALUE:
            message = None
        return (message or self._unusual_row(event, plans, plan),)

    def flush(self) -> Sequence[bytes]:
        return ()

    def _unusual_row(self, change: RowChange, plans: TablePlans, plan: RowPlan) -> bytes:
        """The message of a row that lacks columns; raises ``EncodeError`` for everything else."""
        if not self._extension and (change.only_handle_key or change.claim_check):
            refuse_key_only(change, PROTOCOL)
        row = change.before if change.kind is DELETE else change.after
        if row is None or (change.before is None and change.kind is UPDATE):
            raise EncodeError(PROTOCOL, _missing(change))
        try:
            message = plans.partial(plan, row).write(change)
        except (*WRONG_VALUE, IndexError):
            message = None
        if message is None:
            plan.explain(row, change.before)
        return message

    def _add(self, table: TableSchema) -> TablePlans:
        plans = TablePlans(table, self.options, self._times)
        self._plans.remember(id(table), plans, len(table.columns) + 1)
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
