"""Plans the reading of a folder: whole files in name order, up to a batch's limits; a large file in parts.

A position is ``{"read": {name: size}, "at": {"name", "size", "offset"}}``: the files that were read whole and are still
there, and the one that is being read. Files that appear later may have any name and any age, so no single name or time
stands for "read up to here". The names of files that are gone are forgotten.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from spark_jobs.cdc import framing
from spark_jobs.cdc.framing import FRAMINGS
from spark_jobs.sources.base import FOLDER_STRAND, Batch, Deliver, Pace, Position
from spark_jobs.sources.folder.listing import FileEntry, listing, new_files
from spark_jobs.sources.folder.split import FileRange, FolderSplit, SourceFileChanged, opened
from spark_jobs.sources.folder.uri import FolderSource
from spark_jobs.sources.packed import is_packed

SPLITS_PER_WORKER: Final = 2
SMALLEST_SPLIT: Final = 2 << 20
FORGET_EVERY_SECONDS: Final = 300.0
_SAMPLE_BYTES: Final = 1 << 16
_PACKED_GROWTH: Final = 8
"""How much larger what a packed file holds is taken to be."""


class _At(msgspec.Struct):
    name: str
    size: int
    offset: int


class FolderEnumerator:
    """One thread lists the folder once an interval, and delivers what is there."""

    def __init__(self, source: FolderSource) -> None:
        self._source = source
        self._framing = FRAMINGS[source.framing]
        self._read: dict[str, int] = {}
        self._at: _At | None = None
        self._waiting: deque[FileEntry] = deque()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._forgot_at = 0.0

    def begin(self, start: str, start_ts: int) -> Position:
        names = msgspec.json.decode(start).get("read", []) if start else []
        return {"read": dict.fromkeys(names, -1)} if names else {}

    def resume(self, position: Position, identity: Mapping[str, str]) -> tuple[Position, list[str]]:
        self._go_to(position)
        return position, []

    def identity(self) -> dict[str, str]:
        return {}

    def at_end(self, position: Position) -> bool:
        self._go_to(position)
        return self._at is None and not self._list()

    def shown(self, position: Position) -> dict[str, Any]:
        at = position.get("at")
        where = {"file": at["name"], "byte": at["offset"]} if at else {}
        return {"files_read": len(position.get("read", {})), **where}

    def run(self, position: Position, pace: Pace, deliver: Deliver) -> None:
        self._go_to(position)
        self._thread = threading.Thread(target=self._run, args=(pace, deliver), name=f"folder-{pace.name}", daemon=True)
        self._thread.start()

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _go_to(self, position: Position) -> None:
        self._read = dict(position.get("read", {}))
        at = position.get("at")
        self._at = msgspec.convert(at, _At) if at else None
        self._waiting.clear()

    def _run(self, pace: Pace, deliver: Deliver) -> None:
        try:
            while not self._stopping.is_set():
                began = time.monotonic()
                while not self._stopping.is_set():
                    batch = self.plan(pace.workers)
                    if batch is None:
                        break
                    if not deliver(batch):
                        return
                    if batch.at_end:
                        break
                self._stopping.wait(max(0.0, pace.interval_seconds - (time.monotonic() - began)))
        except BaseException as error:  # raised again by check, in the thread that reports
            self._error = error

    def plan(self, workers: int) -> Batch | None:
        """The next batch; None if there is nothing new."""
        ranges: list[FileRange] = []
        patch: dict[str, Any] = {}
        read: dict[str, int | None] = self._forgotten()
        if not self._waiting:
            self._waiting = deque(self._list())
        room = self._source.max_bytes
        was_at = self._at
        while room > 0:
            if self._at is None:
                if not self._waiting:
                    break
                entry = self._waiting.popleft()
                self._at = _At(entry.name, entry.size, 0)
            at = self._at
            path = os.path.join(self._source.path, at.name)
            if not ranges:
                room = min(room, self._rows_room(path, at))
            part = self._part(path, at, room)
            if part.end != part.start:
                ranges.append(part)
            if part.end == -1 or part.end >= at.size:
                room -= (at.size - at.offset) * (_PACKED_GROWTH if part.end == -1 else 1)
                read[at.name] = self._read[at.name] = at.size
                self._at = None
            else:
                at.offset = part.end
                break
        if self._at != was_at or was_at is not None:
            patch["at"] = None if self._at is None else msgspec.to_builtins(self._at)
        if read:
            patch["read"] = read
        if not ranges and not any(size is not None for size in read.values()):
            return None
        at_end = self._at is None and not self._waiting
        return Batch(
            splits=self._splits(ranges, workers),
            strands=(FOLDER_STRAND,),
            patch=patch,
            at_end=at_end,
            messages=0,
        )

    def _list(self) -> list[FileEntry]:
        """What has appeared and was not read, apart from the file that is being read."""
        found = new_files(self._source.path, self._source.pattern, self._read)
        return [entry for entry in found if self._at is None or entry.name != self._at.name]

    def _forgotten(self) -> dict[str, int | None]:
        """Now and then: names of files that were read and are gone, so that a position does not grow for ever."""
        now = time.monotonic()
        if not self._forgot_at:
            self._forgot_at = now
        if now - self._forgot_at < FORGET_EVERY_SECONDS or not self._read:
            return {}
        self._forgot_at = now
        there = {entry.name for entry in listing(self._source.path, self._source.pattern)}
        gone = [name for name in self._read if name not in there]
        for name in gone:
            del self._read[name]
        return dict.fromkeys(gone)

    def _rows_room(self, path: str, at: _At) -> int:
        """Bytes that about ``max-rows-per-batch`` messages take, by a look at the next ones."""
        if is_packed(at.name) or at.size - at.offset <= _SAMPLE_BYTES:
            return self._source.max_bytes
        with opened(path) as file:
            end = framing.cut(self._framing, file, at.offset, at.offset + _SAMPLE_BYTES, at.size)
            count = sum(len(block.messages) for block in framing.blocks(self._framing, file, at.offset, end, at.size))
        return int((end - at.offset) / max(count, 1) * self._source.max_rows)

    def _part(self, path: str, at: _At, room: int) -> FileRange:
        """As much of a file as there is room for; a packed file whole."""
        if is_packed(at.name):
            return FileRange(path, at.name, 0, -1, at.size)
        end = at.size
        if at.offset + room < end:
            end = self._cut(path, at.offset, at.offset + room, at.size)
        return FileRange(path, at.name, at.offset, end, at.size)

    def _cut(self, path: str, start: int, near: int, limit: int) -> int:
        try:
            with opened(path) as file:
                return framing.cut(self._framing, file, start, near, limit)
        except framing.FileChanged as error:
            raise SourceFileChanged(f"the file {path}: {error.reason}") from None

    def _splits(self, ranges: list[FileRange], workers: int) -> list[FolderSplit]:
        """The ranges in about equal splits, for workers that read at the same time."""
        total = sum(_size(part) for part in ranges)
        count = min(workers * SPLITS_PER_WORKER, max(total // SMALLEST_SPLIT, 1))
        size = -(-total // count)
        splits: list[list[FileRange]] = [[]]
        room = size
        for part in ranges:
            start = part.start
            while part.end == -1 or start < part.end:
                end = part.end
                if end != -1 and start + room < end and len(splits) < count:
                    end = self._cut(part.path, start, start + room, part.end)
                piece = FileRange(part.path, part.name, start, end, part.size)
                splits[-1].append(piece)
                room -= _size(piece)
                start = end
                if room <= 0 and len(splits) < count:
                    splits.append([])
                    room = size
                if end == -1:
                    break
        return [
            FolderSplit(index, tuple(parts), self._source.framing, sum(map(_size, parts)))
            for index, parts in enumerate(splits)
            if parts
        ]


def _size(part: FileRange) -> int:
    return part.size * _PACKED_GROWTH if part.end == -1 else part.end - part.start
