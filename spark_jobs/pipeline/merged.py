"""A queue: rows of a table come from many partitions; chunks of them are merged by commit-ts.

Stage 1 (``QueueReader``), per source partition, in offset order: decode, filter, encode → chunks by table, statements,
and what must wait for a watermark. Stage 2 (``merge``), per table: chunks by (commit-ts, topic, partition, offset) →
pieces, cut at structures, statements, dates and file-size.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
import numpy

from spark_jobs.cdc.codecs.canal_json.envelope import Envelope, Kind
from spark_jobs.cdc.codecs.canal_json.relay import Message
from spark_jobs.cdc.events import TableSchema
from spark_jobs.pipeline.bad_message import MESSAGE_ERRORS, BadMessage, refuse_too_many
from spark_jobs.pipeline.dates import Dates
from spark_jobs.pipeline.held import HeldMessage, write_held
from spark_jobs.pipeline.job import DeadLetter, Job, Outcome, PartitionReading, Statement
from spark_jobs.pipeline.pieces import OpenPiece, Pieces
from spark_jobs.pipeline.translate import Translator

CHUNK_BYTES: Final = 4 << 20
_AFTER_ROWS: Final = 1 << 62


class Chunk(msgspec.Struct, frozen=True):
    """Encoded rows of one table with one structure from one partition: times, offsets and lengths as packed arrays.

    ``payload``: the rows; a view, since it may be of a file.
    """

    structure: TableSchema
    full: bool
    stream: str
    partition: int
    times: bytes
    offsets: bytes
    lengths: bytes
    payload: memoryview


class _OpenChunk:
    __slots__ = ("full", "lengths", "offsets", "partition", "payload", "stream", "structure", "times")

    def __init__(self, structure: TableSchema, full: bool, stream: str, partition: int) -> None:
        self.structure, self.full, self.stream, self.partition = structure, full, stream, partition
        self.times, self.offsets, self.lengths = array("q"), array("q"), array("i")
        self.payload = bytearray()

    def close(self) -> Chunk:
        return Chunk(
            self.structure,
            self.full,
            self.stream,
            self.partition,
            self.times.tobytes(),
            self.offsets.tobytes(),
            self.lengths.tobytes(),
            memoryview(self.payload),
        )


class Source(msgspec.Struct, frozen=True):
    """A source message: its bytes and where it stood."""

    stream: str
    partition: int
    offset: int
    value: bytes


class QueueReader:
    """Stage 1 for the partitions of one task. ``partitions``: what was known of each before this batch."""

    def __init__(self, job: Job, partitions: Iterable[PartitionReading]) -> None:
        self._job = job
        self._translator = Translator(job)
        self._known = {(item.stream, item.partition): item for item in partitions}
        self._chunks: dict[tuple[str, str, int, str, int], _OpenChunk | None] = {}
        self._full: list[Chunk] = []
        self._held: list[HeldMessage] = []
        self._filtered_times = bool(job.start_ts or job.target_ts or job.late_ts)
        self._outcome = Outcome()

    def expect(self, known: PartitionReading | None) -> None:
        """What was known of a partition that this task turns out to read."""
        if known is not None:
            self._known[known.stream, known.partition] = known

    def read(self, stream: str, partition: int, offsets: Sequence[int], values: Sequence[bytes | None]) -> None:
        """Messages of one partition, in offset order."""
        state = _Reading(self._known.get((stream, partition)), stream, partition)
        drop = self._job.drop_repeats
        there = [value for value in values if value is not None]
        opened = iter(self._translator.open_each(there))
        for offset, value in zip(offsets, values, strict=True):
            if value is not None:
                self._one(state, offset, value, next(opened), repeat_below=state.watermark_ts if drop else 0)
            state.next_offset = offset + 1
        self._known[stream, partition] = state.value()

    def release(self, messages: Iterable[HeldMessage]) -> None:
        """Messages that were held; those above the horizon are held again. Their order among them is of no matter."""
        horizon = self._job.horizon_ts
        for message in messages:
            if horizon is not None and message.commit_ts > horizon:
                self._held.append(message)
            else:
                state = _Reading(None, message.stream, message.partition)
                state.last_ts = message.commit_ts - 1  # so that a time made up when it was held is made up again
                self._one(state, message.offset, message.value, None, repeat_below=0)

    def take_chunks(self) -> Iterator[Chunk]:
        """Chunks that are full by now."""
        full, self._full = self._full, []
        yield from full

    def finish(self) -> tuple[list[Chunk], Outcome]:
        """The remaining chunks and everything else."""
        chunks = self._full + [chunk.close() for chunk in self._chunks.values() if chunk is not None]
        self._outcome.readings = list(self._known.values())
        self._outcome.held = write_held(self._job.held, self._held)
        return chunks, self._outcome

    def _one(self, state: "_Reading", offset: int, value: bytes, message: Message | None, *, repeat_below: int) -> None:
        """``message``: the value, opened; None: not yet, or it cannot be."""
        try:
            if message is None:
                message = self._translator.open(value)
            if type(message) is Envelope and not message.is_row:
                self._other(state, offset, value, message, repeat_below)
            else:
                self._row(state, offset, value, message, repeat_below)
        except MESSAGE_ERRORS as error:
            if not self._job.dead_letter:
                place = f"topic {state.stream}, partition {state.partition}, offset {offset}"
                raise BadMessage(place, error) from None
            letter = DeadLetter(state.stream, state.partition, offset, error.reason, value)
            self._outcome.dead_letters.append(letter)
            refuse_too_many(len(self._outcome.dead_letters))

    def _row(self, state: "_Reading", offset: int, value: bytes, message: Message, repeat_below: int) -> None:
        commit_ts = state.commit_ts(message)
        if commit_ts < repeat_below:
            self._outcome.repeats += 1
            return
        if self._filtered_times and not self._wanted(commit_ts):
            return
        if not self._translator.passes(message.database, message.table):
            return
        form = self._translator.form(message)
        horizon = self._job.horizon_ts
        if horizon is not None and commit_ts > horizon:
            self._held.append(HeldMessage(state.stream, state.partition, offset, commit_ts, value))
            return
        chunk = self._chunk(state, message, form.table)
        payload = chunk.payload
        before = len(payload)
        self._translator.write(message, form, commit_ts, payload)
        chunk.times.append(commit_ts)
        chunk.offsets.append(offset)
        chunk.lengths.append(len(payload) - before)
        if len(payload) >= CHUNK_BYTES:
            self._full.append(chunk.close())
            del self._chunks[_key(chunk)]

    def _chunk(self, state: "_Reading", message: Message, structure: TableSchema) -> _OpenChunk:
        key = (message.database, message.table, id(structure), state.stream, state.partition)
        chunk = self._chunks.get(key)
        if chunk is None:
            chunk = self._chunks[key] = _OpenChunk(structure, False, state.stream, state.partition)
        if not chunk.full:
            chunk.full = self._translator.is_full(message, structure)
        return chunk

    def _other(self, state: "_Reading", offset: int, value: bytes, message: Envelope, repeat_below: int) -> None:
        kind = message.kind
        if kind is Kind.WATERMARK:
            state.watermark_ts = max(state.watermark_ts, message.watermark_ts)
            state.extension = True
        if kind is not Kind.STATEMENT:
            return
        commit_ts = state.commit_ts(message)
        horizon = self._job.horizon_ts
        if commit_ts < repeat_below:
            self._outcome.repeats += 1
        elif self._job.target_ts and commit_ts > self._job.target_ts:
            return
        elif horizon is not None and commit_ts > horizon:
            self._held.append(HeldMessage(state.stream, state.partition, offset, commit_ts, value))
        else:
            self._outcome.statements.append(
                Statement(
                    schema=message.database,
                    table=message.table,
                    query=message.sql or "",
                    commit_ts=commit_ts,
                    order=(commit_ts, _AFTER_ROWS + offset),
                    canal_type=message.type,
                    position=f"{state.stream}/{state.partition}@{offset}",
                )
            )

    def _wanted(self, commit_ts: int) -> bool:
        job = self._job
        if commit_ts <= job.start_ts or (job.target_ts and commit_ts > job.target_ts):
            return False
        if commit_ts <= job.late_ts:
            self._outcome.late += 1
        return True


def _key(chunk: _OpenChunk) -> tuple[str, str, int, str, int]:
    structure = chunk.structure
    return structure.schema, structure.table, id(structure), chunk.stream, chunk.partition


class _Reading:
    """One partition while it is read."""

    def __init__(self, known: PartitionReading | None, stream: str, partition: int) -> None:
        self.stream, self.partition = stream, partition
        self.next_offset = known.next_offset if known else 0
        self.last_ts = known.last_ts if known else 0
        self.watermark_ts = known.watermark_ts if known else 0
        self.extension = known.extension if known else False
        self.rows = known.rows if known else 0

    def commit_ts(self, message: Message) -> int:
        """The message's commit-ts; made monotone in source order where the source has milliseconds only."""
        commit_ts = message.commit_ts
        if commit_ts:
            self.extension = True
        else:
            commit_ts = max(message.es << 18, self.last_ts + 1)
        self.last_ts = max(self.last_ts, commit_ts)
        self.rows += 1
        return commit_ts

    def value(self) -> PartitionReading:
        return PartitionReading(
            self.stream,
            self.partition,
            self.next_offset,
            self.last_ts,
            self.watermark_ts,
            self.extension,
            self.rows,
        )


def merge(job: Job, chunks: Sequence[Chunk], header_of: Translator) -> Outcome:
    """Stage 2: the chunks of one table → staged pieces."""
    merger = _Merger(job, chunks, header_of)
    for first, last in merger.spans():
        while first < last:
            first = merger.fill(first, last)
    return merger.outcome()


class _Merger:
    """All rows of one table in the order (commit-ts, topic, partition, offset).

    Neighbours in that order mostly come from different chunks, so whatever can be is decided for many rows at once.
    ``_ends``: bytes before each row in that order; ``_starts``: where its bytes are in its chunk.
    """

    def __init__(self, job: Job, chunks: Sequence[Chunk], translator: Translator) -> None:
        self._chunks = chunks
        self._sort()
        self._joins = translator.joins
        self._pieces = Pieces(job, translator.header)
        self._dates = Dates(job.date_separator, job.time_zone)
        structure = chunks[0].structure
        cuts = sorted(
            item.after_ts for item in job.known if (item.schema, item.table) == (structure.schema, structure.table)
        )
        self._cuts = cuts
        self._open: OpenPiece | None = None
        self._sequence = 0

    def _sort(self) -> None:
        chunks = self._chunks
        streams = sorted({(chunk.stream, chunk.partition) for chunk in chunks})
        rank = {stream: index for index, stream in enumerate(streams)}
        times = [numpy.frombuffer(chunk.times, dtype=numpy.int64) for chunk in chunks]
        lengths = [numpy.frombuffer(chunk.lengths, dtype=numpy.int32).astype(numpy.int64) for chunk in chunks]
        counts = [len(each) for each in times]
        offsets = numpy.concatenate([numpy.frombuffer(chunk.offsets, dtype=numpy.int64) for chunk in chunks])
        ranks = numpy.repeat([rank[chunk.stream, chunk.partition] for chunk in chunks], counts)
        order = numpy.lexsort((offsets, ranks, numpy.concatenate(times)))
        self._owners = numpy.repeat(numpy.arange(len(chunks)), counts)[order]
        self._times = numpy.concatenate(times)[order]
        self._starts = numpy.concatenate([numpy.cumsum(each) - each for each in lengths])[order]
        self._ends = numpy.concatenate(([0], numpy.cumsum(numpy.concatenate(lengths)[order])))

    def spans(self) -> Iterator[tuple[int, int]]:
        """(first row, last row + 1) of neighbours of the same structure, known by images as full."""
        known: dict[tuple[TableSchema, bool], int] = {}
        kinds = [known.setdefault((chunk.structure, chunk.full), len(known)) for chunk in self._chunks]
        breaks = (numpy.flatnonzero(numpy.diff(numpy.array(kinds)[self._owners])) + 1).tolist()
        yield from zip([0, *breaks], [*breaks, len(self._owners)], strict=True)

    def fill(self, first: int, last: int) -> int:
        """Adds rows to a piece up to where it, or the memory for it, must end; returns the row after."""
        times, ends = self._times, self._ends
        piece = self._piece(self._chunks[self._owners[first]], int(times[first]))
        stop = first + int(numpy.searchsorted(times[first:last], piece.high_ts, "left"))
        room = int(ends[first]) + piece.limit - len(piece.output)
        stop = min(stop, max(int(numpy.searchsorted(ends, room, "left")), first + 1))
        for run in self._runs(first, stop):
            piece.output += run
        piece.rows += stop - first
        piece.last_ts = int(times[stop - 1])
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

    def outcome(self) -> Outcome:
        self._close()
        return Outcome(pieces=self._pieces.settled())

    def _close(self) -> None:
        if self._open is not None:
            self._pieces.finish(self._open)
        self._open = None

    def _piece(self, chunk: Chunk, commit_ts: int) -> OpenPiece:
        piece = self._open
        if piece is not None:
            same = piece.structure == chunk.structure or (
                not chunk.full and self._joins(chunk.structure, piece.structure)
            )
            if same and piece.low_ts <= commit_ts < piece.high_ts:
                return piece
            self._close()
        date, low_ts, high_ts = self._dates.folder(commit_ts)
        for cut in self._cuts:
            if commit_ts <= cut:
                high_ts = min(high_ts, cut + 1)
                break
            low_ts = max(low_ts, cut + 1)
        self._sequence += 1
        piece = self._pieces.begin(chunk.structure, chunk.full, date, (commit_ts, self._sequence))
        piece.low_ts, piece.high_ts, piece.first_ts = low_ts, high_ts, commit_ts
        self._open = piece
        return piece
