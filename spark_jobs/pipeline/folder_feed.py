"""Delivers a folder: lists it, takes whole files in name order up to a batch's limits, and commits.

Nothing that Spark remembers is used: what was read stands in the commit log.
"""

import os
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from spark_jobs.cdc import tso
from spark_jobs.commitlog.entries import FolderCursor
from spark_jobs.pipeline.delivery import Delivery, Progress, Start
from spark_jobs.pipeline.job import Job, Outcome, PartitionReading, SourceRange, Split, join
from spark_jobs.pipeline.ordered import SourceFileChanged, opened
from spark_jobs.sources.folder import FolderSource
from spark_jobs.sources.folder_listing import FileEntry, load_position, new_files

RunSplits = Callable[[Job, list[Split]], list[Outcome]]
SPLITS_PER_WORKER: Final = 2
SMALLEST_SPLIT: Final = 2 << 20
FINISH_AFTER_SECONDS: Final = 10
_PROBE_BYTES: Final = 1 << 16


class FolderFeed:
    """``run`` executes splits, on Spark or here; ``workers``: how many run at a time."""

    def __init__(self, delivery: Delivery, source: FolderSource, run: RunSplits, workers: int) -> None:
        self.delivery = delivery
        self._source = source
        self._run = run
        self._workers = workers
        self._waiting: deque[FileEntry] = deque()
        self._bytes_per_row = 0.0

    def begin(self, start_position: str) -> Start:
        """Where a new changefeed begins."""
        return Start(files_read=load_position(start_position).read)

    def advance(self, now_seconds: float, stop: Callable[[], bool], committed: Callable[[], None]) -> bool:
        """Commits batches until nothing is left or ``stop`` says so; calls ``committed`` after each but the last.

        Returns whether the last one changed anything.
        """
        while not stop():
            ranges, read, cursor = self._plan()
            at_end = cursor is None and not self._waiting
            if not ranges and not read and not self._may_finish(now_seconds, at_end):
                return False
            with self.delivery.as_owner():
                changed = self._batch(ranges, read, cursor, at_end, now_seconds)
            if self.delivery.view.finished or at_end:
                return changed
            if changed:
                committed()
        return False

    def _batch(
        self, ranges: list[SourceRange], read: list[str], cursor: FolderCursor | None, at_end: bool, now_seconds: float
    ) -> bool:
        view = self.delivery.view
        before = view.partitions.get(("", 0))
        last_ts = before.last_ts if before else 0
        job = self.delivery.new_job()
        outcome = self._read(job, ranges, last_ts) if ranges else Outcome(last_ts=last_ts)
        last_ts = max(last_ts, outcome.last_ts)
        self._measure(ranges, outcome)
        finished = self._finished(last_ts, at_end, now_seconds)
        resolved = last_ts if at_end else max(last_ts - 1, 0)
        return self.delivery.commit(
            outcome,
            Progress(
                cursor=cursor,
                files_read=read,
                partitions=[PartitionReading("", 0, 0, last_ts, 0, outcome.extension, 0)] if last_ts else [],
                resolved_ts=resolved,
                estimated=True,
                finished=finished,
            ),
        )

    def _read(self, job: Job, ranges: list[SourceRange], last_ts: int) -> Outcome:
        outcome = join(self._run(job, self._splits(ranges, last_ts)))
        whole = [Split(0, tuple(ranges), last_ts)]
        if outcome.needs_one_split:
            self.delivery.clear_staging()
            outcome = join(self._run(job, whole))
        following = self.delivery.following(outcome)
        if following:
            self.delivery.clear_staging()
            outcome = join(self._run(msgspec.structs.replace(job, following=following), whole))
        return outcome

    def _plan(self) -> tuple[list[SourceRange], list[str], FolderCursor | None]:
        """The next ranges; the files that are read whole with them; where the next batch goes on inside a file."""
        room = self._room()
        cursor = self.delivery.view.cursor
        if not self._waiting:
            self._list(cursor)
        ranges: list[SourceRange] = []
        read: list[str] = []
        while room > 0:
            if cursor is None:
                cursor = self._next_file()
                if cursor is None:
                    break
            path = os.path.join(self._source.path, cursor.name)
            end = cursor.size
            if cursor.offset + room < end:
                end = line_end(path, cursor.offset + room, cursor.size)
            if end > cursor.offset:
                ranges.append(SourceRange(path, cursor.name, cursor.offset, end, cursor.size))
            room -= end - cursor.offset
            if end < cursor.size:
                return ranges, read, FolderCursor(cursor.name, cursor.size, end)
            read.append(cursor.name)
            cursor = None
        return ranges, read, cursor

    def _room(self) -> int:
        """Bytes of the next batch: the limit in bytes, and the limit in rows by the size of rows seen so far."""
        rows = self._bytes_per_row * self._source.max_rows
        return min(self._source.max_bytes, max(int(rows), _PROBE_BYTES)) if rows else self._source.max_bytes

    def _list(self, cursor: FolderCursor | None) -> None:
        """What has appeared and was not read, apart from the file that is being read."""
        found = new_files(self._source.path, self._source.pattern, self.delivery.view.files_read)
        self._waiting = deque(entry for entry in found if cursor is None or entry.name != cursor.name)

    def _next_file(self) -> FolderCursor | None:
        """The next file that was listed; files that appeared since are listed after these are read."""
        if not self._waiting:
            return None
        entry = self._waiting.popleft()
        return FolderCursor(entry.name, entry.size, 0)

    def _splits(self, ranges: list[SourceRange], last_ts: int) -> list[Split]:
        total = sum(part.end - part.start for part in ranges)
        count = min(self._workers * SPLITS_PER_WORKER, max(total // SMALLEST_SPLIT, 1))
        size = -(-total // count)
        splits: list[list[SourceRange]] = [[]]
        room = size
        for part in ranges:
            start = part.start
            while start < part.end:
                end = part.end
                if start + room < end and len(splits) < count:
                    end = line_end(part.path, start + room, part.end)
                splits[-1].append(SourceRange(part.path, part.name, start, end, part.size))
                room -= end - start
                start = end
                if room <= 0 and len(splits) < count:
                    splits.append([])
                    room = size
        return [Split(index, tuple(parts), last_ts if index == 0 else 0) for index, parts in enumerate(splits) if parts]

    def _measure(self, ranges: list[SourceRange], outcome: Outcome) -> None:
        if outcome.messages:
            self._bytes_per_row = sum(part.end - part.start for part in ranges) / outcome.messages

    def _may_finish(self, now_seconds: float, at_end: bool) -> bool:
        state = self.delivery.view.partitions.get(("", 0))
        return not self.delivery.view.finished and self._finished(state.last_ts if state else 0, at_end, now_seconds)

    def _finished(self, last_ts: int, at_end: bool, now_seconds: float) -> bool:
        """Contract §3: a later event was seen, or all is read and the clock is past the target."""
        target = self.delivery.task.target_ts
        if not target:
            return False
        return last_ts > target or (at_end and now_seconds > tso.physical_ms(target) / 1000 + FINISH_AFTER_SECONDS)


def line_end(path: str, offset: int, limit: int) -> int:
    """The end of the line that holds byte ``offset`` (exclusive), ``limit`` if no line ends before it."""
    with opened(path) as file:
        file.seek(offset - 1)
        position = offset - 1
        while position < limit:
            block = file.read(min(_PROBE_BYTES, limit - position))
            if not block:
                raise SourceFileChanged(f"the file {path} became shorter while it was read")
            found = block.find(b"\n")
            if found >= 0:
                return position + found + 1
            position += len(block)
    return limit
