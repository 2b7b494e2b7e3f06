"""One changefeed without Spark: a source folder or a queue in memory, the real commit log, a real sink folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from spark_jobs.pipeline.delivery import Delivery, Task
from spark_jobs.pipeline.folder_feed import FolderFeed
from spark_jobs.pipeline.job import Job, Outcome, Split
from spark_jobs.pipeline.ordered import run_split
from spark_jobs.pipeline.queue_feed import IsEnd, QueueFeed, SmallBatch
from spark_jobs.sinks import parse_sink
from spark_jobs.sources import parse_source
from spark_jobs.sources.folder import FolderSource
from spark_jobs.sources.kafka import KafkaSource
from tests.storage_events import Event
from tests.storage_reader import Folder, read_folder

NOON = 1_795_262_400
"""2026-11-21 12:00 UTC: the clock of these tests, in seconds."""


class Scene:
    """``owner`` begins an owner's time; each has the next epoch."""

    def __init__(
        self, path: Path, *, sink: str = "protocol=canal-json&enable-tidb-extension=true", **task: object
    ) -> None:
        self.path = path
        self.source = path / "source"
        self.output = path / "output"
        self.source.mkdir(exist_ok=True)
        self.output.mkdir(exist_ok=True)
        self.epoch = 0
        self._sink = parse_sink(f"file://{self.output}?{sink}")
        self._task = task

    def owner(self, guard: Callable[[], None] = lambda: None, **changes: object) -> Delivery:
        """The next owner, not yet claiming."""
        self.epoch += 1
        task = Task(
            **{
                "changefeed_id": "feed",
                "capture_id": f"capture-{self.epoch}",
                "epoch": self.epoch,
                "feed_uid": 1,
                "rewind_id": 0,
                "floor_ts": 0,
                "target_ts": 0,
                "sink": self._sink,
                "source_protocol": "canal-json",
                "source_time_zone": "UTC",
                "dead_letter": False,
                "filter_rules": ("*.*",),
                "case_sensitive": False,
                "time_zone": "UTC",
                "dead_letter_folder": str(self.path / "dead"),
                **self._task,
                **changes,
            }  # type: ignore[arg-type]
        )
        return Delivery(task, guard)

    def folder_feed(self, options: str = "", *, workers: int = 1, **changes: object) -> FolderFeed:
        """A claimed feed of the source folder."""
        source = parse_source(f"file://{self.source}?protocol=canal-json{options}")
        assert isinstance(source, FolderSource)
        feed = FolderFeed(self.owner(**changes), source, run_here, workers)  # type: ignore[arg-type]
        feed.delivery.claim(lambda: feed.begin(""))
        return feed

    def queue_feed(
        self,
        options: str = "",
        *,
        partitions: int = 2,
        started: float = NOON,
        is_end: IsEnd = lambda offsets: True,
        **changes: object,
    ) -> QueueFeed:
        """A claimed feed of a queue with one topic ``t``; ``is_end`` stands for the broker's answer."""
        source = parse_source(f"kafka://127.0.0.1:1/t?protocol=canal-json{options}")
        assert isinstance(source, KafkaSource)
        feed = QueueFeed(self.owner(**changes), source, started, is_end)  # type: ignore[arg-type]
        feed.delivery.claim(lambda: feed.begin({"t": dict.fromkeys(range(partitions), 0)}))
        return feed

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


def run_here(job: Job, splits: list[Split]) -> list[Outcome]:
    """All splits in this process; through bytes, as between processes."""
    return [msgspec.msgpack.decode(msgspec.msgpack.encode(run_split(job, split)), type=Outcome) for split in splits]


def deliver(feed: FolderFeed, now: float = NOON) -> None:
    """Delivers what is there."""
    feed.advance(now, lambda: False, lambda: None)


class Queue:
    """Messages of topic ``t`` by partition, with offsets."""

    def __init__(self, partitions: int = 2) -> None:
        self.next = dict.fromkeys(range(partitions), 0)

    def batch(self, messages: Mapping[int, list[bytes]], *, at_end: bool = True) -> SmallBatch:
        """The next messages of each partition as a micro-batch."""
        parts: list[tuple[str, int, list[int], list[bytes | None]]] = []
        for partition, values in messages.items():
            first = self.next.get(partition, 0)
            self.next[partition] = first + len(values)
            parts.append(("t", partition, list(range(first, first + len(values))), list(values)))
        return SmallBatch(parts, {"t": dict(self.next)}, at_end=at_end)


def leftovers(scene: Scene) -> list[str]:
    """What lies in the staging and held folders."""
    home = scene.output / "_weir" / "feed"
    return [path.name for folder in ("staging", "held") for path in (home / folder).iterdir()]
