"""One source message → what it is, and its rows as the sink holds them.

A message is opened first: enough to know its kind, table, times and structure. Only what passes the filter and is not
held is written, either *relayed* (canal-json to canal-json: rows pass through as checked, unparsed JSON) or decoded to
values and encoded.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from spark_jobs.cdc.codecs.canal_json import encoder as canal_json_encoder
from spark_jobs.cdc.codecs.canal_json.relay import Form, Message, Relay
from spark_jobs.cdc.codecs.csv import encoder as csv_encoder
from spark_jobs.cdc.codecs.csv import format as csv_format
from spark_jobs.cdc.events import RowChange, TableSchema
from spark_jobs.cdc.filters.tables import TableFilter
from spark_jobs.pipeline.enrich import Enricher, is_part_of
from spark_jobs.pipeline.job import Job, KnownStructure

Write: TypeAlias = Callable[[Message, Form, int, bytearray], None]
"""Appends the rows of (message, its form, commit-ts) to a buffer, each with its terminator; all of them or, with an
error, nothing."""


class Translator:
    """Opens, filters and writes the messages of one batch. Built once per task; keeps caches only."""

    def __init__(self, job: Job) -> None:
        way = _way(job)
        self._relay = Relay(job.encode_options if way == "relayed" else {}, job.terminator.encode())
        self._enrich = Enricher(job.known)
        self.passes = TableFilter(job.filter_rules, job.case_sensitive).matches
        self.open = self._relay.open
        self.open_each = self._relay.open_each
        self.open_lines = self._relay.open_lines
        self.form = self._relay.form
        self.write = _WRITERS[way](self, job)
        self.header = _header(job)
        self._positional = job.sink_protocol == "csv"

    def is_full(self, message: Message, structure: TableSchema) -> bool:
        """Whether a row's images define the structure of its table. A DELETE may hold its handle key only; where values
        belong to columns by their place, one with other columns too must have a structure of its own."""
        if message.type != "DELETE" or message.is_partial:
            return not message.is_partial
        return self._positional and not all(column.is_key for column in structure.columns)

    def joins(self, structure: TableSchema, other: TableSchema) -> bool:
        """Whether rows of ``structure`` that are not full may stand between those of ``other``."""
        return not self._positional and is_part_of(structure, other)

    def learn(self, known: Sequence[KnownStructure]) -> None:
        """Structures that hold from here on."""
        self._enrich.learn(known)

    def relayed(self, job: Job) -> Write:
        """Rows pass through; what cannot is decoded and encoded."""
        append, by_values = self._relay.append, self.encoded(job)

        def write(message: Message, form: Form, commit_ts: int, output: bytearray) -> None:
            if not append(message, form, commit_ts, output):
                by_values(message, form, commit_ts, output)

        return write

    def encoded(self, job: Job) -> Write:
        """Rows are decoded to values and encoded as Canal-JSON."""
        encoder, end = canal_json_encoder.Encoder(job.encode_options), job.terminator.encode()

        def write(message: Message, form: Form, commit_ts: int, output: bytearray) -> None:
            output += b"".join([part + end for row in self._rows(message, commit_ts) for part in encoder.encode(row)])

        return write

    def as_csv(self, job: Job) -> Write:
        """Rows are decoded to values and encoded as CSV."""
        encoder = csv_encoder.Encoder({**job.encode_options, "terminator": job.terminator})

        def write(message: Message, form: Form, commit_ts: int, output: bytearray) -> None:
            output += b"".join([encoder.encode_row(row) for row in self._rows(message, commit_ts)])

        return write

    def _rows(self, message: Message, commit_ts: int) -> Sequence[RowChange]:
        rows = [event for event in self._relay.events(message) if isinstance(event, RowChange)]
        if not rows:
            return rows
        table = self._enrich(rows[0].table, commit_ts)
        if table is rows[0].table and rows[0].commit_ts == commit_ts:
            return rows
        return [msgspec.structs.replace(row, table=table, commit_ts=commit_ts) for row in rows]


def _way(job: Job) -> str:
    if job.sink_protocol == "csv":
        return "csv"
    return "encoded" if job.encode_options.get("dialect") == "canal" else "relayed"


def _header(job: Job) -> Callable[[TableSchema], bytes]:
    """What a data file begins with."""
    if job.sink_protocol != "csv" or job.encode_options.get("output-field-header") != "true":
        return lambda table: b""
    return csv_format.csv_format({**job.encode_options, "terminator": job.terminator}).header


_WRITERS: Final[dict[str, Callable[[Translator, Job], Write]]] = {
    "relayed": Translator.relayed,
    "encoded": Translator.encoded,
    "csv": Translator.as_csv,
}
