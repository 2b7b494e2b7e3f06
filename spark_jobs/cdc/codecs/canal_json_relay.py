"""Canal-JSON to Canal-JSON without building events: for pipelines that change no column.

Rules

1. ``data`` and ``old`` are written on as they were read. Opening a message has checked that they are JSON and UTF-8;
   rewriting checks that they hold exactly the columns of ``sqlType``, each with a value of its type.
2. The result is, when parsed, what ``Decoder`` and ``Encoder`` make of the same message. Where raw rows cannot give
   that, ``rewrite`` returns None, and the message takes the long way (``relay.decoder``, ``relay.encoder``):

   - statements, watermarks, heartbeats and marks, which are rare;
   - several rows in one message, since TiCDC's dialect has one;
   - rows that lack a column, a partial ``old`` among them, rows that are wrong, rows on more than one line;
   - an UPDATE or DELETE of which the options want only some columns;
   - values that Canal's own server writes in another form (float, double, year), when the message may be from one: its
     batch id is not 0, as it always is in TiCDC's.
3. Texts are not brought into form: an integer that its source wrote as ``1.0`` stays so.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_json_cache import StructureCache
from spark_jobs.cdc.codecs.canal_json_decoder import Decoder, row_key
from spark_jobs.cdc.codecs.canal_json_encoder import Encoder
from spark_jobs.cdc.codecs.canal_json_envelope import (
    NO_EXTENSION,
    PROTOCOL,
    UNREADABLE,
    Envelope,
    TidbExtension,
    check_utf8,
    open_envelope,
    read_envelope,
)
from spark_jobs.cdc.codecs.canal_json_layout import CommitTs, TicdcRow, marked_extension
from spark_jobs.cdc.codecs.canal_json_plan import RowPlan, TablePlans
from spark_jobs.cdc.codecs.canal_json_structure import Structure
from spark_jobs.cdc.codecs.canal_json_text import JSON
from spark_jobs.cdc.errors import ConfigError, DecodeError
from spark_jobs.cdc.events import TableSchema
from spark_jobs.cdc.mysql_types import Dialect

BLANK: Final = Envelope(type="INSERT", data=[])
"""Stands for a blank line; its kind is NOTHING."""

_TYPES_WITH_TWO_TEXTS: Final = frozenset({"float", "double", "year"})


class _Form(msgspec.Struct, frozen=True):
    """How messages of one structure are written.

    ``two_texts``: there is a column whose values Canal's own server writes in another form. ``plans``: by type, without
    those types that cannot be written without the parts of their rows.
    """

    structure: Structure
    two_texts: bool
    plans: dict[str, RowPlan]


class Relay:
    """Opens messages and writes them in TiCDC's dialect; takes the options of the encoder.

    ``decoder`` and ``encoder`` have the same options, for what must take the long way: ``decoder.events(envelope)``.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.decoder = Decoder({})
        self.encoder = Encoder(options)
        if self.encoder.options.dialect is not Dialect.TICDC:
            raise ConfigError(f"{PROTOCOL} with dialect=canal cannot be relayed without building its rows")
        self._form = StructureCache(self._new_form).of
        self._extension = self.encoder.options.extension
        self._delete_old = self.encoder.options.delete_old

    def open(self, message: bytes) -> Envelope:
        """One message; raises ``DecodeError``."""
        return open_envelope(message)

    def open_lines(self, block: bytes) -> list[Envelope]:
        """The messages of a block of lines, one for each line; a blank line is ``BLANK``.

        Raises ``DecodeError`` for the first bad line, with ``line_index`` set.
        """
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        try:
            if not block.isascii():
                check_utf8(block)
            return list(map(read_envelope, lines))
        except UNREADABLE:
            return [_open_line(index, line) for index, line in enumerate(lines)]

    def structure(self, envelope: Envelope) -> TableSchema:
        """The table of a message with rows, the same object as long as its structure stays; raises ``DecodeError``."""
        return self._form(envelope).structure.table

    def rewrite(self, envelope: Envelope, commit_ts: int | None = None) -> bytes | None:
        """The output message, without terminator; None if it must take the long way. Raises ``DecodeError``.

        ``commit_ts``, if given, takes the place of the message's own.
        """
        data = envelope.data
        if data is None or len(data) != 1 or envelope.is_ddl:
            return None
        form = self._form(envelope)
        plan = form.plans.get(envelope.type)
        if plan is None or (form.two_texts and envelope.id):
            return None
        values = form.structure.whole_row(data[0])
        if values is None or not self._is_whole_old(envelope, form):
            return None
        old: list[Raw] | None = None
        if envelope.type == "UPDATE":
            old = envelope.old
        elif self._delete_old and envelope.type == "DELETE":
            old = data
        head, middle = plan.parts(values)
        tidb = envelope.extension or NO_EXTENSION
        if commit_ts is None:
            commit_ts = tidb.commit_ts
        es = envelope.es or tso.physical_ms(commit_ts)
        extension = _extension(tidb, commit_ts) if self._extension else UNSET
        json = JSON.encode(TicdcRow(head, es, envelope.ts or es, middle, old, data, extension))
        return None if 10 in json or 13 in json else json  # a line end outside of texts, where JSON allows it

    def _is_whole_old(self, envelope: Envelope, form: _Form) -> bool:
        """Whether ``old`` is as it must be, and need not be looked into."""
        old = envelope.old
        if envelope.type == "UPDATE":
            return old is not None and len(old) == 1 and form.structure.whole_row(old[0]) is not None
        return envelope.type == "DELETE" or not old

    def _new_form(self, envelope: Envelope) -> _Form:
        structure = self.decoder.structure(envelope)
        table = structure.table
        options = self.encoder.options
        plans = TablePlans(table, options)
        chosen = {"INSERT": plans.insert}
        if not options.only_updated:
            chosen["UPDATE"] = plans.update
        if plans.delete.indexes == plans.insert.indexes:
            chosen["DELETE"] = plans.delete
        two_texts = any(column.type.name in _TYPES_WITH_TWO_TEXTS for column in table.columns)
        return _Form(structure, two_texts, chosen)


def _extension(tidb: TidbExtension, commit_ts: int) -> CommitTs | Raw:
    if not (tidb.only_handle_key or tidb.claim_check_location or tidb.rowkey):
        return CommitTs(commit_ts)
    key = row_key(tidb.rowkey) if tidb.rowkey else b""
    return marked_extension(commit_ts, tidb.only_handle_key, tidb.claim_check_location, key)


def _open_line(index: int, line: bytes) -> Envelope:
    try:
        return open_envelope(line) if line.strip() else BLANK
    except DecodeError as error:
        error.line_index = index
        raise
