"""One owner's time with one changefeed: claim the commit log, then commit batch after batch.

The order of a commit is the promise (see ``docs/decisions.md``): staged files durable → log entry → final names → index
files → ``metadata``. A crash before the entry leaves nothing that a reader sees; one after it is finished by the next
owner. Spark's own checkpoint decides nothing: reading goes on where the log says.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from spark_jobs import failpoints
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.filters.tables import TableFilter
from spark_jobs.commitlog.entries import (
    Entry,
    FolderCursor,
    HeldSegment,
    PartitionState,
    Totals,
    View,
)
from spark_jobs.commitlog.log import CommitLog, Fenced, LogDamaged
from spark_jobs.pipeline.dead_letters import DeadLetters
from spark_jobs.pipeline.job import Job, KnownStructure, Outcome, PartitionReading
from spark_jobs.pipeline.publish import Publisher
from spark_jobs.pipeline.settle import Settled, Settling
from spark_jobs.sinks.storage import WEIR_FOLDER, StorageSink
from spark_jobs.store import durable

LOAD_TRIES: Final = 5


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a changefeed is, as far as delivery needs to know. ``floor_ts``: nothing at or below it is delivered."""

    changefeed_id: str
    capture_id: str
    epoch: int
    feed_uid: int
    rewind_id: int
    floor_ts: int
    target_ts: int
    sink: StorageSink
    source_protocol: str
    source_time_zone: str
    dead_letter: bool
    filter_rules: tuple[str, ...]
    case_sensitive: bool
    time_zone: str
    dead_letter_folder: str


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """Where a new life of a changefeed, or a rewind, begins to read."""

    offsets: dict[str, dict[int, int]] | None = None
    files_read: list[str] = []


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a batch read, and what follows for times."""

    batch_id: int = -1
    offsets: dict[str, dict[int, int]] | None = None
    cursor: FolderCursor | None = None
    files_read: list[str] = []
    partitions: list[PartitionReading] = []
    held: list[HeldSegment] | None = None
    resolved_ts: int = 0
    estimated: bool = False
    without_watermarks: bool = False
    finished: bool = False


class Delivery:
    """``guard`` raises when the lease is over; it is asked before every step that others could notice."""

    def __init__(self, task: Task, guard: Callable[[], None]) -> None:
        self.task = task
        self._root = task.sink.path
        self.home = os.path.join(self._root, WEIR_FOLDER, task.changefeed_id)
        self.staging = os.path.join(self.home, "staging")
        self.held = os.path.join(self.home, "held")
        self.log = CommitLog(os.path.join(self.home, "log"))
        self._lease = guard
        self._owners = os.path.join(self.home, "owners")
        self._own = os.path.join(self._owners, f"{task.feed_uid}-{task.epoch}")
        self._publisher = Publisher(self._root, self.staging, self._own, self.guard)
        self._letters = DeadLetters(task.dead_letter_folder, task.feed_uid)
        self.filter = TableFilter(task.filter_rules, task.case_sensitive)

    @property
    def view(self) -> View:
        """What is committed."""
        return self.log.view

    def guard(self) -> None:
        """Raises ``Fenced`` when another owner has written, or whatever the lease raises when it is over."""
        self._lease()
        if not self.log.is_tail():
            raise Fenced(f"changefeed {self.task.changefeed_id} has another owner now")

    @contextlib.contextmanager
    def as_owner(self) -> Iterator[None]:
        """Around a batch: whatever fails because another owner cleaned up or went on is ``Fenced``.

        What a failed batch staged goes at once, so that a full disk does not stay full; unless the log names it.
        """
        self.guard()
        try:
            yield
        except Fenced:
            raise
        except Exception:
            self.guard()
            self._drop_staging()
            raise

    def claim(self, begin: Callable[[], Start]) -> None:
        """Becomes the owner: writes the claim, then finishes what the last one committed; who has not claimed changes
        nothing that readers see. ``begin`` is asked for a position when there is none to go on from. Raises ``Fenced``
        when a later owner was here already."""
        self._load()
        view, task = self.view, self.task
        if (view.feed_uid, view.epoch) >= (task.feed_uid, task.epoch) and view.number:
            raise Fenced(f"changefeed {task.changefeed_id} was claimed under epoch {view.epoch}; this is {task.epoch}")
        fresh = not view.started or view.feed_uid != task.feed_uid
        if fresh and view.started and not task.sink.adopt:
            raise ConfigError(
                f"sink_uri: {self._root} holds the output of an earlier changefeed {task.changefeed_id}; choose "
                "another folder, or add adopt=true to go on after it",
                code="CDC:ErrSinkFolderNotEmpty",
            )
        for folder in (self._own, self.staging, self.held):
            durable.make_folder(folder)
        held_before = os.listdir(self.held)
        moved = fresh or view.rewind_id != task.rewind_id
        start = begin() if moved else Start()
        self.log.append(self._claim_entry(start, fresh=fresh, moved=moved))
        self._remove_earlier(self._owners)
        self._finish_last()
        self._remove_earlier(self.staging)
        self._sweep_held(held_before)
        self._letters.drop(self.view.number)
        self._publisher.metadata(self.view.checkpoint_ts, may_go_back=self.log.moved)
        self._publisher.reassert(self.log.files_since_snapshot(), self.view.checkpoint_ts)

    def _load(self) -> None:
        """The old owner may still be alive and clean up while its log is read."""
        for attempt in range(LOAD_TRIES):
            try:
                self.log.load()
                return
            except LogDamaged:
                if attempt == LOAD_TRIES - 1:
                    raise
                self.log = CommitLog(self.log.folder)

    def _claim_entry(self, start: Start, *, fresh: bool, moved: bool) -> Entry:
        task = self.task
        floor = task.floor_ts if moved else 0
        return Entry(
            number=self.view.number + 1,
            kind="claim",
            epoch=task.epoch,
            capture_id=task.capture_id,
            changefeed_id=task.changefeed_id,
            feed_uid=task.feed_uid,
            rewind_id=task.rewind_id,
            fresh=fresh,
            offsets=start.offsets,
            files_read=start.files_read,
            checkpoint_ts=floor,
            resolved_ts=floor,
        )

    def _finish_last(self) -> None:
        """The last commit may lack its final names and index files; those before it cannot. What ``metadata`` is to
        say is left to the claim, which may have moved the position."""
        if self.log.last_commit is not None:
            self._publisher.publish(msgspec.structs.replace(self.log.last_commit, checkpoint_ts=0))

    def _remove_earlier(self, folder: str) -> None:
        """What earlier owners left behind. What came after this claim is not touched: this process may have slept, and
        the next owner may be at work."""
        for name in os.listdir(folder):
            uid, epoch, *_ = name.split("-")
            if (int(uid), int(epoch)) < (self.task.feed_uid, self.task.epoch):
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)

    def _sweep_held(self, held_before: list[str]) -> None:
        """Held segments that were there before the claim and that the log does not name."""
        named = {segment.name for segment in self.view.held}
        self.drop_held_files([name for name in held_before if name not in named])

    def drop_held_files(self, names: list[str]) -> None:
        """Drops segments that no commit of anybody names."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.held, name))

    def reassert(self) -> None:
        """Index files and ``metadata`` of recent commits, again: a late zombie may have put old ones there."""
        self._publisher.reassert(self.log.recent_files(), self.view.checkpoint_ts)

    def new_job(self, *, known: tuple[KnownStructure, ...] = ()) -> Job:
        """The next batch's job, with an empty staging folder."""
        task, sink = self.task, self.task.sink
        staging = os.path.join(self.staging, self._staging_name())
        shutil.rmtree(staging, ignore_errors=True)
        durable.make_folder(staging)
        failpoints.reached("before-data-files")
        return Job(
            staging=staging,
            held=self.held,
            source_protocol=task.source_protocol,
            sink_protocol=sink.protocol,
            encode_options=sink.codec_options,
            terminator=sink.terminator,
            date_separator=sink.date_separator,
            time_zone=task.time_zone,
            source_time_zone=task.source_time_zone,
            file_size=sink.file_size,
            filter_rules=task.filter_rules,
            case_sensitive=task.case_sensitive,
            start_ts=task.floor_ts,
            target_ts=task.target_ts,
            late_ts=self.view.checkpoint_ts if self.view.estimated else 0,
            dead_letter=task.dead_letter,
            known=known or self._definitions(),
        )

    def _definitions(self) -> tuple[KnownStructure, ...]:
        """CSV writes names of enum and set elements, which only definitions have."""
        if self.task.sink.protocol != "csv":
            return ()
        return tuple(
            KnownStructure(table.schema, table.table, 0, table.structure)
            for table in self.view.tables.values()
            if table.full and table.structure is not None
        )

    def _staging_name(self) -> str:
        return f"{self.task.feed_uid}-{self.task.epoch}-{self.view.number + 1}"

    def commit(self, outcome: Outcome, progress: Progress) -> bool:
        """Makes a batch durable and visible; False when it changed nothing."""
        failpoints.reached("after-data-files")
        settled = self._settle(outcome)
        entry = self._entry(outcome, progress, settled)
        if not self._says_something(entry):
            self._drop_staging()
            return False
        self.guard()
        self._letters.write(entry.number, outcome.dead_letters)
        failpoints.reached("before-log-entry")
        staging = self._staging_name()
        durable.sync_folder(os.path.join(self.staging, staging))
        if outcome.held:
            durable.sync_folder(self.held)
        held_before = self.view.held
        self.log.append(entry)
        failpoints.reached("after-log-entry")
        self._publisher.publish(entry)
        shutil.rmtree(os.path.join(self.staging, staging), ignore_errors=True)
        if entry.held is not None:
            self.drop_held_files([segment.name for segment in held_before if segment not in entry.held])
        if self.log.wants_snapshot():
            self._publisher.make_durable(self.log.files_since_snapshot())
            self.log.compact()
        failpoints.reached("before-spark-commit")
        return True

    def following(self, outcome: Outcome) -> tuple[tuple[KnownStructure, ...], ...]:
        """The definitions after each statement, where rows behind it are written with them."""
        if not outcome.statements or self.task.sink.protocol != "csv":
            return ()
        following = self._settle(outcome).following
        last = {(piece.schema, piece.table): piece.order for piece in outcome.pieces}
        behind = any(
            last.get((item.schema, item.table), statement.order) > statement.order
            for statement, items in zip(outcome.statements, following, strict=True)
            for item in items
        )
        return tuple(following) if behind else ()

    def clear_staging(self) -> None:
        """Drops what a run of this batch staged, before another run."""
        self._drop_staging()
        durable.make_folder(os.path.join(self.staging, self._staging_name()))

    def _drop_staging(self) -> None:
        shutil.rmtree(os.path.join(self.staging, self._staging_name()), ignore_errors=True)

    def _settle(self, outcome: Outcome) -> Settled:
        sink = self.task.sink
        return Settling(
            self.view,
            self.filter,
            staging_name=self._staging_name(),
            extension=sink.extension,
            width=sink.file_index_width,
            start_ts=self.task.floor_ts,
            adopt=sink.adopt,
            positional=sink.protocol == "csv",
            taken=self._publisher.taken,
        ).settle(outcome)

    def _entry(self, outcome: Outcome, progress: Progress, settled: Settled) -> Entry:
        view = self.view
        resolved = max(view.resolved_ts, progress.resolved_ts)
        checkpoint = resolved
        if self.task.target_ts:
            checkpoint = min(checkpoint, self.task.target_ts)
        if progress.finished:
            checkpoint = resolved = self.task.target_ts
        return Entry(
            number=view.number + 1,
            kind="commit",
            epoch=self.task.epoch,
            batch_id=progress.batch_id,
            offsets=progress.offsets,
            cursor=progress.cursor,
            files_read=progress.files_read,
            partitions=self._changed(progress.partitions),
            tables=list(settled.tables.values()),
            files=settled.files,
            schema_files=settled.schema_files,
            held=progress.held,
            checkpoint_ts=max(view.checkpoint_ts, checkpoint),
            resolved_ts=resolved,
            estimated=progress.estimated,
            without_watermarks=progress.without_watermarks,
            totals=self._totals(outcome, progress, settled),
            finished=progress.finished,
        )

    def _changed(self, readings: list[PartitionReading]) -> list[PartitionState]:
        states = [
            PartitionState(item.stream, item.partition, item.last_ts, item.watermark_ts, item.extension)
            for item in readings
        ]
        return [state for state in states if self.view.partitions.get((state.stream, state.partition)) != state]

    def _totals(self, outcome: Outcome, progress: Progress, settled: Settled) -> Totals:
        now, held = self.view.totals, self.view.held if progress.held is None else progress.held
        return Totals(
            rows=now.rows + sum(file.rows for file in settled.files),
            bytes=now.bytes + sum(file.bytes for file in settled.files),
            repeats_dropped=now.repeats_dropped + outcome.repeats + settled.repeated_statements,
            late_rows=now.late_rows + outcome.late,
            dead_letters=now.dead_letters + len(outcome.dead_letters),
            held_rows=sum(segment.rows for segment in held),
            ddl_unparsed=now.ddl_unparsed + settled.unparsed_statements,
        )

    def _says_something(self, entry: Entry) -> bool:
        view = self.view
        return bool(
            entry.files
            or entry.schema_files
            or entry.tables
            or entry.files_read
            or entry.partitions
            or (entry.offsets is not None and entry.offsets != view.offsets)
            or entry.cursor != view.cursor
            or (entry.held is not None and entry.held != view.held)
            or entry.checkpoint_ts != view.checkpoint_ts
            or entry.resolved_ts != view.resolved_ts
            or entry.estimated != view.estimated
            or entry.without_watermarks != view.without_watermarks
            or entry.finished != view.finished
            or entry.totals != view.totals
        )
