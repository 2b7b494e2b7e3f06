"""Delivers a queue: one micro-batch after another, with rows held back until watermarks cover them.

Small batches are decoded and merged in this process: two Spark stages cost more than the rows. Where watermarks are in
use, they are looked for before anything is decoded, so that every row is either encoded or held, never both.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_json.envelope import Kind, open_envelope
from spark_jobs.cdc.errors import DecodeError, EnvironmentFault
from spark_jobs.commitlog.entries import HeldSegment
from spark_jobs.pipeline.ddl_changes import changes, is_repeat
from spark_jobs.pipeline.delivery import Delivery, Progress, Start
from spark_jobs.pipeline.held import read_held
from spark_jobs.pipeline.job import Job, KnownStructure, Outcome, PartitionReading, Statement, join
from spark_jobs.pipeline.merged import Chunk, QueueReader, merge
from spark_jobs.pipeline.translate import Translator
from spark_jobs.pipeline.watermarks import Horizon, estimated, horizon
from spark_jobs.sources.kafka import KafkaSource

FINISH_AFTER_SECONDS: Final = 10
WATERMARK: Final = b"TIDB_WATERMARK"
EXTENSION: Final = b'"_tidb"'
HOLD_QUOTA_BYTES: Final = 10 << 30
"""What may wait for watermarks before reading stops."""


class HoldQuotaExceeded(EnvironmentFault):
    """A partition's watermark lags so far that too much waits for it."""

    code = "CDC:ErrHoldQuotaExceeded"


class Scan(msgspec.Struct, frozen=True):
    """A look at one partition's new messages: candidates for watermarks, and whether rows carry ``_tidb``."""

    stream: str
    partition: int
    candidates: tuple[bytes, ...]
    extension: bool


class Batch(Protocol):
    """The new messages of one micro-batch."""

    next_offsets: Mapping[str, Mapping[int, int]]
    at_end: bool

    def scan(self, needed: Collection[tuple[str, int]]) -> list[Scan]:
        """Looks for the last watermark of each partition, without decoding; thoroughly for those in ``needed``."""
        ...

    def run(self, job: Job, partitions: list[PartitionReading], held: list[str]) -> list[Outcome]:
        """Both stages: the new messages and the held segments of those names."""
        ...


IsEnd = Callable[[Mapping[str, Mapping[int, int]]], bool]
Messages = Iterable[tuple[str, int, list[int], list[bytes | None]]]


class SmallBatch:
    """Messages that are here in memory, by partition in offset order."""

    def __init__(
        self,
        messages: Messages,
        next_offsets: Mapping[str, Mapping[int, int]],
        *,
        at_end: bool,
    ) -> None:
        self._messages = list(messages)
        self.next_offsets = next_offsets
        self.at_end = at_end

    def scan(self, needed: Collection[tuple[str, int]]) -> list[Scan]:
        return [scan_values(stream, partition, values) for stream, partition, _, values in self._messages]

    def run(self, job: Job, partitions: list[PartitionReading], held: list[str]) -> list[Outcome]:
        reader = QueueReader(job, partitions)
        reader.release(read_held(job.held, held))
        for stream, partition, offsets, values in self._messages:
            reader.read(stream, partition, offsets, values)
        chunks, outcome = reader.finish()
        return [outcome, *merge_tables(job, chunks)]


def scan_values(stream: str, partition: int, values: Iterable[bytes | None]) -> Scan:
    """The scan of one partition's messages in memory."""
    candidates: list[bytes] = []
    extension = False
    for value in values:
        if value is not None:
            extension = extension or EXTENSION in value
            if WATERMARK in value:
                candidates.append(value)
    return Scan(stream, partition, tuple(candidates), extension)


def merge_tables(job: Job, chunks: Iterable[Chunk]) -> Iterator[Outcome]:
    """Stage 2 for every table among the chunks."""
    tables: dict[tuple[str, str], list[Chunk]] = {}
    for chunk in chunks:
        tables.setdefault((chunk.structure.schema, chunk.structure.table), []).append(chunk)
    translator = Translator(job)
    for group in tables.values():
        yield merge(job, group, translator)


def greatest_watermark(candidates: Iterable[bytes]) -> int:
    """The greatest watermark among messages that may be one; 0 if none is."""
    greatest = 0
    for candidate in candidates:
        try:
            envelope = open_envelope(candidate)
            if envelope.kind is Kind.WATERMARK:
                greatest = max(greatest, envelope.watermark_ts)
        except DecodeError:
            continue
    return greatest


class QueueFeed:
    """``advance`` is called with each micro-batch, and with None when time passes without one.

    ``at_end``: whether everything that the broker has is read; whoever knows better than the last batch sets it.
    ``is_end``: asks the broker whether these offsets are its ends, before the clock alone ends the changefeed: the next
    batch may be as far away as the flush interval.
    """

    def __init__(
        self,
        delivery: Delivery,
        source: KafkaSource,
        started_seconds: float,
        is_end: IsEnd = lambda offsets: True,
    ) -> None:
        self.delivery = delivery
        self._source = source
        self._started = started_seconds
        self._is_end = is_end
        self._waiting = True
        self._holding = False
        self._more = False
        self.at_end = False

    def begin(self, offsets: dict[str, dict[int, int]]) -> Start:
        """Where a new changefeed, or a rewind, begins."""
        return Start(offsets=offsets)

    def advance(self, batch: Batch | None, now_seconds: float, batch_id: int = -1) -> bool:
        """Commits one micro-batch; whether that changed anything."""
        with self.delivery.as_owner():
            changed = self._advance(batch, now_seconds, batch_id)
        self._refuse_to_hold_more()
        return changed

    def _refuse_to_hold_more(self) -> None:
        """Stops reading, with what was read committed, when more waits than the quota; a retry reads one batch more."""
        view = self.delivery.view
        held = sum(segment.bytes for segment in view.held)
        if held > HOLD_QUOTA_BYTES:
            last = min(view.partitions.values(), key=lambda item: item.watermark_ts)
            raise HoldQuotaExceeded(
                f"{held >> 20} MiB wait for the watermark of topic {last.stream}, partition {last.partition}, now at "
                f"{last.watermark_ts}; see why its producer sends none, or set watermark=ignore in the source URI"
            )

    def _advance(self, batch: Batch | None, now_seconds: float, batch_id: int) -> bool:
        if batch is not None:
            self.at_end = batch.at_end
        partitions = self._partitions(batch)
        scanned = self._scanned(partitions, batch)
        reached = self._horizon(scanned, now_seconds)
        limit = self._bounded(reached)
        self._waiting, self._holding, self._more = limit.waiting, limit.ts is not None, limit is not reached
        job = msgspec.structs.replace(
            self.delivery.new_job(), horizon_ts=limit.ts, drop_repeats=limit.ts is not None or self._uses_watermarks()
        )
        held = self._due(limit)
        outcome = self._run(batch, job, partitions, [segment.name for segment in held])
        readings = self._merged(scanned, outcome.readings)
        kept = [segment for segment in self.delivery.view.held if segment not in held]
        new = [HeldSegment(file.name, file.rows, file.bytes, file.first_ts, file.last_ts) for file in outcome.held]
        resolved = limit.ts if limit.ts is not None else estimated(readings, at_end=self.at_end)
        offsets = self._offsets(batch)
        return self.delivery.commit(
            outcome,
            Progress(
                batch_id=batch_id,
                offsets=offsets,
                partitions=readings,
                held=kept + new,
                resolved_ts=resolved,
                estimated=limit.ts is None,
                without_watermarks=limit.given_up,
                finished=self._finished(limit, readings, offsets, now_seconds),
            ),
        )

    def wants_time(self, now_seconds: float) -> bool:
        """Whether ``advance(None)`` could change something: a wait is over, or the target is passed."""
        if self.delivery.view.finished:
            return False
        if self._more:
            return True
        if self._waiting and self.delivery.view.held and self._timed_out(now_seconds):
            return True
        target = self.delivery.task.target_ts
        return bool(target) and self.at_end and not self._holding and self._past(target, now_seconds)

    def _uses_watermarks(self) -> bool:
        policy = self._source.watermark
        return policy == "require" or (policy == "auto" and not self.delivery.view.without_watermarks)

    def _timed_out(self, now_seconds: float) -> bool:
        return now_seconds - self._started >= self._source.watermark_timeout_seconds

    def _partitions(self, batch: Batch | None) -> list[PartitionReading]:
        """What is known before this batch. A partition found later has shown no watermark: it keeps the horizon where
        it is, and none of its rows is a repeat."""
        view = self.delivery.view
        names = {(topic, number) for topic, numbers in view.offsets.items() for number in numbers}
        if batch is not None:
            names |= {(topic, number) for topic, numbers in batch.next_offsets.items() for number in numbers}
        readings = []
        for topic, number in sorted(names):
            state = view.partitions.get((topic, number))
            offset = view.offsets.get(topic, {}).get(number, 0)
            known = (state.last_ts, state.watermark_ts, state.extension) if state is not None else (0, 0, False)
            readings.append(PartitionReading(topic, number, offset, *known, 0))
        return readings

    def _scanned(self, partitions: list[PartitionReading], batch: Batch | None) -> list[PartitionReading]:
        """The partitions with the watermarks that this batch brings."""
        if batch is None or not self._uses_watermarks():
            return partitions
        found: dict[tuple[str, int], tuple[int, bool]] = {}
        needed = {(item.stream, item.partition) for item in partitions if item.extension or item.watermark_ts}
        for scan in batch.scan(needed):
            watermark, extension = found.get((scan.stream, scan.partition), (0, False))
            watermark = max(watermark, greatest_watermark(scan.candidates))
            found[scan.stream, scan.partition] = watermark, extension or scan.extension
        nothing = (0, False)
        return [
            msgspec.structs.replace(
                item,
                watermark_ts=max(item.watermark_ts, found.get((item.stream, item.partition), nothing)[0]),
                extension=item.extension or found.get((item.stream, item.partition), nothing)[1],
            )
            for item in partitions
        ]

    def _horizon(self, partitions: list[PartitionReading], now_seconds: float) -> Horizon:
        view = self.delivery.view
        return horizon(
            self._source.watermark,
            partitions,
            resolved_ts=0 if view.estimated else view.resolved_ts,
            given_up=view.without_watermarks,
            timed_out=self._timed_out(now_seconds),
        )

    def _bounded(self, limit: Horizon) -> Horizon:
        """A nearer horizon when more is due than a batch may read: what waited for long comes out in steps."""
        due = sorted(self._due(limit), key=lambda segment: segment.first_ts)
        room = self._source.max_bytes
        for segment in due:
            room -= segment.bytes
            if room < 0 and segment.first_ts > due[0].first_ts:
                return Horizon(segment.first_ts - 1)
        return limit

    def _due(self, limit: Horizon) -> list[HeldSegment]:
        return [segment for segment in self.delivery.view.held if limit.ts is None or segment.first_ts <= limit.ts]

    def _run(self, batch: Batch | None, job: Job, partitions: list[PartitionReading], held: list[str]) -> Outcome:
        """Both stages; again, with the statements known, when rows on both sides of a statement share a piece."""
        runner = batch or SmallBatch([], {}, at_end=self.at_end)
        outcome = join(runner.run(job, partitions, held))
        known = self._boundaries(outcome, csv=job.sink_protocol == "csv")
        if known:
            self.delivery.clear_staging()
            self._drop_held_of(outcome)
            outcome = join(runner.run(msgspec.structs.replace(job, known=job.known + known), partitions, held))
        return outcome

    def _drop_held_of(self, outcome: Outcome) -> None:
        self.delivery.drop_held_files([file.name for file in outcome.held])

    def _boundaries(self, outcome: Outcome, *, csv: bool) -> tuple[KnownStructure, ...]:
        """The tables' structures after each statement of the batch, if any piece of theirs lies on both sides of it."""
        known: list[KnownStructure] = []
        needed = False
        tables = self.delivery.view.tables
        structures = {key: table.structure for key, table in tables.items() if table.structure is not None}
        versions = {key: table.version for key, table in tables.items()}
        for statement in outcome.statements:
            for change in changes(statement, structures, self.delivery.filter).changes:
                key = (change.schema, change.table)
                if is_repeat(change, statement.commit_ts, versions.get(key, -1), structures.get(key)):
                    continue
                versions[key] = statement.commit_ts
                known.append(KnownStructure(*key, statement.commit_ts, change.structure))
                if change.structure is None:
                    structures.pop(key, None)
                else:
                    structures[key] = change.structure
                needed |= any(_crosses(outcome, key, statement, csv=csv))
        return tuple(known) if needed else ()

    def _merged(self, scanned: list[PartitionReading], read: list[PartitionReading]) -> list[PartitionReading]:
        done = {(item.stream, item.partition): item for item in read}
        return [
            msgspec.structs.replace(
                item,
                last_ts=max(item.last_ts, now.last_ts),
                watermark_ts=max(item.watermark_ts, now.watermark_ts),
                extension=item.extension or now.extension,
            )
            if (now := done.get((item.stream, item.partition)))
            else item
            for item in scanned
        ]

    def _offsets(self, batch: Batch | None) -> dict[str, dict[int, int]]:
        offsets = {topic: dict(numbers) for topic, numbers in self.delivery.view.offsets.items()}
        for topic, numbers in (batch.next_offsets if batch is not None else {}).items():
            offsets.setdefault(topic, {}).update(numbers)
        return offsets

    def _finished(
        self,
        limit: Horizon,
        readings: list[PartitionReading],
        offsets: Mapping[str, Mapping[int, int]],
        now_seconds: float,
    ) -> bool:
        target = self.delivery.task.target_ts
        if not target:
            return False
        if limit.ts is not None:
            return limit.ts >= target
        if all(item.last_ts > target for item in readings):
            return True
        if not self.at_end or not self._past(target, now_seconds):
            return False
        self.at_end = self._is_end(offsets)
        return self.at_end

    def _past(self, target: int, now_seconds: float) -> bool:
        return now_seconds > tso.physical_ms(target) / 1000 + FINISH_AFTER_SECONDS


def _crosses(outcome: Outcome, key: tuple[str, str], statement: Statement, *, csv: bool) -> Iterator[bool]:
    for piece in outcome.pieces:
        if (piece.schema, piece.table) == key:
            yield piece.last_ts > statement.commit_ts and (csv or piece.first_ts <= statement.commit_ts)
