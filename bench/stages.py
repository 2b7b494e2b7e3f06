"""Where the time of a changefeed goes, in one process without Spark; "…" is over what stands above it."""

import argparse
import gc
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from bench import input
from bench.events import WORDINGS, events, watermark
from bench.report import Report
from bench.throughput import SINKS
from bench.weir import csv_config
from spark_jobs.cdc.filters.selection import SelectionConfig
from spark_jobs.pipeline.job import Job, Task, opener_of
from spark_jobs.pipeline.order import lanes, order
from spark_jobs.pipeline.read import read
from spark_jobs.sinks import parse_sink
from spark_jobs.sources.base import Strand
from spark_jobs.sources.folder.split import FileRange, FolderSplit
from spark_jobs.sources.kafka.split import BLOCK_MESSAGES, KafkaBlock

EVENTS: Final = 100_000
PASSES: Final = 5
Figures = dict[str, dict[str, float]]


class QueueSplit(msgspec.Struct, frozen=True):
    """A partition whose messages have been fetched already."""

    strand: Strand
    messages: list[bytes]
    index: int = 0

    @property
    def size(self) -> int:
        return sum(map(len, self.messages))

    def blocks(self) -> Iterator[KafkaBlock]:
        for first in range(0, len(self.messages), BLOCK_MESSAGES):
            values: list[bytes | None] = [*self.messages[first : first + BLOCK_MESSAGES]]
            yield KafkaBlock(self.strand, values, list(range(first, first + len(values))))


def stages(options: argparse.Namespace) -> None:
    """Steps of the hot path, microseconds of CPU an event."""
    events = min(options.events, EVENTS)
    figures: Figures = {}
    gc.disable()
    input.CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stages-", dir=input.CACHE) as name:
        for wording, suffix in WORDINGS.items():
            for title, one in _Stages(Path(name), wording, events).figures().items():
                figures[f"{title}{suffix}"] = one
    gc.enable()
    Report(name="stages", arguments={"events": events, "passes": PASSES, "cores": 1}, figures=figures).write()


class _Stages:
    """The steps with one wording of the input."""

    def __init__(self, folder: Path, wording: str, count: int) -> None:
        self._folder = folder
        self._count = count
        self._split = _file(folder / f"{wording}.json", wording, count)
        self._parts = _partitions(wording, count)

    def figures(self) -> Figures:
        figures = {"files: read, cut into messages": self._time(self._cut), "… and open": self._time(self._opened)}
        for protocol in SINKS:
            figures[f"… and write {protocol}"] = self._time(partial(self._written, protocol))
        for protocol in SINKS:
            job = self._job(protocol, direct=True)
            figures[f"files → {protocol}: read() to pieces"] = self._time(partial(read, job, Task((self._split,))), job)
        for protocol in SINKS:
            figures |= self._queue(self._job(protocol, direct=False), protocol)
        return figures

    def _cut(self) -> None:
        for _ in self._split.blocks():
            pass

    def _opened(self) -> None:
        open_ = opener_of("canal-json", "").open
        for block in self._split.blocks():
            for message in block.values:
                if message:
                    open_(message)

    def _written(self, protocol: str) -> None:
        """Without the loop around it: times, filter, horizon, pieces."""
        opener, job = opener_of("canal-json", ""), self._job(protocol, direct=True)
        open_, serialize = opener.open, job.sink.serializer(opener, (), "UTC").serialize
        for block in self._split.blocks():
            for message in block.values:
                if message:
                    (rows,) = open_(message)
                    serialize(rows, rows.commit_ts)  # type: ignore[arg-type, union-attr]

    def _queue(self, job: Job, protocol: str) -> Figures:
        """Stage one and two, as of a batch from Kafka that ends with watermarks."""
        task = Task(self._parts)
        serializer = job.sink.serializer(opener_of("canal-json", ""), (), "UTC")
        first = self._time(lambda: read(job, task), job)
        chunks = read(job, task).chunks

        def ordered() -> None:
            for work in lanes(chunks, lambda lane: ()):
                order(job, serializer, work)

        second = self._time(ordered)
        return {f"queue → {protocol}: read() to spool": first, f"queue → {protocol}: order() to pieces": second}

    def _job(self, protocol: str, *, direct: bool) -> Job:
        config = msgspec.json.decode(csv_config(), type=dict) if protocol == "csv" else {}
        staging, held = self._folder / "staging", self._folder / "held"
        return Job(
            staging=str(staging),
            held=str(held),
            source_protocol="canal-json",
            source_time_zone="UTC",
            sink=parse_sink(f"file://{self._folder / 'output'}?{SINKS[protocol]}", config),
            selection=SelectionConfig(),
            sink_time_zone="UTC",
            drop_repeats=not direct,
            drop_copies=not direct,
            horizon_ts=None if direct else 1 << 62,
            direct=direct,
        )

    def _time(self, work: Callable[[], object], job: Job | None = None) -> dict[str, float]:
        """The best of some passes: what others do on the machine only ever adds. Into an empty staging folder, if it is
        that of a ``job``."""
        best = float("inf")
        for _ in range(PASSES):
            if job is not None:
                shutil.rmtree(job.staging, ignore_errors=True)
                Path(job.staging).mkdir()
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
        return {"CPU us/event": round(best / self._count * 1e6, 2)}


def _file(path: Path, wording: str, count: int) -> FolderSplit:
    path.write_bytes(b"".join(message + b"\n" for _, message in events(count, wording)))
    size = path.stat().st_size
    return FolderSplit(0, (FileRange(str(path), path.name, 0, size, size),), "lines", size)


def _partitions(wording: str, count: int) -> tuple[QueueSplit, ...]:
    parts: list[list[bytes]] = [[] for _ in range(input.PARTITIONS)]
    for key, message in events(count, wording):
        parts[key % input.PARTITIONS].append(message)
    return tuple(QueueSplit(Strand("t", number), [*part, watermark(1 << 62)]) for number, part in enumerate(parts))
