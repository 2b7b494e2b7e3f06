"""Where serialised rows go while a task reads: straight into pieces, or into chunks that are ordered later."""

from typing import Protocol

from spark_jobs.cdc import ddl
from spark_jobs.cdc.codec import Rows
from spark_jobs.cdc.events import Ddl
from spark_jobs.pipeline.job import Outcome
from spark_jobs.pipeline.pieces import OPEN_BYTES, OpenPiece, Pieces
from spark_jobs.pipeline.repeats import Prints
from spark_jobs.pipeline.spool import OpenChunk, Spool
from spark_jobs.sinks.base import NO_LABEL, Label, Lane, Serializer
from spark_jobs.sources.base import Strand

_MANY = 64


class At(Protocol):
    """The strand that is read: its name, and the number of the split."""

    @property
    def strand(self) -> Strand: ...

    @property
    def index(self) -> int: ...


class Gather(Protocol):
    """``put`` takes the bytes of a row; ``key`` and ``offset`` sort it among others. ``separate`` says that rows behind
    a statement must not join those before, and gives the statement's own place, if the order of reading is the order.
    ``bound`` is called now and then, so that what is open together stays small."""

    def put(
        self, rows: Rows, label: Label, lane: Lane, data: bytes, commit_ts: int, key: int, offset: int, at: At
    ) -> None: ...

    def separate(self, event: Ddl, at: At) -> tuple[int, ...]: ...

    def bound(self) -> None: ...

    def finish(self, outcome: Outcome) -> None: ...


class Direct:
    """What is read is in order already: rows go into pieces at once."""

    def __init__(self, staging: str, serializer: Serializer) -> None:
        self._serializer = serializer
        self._pieces = Pieces(staging, serializer)
        self._open: dict[Lane, OpenPiece] = {}
        self._sequence = 0

    def put(
        self, rows: Rows, label: Label, lane: Lane, data: bytes, commit_ts: int, key: int, offset: int, at: At
    ) -> None:
        piece = self._open.get(lane)
        if (
            piece is None
            or not (piece.label is label or piece.guest is label)
            or not piece.low_ts <= commit_ts < piece.high_ts
        ):
            piece = self._piece(rows, label, lane, commit_ts, at)
        piece.add(data, commit_ts)
        if len(piece.output) >= piece.limit and self._pieces.overflow(piece):
            del self._open[lane]

    def _piece(self, rows: Rows, label: Label, lane: Lane, commit_ts: int, at: At) -> OpenPiece:
        """The open piece of a lane if this row may join it, a new one otherwise."""
        piece = self._open.get(lane)
        if piece is not None:
            fits = piece.low_ts <= commit_ts < piece.high_ts
            if label == piece.label or self._serializer.joins(label, piece.label):
                if fits:
                    piece.guest = label
                    return piece
                label = piece.label
            self._pieces.finish(piece)
        self._sequence += 1
        section, order = self._serializer.section(commit_ts), (at.index, self._sequence)
        piece = self._open[lane] = self._pieces.begin(lane, label, (rows.schema, rows.name), section, order)
        return piece

    def separate(self, event: Ddl, at: At) -> tuple[int, ...]:
        """Ends the open pieces that a statement may concern: those of its tables, of its database, or all of them where
        that cannot be told; and pieces that hold any tables."""
        named = ddl.parse(event.query, event.schema)
        whole = not all(one.parsed for one in named)
        tables = {key for one in named for key in (*one.tables, *one.old_tables)}
        schemas = {schema for schema, table in tables if not table}
        schemas |= {one.schema for one in named if not one.tables}
        for lane, piece in list(self._open.items()):
            schema, table = piece.source
            if whole or piece.label is NO_LABEL or schema in schemas or (schema, table) in tables:
                self._pieces.finish(piece)
                del self._open[lane]
        self._sequence += 1
        return at.index, self._sequence

    def bound(self) -> None:
        if len(self._open) > _MANY and sum(len(piece.output) for piece in self._open.values()) > OPEN_BYTES:
            for piece in self._open.values():
                self._pieces.spill(piece)

    def finish(self, outcome: Outcome) -> None:
        for piece in self._open.values():
            self._pieces.finish(piece)
        outcome.pieces = self._pieces.settled()


class Spooled:
    """Rows of many strands: they go into chunks, a lane, label and strand each. ``prints``: to know copies by."""

    def __init__(self, spool: Spool, prints: Prints | None) -> None:
        self._spool = spool
        self._prints = prints
        self._open: dict[tuple[Lane, int, Strand], OpenChunk] = {}

    def put(
        self, rows: Rows, label: Label, lane: Lane, data: bytes, commit_ts: int, key: int, offset: int, at: At
    ) -> None:
        name = lane, id(label), at.strand
        chunk = self._open.get(name)
        if chunk is None:
            chunk = self._open[name] = OpenChunk(lane, label, at.strand)
        chunk.add(data, commit_ts, key, offset)
        if self._prints is not None:
            chunk.prints += self._prints.of(rows)
        if len(chunk.output) >= chunk.limit:
            self._spool.add(chunk.close())
            del self._open[name]

    def separate(self, event: Ddl, at: At) -> tuple[int, ...]:
        """Nothing to end: chunks are cut when they are ordered."""
        return ()

    def bound(self) -> None:
        if len(self._open) > _MANY and sum(len(chunk.output) for chunk in self._open.values()) > OPEN_BYTES:
            self._close()

    def finish(self, outcome: Outcome) -> None:
        self._close()
        outcome.chunks = self._spool.places

    def _close(self) -> None:
        for chunk in self._open.values():
            self._spool.add(chunk.close())
        self._open.clear()
