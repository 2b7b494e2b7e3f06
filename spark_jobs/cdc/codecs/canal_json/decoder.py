"""Canal-JSON messages to events: TiCDC's, those of TiCDC before v5.4, and Canal's own FlatMessage.

The same as ``canal_json/opener`` with its rows decoded, and a blank line is refused. A message in a known wording
becomes its event at once, without the ``OpenRow`` between them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import MsgspecError
from msgspec.structs import astuple

from spark_jobs.cdc.codecs.canal_json.envelope import Envelope
from spark_jobs.cdc.codecs.canal_json.events import row_changes, without_rows
from spark_jobs.cdc.codecs.canal_json.layout import NEXT_ROW
from spark_jobs.cdc.codecs.canal_json.opener import Opener, OpenRows
from spark_jobs.cdc.codecs.canal_json.wording import Wording, Wordings
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, Event, RowChange


class Decoder:
    """Reads every dialect; takes no options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._opener = Opener(options)
        self.structure: Final = self._opener.structures.of
        """The structure of a message with rows: the same object as long as it stays; raises ``DecodeError``."""
        self._wordings = Wordings(_worded_change, self._read_whole)
        self.decode: Final = self._wordings.read
        """The events of a message; raises ``DecodeError``."""

    def _read_whole(self, message: bytes) -> Sequence[Event]:
        opened = self._opener.open_whole(message)
        if isinstance(opened, OpenRows):
            events = opened.changes()
            if len(events) == 1:
                self._wordings.learn(message, opened.envelope, self.structure)
            return events
        return opened

    def events(self, envelope: Envelope) -> Sequence[Event]:
        """The events of a message whose envelope is open already; raises ``DecodeError``."""
        return row_changes(envelope, self.structure(envelope)) if envelope.is_row else without_rows(envelope)


def _worded_change(wording: Wording, rows: bytes, es: int, ts: int, commit_ts: int) -> tuple[RowChange] | None:
    kind, structure = wording.kind, wording.structure
    plain, table, sequence = structure.plain, structure.table, wording.sequence
    old = b""
    if kind is UPDATE:
        old, _, rows = rows.partition(NEXT_ROW)
    try:
        row = structure.row(rows) if plain is None else astuple(plain(rows))
        # the fields of an event by place, since names take a third of the time
        if kind is INSERT:
            return (RowChange(INSERT, table, None, row, commit_ts, es, ts, sequence),)
        if kind is DELETE:
            return (RowChange(DELETE, table, row, None, commit_ts, es, ts, sequence),)
        return (RowChange(UPDATE, table, structure.old_row(old, row), row, commit_ts, es, ts, sequence),)
    except _REFUSED:
        return None


_REFUSED: Final = (MsgspecError, DecodeError, ValueError, RecursionError)
