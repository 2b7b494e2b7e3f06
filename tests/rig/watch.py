"""Follows an output folder by its index files while it is written, and holds it against the ledger.

In every round ``metadata`` is read before the index files, and these before the data files that they name, as a
consumer would. What must hold at every such moment: ``metadata`` and index files never go back; every file that an
index file covers is there, whole; every event in it is in the ledger, with its full values, and came only once;
commit-ts do not step back within a folder; everything up to the checkpoint is there.

``judge`` is for the end: the whole folder by the independent reader, and nothing missing.
"""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.rig.workload import SCHEMA, Change, Ledger
from tests.storage_events import CsvStyle, Event, canal_json_events, csv_events
from tests.storage_reader import Folder, read_folder

_INDEXED = re.compile(rb"CDC([0-9]{6,})\.(json|csv)\n")
_METADATA = re.compile(rb'\{"checkpoint-ts":([0-9]{1,20})\}')
MOST_PROBLEMS = 20


class Watch:
    """Watches one folder. ``problems`` is what was wrong so far."""

    def __init__(self, path: Path, ledger: Ledger, protocol: str = "canal-json") -> None:
        self.path = path
        self.protocol = protocol
        self.problems: list[str] = []
        self.rounds = 0
        self.checkpoint = 0
        self.moves = 0
        self.ledger = ledger
        self._seen: set[tuple[str, str, int]] = set()
        self._indexed: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._complete = 0
        self._lock = threading.Lock()

    @property
    def delivered(self) -> int:
        """How many events have been seen."""
        return len(self._seen)

    def look(self) -> None:
        """One round."""
        with self._lock:
            checkpoint = self._read_checkpoint()
            for place, number in self._read_indexes():
                self._read_files(place, number)
            if checkpoint is not None:
                self._check_complete(checkpoint)
            self.rounds += 1

    def is_complete(self) -> bool:
        """Whether everything of the ledger was seen."""
        self.look()
        return len(self._seen) >= len(self.ledger.changes)

    def _fault(self, text: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"round {self.rounds}: {text}")

    def _read_checkpoint(self) -> int | None:
        try:
            content = (self.path / "metadata").read_bytes()
        except FileNotFoundError:
            return None
        found = _METADATA.fullmatch(content)
        if found is None:
            self._fault(f"metadata holds {content[:80]!r}")
            return None
        checkpoint = int(found[1])
        if checkpoint < self.checkpoint:
            self._fault(f"the checkpoint went back from {self.checkpoint} to {checkpoint}")
        self.moves += checkpoint > self.checkpoint
        self.checkpoint = max(self.checkpoint, checkpoint)
        return checkpoint

    def _read_indexes(self) -> list[tuple[str, int]]:
        found = []
        for index in self.path.glob(f"{SCHEMA}/**/meta/CDC.index"):
            place = str(index.parent.parent.relative_to(self.path))
            content = index.read_bytes()
            name = _INDEXED.fullmatch(content)
            if name is None:
                self._fault(f"{place}: the index file holds {content[:80]!r}")
                continue
            number = int(name[1])
            if number < self._indexed.get(place, 0):
                self._fault(f"{place}: the index file went back from {self._indexed[place]} to {number}")
            found.append((place, number))
        return sorted(found)

    def _read_files(self, place: str, number: int) -> None:
        first = self._indexed.get(place, 0) + 1
        extension = "csv" if self.protocol == "csv" else "json"
        for file_number in range(first, number + 1):
            name = f"{place}/CDC{file_number:06d}.{extension}"
            try:
                for event in self._events(name, (self.path / name).read_bytes()):
                    self._take(place, event)
            except FileNotFoundError:
                self._fault(f"{name} is not there, the index file names {number}")
            except (ValueError, KeyError, TypeError) as error:
                self._fault(f"{name} cannot be read: {error!r}")
        self._indexed[place] = max(number, first - 1)

    def _events(self, name: str, content: bytes) -> Iterator[Event]:
        schema, table, version = name.split("/")[:3]
        if self.protocol != "csv":
            return canal_json_events(content, "\r\n", int(version), name)
        (path,) = (self.path / schema / table / "meta").glob(f"schema_{version}_*.json")
        columns = [column["ColumnName"] for column in json.loads(path.read_bytes())["TableColumns"]]
        return csv_events(content, "\r\n", CsvStyle(), columns, int(version), name)

    def _take(self, place: str, event: Event) -> None:
        identity = (event.table, _key(event), event.commit_ts)
        change = self.ledger.by_identity.get(identity)
        if change is None:
            self._fault(f"{event.place}: nobody made {event.operation} {identity}")
        elif identity in self._seen:
            self._fault(f"{event.place}: {event.operation} {identity} came before")
        elif difference := _difference(event, change, images_before=self.protocol != "csv"):
            self._fault(f"{event.place}: {identity}: {difference}")
        if event.commit_ts < self._last.get(place, 0):
            self._fault(f"{event.place}: {event.commit_ts} after {self._last[place]}")
        self._last[place] = event.commit_ts
        self._seen.add(identity)

    def _check_complete(self, checkpoint: int) -> None:
        changes = self.ledger.changes
        while self._complete < len(changes) and changes[self._complete].commit_ts <= checkpoint:
            change = changes[self._complete]
            if change.identity not in self._seen:
                self._fault(f"the checkpoint is {checkpoint}, and {change.operation} {change.identity} is not there")
            self._complete += 1

    def judge(self) -> "Verdict":
        """At the end, when nobody writes any more: everything that is wrong, by the ledger and by the reader."""
        self.look()
        folder = read_folder(self.path, self.protocol)
        problems = [*self.problems, *_against(folder, self.ledger, csv=self.protocol == "csv")]
        problems += [f"{name} is left over" for name in (*folder.uncommitted, *folder.strangers)]
        return Verdict(len(self._seen), self.rounds, problems)


class Verdict(NamedTuple):
    """What ``judge`` found."""

    events: int
    rounds: int
    problems: list[str]


def _against(folder: Folder, ledger: Ledger, *, csv: bool) -> Iterator[str]:
    """Every event once, in the order of its row, with its full values, in the folder of its version."""
    came: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in folder.all_events():
        came[event.table, _key(event)].append(event)
    yield from folder.problems
    made: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in ledger.changes:
        made[change.table, change.key].append(change)
    for row in sorted(made.keys() | came.keys()):
        there, wanted = came.get(row, []), made.get(row, [])
        if [event.commit_ts for event in there] != [change.commit_ts for change in wanted]:
            yield f"row {row}: {[e.commit_ts for e in there]} came, {[c.commit_ts for c in wanted]} were made"
            continue
        for event, change in zip(there, wanted, strict=True):
            if difference := _difference(event, change, images_before=not csv):
                yield f"{event.place}: {difference}"


def _key(event: Event) -> str:
    image: Any = event.before if event.after is None else event.after
    return str(image["id"])


def _difference(event: Event, change: Change, *, images_before: bool) -> str:
    """Why an event is not that change; "" when it is."""
    came: list[Any] = [event.operation, event.version, event.after]
    made: list[Any] = [change.operation, change.version, change.after]
    if images_before or event.after is None:
        came.append(event.before)
        made.append(change.before)
    return "" if came == made else f"{came} came, {made} was made"


class Watching:
    """Looks again and again, in a thread, while other things happen."""

    def __init__(self, *watches: Watch, pause_seconds: float = 0.05) -> None:
        self._watches = watches
        self._pause = pause_seconds
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> "Watching":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopping.set()
        self._thread.join()
        if self._error is not None and exception[0] is None:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._stopping.wait(self._pause):
                for watch in self._watches:
                    watch.look()
        except BaseException as error:  # raised again at the end
            self._error = error


def owners(output: Path, changefeed: str) -> Iterator[str]:
    """What is wrong with who wrote the commit log: each entry under the newest claim before it, epochs growing.

    The log may be in use.
    """
    epoch, number = 0, None
    for path in sorted((output / "_weir" / changefeed / "log").glob("[0-9]*")):
        try:
            entry = json.loads(path.read_bytes())
        except FileNotFoundError:  # an old entry that its owner has just removed, and all before it
            epoch, number = 0, None
            continue
        if number is not None and entry["number"] != number + 1:
            yield f"entry {entry['number']} follows {number}"
        if entry["kind"] == "claim" and number is not None and entry["epoch"] <= epoch:
            yield f"entry {entry['number']} claims with epoch {entry['epoch']} after {epoch}"
        if entry["kind"] == "commit" and number is not None and entry["epoch"] != epoch:
            yield f"entry {entry['number']} was written under epoch {entry['epoch']}, the owner's was {epoch}"
        epoch, number = entry["epoch"], entry["number"]


def newest_epoch(output: Path, changefeed: str) -> int:
    """The epoch of the newest entry of the commit log; 0 if there is none."""
    entries = sorted((output / "_weir" / changefeed / "log").glob("[0-9]*"))
    return int(json.loads(entries[-1].read_bytes())["epoch"]) if entries else 0


def newest_commit(output: Path, changefeed: str) -> int:
    """The epoch of the newest commit that the log still has; 0 if there is none."""
    for path in sorted((output / "_weir" / changefeed / "log").glob("[0-9]*"), reverse=True):
        try:
            entry = json.loads(path.read_bytes())
        except FileNotFoundError:
            continue
        if entry["kind"] == "commit":
            return int(entry["epoch"])
    return 0
