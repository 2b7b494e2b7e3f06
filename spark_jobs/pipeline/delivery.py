"""One owner's time with one changefeed: claim the commit log, then commit batch after batch.

The order of a commit is the promise (see ``docs/decisions.md``): staged pieces durable → log entry → published step by
step → watermark. A crash before the entry leaves nothing that a reader sees; one after it is finished by the next
owner. Spark's own checkpoint decides nothing: reading goes on where the log says.
"""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from spark_jobs import failpoints
from spark_jobs.cdc.errors import ConfigError, WeirError
from spark_jobs.cdc.filters.selection import Selection, SelectionConfig
from spark_jobs.commitlog.entries import FORMAT, Entry, HeldSegment, StrandState, Totals
from spark_jobs.commitlog.log import CommitLog, Fenced, LogDamaged
from spark_jobs.commitlog.merge_patch import changes
from spark_jobs.commitlog.view import View
from spark_jobs.pipeline.dead_letters import DeadLetters
from spark_jobs.pipeline.job import Job, Outcome, StrandReading
from spark_jobs.pipeline.routes import Routes
from spark_jobs.sinks.base import Piece, Prepared, SinkSpec, Site, Statement
from spark_jobs.sources.base import Position, SourceSpec
from spark_jobs.store import durable

LOAD_TRIES: Final = 5
OWNER: Final = re.compile(r"([0-9]+)-([0-9]+)(-[0-9]+)?")
"""Names of folders that belong to an owner: feed_uid, epoch, and of a batch its entry's number."""


class FeedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a changefeed is, under one assignment. ``floor_ts``: nothing at or below it is delivered; ``folder``: of the
    changefeed below the checkpoint root. ``plain``: without memories and generated functions."""

    changefeed_id: str
    capture_id: str
    epoch: int
    feed_uid: int
    rewind_id: int
    floor_ts: int
    target_ts: int
    source: SourceSpec
    sink: SinkSpec
    selection: SelectionConfig
    time_zone: str
    folder: str
    plain: bool = False


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a batch read, and what follows for times. ``patch``: of the source's position. ``held_added`` and
    ``held_used``: segments of messages that wait."""

    batch_id: int = -1
    patch: Position = {}
    identity: dict[str, str] = {}
    strands: list[StrandReading] = []
    held_added: list[HeldSegment] = []
    held_used: list[str] = []
    resolved_ts: int = 0
    estimated: bool = False
    without_watermarks: bool = False
    finished: bool = False


class Delivery:
    """``guard`` raises when the lease is over; it is asked before every step that others could notice."""

    def __init__(self, config: FeedConfig, guard: Callable[[], None]) -> None:
        self.config = config
        self.home = config.sink.home(config.changefeed_id, config.folder)
        self.staging = os.path.join(self.home, "staging")
        self.held = os.path.join(self.home, "held")
        self.log = CommitLog(os.path.join(self.home, "log"))
        self._lease = guard
        self._owners = os.path.join(self.home, "owners")
        self._own = os.path.join(self._owners, f"{config.feed_uid}-{config.epoch}")
        self._letters = DeadLetters(os.path.join(config.folder, "_dead_letter"), config.feed_uid)
        select = Selection(config.selection)
        self._routes = Routes(select)
        self.committer = config.sink.committer(
            Site(
                changefeed_id=config.changefeed_id,
                home=self.home,
                staging=self.staging,
                own=self._own,
                guard=self.guard,
                floor_ts=config.floor_ts,
                select=select,
            )
        )

    @property
    def view(self) -> View:
        """What is committed."""
        return self.log.view

    def guard(self) -> None:
        """Raises ``Fenced`` when another owner has written, or whatever the lease raises when it is over."""
        self._lease()
        if not self.log.is_tail():
            raise Fenced(f"changefeed {self.config.changefeed_id} has another owner now")

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

    def claim(self, begin: Callable[[], Position]) -> None:
        """Becomes the owner: writes the claim, then finishes what the last one committed; who has not claimed changes
        nothing that readers see. ``begin`` is asked for a position when there is none to go on from. Raises ``Fenced``
        when a later owner was here already."""
        self._load()
        view, config = self.view, self.config
        if (view.feed_uid, view.epoch) >= (config.feed_uid, config.epoch) and view.number:
            raise Fenced(
                f"changefeed {config.changefeed_id} was claimed under epoch {view.epoch}; this is {config.epoch}"
            )
        fresh = self._is_fresh()
        for folder in (self._own, self.staging, self.held):
            durable.make_folder(folder)
        held_before = os.listdir(self.held)
        moved = fresh or view.rewind_id != config.rewind_id
        self.log.append(self._claim_entry(begin() if moved else None, fresh=fresh))
        self._remove_earlier(self._owners)
        self._finish_last(moved=moved)
        self._remove_earlier(self.staging)
        self._drop_held([name for name in held_before if name not in self.view.held])
        self._letters.drop(self.view.number)
        self.committer.watermark(self.view.checkpoint_ts, may_go_back=self.log.moved)
        self.committer.claimed(self.view)

    def _is_fresh(self) -> bool:
        """Whether this is a new life: nothing was here, or an earlier changefeed that is not to be gone on with."""
        view, config = self.view, self.config
        if not view.started:
            return True
        if view.feed_uid == config.feed_uid or config.sink.adopt == "continue":
            return False
        if config.sink.adopt != "restart":
            raise ConfigError(
                f"sink_uri: {config.sink.masked()} holds the output of an earlier changefeed {config.changefeed_id}; "
                "choose another place, or add adopt=continue to go on after it, or adopt=restart to deliver again "
                "behind it",
                code="CDC:ErrSinkFolderNotEmpty",
            )
        return True

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

    def _claim_entry(self, position: Position | None, *, fresh: bool) -> Entry:
        config = self.config
        floor = config.floor_ts if position is not None else 0
        return Entry(
            format=FORMAT,
            number=self.view.number + 1,
            kind="claim",
            epoch=config.epoch,
            capture_id=config.capture_id,
            changefeed_id=config.changefeed_id,
            feed_uid=config.feed_uid,
            rewind_id=config.rewind_id,
            log_id="" if self.view.log_id else secrets.token_hex(8),
            fresh=fresh,
            position=position,
            checkpoint_ts=floor,
            resolved_ts=floor,
        )

    def _finish_last(self, *, moved: bool) -> None:
        """The last commit may not be published yet; those before it are. An order to read elsewhere abandons what
        cannot be published, so that such an entry does not block for ever."""
        last = self.log.last_commit
        if last is None or (last.staging and not os.path.isdir(os.path.join(self.staging, last.staging))):
            return  # a staging folder goes when all that the log names of it is published
        try:
            self.committer.publish(last.steps)
        except Fenced:
            raise
        except WeirError:
            if not moved:
                raise

    def _remove_earlier(self, folder: str) -> None:
        """What earlier owners left behind. What came after this claim is not touched: this process may have slept, and
        the next owner may be at work. The removal is a fence, so that it must have happened."""
        for name in os.listdir(folder):
            found = OWNER.fullmatch(name)
            if found and (int(found[1]), int(found[2])) < (self.config.feed_uid, self.config.epoch):
                path = os.path.join(folder, name)
                shutil.rmtree(path, ignore_errors=True)
                if os.path.exists(path):
                    raise durable.StorageFault(f"{path} of an earlier owner cannot be removed; remove it")

    def _drop_held(self, names: Sequence[str]) -> None:
        """Drops segments that no commit of anybody names."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.held, name))

    def upkeep(self) -> None:
        """What readers see, put right again: a late zombie may have put something old there."""
        self.guard()
        self.committer.upkeep(self.view)

    def new_job(self) -> Job:
        """The next batch's job, with an empty staging folder."""
        config = self.config
        self.clear_staging()
        failpoints.reached("before-data-files")
        return Job(
            staging=self._batch_folder,
            held=self.held,
            source_protocol=config.source.protocol,
            source_time_zone=config.source.time_zone or config.time_zone,
            sink=config.sink,
            selection=config.selection,
            sink_time_zone=config.time_zone,
            start_ts=config.floor_ts,
            target_ts=config.target_ts,
            late_ts=self.view.checkpoint_ts if self.view.estimated else 0,
            dead_letter=config.source.bad_message == "dead-letter",
            plain=config.plain,
        )

    def _staging_name(self, number: int) -> str:
        """Of the folder with the pieces of an entry."""
        return f"{self.config.feed_uid}-{self.config.epoch}-{number}"

    @property
    def _batch_folder(self) -> str:
        return os.path.join(self.staging, self._staging_name(self.view.number + 1))

    def clear_staging(self) -> None:
        """An empty staging folder for the next batch, or for another run of it."""
        self._drop_staging()
        durable.make_folder(self._batch_folder)

    def _drop_staging(self) -> None:
        shutil.rmtree(self._batch_folder, ignore_errors=True)

    def drop_again(self, outcome: Outcome) -> None:
        """Drops what a run of a batch staged and held, before another run."""
        self.clear_staging()
        self._drop_held([file.name for file in outcome.held])

    def commit(self, outcome: Outcome, items: Sequence[Piece | Statement], progress: Progress) -> bool:
        """Makes a batch durable and visible; False when it changed nothing. ``items``: in order."""
        failpoints.reached("after-data-files")
        self._routes.claim(outcome.tables, [statement.ddl for statement in outcome.statements])
        prepared = self.committer.prepare(items, self.view)
        entry = self._entry(outcome, progress, prepared)
        if not self._says_something(entry):
            self._drop_staging()
            return False
        self.guard()
        self._letters.write(entry.number, outcome.dead_letters)
        failpoints.reached("before-log-entry")
        durable.sync_folder(os.path.join(self.staging, entry.staging))
        if outcome.held:
            durable.sync_folder(self.held)
        self.log.append(entry)
        failpoints.reached("after-log-entry")
        self.committer.publish(entry.steps)
        self.committer.watermark(entry.checkpoint_ts)
        shutil.rmtree(os.path.join(self.staging, entry.staging), ignore_errors=True)
        self._drop_held(entry.held_used)
        if self.log.wants_snapshot():
            self.committer.settle(self.view)
            self.log.compact()
        failpoints.reached("before-spark-commit")
        return True

    def _entry(self, outcome: Outcome, progress: Progress, prepared: Prepared) -> Entry:
        view = self.view
        resolved = max(view.resolved_ts, progress.resolved_ts)
        checkpoint = resolved
        if self.config.target_ts:
            checkpoint = min(checkpoint, self.config.target_ts)
        if progress.finished:
            checkpoint = resolved = self.config.target_ts
        return Entry(
            format=FORMAT,
            number=view.number + 1,
            kind="commit",
            epoch=self.config.epoch,
            batch_id=progress.batch_id,
            position=progress.patch,
            identity=progress.identity if progress.identity and progress.identity != view.identity else None,
            strands=self._changed(progress.strands),
            tables=prepared.tables,
            counts=prepared.counts,
            steps=prepared.steps,
            sink=prepared.sink,
            staging=self._staging_name(view.number + 1),
            held_added=progress.held_added,
            held_used=progress.held_used,
            checkpoint_ts=max(view.checkpoint_ts, checkpoint),
            resolved_ts=resolved,
            estimated=progress.estimated,
            without_watermarks=progress.without_watermarks,
            totals=self._totals(outcome, progress, prepared),
            finished=progress.finished,
        )

    def _changed(self, readings: list[StrandReading]) -> list[StrandState]:
        states = [
            StrandState(item.stream, item.partition, item.last_ts, item.watermark_ts, item.timed) for item in readings
        ]
        return [state for state in states if self.view.strands.get((state.stream, state.partition)) != state]

    def _totals(self, outcome: Outcome, progress: Progress, prepared: Prepared) -> Totals:
        now = self.view.totals
        gone = sum(self.view.held[name].rows for name in progress.held_used)
        return Totals(
            rows=now.rows + outcome.rows,
            bytes=now.bytes + sum(file.bytes for step in prepared.steps for file in step.files),
            repeats_dropped=now.repeats_dropped + outcome.repeats + prepared.repeated_statements,
            late_rows=now.late_rows + outcome.late,
            dead_letters=now.dead_letters + len(outcome.dead_letters),
            held_rows=now.held_rows - gone + sum(segment.rows for segment in progress.held_added),
            ddl_unparsed=now.ddl_unparsed + prepared.unparsed_statements,
        )

    def _says_something(self, entry: Entry) -> bool:
        view = self.view
        return bool(
            entry.steps
            or entry.tables
            or entry.strands
            or entry.sink
            or entry.held_added
            or entry.held_used
            or entry.identity is not None
            or (entry.position and changes(view.position, entry.position))
            or entry.checkpoint_ts != view.checkpoint_ts
            or entry.resolved_ts != view.resolved_ts
            or entry.estimated != view.estimated
            or entry.without_watermarks != view.without_watermarks
            or entry.finished != view.finished
            or entry.totals != view.totals
        )
