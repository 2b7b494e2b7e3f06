"""Writes CSV rows; the rules stand in ``csv.py``."""

from collections.abc import Mapping, Sequence

from spark_jobs.cdc.codecs.csv.format import NAME, CsvFormat, csv_format
from spark_jobs.cdc.codecs.csv.json_rows import JsonRows, suits
from spark_jobs.cdc.codecs.csv.shapes import TableRows, TemplateRows
from spark_jobs.cdc.events import DELETE, INSERT, Event, RowChange, TableSchema
from spark_jobs.cdc.memory import MAX_COLUMNS, Memory, is_plain
from spark_jobs.cdc.rows.key_only import refuse_key_only


class Encoder:
    """Writes row changes; other events have no form in CSV. ``encode`` returns rows without their terminators."""

    def __init__(self, options: Mapping[str, str], /) -> None:
        self.format = csv_format(options)
        self._end = self.format.terminator.encode("utf-8", "surrogateescape")
        self._plans: Memory[int, _TablePlan] = Memory(MAX_COLUMNS)

    def encode(self, event: Event, /) -> Sequence[bytes]:
        if type(event) is not RowChange:
            return ()
        return (self._plans.get(id(event.table)) or self._plan(event.table)).lines(event)

    def encode_row(self, event: RowChange) -> bytes:
        """All rows of one row change, each with its terminator: what the blocks of a data file are made of."""
        lines = (self._plans.get(id(event.table)) or self._plan(event.table)).lines(event)
        return b"".join([line + self._end for line in lines])

    def flush(self) -> Sequence[bytes]:
        return ()

    def _plan(self, table: TableSchema) -> "_TablePlan":
        plan = _TablePlan(TableRows(table, self.format), self.format)
        self._plans.remember(id(table), plan, len(table.columns) + 1)
        return plan


class _TablePlan:
    """The kinds of rows of one table: by operation, and whether they are a part of an update written as two rows."""

    def __init__(self, rows: TableRows, form: CsvFormat) -> None:
        self.rows = rows  # holds the table, so that its id stays its own
        self._old_value = form.output_old_value
        kind: type[JsonRows | TemplateRows] = JsonRows if suits(rows) and not is_plain() else TemplateRows
        self._insert, self._update, self._delete = (kind(rows, operation, is_update="false") for operation in "IUD")
        self._new, self._unpaired, self._old = (kind(rows, operation, is_update="true") for operation in "IUD")

    def lines(self, event: RowChange) -> Sequence[bytes]:
        if event.only_handle_key or event.claim_check:
            refuse_key_only(event, NAME, deletes=True)
        kind = event.kind
        if kind is INSERT:
            return (self._insert.line(event.commit_ts, event.after),)
        if kind is DELETE:
            return (self._delete.line(event.commit_ts, event.before),)
        if self._old_value:
            return self._two_lines(event)
        return () if event.half == "before" else (self._update.line(event.commit_ts, event.after),)

    def _two_lines(self, event: RowChange) -> Sequence[bytes]:
        lines = []
        if event.before is not None:
            lines.append(self._old.line(event.commit_ts, event.before))
        if event.half != "before":
            new = self._unpaired if not lines and event.half != "after" else self._new
            lines.append(new.line(event.commit_ts, event.after))
        return lines
