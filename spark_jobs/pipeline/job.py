"""What workers need to know to read one batch, and what they give back; travels with the tasks."""

import msgspec

from spark_jobs.cdc.codec import Opener
from spark_jobs.cdc.codecs import codec
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.filters.selection import SelectionConfig
from spark_jobs.sinks.base import Definition, Lane, Piece, SinkSpec, Statement
from spark_jobs.sources.base import Split, Strand


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of one changefeed.

    ``staging``: folder for this batch's files, ``held`` for messages that wait, on a file system that every worker
    reaches. Rows with commit-ts <= ``start_ts`` or > ``target_ts`` (0: none) are not delivered; those <= ``late_ts``
    count as late; what is above ``latest_ts`` (0: none) cannot be meant. Rows and DDL above ``horizon_ts`` are held;
    None: nothing is held. ``drop_repeats``: rows below a watermark of their own strand are dropped; ``drop_copies``: so
    are copies of one row among those that are released (``repeats``). ``direct``: the batch is one strand and nothing
    is held, so that what is read is in order already and pieces are written at once. ``definitions``: what DDL told of
    tables. ``plain``: without memories and generated functions.
    """

    staging: str
    held: str
    source_protocol: str
    source_time_zone: str
    sink: SinkSpec
    selection: SelectionConfig
    sink_time_zone: str
    start_ts: int = 0
    target_ts: int = 0
    late_ts: int = 0
    latest_ts: int = 0
    dead_letter: bool = False
    drop_repeats: bool = False
    drop_copies: bool = False
    horizon_ts: int | None = None
    direct: bool = False
    definitions: tuple[Definition, ...] = ()
    plain: bool = False


def opener_of(protocol: str, time_zone: str) -> Opener:
    """A new opener; ``time_zone``: of the source's timestamps without a zone."""
    found = codec(protocol)
    if found.opener is None:
        raise ConfigError(f"{protocol} cannot be read as a source", code="CDC:ErrSinkUnknownProtocol")
    known = {option.name for option in found.decode_options}
    return found.opener({"time-zone": time_zone} if "time-zone" in known and time_zone else {})


class StrandReading(msgspec.Struct, frozen=True, gc=False):
    """How far one strand was read: its greatest commit-ts, its last watermark, whether rows say their commit-ts."""

    stream: str
    partition: int
    last_ts: int = 0
    watermark_ts: int = 0
    timed: bool = False


class Task(msgspec.Struct, frozen=True):
    """What one task reads: splits, in order, and segments of held messages. ``known``: of their strands, before."""

    splits: tuple[Split, ...]
    held: tuple[str, ...] = ()
    known: tuple[StrandReading, ...] = ()


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that could not be carried: where it stood, why, and its bytes."""

    stream: str
    partition: int
    offset: int
    reason: str
    message: bytes


class HeldFile(msgspec.Struct, frozen=True, gc=False):
    """A segment of held messages that a task wrote."""

    name: str
    rows: int
    bytes: int
    first_ts: int
    last_ts: int


class ChunkPlace(msgspec.Struct, frozen=True, gc=False):
    """Where a chunk of a lane lies: its head (everything but the rows) at ``start``, its rows behind it. ``last_key``:
    the greatest sort key in it."""

    lane: Lane
    file: str
    start: int
    head_bytes: int
    row_bytes: int
    last_key: int


class Outcome(msgspec.Struct, kw_only=True):
    """What one task did; those of a batch are put together by ``join``.

    ``needs_whole_strands``: a row or statement of a later split says no commit-ts; what it gets depends on the splits
    before. ``tables``: of the source, of which rows were read and are carried; where names are routed.
    """

    pieces: list[Piece] = []
    chunks: list[ChunkPlace] = []
    statements: list[Statement] = []
    strands: list[StrandReading] = []
    held: list[HeldFile] = []
    dead_letters: list[DeadLetter] = []
    repeats: int = 0
    late: int = 0
    rows: int = 0
    messages: int = 0
    bytes: int = 0
    needs_whole_strands: bool = False
    tables: set[tuple[str, str]] = set()


def join(outcomes: list[Outcome]) -> Outcome:
    """All outcomes of a batch in one, strands put together."""
    whole = Outcome()
    strands: dict[Strand, StrandReading] = {}
    for outcome in outcomes:
        whole.pieces += outcome.pieces
        whole.chunks += outcome.chunks
        whole.statements += outcome.statements
        whole.held += outcome.held
        whole.dead_letters += outcome.dead_letters
        whole.repeats += outcome.repeats
        whole.late += outcome.late
        whole.rows += outcome.rows
        whole.messages += outcome.messages
        whole.bytes += outcome.bytes
        whole.tables |= outcome.tables
        whole.needs_whole_strands |= outcome.needs_whole_strands
        for item in outcome.strands:
            strand = Strand(item.stream, item.partition)
            strands[strand] = further(strands.get(strand), item)
    whole.strands = list(strands.values())
    whole.statements.sort(key=lambda statement: statement.order)
    return whole


def further(one: StrandReading | None, other: StrandReading) -> StrandReading:
    """Both readings of a strand in one."""
    if one is None:
        return other
    return StrandReading(
        other.stream,
        other.partition,
        max(one.last_ts, other.last_ts),
        max(one.watermark_ts, other.watermark_ts),
        one.timed or other.timed,
    )
