"""Opens Canal-JSON messages: rows with what is needed to filter and route them, everything else as events.

Rules

1. A message has the rows of one table, so it holds one ``Rows``, one other event, or nothing: a blank line, or rows of
   which there are none.
2. A message with one row in a known wording (``canal_json/wording``, nearly all of TiCDC's) is read at once, values
   included, and is an ``OpenRow``; whatever its wording does not fit is opened as a whole, and is ``OpenRows``.
3. The rows of what is opened as a whole stay raw JSON. Opening has checked that they are JSON and UTF-8; what else is
   wrong with them, and with the structure, is said when they are asked for.
4. A DELETE may hold its handle key only, which TiCDC does not say (delete-only-output-handle-key-columns).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import MsgspecError

from spark_jobs.cdc.codec import Opened
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.canal_json.envelope import PROTOCOL, WATERMARK_TYPE, Envelope, open_envelope
from spark_jobs.cdc.codecs.canal_json.events import Rowless, row_changes, without_rows
from spark_jobs.cdc.codecs.canal_json.layout import NEXT_ROW
from spark_jobs.cdc.codecs.canal_json.structure import Structure, Structures
from spark_jobs.cdc.codecs.canal_json.wording import Wording, Wordings
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import DELETE, UPDATE, Row, RowChange, RowKind, TableSchema


class OpenRow(msgspec.Struct, frozen=True, gc=False):
    """The row of a message that was read by its wording.

    ``json``: the row, or the old and the new one with ``NEXT_ROW`` between them; empty where it cannot be written on
    as it is, because a column is missing, it is not one line, or Canal's own server writes values in another form.
    """

    schema: str
    name: str
    commit_ts: int
    es_ms: int
    is_partial: bool
    table: TableSchema
    kind: RowKind
    before: Row | None
    after: Row | None
    ts_ms: int
    sequence: int
    json: bytes
    structure: Structure

    def changes(self) -> tuple[RowChange]:
        """The row as an event."""
        times = self.commit_ts, self.es_ms, self.ts_ms
        return (RowChange(self.kind, self.table, self.before, self.after, *times, self.sequence),)


class OpenRows:
    """The rows of a message that was opened as a whole."""

    __slots__ = ("_structures", "commit_ts", "envelope", "es_ms", "is_partial", "name", "schema")

    def __init__(self, envelope: Envelope, structures: Structures) -> None:
        self.envelope = envelope
        self._structures = structures
        self.schema = envelope.database
        self.name = envelope.table
        self.commit_ts = envelope.commit_ts
        self.es_ms = envelope.es
        self.is_partial = envelope.type == "DELETE" or envelope.is_partial

    @property
    def structure(self) -> Structure:
        """Raises ``DecodeError``."""
        return self._structures.of(self.envelope)

    @property
    def table(self) -> TableSchema:
        """Raises ``DecodeError``."""
        return self.structure.table

    def changes(self) -> Sequence[RowChange]:
        """Decodes the rows; raises ``DecodeError``."""
        return row_changes(self.envelope, self.structure)


class Opener:
    """Reads every dialect; takes no options."""

    protocol: Final = PROTOCOL
    timed: Final = False
    marks: Final = (WATERMARK_TYPE.encode(),)
    halves: Final = False

    def __init__(self, options: Mapping[str, str], /) -> None:
        Options(PROTOCOL, options, ())
        self.structures: Final = Structures()
        self._wordings = Wordings(_worded, self._open_and_learn)
        self.open: Final[Callable[[bytes], Sequence[Opened]]] = self._wordings.read
        """One message; raises ``DecodeError``."""

    def open_whole(self, message: bytes) -> OpenRows | Sequence[Rowless]:
        """The same without a look at its wording; refuses a blank line."""
        envelope = open_envelope(message)
        return OpenRows(envelope, self.structures) if envelope.is_row else without_rows(envelope)

    def _open_and_learn(self, message: bytes) -> Sequence[Opened]:
        if not message.strip():
            return ()
        opened = self.open_whole(message)
        if not isinstance(opened, OpenRows):
            return opened
        envelope = opened.envelope
        if len(envelope.data or ()) == 1:
            with suppress(DecodeError):  # it is said when the structure is asked for
                self._wordings.learn(message, envelope, self.structures.of)
        if 10 in message or 13 in message:  # between texts, since within them they would have been wrong
            envelope = open_envelope(message.replace(b"\n", b" ").replace(b"\r", b" "))
            opened = OpenRows(envelope, self.structures)
        return (opened,)


def _worded(wording: Wording, json: bytes, es_ms: int, ts_ms: int, commit_ts: int) -> tuple[OpenRow] | None:
    """None where it must be opened as a whole, to say what is wrong."""
    kind, structure = wording.kind, wording.structure
    before, new = None, json
    whole = structure.whole_row
    if kind is UPDATE:
        old, _, new = json.partition(NEXT_ROW)
        before = whole(old)
    row = whole(new)
    if row is None or (before is None and kind is UPDATE):
        json = b""
        try:
            row = structure.row(new)
            before = structure.old_row(old, row) if kind is UPDATE else None
        except (MsgspecError, DecodeError, ValueError):
            return None
    elif 10 in json or 13 in json or (wording.sequence and structure.two_texts):
        json = b""
    table, sequence = structure.table, wording.sequence
    schema, name = table.schema, table.table
    # the fields by place, since names take a third of the time
    if kind is DELETE:
        found = OpenRow(schema, name, commit_ts, es_ms, True, table, kind, row, None, ts_ms, sequence, json, structure)
    else:
        found = OpenRow(
            schema, name, commit_ts, es_ms, False, table, kind, before, row, ts_ms, sequence, json, structure
        )
    return (found,)
