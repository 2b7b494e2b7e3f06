"""The commit log on a file system: ``<sink>/_weir/<changefeed>/log/``.

Files: ``0000000000000042`` (entry 42), ``snapshot-0000000000000040`` (the state after entry 40). No file ends in
``.json`` or ``.csv``, so consumers of the storage layout pass them by.

Why one owner writes: an entry is created only if its number is free, and a new owner's claim takes the next number.
An older owner that wakes up finds its number taken — or, when old entries were cleaned away meanwhile, finds a snapshot
at or above its number after it created the entry — and stops before it has touched anything that readers see.
"""

import contextlib
import os
import re
from typing import Final, TypeVar

import msgspec

from spark_jobs.cdc.errors import InternalError, WeirError
from spark_jobs.commitlog.entries import FORMAT, Entry, FileRecord, State, View
from spark_jobs.store import durable

SNAPSHOT_EVERY: Final = 100
RECENT_FOLDERS: Final = 200
Kind = TypeVar("Kind", Entry, State)
_ENTRY: Final = re.compile(r"^\d{16}$")
_SNAPSHOT: Final = re.compile(r"^snapshot-(\d{16})$")


class Fenced(WeirError):
    """Another owner has taken over; this one must stop at once. No back-off, no warning: the changefeed is fine."""

    code = "CDC:ErrFenced"


class LogDamaged(InternalError):
    """The log cannot be read; nothing is written until somebody has looked."""

    code = "CDC:ErrCommitLogDamaged"


class CommitLog:
    """One changefeed's log, as one owner sees it. Not thread-safe."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.view = View(State())
        self.last_commit: Entry | None = None
        self.moved = False
        """A claim moved the position, and nothing was committed since: ``metadata`` may still be ahead."""
        self._recent: dict[str, FileRecord] = {}
        self._since: dict[str, FileRecord] = {}
        self._snapshot_number = 0

    def load(self) -> bool:
        """Reads everything that is there; False if there is nothing yet. ``last_commit`` is the newest commit since the
        last snapshot: it may not be published yet, all before it are."""
        durable.make_folder(self.folder)
        entries, snapshots = self._names()
        if snapshots:
            self._snapshot_number = snapshots[-1]
            self.view = View(self._read(self._snapshot_path(snapshots[-1]), State))
        for number in range(self.view.number + 1, (entries[-1] if entries else 0) + 1):
            entry = self._read(self._entry_path(number), Entry)
            self._add(entry)
        return self.view.number > 0

    def append(self, entry: Entry) -> None:
        """Makes the entry the next one, durably. ``Fenced`` when another owner has written since."""
        if not durable.create(self._entry_path(entry.number), msgspec.json.encode(entry)):
            raise Fenced(f"entry {entry.number} of {self.folder} was written by another owner")
        entries, snapshots = self._names()
        if entries[-1] > entry.number or (snapshots and snapshots[-1] >= entry.number):
            raise Fenced(f"the log {self.folder} has gone on beyond entry {entry.number} under another owner")
        self._add(entry)

    def _add(self, entry: Entry) -> None:
        if entry.kind == "commit":
            self.last_commit, self.moved = entry, False
        else:
            self.moved |= entry.fresh or entry.rewind_id != self.view.rewind_id
        self.view.fold(entry)
        for file in entry.files:
            folder = file.path.rpartition("/")[0]
            self._recent.pop(folder, None)
            self._recent[folder] = self._since[folder] = file
        while len(self._recent) > RECENT_FOLDERS:
            del self._recent[next(iter(self._recent))]

    def recent_files(self) -> list[FileRecord]:
        """The last file of each folder that was written to lately."""
        return list(self._recent.values())

    def files_since_snapshot(self) -> list[FileRecord]:
        """The last file of each folder that was written to since the last snapshot."""
        return list(self._since.values())

    def is_tail(self) -> bool:
        """Whether nobody has written after this owner's last entry; asked before what readers see is changed.

        Entries are cleaned away from the oldest on, so where the next one is gone, this owner's last one is gone too.
        """
        number = self.view.number
        if os.path.exists(self._entry_path(number + 1)):
            return False
        return number == 0 or os.path.exists(self._entry_path(number))

    def wants_snapshot(self) -> bool:
        """Every ``SNAPSHOT_EVERY`` entries."""
        return self.view.number - self._snapshot_number >= SNAPSHOT_EVERY

    def compact(self) -> None:
        """A snapshot, after which older entries go. Call when all is published, durably: nobody looks at it again."""
        number = self.view.number
        durable.create(self._snapshot_path(number), msgspec.json.encode(self.view.state()))
        self._snapshot_number = number
        self._since = {}
        entries, snapshots = self._names()
        gone = [self._snapshot_path(old) for old in snapshots[:-2]]
        gone += [self._entry_path(old) for old in entries if old <= number - SNAPSHOT_EVERY]
        for path in gone:
            with contextlib.suppress(FileNotFoundError):  # an earlier owner woke up and goes on with its own list
                os.unlink(path)

    def _names(self) -> tuple[list[int], list[int]]:
        names = os.listdir(self.folder)
        entries = sorted(int(name) for name in names if _ENTRY.match(name))
        snapshots = sorted(int(found[1]) for name in names if (found := _SNAPSHOT.match(name)))
        return entries, snapshots

    def _entry_path(self, number: int) -> str:
        return os.path.join(self.folder, f"{number:016d}")

    def _snapshot_path(self, number: int) -> str:
        return os.path.join(self.folder, f"snapshot-{number:016d}")

    def _read(self, path: str, kind: type[Kind]) -> Kind:
        content = durable.read(path)
        if content is None:
            raise LogDamaged(f"{path} is missing; the entries around it are there")
        try:
            value = msgspec.json.decode(content, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise LogDamaged(f"{path} cannot be read: {error}") from None
        if value.format != FORMAT:
            raise LogDamaged(f"{path} has format {value.format}; this version of Weir reads {FORMAT}")
        return value
