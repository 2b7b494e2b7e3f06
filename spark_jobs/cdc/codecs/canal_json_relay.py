"""Canal-JSON to Canal-JSON without building events: for pipelines that change no column.

Rules

1. ``data`` and ``old`` are written on as they were read. Opening a message has checked that they are JSON and UTF-8;
   rewriting checks that they hold exactly the columns of ``sqlType``, each with a value of its type.
2. The result is, when parsed, what ``Decoder`` and ``Encoder`` make of the same message. Where raw rows cannot give
   that, ``rewrite`` returns None, and the message takes the long way (``relay.decoder``, ``relay.encoder``):

   - statements, watermarks, heartbeats and marks, which are rare;
   - several rows in one message, since TiCDC's dialect has one;
   - rows of which the source sent the key alone, where the output has no place for the mark that says so;
   - rows that lack a column, a partial ``old`` among them, and rows that are wrong;
   - an UPDATE or DELETE of which the options want only some columns;
   - values that Canal's own server writes in another form (float, double, year), when the message may be from one: its
     batch id is not 0, as it always is in TiCDC's.
3. Texts are not brought into form: an integer that its source wrote as ``1.0`` stays so. But a line end outside of
   texts, where JSON allows it, becomes a space, so that each message that is written is one line.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Raw

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_json_cache import StructureCache
from spark_jobs.cdc.codecs.canal_json_decoder import Decoder, row_key
from spark_jobs.cdc.codecs.canal_json_encoder import Encoder
from spark_jobs.cdc.codecs.canal_json_envelope import (
    PROTOCOL,
    UNREADABLE,
    Envelope,
    TidbExtension,
    check_utf8,
    open_envelope,
    read_envelope,
)
from spark_jobs.cdc.codecs.canal_json_layout import NEXT_ROW, TAIL, Times, marked_tail
from spark_jobs.cdc.codecs.canal_json_plan import RowPlan, TablePlans
from spark_jobs.cdc.errors import ConfigError, DecodeError
from spark_jobs.cdc.events import Row, TableSchema
from spark_jobs.cdc.mysql_types import Dialect

BLANK: Final = Envelope(type="INSERT", data=[])
"""Stands for a blank line; its kind is NOTHING."""

_TYPES_WITH_TWO_TEXTS: Final = frozenset({"float", "double", "year"})


class Form(msgspec.Struct, frozen=True):
    """How messages of one structure are written.

    ``two_texts``: there is a column whose values Canal's own server writes in another form. ``plans``: by type, without
    those types that cannot be written without the parts of their rows.
    """

    table: TableSchema
    whole_row: Callable[[Raw], Row | None]
    two_texts: bool
    plans: dict[str, RowPlan]


class Relay:
    """Opens messages and writes them in TiCDC's dialect; takes the options of the encoder.

    ``decoder`` and ``encoder`` have the same options, for what must take the long way: ``decoder.events(envelope)``.
    ``end`` is written behind each message.
    """

    def __init__(self, options: Mapping[str, str], end: bytes = b"") -> None:
        self.decoder = Decoder({})
        self.encoder = Encoder(options)
        if self.encoder.options.dialect is not Dialect.TICDC:
            raise ConfigError(f"{PROTOCOL} with dialect=canal cannot be relayed without building its rows")
        self._end = end
        self._extension = self.encoder.options.extension
        self._delete_old = self.encoder.options.delete_old
        self._times = Times()
        self.form: Final = StructureCache(self._new_form).of
        """The form of a message with rows; its ``table`` is the same object as long as the structure stays.

        Raises ``DecodeError``.
        """

    def open(self, message: bytes) -> Envelope:
        """One message; raises ``DecodeError``."""
        return _open(message)

    def open_each(self, messages: Sequence[bytes]) -> Sequence[Envelope | None]:
        """Parallel to the messages; None for one that ``open`` would refuse."""
        try:
            if all(map(_is_plain, messages)):
                return list(map(read_envelope, messages))
        except UNREADABLE:
            pass
        return [_opened(message) for message in messages]

    def open_lines(self, block: bytes) -> list[Envelope]:
        """The messages of a block of lines, one for each line; a blank line is ``BLANK``.

        Raises ``DecodeError`` for the first bad line, with ``line_index`` set.
        """
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        try:
            if not block.isascii():
                check_utf8(block)
            if b"\r" not in block:
                return list(map(read_envelope, lines))
        except UNREADABLE:
            pass
        return [_open_line(index, line) for index, line in enumerate(lines)]

    def rewrite(self, envelope: Envelope, commit_ts: int | None = None) -> bytes | None:
        """The output message; None if it must take the long way. Raises ``DecodeError``."""
        if not envelope.data or envelope.is_ddl:
            return None
        output = bytearray()
        if commit_ts is None:
            commit_ts = envelope.commit_ts
        return bytes(output) if self.append(envelope, self.form(envelope), commit_ts, output) else None

    def append(self, envelope: Envelope, form: Form, commit_ts: int, output: bytearray) -> bool:
        """Appends the output message of a message with rows; False, and nothing appended, if it must take the long way.

        ``commit_ts`` takes the place of the message's own.
        """
        data, old, kind = envelope.data, envelope.old, envelope.type
        plan = form.plans.get(kind)
        if plan is None or data is None or len(data) != 1 or (form.two_texts and envelope.id):
            return False
        values = form.whole_row(data[0])
        if values is None or (not self._extension and envelope.is_partial):
            return False
        parts: list[bytes | Raw] = [data[0]]
        if kind == "UPDATE":
            if old is None or len(old) != 1 or form.whole_row(old[0]) is None:
                return False
            parts = [old[0], NEXT_ROW, data[0]]
        elif kind == "DELETE":
            if self._delete_old:
                parts = [data[0], NEXT_ROW, data[0]]
        elif old:
            return False
        head, middle = plan.parts(values)
        es, times = envelope.es or tso.physical_ms(commit_ts), self._times
        ts = envelope.ts or es
        if es != times.es or ts != times.ts:
            times.set(es, ts)
        output += b"".join((head, times.times, middle, *parts, self._tail(envelope.extension, commit_ts)))
        output += self._end
        return True

    def _tail(self, tidb: TidbExtension | None, commit_ts: int) -> bytes:
        if not self._extension:
            return TAIL
        if tidb is not None and (tidb.only_handle_key or tidb.claim_check_location or tidb.rowkey):
            key = row_key(tidb.rowkey) if tidb.rowkey else b""
            return marked_tail(commit_ts, tidb.only_handle_key, tidb.claim_check_location, key)
        times = self._times
        if commit_ts != times.commit_ts:
            times.set_commit_ts(commit_ts)
        return times.tail

    def _new_form(self, envelope: Envelope) -> Form:
        structure = self.decoder.structure(envelope)
        table = structure.table
        options = self.encoder.options
        plans = TablePlans(table, options, self._times)
        chosen = {"INSERT": plans.insert}
        if not options.only_updated:
            chosen["UPDATE"] = plans.update
        if plans.delete.indexes == plans.insert.indexes:
            chosen["DELETE"] = plans.delete
        two_texts = any(column.type.name in _TYPES_WITH_TWO_TEXTS for column in table.columns)
        return Form(table, structure.whole_row, two_texts, chosen)


def _is_plain(message: bytes) -> bool:
    """Whether the reader in C takes the message as it is; it neither checks UTF-8 nor brings raw JSON into one line."""
    if not message.isascii():
        check_utf8(message)
    return 10 not in message and 13 not in message


def _open(message: bytes) -> Envelope:
    """One message, its raw JSON without line ends; read as it is first, since within texts they are wrong."""
    envelope = open_envelope(message)
    if 10 in message or 13 in message:
        return open_envelope(message.replace(b"\n", b" ").replace(b"\r", b" "))
    return envelope


def _opened(message: bytes) -> Envelope | None:
    try:
        return _open(message)
    except DecodeError:
        return None


def _open_line(index: int, line: bytes) -> Envelope:
    try:
        return _open(line) if line.strip() else BLANK
    except DecodeError as error:
        error.line_index = index
        raise
