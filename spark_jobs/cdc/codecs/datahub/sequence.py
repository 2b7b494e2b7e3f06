"""The numbers that DataHub messages are sorted by (``sequenceId``, ``_sequence_id_``).

Rules (fact sheet §5)

1. A number is ``base_ms * 10**6 + n``: 19 digits for today's clock. The base is the time at which the task started, not
   the time of an event; it stays while the task runs, ``n`` grows by one with every event and carries into the base.
2. Both halves of an update share one number. Rows and DDL take a number; heartbeats have none, and transaction marks
   keep one that they bring along.
3. A number never goes backwards, also not across a restart: what must be kept is the last number written, and nothing
   else. A clock that was set back is overruled by it.
"""

from typing import Final

from spark_jobs.cdc import tso
from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.events import Ddl, RowChange

NUMBERS_PER_MS = 10**6
_SHORTEST = 10**18
"""The least number with 19 digits: a base of 13 digits and a counter of 6."""

SEQUENCE_OPTIONS: Final = (
    Option("sequence-keep", "choice", "own", "which sequence numbers of the input are kept", ("own", "all", "none")),
    Option("sequence-base", "int", "0", "milliseconds that new sequence numbers begin with; 0: the first event's time"),
    Option("sequence-last", "int", "0", "the last sequence number of an earlier run; new ones are greater"),
)


class SequenceIds:
    """Hands out numbers. ``last`` is the whole state: store it, and give it back after a restart."""

    def __init__(self, base_ms: int, last: int = 0) -> None:
        self.last = max(base_ms * NUMBERS_PER_MS - 1, last)

    def next(self) -> int:
        self.last += 1
        return self.last


class Numbering:
    """The number of each event, in the order in which they are written.

    ``keep``: which numbers that events bring along are kept. ``own``: those of DataHub's own form (19 digits), because
    other formats count batches in the same field; ``all``; or ``none``. Others are numbered anew from ``base_ms``; with
    0 from the time of the first event, so that the same input gives the same output.
    """

    def __init__(self, keep: str = "own", base_ms: int = 0, last: int = 0) -> None:
        self._least_kept = {"own": _SHORTEST, "all": 1}.get(keep)
        self._ids = SequenceIds(base_ms, last) if base_ms or last else None
        self._open_half = 0

    @classmethod
    def of(cls, options: Options) -> "Numbering":
        return cls(options.text("sequence-keep"), options.number("sequence-base"), options.number("sequence-last"))

    @property
    def last(self) -> int:
        """The last number handed out, 0 before the first; the state to store for a restart."""
        return self._ids.last if self._ids else 0

    def number(self, event: RowChange | Ddl) -> int:
        """The number of this event; a half that follows its other half gets the same."""
        if self._least_kept is not None and event.sequence >= self._least_kept:
            return event.sequence
        half = event.half if isinstance(event, RowChange) else ""
        shared, self._open_half = self._open_half, 0
        if half == "after" and shared:
            return shared
        number = self._next(event)
        if half == "before":
            self._open_half = number
        return number

    def _next(self, event: RowChange | Ddl) -> int:
        if self._ids is None:
            self._ids = SequenceIds(event.es_ms or tso.physical_ms(event.commit_ts))
        return self._ids.next()
