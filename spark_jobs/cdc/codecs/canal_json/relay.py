"""Canal-JSON to Canal-JSON with the JSON of the rows as it is: for pipelines that change no column.

Rules

1. ``data`` and ``old`` are written on as they were read. Opening a message has checked that they are JSON and UTF-8;
   rewriting checks that they hold exactly the columns of ``sqlType``, each with a value of its type. Of a message in a
   known wording (``canal_json/wording``, nearly all of TiCDC's) opening has checked both, and it is an ``OpenRow``.
2. The result is, when parsed, what ``Decoder`` and ``Encoder`` make of the same message. Where raw rows cannot give
   that, ``rewrite`` returns None, and the message takes the long way (``relay.events``, ``relay.encoder``):

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar, Final, TypeAlias, cast

import msgspec
from msgspec import Raw

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_json.cache import StructureCache
from spark_jobs.cdc.codecs.canal_json.decoder import Decoder, row_key
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.codecs.canal_json.envelope import PROTOCOL, Envelope, Kind, open_envelope
from spark_jobs.cdc.codecs.canal_json.layout import NEXT_ROW, TAIL, Times, marked_tail
from spark_jobs.cdc.codecs.canal_json.plan import RowPlan, TablePlans
from spark_jobs.cdc.codecs.canal_json.wording import Wording, Wordings
from spark_jobs.cdc.errors import ConfigError, DecodeError
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, Event, Row, RowChange, RowKind, TableSchema
from spark_jobs.cdc.mysql.types import Dialect


class OpenRow(msgspec.Struct, frozen=True, gc=False):
    """A message with one row that was read by its wording: what there is to know of it, as in ``Envelope``.

    ``rows``: JSON of the row, or of the old and the new one with ``NEXT_ROW`` between them.
    """

    form: "Form"
    database: str
    table: str
    type: RowKind
    before: Row | None
    after: Row | None
    commit_ts: int
    es: int
    ts: int
    id: int
    rows: bytes

    kind: ClassVar[Kind] = Kind.ROWS
    is_row: ClassVar[bool] = True
    is_partial: ClassVar[bool] = False


Message: TypeAlias = Envelope | OpenRow

BLANK: Final = Envelope(type="INSERT", data=[])
"""Stands for a blank line; its kind is NOTHING."""

_TYPES_WITH_TWO_TEXTS: Final = frozenset({"float", "double", "year"})


class Form(msgspec.Struct, frozen=True):
    """How messages of one structure are written.

    ``two_texts``: there is a column whose values Canal's own server writes in another form. ``plans``: by type, without
    those types that cannot be written without the parts of their rows.
    """

    table: TableSchema
    whole_row: Callable[[Raw | bytes], Row | None]
    two_texts: bool
    plans: dict[str, RowPlan]


class Relay:
    """Opens messages and writes them in TiCDC's dialect; takes the options of the encoder.

    ``events`` and ``encoder`` are for what must take the long way.
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
        self._form_of: Final = StructureCache(self._new_form).of
        self._wordings: Wordings[Form, Message] = Wordings(_open_row, self._open_whole)
        self.open: Final = self._wordings.read
        """One message; raises ``DecodeError``."""

    def form(self, message: Message) -> Form:
        """The form of a message with rows; its ``table`` is the same object as long as the structure stays.

        Raises ``DecodeError``.
        """
        return message.form if type(message) is OpenRow else self._form_of(cast(Envelope, message))

    def events(self, message: Message) -> Sequence[Event]:
        """What ``decoder`` makes of it; raises ``DecodeError``."""
        if type(message) is not OpenRow:
            return self.decoder.events(cast(Envelope, message))
        table = message.form.table
        times = message.commit_ts, message.es, message.ts
        return (RowChange(message.type, table, message.before, message.after, *times, message.id),)

    def open_each(self, messages: Sequence[bytes]) -> Sequence[Message | None]:
        """Parallel to the messages; None for one that ``open`` would refuse."""
        open_ = self.open
        try:
            return [open_(message) for message in messages]
        except DecodeError:
            return [self._opened(message) for message in messages]

    def open_lines(self, block: bytes) -> Iterator[Message]:
        """The messages of a block of lines, one for each line; a blank line is ``BLANK``.

        Each is opened when it is asked for: what is opened in advance is out of the processor's reach when it is used.
        Raises ``DecodeError`` in the place of the first bad line.
        """
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        return map(self._open_line, lines)

    def _open_line(self, line: bytes) -> Message:
        try:
            return self.open(line)
        except DecodeError:
            if line.strip():
                raise
            return BLANK

    def _open_whole(self, message: bytes) -> Message:
        envelope = _open(message)
        data = envelope.data
        if data is not None and len(data) == 1 and envelope.is_row:
            with suppress(DecodeError):  # it is said when the form is asked for
                self._wordings.learn(message, envelope, self._form_of)
        return envelope

    def _opened(self, message: bytes) -> Message | None:
        try:
            return self.open(message)
        except DecodeError:
            return None

    def rewrite(self, message: Message, commit_ts: int | None = None) -> bytes | None:
        """The output message; None if it must take the long way. Raises ``DecodeError``."""
        if not message.is_row:
            return None
        output = bytearray()
        if commit_ts is None:
            commit_ts = message.commit_ts
        return bytes(output) if self.append(message, self.form(message), commit_ts, output) else None

    def append(self, message: Message, form: Form, commit_ts: int, output: bytearray) -> bool:
        """Appends the output message of a message with rows; False, and nothing appended, if it must take the long way.

        ``commit_ts`` takes the place of the message's own.
        """
        if type(message) is not OpenRow:
            return self._append_envelope(cast(Envelope, message), form, commit_ts, output)
        kind, values, rows = message.type, message.after, message.rows
        plan = form.plans.get(kind)
        if plan is None:
            return False
        if kind is DELETE:
            values = message.before
            if self._delete_old:
                rows = b"".join((rows, NEXT_ROW, rows))
        self._write(plan, values or (), message.es, message.ts, rows, self._tail(commit_ts), output)
        return True

    def _append_envelope(self, envelope: Envelope, form: Form, commit_ts: int, output: bytearray) -> bool:
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
        es, tidb = envelope.es or tso.physical_ms(commit_ts), envelope.extension
        tail = self._tail(commit_ts)
        if self._extension and tidb is not None and (tidb.only_handle_key or tidb.claim_check_location or tidb.rowkey):
            key = row_key(tidb.rowkey) if tidb.rowkey else b""
            tail = marked_tail(commit_ts, tidb.only_handle_key, tidb.claim_check_location, key)
        self._write(plan, values, es, envelope.ts or es, b"".join(parts), tail, output)
        return True

    def _tail(self, commit_ts: int) -> bytes:
        if not self._extension:
            return TAIL
        times = self._times
        if commit_ts != times.commit_ts:
            times.set_commit_ts(commit_ts)
        return times.tail

    def _write(self, plan: RowPlan, values: Row, es: int, ts: int, rows: bytes, tail: bytes, output: bytearray) -> None:
        head, middle = plan.parts(values)
        times = self._times
        if es != times.es or ts != times.ts:
            times.set(es, ts)
        output += b"".join((head, times.times, middle, rows, tail, self._end))

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


def _open_row(wording: Wording[Form], rows: bytes, es: int, ts: int, commit_ts: int) -> OpenRow | None:
    """None where the rows cannot be passed on as they are."""
    form, kind = wording.subject, wording.kind
    if 10 in rows or 13 in rows or (form.two_texts and wording.sequence):
        return None
    old, new = b"", rows
    if kind is UPDATE:
        old, _, new = rows.partition(NEXT_ROW)
    row = form.whole_row(new)
    before = form.whole_row(old) if kind is UPDATE else row
    if row is None or before is None:
        return None
    after = None if kind is DELETE else row
    if kind is INSERT:
        before = None
    table = form.table
    return OpenRow(form, table.schema, table.table, kind, before, after, commit_ts, es, ts, wording.sequence, rows)


def _open(message: bytes) -> Envelope:
    """One message, its raw JSON without line ends; read as it is first, since within texts they are wrong."""
    envelope = open_envelope(message)
    if 10 in message or 13 in message:
        return open_envelope(message.replace(b"\n", b" ").replace(b"\r", b" "))
    return envelope
