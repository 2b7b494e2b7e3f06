"""Entries of the commit log.

A *claim* begins an owner's time and carries its epoch. A *commit* holds everything that one batch changed, and all that
publishing it needs: what was read, table versions, steps, checkpoint, what waits. ``view`` adds entries up. An entry
carries only what changed, so that a log does not grow with everything ever read.

Nothing in here is a function of the clock: the same input gives the same entries.
"""

from typing import Any, Final, Literal

import msgspec

from spark_jobs.sinks.base import Step, TableCount, TableState

FORMAT: Final = 2


class HeldSegment(msgspec.Struct, frozen=True, gc=False):
    """Source messages that wait for a watermark: a file below ``held/`` with their range of commit-ts."""

    name: str
    rows: int
    bytes: int
    first_ts: int
    last_ts: int


class StrandState(msgspec.Struct, frozen=True, gc=False):
    """What is known of one strand of the source: greatest commit-ts read, last watermark, whether rows say their
    commit-ts."""

    stream: str
    partition: int
    last_ts: int = 0
    watermark_ts: int = 0
    timed: bool = False


class Totals(msgspec.Struct, frozen=True, gc=False):
    """Counts since the changefeed began."""

    rows: int = 0
    bytes: int = 0
    repeats_dropped: int = 0
    late_rows: int = 0
    dead_letters: int = 0
    held_rows: int = 0
    ddl_unparsed: int = 0


class Entry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One entry. A field that a batch did not change is left out (never ``format``); lists hold only what changed.

    ``feed_uid`` tells one life of a changefeed id from the next, ``log_id`` (made by the first claim) one log from
    another. ``position``: of a claim that moves (``fresh``: a new life; or an operator's rewind) the whole position, of
    a commit a merge patch. ``identity``: of the source, where it became known or changed. ``sink``: a merge patch of
    the sink's own part. ``staging``: the folder of the staged files. ``held_used``: names of segments that are over.
    """

    format: int
    number: int
    kind: Literal["claim", "commit"]
    epoch: int
    capture_id: str = ""
    changefeed_id: str = ""
    feed_uid: int = 0
    rewind_id: int = 0
    log_id: str = ""
    fresh: bool = False
    batch_id: int = -1
    position: dict[str, Any] | None = None
    identity: dict[str, str] | None = None
    strands: list[StrandState] = []
    tables: list[TableState] = []
    counts: list[TableCount] = []
    steps: list[Step] = []
    sink: dict[str, Any] = {}
    staging: str = ""
    held_added: list[HeldSegment] = []
    held_used: list[str] = []
    checkpoint_ts: int = 0
    resolved_ts: int = 0
    estimated: bool = False
    without_watermarks: bool = False
    totals: Totals | None = None
    finished: bool = False


class State(msgspec.Struct, kw_only=True):
    """The sum of all entries up to ``number``: a snapshot."""

    format: int = FORMAT
    number: int = 0
    epoch: int = 0
    feed_uid: int = 0
    rewind_id: int = 0
    log_id: str = ""
    batch_id: int = -1
    started: bool = False
    position: dict[str, Any] = {}
    identity: dict[str, str] = {}
    strands: list[StrandState] = []
    tables: list[TableState] = []
    counts: list[TableCount] = []
    sink: dict[str, Any] = {}
    held: list[HeldSegment] = []
    checkpoint_ts: int = 0
    resolved_ts: int = 0
    estimated: bool = False
    without_watermarks: bool = False
    totals: Totals = Totals()
    finished: bool = False
