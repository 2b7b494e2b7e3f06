"""One batch from plan to commit, for folders and queues alike.

    watermarks → horizon → job → read (workers) → order (workers) → commit

Where watermarks are in use, they are looked for before anything is opened, so that every row is either serialised or
held, never both.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from spark_jobs.cdc import memory, tso
from spark_jobs.cdc.codec import Opener
from spark_jobs.cdc.errors import DecodeError, EnvironmentFault
from spark_jobs.commitlog.entries import HeldSegment
from spark_jobs.commitlog.merge_patch import patched
from spark_jobs.pipeline.activity import Activity, AtWork
from spark_jobs.pipeline.delivery import Delivery, Progress
from spark_jobs.pipeline.horizon import Horizon, estimated, horizon
from spark_jobs.pipeline.job import Job, Outcome, StrandReading, Task, further, join, opener_of
from spark_jobs.pipeline.lookout import Found, Lookout
from spark_jobs.pipeline.order import LaneWork, Ordered, lanes, order
from spark_jobs.pipeline.read import read
from spark_jobs.sinks.base import Definition, Piece, Statement
from spark_jobs.sources.base import Batch, Position, Split, Strand

FINISH_AFTER_SECONDS: Final = 10
AHEAD_SECONDS: Final = 86_400
"""A message that says a later time than this is a bad one: by it checkpoint and date folders would move for good."""
HOLD_QUOTA_BYTES: Final = 10 << 30
"""What may wait for watermarks before reading stops."""
LANE_TASKS_PER_WORKER: Final = 4
"""Thousands of lanes share tasks; the largest are dealt out first."""
SMALL_BYTES: Final = 2 << 20
"""What is less is done here: tasks of Spark's cost more than reading it."""
T = TypeVar("T")
R = TypeVar("R")


class HoldQuotaExceeded(EnvironmentFault):
    """A strand's watermark lags so far that too much waits for it."""

    code = "CDC:ErrHoldQuotaExceeded"


class SourceChanged(EnvironmentFault):
    """What was read is not what the position belongs to; reading anew asks the source, which says what is lost."""

    code = "CDC:ErrSourceChanged"


class Run(Protocol):
    """Runs a function over items, here or in Spark's workers; raises what the function raised."""

    def __call__(self, function: Callable[[T], R], items: Sequence[T], /, *, small: bool) -> list[R]: ...


class Intake:
    """``workers``: how many tasks run at a time. ``is_end``: asks the source whether a position is its end, before the
    clock alone ends the changefeed. ``identity``: of the source, asked between the tasks and the entry."""

    def __init__(
        self,
        delivery: Delivery,
        run: Run,
        workers: int,
        *,
        is_end: Callable[[Position], bool] = lambda position: True,
        identity: Callable[[], dict[str, str]] = dict,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.delivery = delivery
        self.at_end = False
        self._source = delivery.config.source
        self._run = run
        self._workers = workers
        self._is_end = is_end
        self._identity = identity
        self._clock = clock
        memory.plain(delivery.config.plain)
        self._opener: Opener = opener_of(self._source.protocol, self._source.time_zone)
        self._policy = self._source.watermark if self._opener.marks else "ignore"
        self._lookout = Lookout(self._opener)
        self._since: dict[Strand, float] = {}
        self._known_identity: dict[str, str] = {}
        self._is_new = False
        self._horizon = Horizon(None)
        self._more = False
        self._at_work = AtWork()

    def begin(self, *, at_end: bool) -> None:
        """Called after the claim and after the source has said that reading can go on: the wait for watermarks of what
        is held begins. ``at_end``: nothing is to be read.

        A source that is not the one of the log any more (a topic made anew, and on-lost-position=earliest) has shown no
        watermark yet: by those of the old one its rows would count as sent again.
        """
        self.at_end = at_end
        self._known_identity = self._identity()
        logged = self.delivery.view.identity
        self._is_new = any(logged.get(key, value) != value for key, value in self._known_identity.items())
        self._horizon = self._reached(self._strands(None))

    def activity(self) -> Activity:
        """Where it is now; asked from other threads."""
        view, interval = self.delivery.view, self.delivery.config.sink.flush_interval_seconds
        last = self._horizon.last if view.totals.held_rows else None
        waiting = f"a watermark of {last.stream}/{last.partition}" if last is not None else ""
        return self._at_work.now(interval, idle=self.at_end and not view.totals.held_rows, waiting_for=waiting)

    def advance(self, batch: Batch | None, now_seconds: float) -> bool:
        """Commits one batch, or, with None, what time alone changes; whether that changed anything."""
        resolved_ts = self.delivery.view.resolved_ts
        self._at_work.enter("decode")
        try:
            with self.delivery.as_owner():
                changed = self._advance(batch, now_seconds)
        finally:
            self._at_work.enter("source", moved=self.delivery.view.resolved_ts != resolved_ts)
        self._refuse_to_hold_more()
        return changed

    def wants_time(self, now_seconds: float) -> bool:
        """Whether ``advance(None)`` could change something: a wait is over, or the target is passed."""
        view = self.delivery.view
        if view.finished:
            return False
        if self._more or (self._horizon.waiting and view.held and self._someone_expired()):
            return True
        target = self.delivery.config.target_ts
        return bool(target) and self.at_end and self._horizon.ts is None and self._past(target, now_seconds)

    def _advance(self, batch: Batch | None, now_seconds: float) -> bool:
        if batch is not None:
            self.at_end = batch.at_end
        splits: Sequence[Split] = batch.splits if batch is not None else ()
        found: Found = {}
        if batch is not None and self._policy != "ignore":
            splits, found = self._lookout.look(batch, self._strands(None), self._latest_ts(now_seconds))
        before = self._strands(batch)  # listed after the watermarks were read, or a new one might be passed by them
        strands = [further(item, found.get(Strand(item.stream, item.partition), item)) for item in before]
        reached = self._reached(strands)
        limit = self._bounded(reached)
        self._horizon, self._more = limit, limit is not reached
        due = self._due(limit)
        job = self._job(splits, limit, now_seconds, held=bool(due))
        outcome = self._read(job, splits, before, due)
        items = self._ordered(job, outcome)
        strands = self._read_so_far(strands, outcome)
        position = batch.patch if batch is not None else {}
        self._at_work.enter("sink")
        changed = self.delivery.commit(
            outcome,
            items,
            Progress(
                batch_id=batch.number if batch is not None else -1,
                patch=position,
                identity=self._same_source(),
                strands=[item for item in strands if item.last_ts or item.watermark_ts],
                held_added=[HeldSegment(*msgspec.structs.astuple(file)) for file in outcome.held],
                held_used=[segment.name for segment in due],
                resolved_ts=limit.ts if limit.ts is not None else self._estimated(strands, outcome),
                estimated=limit.ts is None,
                without_watermarks=limit.given_up,
                finished=self._finished(limit, strands, position, now_seconds),
            ),
        )
        self._is_new = self._is_new and not changed
        return changed

    def _same_source(self) -> dict[str, str]:
        """The source's identity, asked after the tasks and before the entry: it may be made anew while it is read."""
        now = self._identity()
        for key, value in now.items():
            if self._known_identity.get(key, value) != value:
                raise SourceChanged(
                    f"{key} of {self._source.masked()} is another one than when reading began; nothing of the last "
                    "batch was delivered, and its position is looked at again"
                )
        self._known_identity = {**self._known_identity, **now}
        return now

    def _strands(self, batch: Batch | None) -> list[StrandReading]:
        """What is known of every strand before this batch. One found later has shown no watermark: it keeps the horizon
        where it is, and none of its rows is a repeat."""
        view = self.delivery.view
        names = {Strand(*key) for key in view.strands}
        if batch is not None:
            names |= set(batch.strands)
        known = [None if self._is_new else view.strands.get(name) for name in sorted(names)]
        return [
            StrandReading(*name, state.last_ts, state.watermark_ts, state.timed) if state else StrandReading(*name)
            for name, state in zip(sorted(names), known, strict=True)
        ]

    def _reached(self, strands: list[StrandReading]) -> Horizon:
        view = self.delivery.view
        self._begin_waiting(strands)
        return horizon(
            self._policy,
            strands,
            resolved_ts=0 if view.estimated else view.resolved_ts,
            expired=lambda item: self._expired(Strand(item.stream, item.partition)),
        )

    def _begin_waiting(self, strands: list[StrandReading]) -> None:
        """A strand is waited for from the first row that says its commit-ts on, or from when it was found later."""
        if any(item.timed or item.watermark_ts for item in strands):
            past = self._source.watermark_timeout_seconds if self.delivery.view.without_watermarks else 0
            for item in strands:
                self._since.setdefault(Strand(item.stream, item.partition), self._clock() - past)

    def _expired(self, strand: Strand) -> bool:
        since = self._since.get(strand)
        return since is not None and self._clock() - since >= self._source.watermark_timeout_seconds

    def _someone_expired(self) -> bool:
        view = self.delivery.view
        return any(self._expired(strand) for strand in self._since if not _has_watermark(view.strands.get(strand)))

    def _bounded(self, limit: Horizon) -> Horizon:
        """A nearer horizon when more is due than a batch may read: what waited for long comes out in steps."""
        due = sorted(self._due(limit), key=lambda segment: segment.first_ts)
        room = self._source.max_bytes
        for segment in due:
            room -= segment.bytes
            if room < 0 and segment.first_ts > due[0].first_ts:
                return Horizon(segment.first_ts - 1, last=limit.last)
        return limit

    def _due(self, limit: Horizon) -> list[HeldSegment]:
        held = self.delivery.view.held.values()
        return [segment for segment in held if limit.ts is None or segment.first_ts <= limit.ts]

    def _job(self, splits: Sequence[Split], limit: Horizon, now_seconds: float, *, held: bool) -> Job:
        waits = self._policy != "ignore" and limit.ts is not None
        one_strand = len({split.strand for split in splits}) <= 1
        return msgspec.structs.replace(
            self.delivery.new_job(),
            horizon_ts=limit.ts,
            latest_ts=self._latest_ts(now_seconds),
            drop_repeats=waits,
            drop_copies=waits and self._source.repeats == "drop",
            direct=one_strand and not waits and not held,
            definitions=tuple(self.delivery.committer.definitions((), self.delivery.view)),
        )

    def _latest_ts(self, now_seconds: float) -> int:
        return tso.compose(int((now_seconds + AHEAD_SECONDS) * 1000))

    def _read(self, job: Job, splits: Sequence[Split], strands: list[StrandReading], due: list[HeldSegment]) -> Outcome:
        """Reads the batch; a second time, strand by strand, if it turns out that splits depend on those before them,
        or, where rows are written with what DDL tells, that a statement stands before rows of its tables."""
        held = [segment.name for segment in due]
        small = sum(split.size for split in splits) + sum(segment.bytes for segment in due) <= SMALL_BYTES
        tasks = self._tasks(splits, strands, held, whole=self._untimed(splits, strands))
        outcome = join(self._run_read(job, tasks, small=small))
        again = job
        if job.sink.needs_definitions and outcome.statements:
            following = tuple(self.delivery.committer.definitions(outcome.statements, self.delivery.view))
            if any(_lies_behind(one, outcome) for one in following[len(job.definitions) :]):
                again = msgspec.structs.replace(job, definitions=following)
        if outcome.needs_whole_strands or again.definitions != job.definitions:
            self.delivery.drop_again(outcome)
            outcome = join(self._run_read(again, self._tasks(splits, strands, held, whole=True), small=small))
        return outcome

    def _untimed(self, splits: Sequence[Split], strands: list[StrandReading]) -> bool:
        """Whether commit-ts have to be made up, in the order of the strand."""
        if self._opener.timed:
            return False
        timed = {Strand(item.stream, item.partition) for item in strands if item.timed}
        return any(split.index and split.strand not in timed for split in splits) and not self._peek(splits[0])

    def _peek(self, split: Split) -> bool:
        """Whether the first row of a split says its commit-ts."""
        for block in split.blocks():
            for value in block.values:
                try:
                    opened = self._opener.open(value) if value else ()
                except DecodeError:
                    continue
                for item in opened:
                    if getattr(item, "commit_ts", 0):
                        return True
                    if hasattr(item, "changes"):
                        return False
        return False

    def _tasks(
        self, splits: Sequence[Split], strands: list[StrandReading], held: list[str], *, whole: bool
    ) -> list[Task]:
        known = {Strand(item.stream, item.partition): item for item in strands}
        groups: dict[Any, list[Split]] = {}
        for split in splits:
            groups.setdefault(split.strand if whole else (split.strand, split.index), []).append(split)
        if self._opener.halves and held:
            return [Task(tuple(splits), tuple(held), tuple(strands))]
        tasks = [Task(tuple(group), (), (known[group[0].strand],)) for group in groups.values()]
        return tasks + [Task((), tuple(part), ()) for part in _parts(held, self._workers)]

    def _run_read(self, job: Job, tasks: list[Task], *, small: bool) -> list[Outcome]:
        return self._run(lambda task: read(job, task), _in_one(tasks) if small else tasks, small=small)

    def _ordered(self, job: Job, outcome: Outcome) -> list[Piece | Statement]:
        pieces = list(outcome.pieces)
        if outcome.chunks:
            cuts = self.delivery.committer.cuts(outcome.statements, self.delivery.view)
            work = lanes(outcome.chunks, cuts)
            small = sum(place.row_bytes for place in outcome.chunks) <= SMALL_BYTES

            groups = _parts(work, 1 if small else self._workers * LANE_TASKS_PER_WORKER)

            def ordered(group: list[LaneWork]) -> list[Ordered]:
                memory.plain(job.plain)
                opener = opener_of(job.source_protocol, job.source_time_zone)
                serializer = job.sink.serializer(opener, job.definitions, job.sink_time_zone)
                return [order(job, serializer, lane) for lane in group]

            for found in (lane for group in self._run(ordered, groups, small=small) for lane in group):
                pieces += found.pieces
                outcome.repeats += found.repeats
                outcome.rows -= found.repeats
        items: list[Piece | Statement] = [*pieces, *outcome.statements]
        items.sort(key=lambda item: item.order)
        return items

    def _estimated(self, strands: list[StrandReading], outcome: Outcome) -> int:
        """Without watermarks nothing waits but halves of updates, and what stands behind them."""
        least = min((file.first_ts for file in outcome.held), default=1 << 63)
        return max(min(estimated(strands, at_end=self.at_end), least - 1), 0)

    def _read_so_far(self, strands: list[StrandReading], outcome: Outcome) -> list[StrandReading]:
        done = {Strand(item.stream, item.partition): item for item in outcome.strands}
        return [further(item, done.get(Strand(item.stream, item.partition), item)) for item in strands]

    def _refuse_to_hold_more(self) -> None:
        """Stops reading, with what was read committed, when more waits than the quota; a retry reads one batch more."""
        held = sum(segment.bytes for segment in self.delivery.view.held.values())
        if held > HOLD_QUOTA_BYTES and self._horizon.last is not None:
            last = self._horizon.last
            raise HoldQuotaExceeded(
                f"{held >> 20} MiB wait for the watermark of topic {last.stream}, partition {last.partition}, now at "
                f"{last.watermark_ts}; see why its producer sends none, or set watermark=ignore in the source URI"
            )

    def _finished(self, limit: Horizon, strands: list[StrandReading], position: Position, now_seconds: float) -> bool:
        target = self.delivery.config.target_ts
        if not target:
            return False
        if limit.ts is not None:
            return limit.ts >= target
        if strands and all(item.last_ts > target for item in strands):
            return True
        if not self.at_end or not self._past(target, now_seconds):
            return False
        self.at_end = self._is_end(patched(self.delivery.view.position, position))
        return self.at_end

    def _past(self, target: int, now_seconds: float) -> bool:
        return now_seconds > tso.physical_ms(target) / 1000 + FINISH_AFTER_SECONDS


def _has_watermark(state: Any) -> bool:
    return state is not None and state.watermark_ts > 0


def _lies_behind(definition: Definition, outcome: Outcome) -> bool:
    """Whether rows of the table that a statement defines were read with a greater commit-ts than it has."""
    table = definition.schema, definition.table
    pieces = (piece.last_ts for piece in outcome.pieces if piece.lane[:2] == table)
    chunks = (chunk.last_key for chunk in outcome.chunks if chunk.lane[:2] == table)
    return any(last > definition.after_ts for last in (*pieces, *chunks))


def _parts(items: list[T], count: int) -> list[list[T]]:
    """The items in at most ``count`` groups, dealt out in turn."""
    return [items[at::count] for at in range(min(count, len(items)))]


def _in_one(tasks: list[Task]) -> list[Task]:
    """Little work as one task, so that its rows share chunks and pieces."""
    if not tasks:
        return [Task(())]
    return [
        Task(
            tuple(split for task in tasks for split in task.splits),
            tuple(name for task in tasks for name in task.held),
            tuple(item for task in tasks for item in task.known),
        )
    ]
