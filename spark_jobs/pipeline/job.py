"""What a worker needs to know to turn source messages into staged files; travels with the tasks."""

import msgspec

from spark_jobs.cdc.events import TableSchema


class KnownStructure(msgspec.Struct, frozen=True):
    """A table's structure from a commit-ts on (rows above ``after_ts``). ``structure`` None: not known."""

    schema: str
    table: str
    after_ts: int
    structure: TableSchema | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of one changefeed.

    ``staging``: folder for this batch's files, ``held`` for messages that wait, on a file system that every worker
    reaches. ``encode_options``: the sink codec's, by name. ``date_separator`` and ``time_zone`` name the date folder.
    Rows with commit-ts <= ``start_ts`` or > ``target_ts`` (0: none) are not delivered. ``horizon_ts``: rows and DDL
    above it are held; None: nothing is held. ``drop_repeats``: rows below a watermark of their own partition are
    dropped. Rows with commit-ts <= ``late_ts`` count as late. ``known``: structures and DDL boundaries, where encoding
    or cutting depends on them. ``following``: the same after each statement of the batch, in order, of a folder that is
    read as one split.
    """

    staging: str
    held: str
    source_protocol: str
    sink_protocol: str
    encode_options: dict[str, str]
    terminator: str
    date_separator: str
    time_zone: str
    source_time_zone: str
    file_size: int
    filter_rules: tuple[str, ...]
    case_sensitive: bool = False
    start_ts: int = 0
    target_ts: int = 0
    late_ts: int = 0
    dead_letter: bool = False
    drop_repeats: bool = False
    horizon_ts: int | None = None
    known: tuple[KnownStructure, ...] = ()
    following: tuple[tuple[KnownStructure, ...], ...] = ()


class SourceRange(msgspec.Struct, frozen=True, gc=False):
    """A part of a source file: bytes ``start`` to ``end``, whole lines. ``size``: the file's when it was listed."""

    path: str
    name: str
    start: int
    end: int
    size: int


class Split(msgspec.Struct, frozen=True):
    """What one task reads of a folder, in order. ``last_ts``: greatest commit-ts before it, as far as known."""

    index: int
    ranges: tuple[SourceRange, ...]
    last_ts: int


class Piece(msgspec.Struct, frozen=True):
    """A staged file: rows of one table, one structure, one date folder, in order.

    ``order`` sorts pieces and statements of a batch: (split, sequence) of a folder, (first commit-ts, sequence) of a
    queue, where statements come after all rows of their commit-ts, by their offset. ``full``: the rows' images define a
    structure.
    """

    schema: str
    table: str
    structure: TableSchema
    full: bool
    date: str
    partition_id: int
    order: tuple[int, int]
    staged: str
    rows: int
    bytes: int
    first_ts: int
    last_ts: int


class Statement(msgspec.Struct, frozen=True):
    """A DDL in its place."""

    schema: str
    table: str
    query: str
    commit_ts: int
    order: tuple[int, int]
    canal_type: str = ""
    position: str = ""


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that could not be decoded: where it stood, why, and its bytes."""

    stream: str
    partition: int
    offset: int
    reason: str
    message: bytes


class PartitionReading(msgspec.Struct, frozen=True, gc=False):
    """How far one source partition was read: its next offset, its greatest commit-ts, its last watermark."""

    stream: str
    partition: int
    next_offset: int
    last_ts: int
    watermark_ts: int
    extension: bool
    rows: int


class HeldFile(msgspec.Struct, frozen=True, gc=False):
    """A segment of held messages that a task wrote."""

    name: str
    rows: int
    bytes: int
    first_ts: int
    last_ts: int


class Outcome(msgspec.Struct, kw_only=True):
    """What one task did; outcomes of a batch are put together by ``join``.

    ``messages``: read in all. ``extension``: some said their commit-ts. ``needs_one_split``: rows of a later split have
    no commit-ts of their own and are written with one, or a statement has none; it depends on the splits before.
    """

    pieces: list[Piece] = []
    statements: list[Statement] = []
    readings: list[PartitionReading] = []
    held: list[HeldFile] = []
    dead_letters: list[DeadLetter] = []
    repeats: int = 0
    late: int = 0
    last_ts: int = 0
    messages: int = 0
    extension: bool = False
    needs_one_split: bool = False


def join(outcomes: list[Outcome]) -> Outcome:
    """All outcomes of a batch in one."""
    whole = Outcome()
    for outcome in outcomes:
        whole.pieces += outcome.pieces
        whole.statements += outcome.statements
        whole.readings += outcome.readings
        whole.held += outcome.held
        whole.dead_letters += outcome.dead_letters
        whole.repeats += outcome.repeats
        whole.late += outcome.late
        whole.last_ts = max(whole.last_ts, outcome.last_ts)
        whole.messages += outcome.messages
        whole.extension |= outcome.extension
        whole.needs_one_split |= outcome.needs_one_split
    whole.pieces.sort(key=lambda piece: piece.order)
    whole.statements.sort(key=lambda statement: statement.order)
    return whole
