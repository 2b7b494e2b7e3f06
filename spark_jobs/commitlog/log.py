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
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from spark_jobs.cdc.errors import EnvironmentFault, InternalError, WeirError
from spark_jobs.commitlog.entries import FORMAT, Entry, State
from spark_jobs.commitlog.upgrade import UnknownFormat, read_entry, read_state
from spark_jobs.commitlog.view import View
from spark_jobs.store import durable

T = TypeVar("T")

SNAPSHOT_EVERY: Final = 100
"""Entries between two snapshots at least; more where a snapshot is large, so that it costs no more than they do."""
MOST_ENTRIES: Final = 2000
_ENTRY: Final = re.compile(r"^\d{16}$")
_SNAPSHOT: Final = re.compile(r"^snapshot-(\d{16})$")


class Fenced(WeirError):
    """Another owner has taken over; this one must stop at once. No back-off, no warning: the changefeed is fine."""

    code = "CDC:ErrFenced"


class LogDamaged(InternalError):
    """The log cannot be read; nothing is written until somebody has looked."""

    code = "CDC:ErrCommitLogDamaged"


class LogGone(EnvironmentFault):
    """The log was there and is not any more: somebody has removed the folder."""

    code = "CDC:ErrCommitLogGone"


class CommitLog:
    """One changefeed's log, as one owner sees it. Not thread-safe."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.view = View(State())
        self.last_commit: Entry | None = None
        self.moved = False
        """A claim moved the position, and nothing was committed since: what readers see may still be ahead."""
        self._snapshot_number = 0
        self._snapshot_bytes = 0
        self._bytes_since = 0

    def load(self) -> bool:
        """Reads everything that is there; False if there is nothing yet. ``last_commit`` is the newest commit since the
        last snapshot: it may not be published yet, all before it are."""
        durable.make_folder(self.folder)
        entries, snapshots = self._names()
        if snapshots:
            content = self._read(self._snapshot_path(snapshots[-1]))
            self._snapshot_number, self._snapshot_bytes = snapshots[-1], len(content)
            self.view = View(self._parsed(content, self._snapshot_path(snapshots[-1]), read_state))
        for number in range(self.view.number + 1, (entries[-1] if entries else 0) + 1):
            content = self._read(self._entry_path(number))
            self._bytes_since += len(content)
            self._add(self._parsed(content, self._entry_path(number), lambda content: read_entry(content, self.view)))
        return self.view.number > 0

    def append(self, entry: Entry) -> None:
        """Makes the entry the next one, durably. ``Fenced`` when another owner has written since."""
        content = msgspec.json.encode(entry)
        self.require_there()
        if not durable.create(self._entry_path(entry.number), content):
            raise Fenced(f"entry {entry.number} of {self.folder} was written by another owner")
        entries, snapshots = self._names()
        if entries[-1] > entry.number or (snapshots and snapshots[-1] >= entry.number):
            raise Fenced(f"the log {self.folder} has gone on beyond entry {entry.number} under another owner")
        self._bytes_since += len(content)
        self._add(entry)

    def _add(self, entry: Entry) -> None:
        if entry.kind == "commit":
            self.last_commit, self.moved = entry, False
        else:
            self.moved |= entry.position is not None
        self.view.fold(entry)

    def require_there(self) -> None:
        """``LogGone`` when this owner's log has been removed."""
        if not os.path.isdir(self.folder):
            raise LogGone(
                f"the commit log {self.folder} is gone: somebody has removed it, or the folder above it, while the "
                "changefeed was running; put it back, or remove the changefeed and create it anew"
            )

    def is_tail(self) -> bool:
        """Whether nobody has written after this owner's last entry; asked before what readers see is changed.

        Entries are cleaned away from the oldest on, so where the next one is gone, this owner's last one is gone too.
        """
        self.require_there()
        number = self.view.number
        if os.path.exists(self._entry_path(number + 1)):
            return False
        return number == 0 or os.path.exists(self._entry_path(number))

    def wants_snapshot(self) -> bool:
        """When enough entries have come, by number and, beside a large snapshot, by bytes."""
        since = self.view.number - self._snapshot_number
        return since >= SNAPSHOT_EVERY and (self._bytes_since >= self._snapshot_bytes // 2 or since >= MOST_ENTRIES)

    def compact(self) -> None:
        """A snapshot, after which older entries go. Call when all is published, durably: nobody looks at it again."""
        number = self.view.number
        content = msgspec.json.encode(self.view.state())
        durable.create(self._snapshot_path(number), content)
        self._snapshot_number, self._snapshot_bytes, self._bytes_since = number, len(content), 0
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

    def _read(self, path: str) -> bytes:
        content = durable.read(path)
        if content is None:
            raise LogDamaged(f"{path} is missing; the entries around it are there")
        return content

    def _parsed(self, content: bytes, path: str, read: Callable[[bytes], T]) -> T:
        try:
            return read(content)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise LogDamaged(f"{path} cannot be read: {error}") from None
        except UnknownFormat as error:
            raise LogDamaged(f"{path} has format {error}; this version of Weir reads up to {FORMAT}") from None
