"""One changefeed without Spark: a source folder or a queue in memory, the real commit log, a real sink folder."""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from spark_jobs.cdc import memory
from spark_jobs.cdc.filters.selection import selection_of
from spark_jobs.pipeline.delivery import Delivery, FeedConfig
from spark_jobs.pipeline.intake import Intake, Run
from spark_jobs.sinks import parse_sink
from spark_jobs.sources import parse_source
from spark_jobs.sources.base import Batch, Place, Position, Scan, Strand
from spark_jobs.sources.folder.enumerator import FolderEnumerator
from spark_jobs.sources.folder.uri import FolderSource
from tests.storage_events import Event
from tests.storage_reader import Folder, read_folder

NOON = 1_795_262_400
"""2026-11-21 12:00 UTC: the clock of these tests, in seconds."""
T = TypeVar("T")
R = TypeVar("R")


class Scene:
    """``owner`` begins an owner's time; each has the next epoch. ``plain``: without memories; None: as the fixture
    ``both_ways`` has it. ``replica_config``: of every owner that is not given another."""

    def __init__(
        self,
        path: Path,
        *,
        sink: str = "protocol=canal-json&enable-tidb-extension=true",
        protocol: str = "canal-json",
        plain: bool | None = None,
        replica_config: Mapping[str, object] | None = None,
        **config: object,
    ) -> None:
        self.path = path
        self.source = path / "source"
        self.output = path / "output"
        self.source.mkdir(exist_ok=True)
        self.output.mkdir(exist_ok=True)
        self.protocol = protocol
        self.plain = memory.is_plain() if plain is None else plain
        self.epoch = 0
        self._replica_config = replica_config or {}
        self._sink = parse_sink(sink if ":" in sink else f"file://{self.output}?{sink}", self._replica_config)
        self._config = config

    def owner(
        self,
        source: str,
        guard: Callable[[], None] = lambda: None,
        replica_config: Mapping[str, object] | None = None,
        **changes: object,
    ) -> Delivery:
        """The next owner, not yet claiming."""
        self.epoch += 1
        config = FeedConfig(
            **{
                "changefeed_id": "feed",
                "capture_id": f"capture-{self.epoch}",
                "epoch": self.epoch,
                "feed_uid": 1,
                "rewind_id": 0,
                "floor_ts": 0,
                "target_ts": 0,
                "source": parse_source(source),
                "sink": self._sink,
                "selection": selection_of(self._replica_config if replica_config is None else replica_config),
                "time_zone": "UTC",
                "folder": str(self.path / "checkpoint"),
                "plain": self.plain,
                **self._config,
                **changes,
            }  # type: ignore[arg-type]
        )
        return Delivery(config, guard)

    def folder_feed(
        self, options: str = "", *, workers: int = 1, run: Run | None = None, **changes: object
    ) -> "FolderFeed":
        """A claimed feed of the source folder."""
        source = f"file://{self.source}?protocol={self.protocol}{options}"
        return FolderFeed(self.owner(source, **changes), workers, run)  # type: ignore[arg-type]

    def queue_feed(
        self,
        options: str = "",
        *,
        partitions: int = 2,
        started: float = NOON,
        is_end: Callable[[Position], bool] = lambda position: True,
        identity: Mapping[str, str] = MappingProxyType({}),
        **changes: object,
    ) -> "QueueFeed":
        """A claimed feed of a queue with one topic ``t``; ``is_end`` stands for the broker's answer."""
        source = f"kafka://127.0.0.1:1/t?protocol={self.protocol}{options}"
        return QueueFeed(self.owner(source, **changes), partitions, started, is_end, identity)  # type: ignore[arg-type]

    def put(self, name: str, *lines: bytes, end: bytes = b"\n") -> Path:
        """A source file, written elsewhere and renamed in."""
        target = self.source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path / "being-written"
        temporary.write_bytes(b"\n".join(lines) + end)
        temporary.rename(target)
        return target

    def read(self, protocol: str = "canal-json") -> Folder:
        """The output as an independent reader sees it; there must be nothing wrong with it."""
        folder = read_folder(self.output, protocol)
        folder.check()
        assert folder.problems == []
        return folder

    def keys(self, table: str = "orders", schema: str = "shop") -> list[str]:
        """Keys of the delivered rows of a table, in a consumer's order."""
        return [key_of(event) for event in self.read().events((schema, table))]

    def keys_unordered(self, table: str = "orders", schema: str = "shop") -> list[str]:
        """The same, where the source promises no order over its partitions."""
        return [key_of(event) for event in self.read_unordered().events((schema, table))]

    def read_unordered(self) -> Folder:
        """The output, where nothing is promised about the order of commit-ts."""
        folder = read_folder(self.output, "canal-json", ordered=False)
        folder.check()
        assert folder.problems == []
        return folder

    def versions(self, table: str = "orders", schema: str = "shop") -> list[int]:
        """The versions of a table that have data."""
        return [folder.version for folder in self.read().tables.get((schema, table), [])]


def key_of(event: Event) -> str:
    """The key of an event's row."""
    return str((event.after or event.before or {})["id"])


def run_here(function: Callable[[T], R], items: Sequence[T], /, *, small: bool) -> list[R]:
    """All of them in this process; through bytes, as between processes."""
    results: list[R] = pickle.loads(pickle.dumps([function(pickle.loads(pickle.dumps(item))) for item in items]))
    return results


class FolderFeed:
    """A folder's enumerator and intake, driven by hand."""

    def __init__(self, delivery: Delivery, workers: int, run: Run | None = None) -> None:
        self.delivery = delivery
        source = delivery.config.source
        assert isinstance(source, FolderSource)
        self.enumerator = FolderEnumerator(source)
        self.intake = Intake(delivery, run or run_here, workers, is_end=self.enumerator.at_end)
        self._workers = workers
        delivery.claim(lambda: self.enumerator.begin("", 0))
        position, _ = self.enumerator.resume(delivery.view.position, delivery.view.identity)
        self.intake.begin(at_end=self.enumerator.at_end(position))

    def advance(self, now: float, stop: Callable[[], bool], committed: Callable[[], None]) -> bool:
        """Commits batches until nothing is left or ``stop`` says so; whether the last one changed anything."""
        while not stop():
            batch = self.enumerator.plan(self._workers)
            if batch is None:
                return self.intake.wants_time(now) and self.intake.advance(None, now)
            changed = self.intake.advance(batch, now)
            if self.delivery.view.finished or batch.at_end:
                return changed
            if changed:
                committed()
        return False


def deliver(feed: FolderFeed, now: float = NOON) -> None:
    """Delivers what is there."""
    feed.advance(now, lambda: False, lambda: None)


class QueueFeed:
    """A queue's intake, driven by hand; its clock is the ``now`` of the last call."""

    def __init__(
        self,
        delivery: Delivery,
        partitions: int,
        started: float,
        is_end: Callable[[Position], bool],
        identity: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.delivery = delivery
        self._now = started
        self.intake = Intake(
            delivery, run_here, 2, is_end=is_end, clock=lambda: self._now, identity=lambda: dict(identity)
        )
        offsets = {"t": {str(partition): 0 for partition in range(partitions)}}
        delivery.claim(lambda: {"offsets": offsets})
        self.intake.begin(at_end=False)

    def advance(self, batch: Batch | None, now: float) -> bool:
        self._now = now
        return self.intake.advance(batch, now)

    def wants_time(self, now: float) -> bool:
        self._now = now
        return self.intake.wants_time(now)

    @property
    def offsets(self) -> dict[int, int]:
        """The next offsets of topic ``t``."""
        return {int(number): offset for number, offset in self.delivery.view.position["offsets"]["t"].items()}


class Messages(msgspec.Struct, frozen=True):
    """Messages of a partition of topic ``t``, as a split and its one block."""

    strand: Strand
    index: int
    size: int
    offsets: tuple[int, ...]
    values: tuple[bytes | None, ...]

    def blocks(self) -> "Iterator[Messages]":
        yield self

    def place(self, at: int) -> Place:
        offset = self.offsets[at]
        stream, partition = self.strand
        return Place(stream, partition, offset, f"topic {stream}, partition {partition}, offset {offset}")


class Queue:
    """Messages of topic ``t`` by partition, with offsets."""

    def __init__(self, partitions: int = 2) -> None:
        self.next = dict.fromkeys(range(partitions), 0)

    def batch(
        self, messages: Mapping[int, Sequence[bytes | None]], *, at_end: bool = True, size: int | None = None
    ) -> Batch:
        """The next messages of each partition as a batch; ``size``: what each split says of itself."""
        splits = []
        for partition, values in messages.items():
            first = self.next.get(partition, 0)
            self.next[partition] = first + len(values)
            offsets = tuple(range(first, first + len(values)))
            total = sum(len(value or b"") for value in values) if size is None else size
            splits.append(Messages(Strand("t", partition), 0, total, offsets, tuple(values)))
        return Batch(
            splits=splits,
            strands=[Strand("t", partition) for partition in sorted(self.next)],
            patch={"offsets": {"t": {str(partition): offset for partition, offset in self.next.items()}}},
            at_end=at_end,
            messages=sum(map(len, messages.values())),
            look=lambda marks, needed: [_look(split, marks) for split in splits],
        )


def _look(split: Messages, marks: Sequence[bytes]) -> Scan:
    values = [value for value in split.values if value]
    found = tuple(value for value in values if any(mark in value for mark in marks))
    return Scan(split.strand, found, any(b'"_tidb"' in value for value in values))


def leftovers(scene: Scene) -> list[str]:
    """What lies in the staging and held folders."""
    home = scene.output / "_weir" / "feed"
    return [path.name for folder in ("staging", "held") for path in (home / folder).iterdir()]
