"""Canal-JSON rows to Canal-JSON as TiCDC writes it, with the JSON of the rows as it is, where no column changes.

Rules

1. ``data`` and ``old`` are written on as they were read. Opening has checked that they are JSON and UTF-8. They must
   hold exactly the columns of the structure, each with a value of its type; of an ``OpenRow`` with ``json`` this is
   known.
2. The result is, when parsed, what values and ``Encoder`` make of the same rows. What raw rows cannot give is left to
   ``otherwise``:

   - several rows in one message, since TiCDC's dialect has one;
   - rows of which the source sent the key alone, where the output has no place for the mark that says so;
   - rows that lack a column, a partial ``old`` among them, and rows that are wrong;
   - an UPDATE or DELETE of which the options want only some columns;
   - values that Canal's own server writes in another form (float, double, year), when the message may be from one: its
     batch id is not 0, as it always is in TiCDC's.
3. Texts are not brought into form: an integer that its source wrote as ``1.0`` stays so. But a line end outside of
   texts, where JSON allows it, becomes a space, so that each message that is written is one line.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from spark_jobs.cdc import tso
from spark_jobs.cdc.codec import Rows, RowWriter
from spark_jobs.cdc.codecs.canal_json.envelope import Envelope
from spark_jobs.cdc.codecs.canal_json.events import row_key
from spark_jobs.cdc.codecs.canal_json.layout import NEXT_ROW, TAIL, Times, marked_tail
from spark_jobs.cdc.codecs.canal_json.opener import OpenRow, OpenRows
from spark_jobs.cdc.codecs.canal_json.options import encode_options
from spark_jobs.cdc.codecs.canal_json.plan import RowPlan, TablePlans
from spark_jobs.cdc.codecs.canal_json.structure import Structure
from spark_jobs.cdc.events import DELETE, TableSchema
from spark_jobs.cdc.memory import MAX_COLUMNS, Memory
from spark_jobs.cdc.mysql.types import Dialect


class _Plans:
    """By kind, how rows of a table are passed on, without the kinds that cannot be.

    It keeps the table alive, because plans are found by the table's identity.
    """

    def __init__(self, table: TableSchema, by_kind: dict[str, RowPlan]) -> None:
        self.table = table
        self.by_kind = by_kind


class PassingWriter:
    """Writes what ``canal_json/opener`` opened; ``otherwise`` takes what cannot be passed on."""

    def __init__(self, options: Mapping[str, str], terminator: bytes, otherwise: RowWriter) -> None:
        self._options = encode_options(options)
        self._extension = self._options.extension
        self._end = terminator
        self._otherwise = otherwise
        self._times = Times()
        self._plans: Memory[int, _Plans] = Memory(MAX_COLUMNS)
        self.changes: Final = otherwise.changes

    def rows(self, rows: Rows, commit_ts: int, output: bytearray, /) -> None:
        """See ``RowWriter``."""
        if type(rows) is not OpenRow or not rows.json:
            self._whole(rows, commit_ts, output)
            return
        table, kind, json = rows.table, rows.kind, rows.json
        plans = self._plans.get(id(table)) or self._new_plans(table)
        plan = plans.by_kind.get(kind)
        if plan is None:
            self._otherwise.rows(rows, commit_ts, output)
            return
        values = rows.after
        if kind is DELETE:
            values = rows.before
            if self._options.delete_old:
                json = b"".join((json, NEXT_ROW, json))
        head, middle = plan.parts(values or ())
        times, es, ts = self._times, rows.es_ms, rows.ts_ms
        if es != times.es or ts != times.ts:
            times.set(es, ts)
        tail = TAIL
        if self._extension:
            if commit_ts != times.commit_ts:
                times.set_commit_ts(commit_ts)
            tail = times.tail
        output += b"".join((head, times.times, middle, json, tail, self._end))

    def _whole(self, rows: Rows, commit_ts: int, output: bytearray) -> None:
        found = self._passed(rows.envelope, rows.structure, commit_ts) if type(rows) is OpenRows else None
        if found is None:
            self._otherwise.rows(rows, commit_ts, output)
        else:
            output += found

    def _passed(self, envelope: Envelope, structure: Structure, commit_ts: int) -> bytes | None:
        data, old, kind = envelope.data, envelope.old, envelope.type
        table = structure.table
        plan = (self._plans.get(id(table)) or self._new_plans(table)).by_kind.get(kind)
        if plan is None or data is None or len(data) != 1 or (structure.two_texts and envelope.id):
            return None
        values = structure.whole_row(data[0])
        if values is None or (not self._options.extension and envelope.is_partial):
            return None
        parts: Sequence[bytes] = (bytes(data[0]),)
        if kind == "UPDATE":
            if old is None or len(old) != 1 or structure.whole_row(old[0]) is None:
                return None
            parts = (bytes(old[0]), NEXT_ROW, *parts)
        elif kind == "DELETE":
            if self._options.delete_old:
                parts = (*parts, NEXT_ROW, *parts)
        elif old:
            return None
        es = envelope.es or tso.physical_ms(commit_ts)
        head, middle = plan.parts(values)
        times = b'%d,"ts":%d' % (es, envelope.ts or es)
        return b"".join((head, times, middle, *parts, self._tail_of(envelope, commit_ts), self._end))

    def _tail_of(self, envelope: Envelope, commit_ts: int) -> bytes:
        if not self._options.extension:
            return TAIL
        tidb = envelope.extension
        if tidb is None:
            return marked_tail(commit_ts, False, "", b"")
        key = row_key(tidb.rowkey) if tidb.rowkey else b""
        return marked_tail(commit_ts, tidb.only_handle_key, tidb.claim_check_location, key)

    def _new_plans(self, table: TableSchema) -> _Plans:
        plans = TablePlans(table, self._options, self._times)
        by_kind: dict[str, RowPlan] = {"INSERT": plans.insert}
        if not self._options.only_updated:
            by_kind["UPDATE"] = plans.update
        if plans.delete.indexes == plans.insert.indexes:
            by_kind["DELETE"] = plans.delete
        found = _Plans(table, by_kind)
        self._plans.remember(id(table), found, len(table.columns) + 1)
        return found


def passing_writer(options: Mapping[str, str], terminator: bytes, otherwise: RowWriter) -> RowWriter:
    """The shortcut from Canal-JSON to Canal-JSON; ``otherwise`` itself for Canal's own dialect, where rows differ."""
    if encode_options(options).dialect is not Dialect.TICDC:
        return otherwise
    return PassingWriter(options, terminator, otherwise)
