"""Rows of a batch in order: chunks of a lane are merged into pieces.

The order is (sort key, topic, partition, offset); rows before a statement at an equal key. Neighbours in that order
mostly come from different chunks, so whatever can be is decided for many rows at once, with numpy.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy

from spark_jobs.pipeline.job import ChunkPlace, Job
from spark_jobs.pipeline.pieces import OpenPiece, Pieces
from spark_jobs.pipeline.repeats import NO_PRINT, PRINT_BYTES
from spark_jobs.pipeline.spool import Chunk, load
from spark_jobs.sinks.base import Label, Lane, Piece, Serializer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[numpy.int64]


class LaneWork(msgspec.Struct, frozen=True):
    """A lane's chunks, and the sort keys behind which its pieces are cut (those of statements)."""

    places: tuple[ChunkPlace, ...]
    cuts: tuple[int, ...] = ()


def lanes(chunks: Iterable[ChunkPlace], cuts: Callable[[Lane], Sequence[int]]) -> list[LaneWork]:
    """The work of stage two, a lane each, the largest first."""
    grouped: dict[Lane, list[ChunkPlace]] = {}
    for chunk in chunks:
        grouped.setdefault(chunk.lane, []).append(chunk)
    work = [LaneWork(tuple(places), tuple(cuts(lane))) for lane, places in grouped.items()]
    work.sort(key=lambda lane: -sum(place.row_bytes for place in lane.places))
    return work


class Ordered(msgspec.Struct, frozen=True):
    """A lane's staged pieces, and how many rows were copies of others."""

    pieces: list[Piece]
    repeats: int


def order(job: Job, serializer: Serializer, work: LaneWork) -> Ordered:
    """One lane's chunks as staged pieces."""
    lane = _Lane(job, serializer, load(job.staging, work.places), work.cuts)
    return Ordered(lane.pieces(), lane.repeats)


class _Lane:
    """``_ends``: bytes before each row in order; ``_starts``: where its bytes are in its chunk."""

    def __init__(self, job: Job, serializer: Serializer, chunks: Sequence[Chunk], cuts: Sequence[int]) -> None:
        self._chunks = chunks
        self._serializer = serializer
        self._pieces = Pieces(job.staging, serializer)
        self._cuts = numpy.array(cuts, dtype=numpy.int64)
        self._open: OpenPiece | None = None
        self._sequence = 0
        self._sort()

    def _sort(self) -> None:
        chunks = self._chunks
        streams = sorted({(chunk.stream, chunk.partition) for chunk in chunks})
        rank = {stream: index for index, stream in enumerate(streams)}
        times = [numpy.frombuffer(chunk.times, dtype=numpy.int64) for chunk in chunks]
        keys = numpy.concatenate([numpy.frombuffer(chunk.keys or chunk.times, dtype=numpy.int64) for chunk in chunks])
        lengths = [numpy.frombuffer(chunk.lengths, dtype=numpy.int32).astype(numpy.int64) for chunk in chunks]
        counts = [len(each) for each in times]
        offsets = numpy.concatenate([numpy.frombuffer(chunk.offsets, dtype=numpy.int64) for chunk in chunks])
        ranks = numpy.repeat([rank[chunk.stream, chunk.partition] for chunk in chunks], counts)
        sorted_ = self._without_copies(numpy.lexsort((offsets, ranks, keys)), keys, ranks)
        self._owners = numpy.repeat(numpy.arange(len(chunks)), counts)[sorted_]
        self._times = numpy.concatenate(times)[sorted_]
        self._keys = keys[sorted_]
        self._starts = numpy.concatenate([numpy.cumsum(each) - each for each in lengths])[sorted_]
        self._ends = numpy.concatenate(([0], numpy.cumsum(numpy.concatenate(lengths)[sorted_])))

    def _without_copies(self, sorted_: "Numbers", keys: "Numbers", ranks: "Numbers") -> "Numbers":
        """The places of the rows, in order, without those that repeat an earlier one of their commit-ts and strand."""
        self.repeats = 0
        if not any(chunk.prints for chunk in self._chunks):
            return sorted_
        same = (numpy.diff(keys[sorted_]) == 0) & (numpy.diff(ranks[sorted_]) == 0)
        asked = numpy.flatnonzero(numpy.concatenate(([False], same)) | numpy.concatenate((same, [False])))
        prints = b"".join(chunk.prints for chunk in self._chunks)
        seen: set[tuple[int, int, bytes]] = set()
        copies = []
        for at in asked.tolist():
            row = int(sorted_[at])
            print_ = prints[row * PRINT_BYTES : (row + 1) * PRINT_BYTES]
            known = int(keys[row]), int(ranks[row]), print_
            if print_ != NO_PRINT and known in seen:
                copies.append(at)
            seen.add(known)
        self.repeats = len(copies)
        return numpy.delete(sorted_, copies)

    def pieces(self) -> list[Piece]:
        breaks = numpy.append(self._breaks(), len(self._owners))
        strangers: dict[Label, Numbers] = {}
        first = 0
        while first < len(self._owners):
            piece = self._piece(first)
            if piece.label not in strangers:
                strangers[piece.label] = self._strangers(piece.label)
            last = min(_after(breaks, first), _after(strangers[piece.label], first))
            first = self._fill(piece, first, last)
        self._close()
        return self._pieces.settled()

    def _breaks(self) -> "Numbers":
        """The rows that another section begins with, or that stand behind a statement."""
        changes = numpy.diff(self._sections()) != 0
        if len(self._cuts):
            changes |= numpy.diff(numpy.searchsorted(self._cuts, self._keys, "left")) != 0
        return numpy.flatnonzero(changes) + 1

    def _strangers(self, label: Label) -> "Numbers":
        """The rows that do not join a piece of this label, with one more behind the last."""
        apart = [label != chunk.label and not self._serializer.joins(chunk.label, label) for chunk in self._chunks]
        return numpy.append(numpy.flatnonzero(numpy.array(apart)[self._owners]), len(self._owners))

    def _sections(self) -> "Numbers":
        """The section of each row, as a number."""
        times = self._times
        bounds: list[int] = []
        at, greatest = int(times.min()), int(times.max())
        while True:
            high = self._serializer.section(at)[2]
            if high > greatest:
                return numpy.searchsorted(numpy.array(bounds, dtype=numpy.int64), times, "right")
            bounds.append(high)
            later = times[times >= high]
            at = int(later.min())

    def _fill(self, piece: OpenPiece, first: int, last: int) -> int:
        """Adds rows to a piece up to where it, or the memory for it, must end; returns the row after."""
        room = int(self._ends[first]) + piece.limit - len(piece.output)
        stop = min(last, max(int(numpy.searchsorted(self._ends, room, "left")), first + 1))
        for run in self._runs(first, stop):
            piece.output += run
        piece.rows += stop - first
        times = self._times[first:stop]
        piece.first_ts, piece.last_ts = min(piece.first_ts, int(times.min())), max(piece.last_ts, int(times.max()))
        if len(piece.output) >= piece.limit and self._pieces.overflow(piece):
            self._open = None
        return stop

    def _runs(self, first: int, stop: int) -> Iterator[memoryview]:
        """The bytes of rows in order, those that stand beside each other in their chunk in one."""
        owners, starts = self._owners[first:stop], self._starts[first:stop]
        stops = starts + numpy.diff(self._ends[first : stop + 1])
        breaks = numpy.flatnonzero((numpy.diff(owners) != 0) | (starts[1:] != stops[:-1])) + 1
        begins, finals = numpy.concatenate(([0], breaks)), numpy.concatenate((breaks, [stop - first])) - 1
        payloads = [chunk.payload for chunk in self._chunks]
        runs = zip(owners[begins].tolist(), starts[begins].tolist(), stops[finals].tolist(), strict=True)
        return (payloads[owner][start:end] for owner, start, end in runs)

    def _piece(self, row: int) -> OpenPiece:
        """The piece that a row goes into: the open one, if it has room between the same statements."""
        label, commit_ts, key = self._chunks[self._owners[row]].label, int(self._times[row]), int(self._keys[row])
        piece = self._open
        if piece is not None:
            beyond = piece.order[0] <= key and not self._cut_between(piece.order[0], key)
            fits = beyond and piece.low_ts <= commit_ts < piece.high_ts
            joins = label == piece.label or self._serializer.joins(label, piece.label)
            if joins and fits:
                return piece
            if joins and beyond:
                label = piece.label
        self._close()
        self._sequence += 1
        section = self._serializer.section(commit_ts)
        lane = self._chunks[self._owners[row]].lane
        piece = self._open = self._pieces.begin(lane, label, ("", ""), section, (key, 0, str(lane), self._sequence))
        return piece

    def _cut_between(self, one: int, other: int) -> bool:
        return bool(numpy.searchsorted(self._cuts, one, "left") != numpy.searchsorted(self._cuts, other, "left"))

    def _close(self) -> None:
        if self._open is not None:
            self._pieces.finish(self._open)
        self._open = None


def _after(rows: "Numbers", row: int) -> int:
    """The first of the rows that stands behind this one; there is one."""
    return int(rows[numpy.searchsorted(rows, row, "right")])
