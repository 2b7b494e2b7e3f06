"""One owner without Spark, in a process that may be killed at any moment: the real commit log, feeds and publication.

Nobody has a lease here: an owner learns only from the log that it was replaced.
"""

import multiprocessing
import os
import threading
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

from spark_jobs import failpoints
from spark_jobs.cdc.filters.selection import selection_of
from spark_jobs.commitlog.log import Fenced
from spark_jobs.pipeline.delivery import Delivery, FeedConfig
from spark_jobs.sinks import parse_sink
from spark_jobs.sources import parse_source
from spark_jobs.sources.base import Batch
from tests.pipeline.scene import FolderFeed, Queue, QueueFeed
from tests.rig.upstream import read_lines

FENCED = 3
"""Exit status of an owner that found that it was replaced."""
CHANGEFEED = "feed"
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.rig.lone"])


class Place(NamedTuple):
    """A changefeed of a lone owner. ``partitions`` 0: the source is a folder, else a plain queue."""

    source: Path
    output: Path
    partitions: int
    protocol: str = "canal-json"


class LoneOwner:
    """One owner's life."""

    def __init__(self, place: Place, epoch: int, failpoint: str = "") -> None:
        self.epoch = epoch
        self._process: ForkServerProcess = _CONTEXT.Process(target=_live, args=(place, epoch, failpoint), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status, None while it lives."""
        return self._process.exitcode

    def lives_for(self, seconds: float) -> bool:
        """Lets that much time pass; whether it still lives then."""
        self._process.join(seconds)
        return self._process.is_alive()

    def send(self, signal_number: int) -> None:
        os.kill(self.pid, signal_number)

    def kill(self) -> None:
        """SIGKILL, and waits until it is gone."""
        self._process.kill()
        self._process.join()


def _live(place: Place, epoch: int, failpoint: str) -> None:
    """Delivers until something ends it; also when its parent is gone."""
    failpoints.arm(failpoint)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        (_deliver_queue if place.partitions else _deliver_folder)(place, epoch)
    except Fenced:
        os._exit(FENCED)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _delivery(place: Place, epoch: int, source: str) -> Delivery:
    replica_config = {"sink": {"csv": {"include_commit_ts": True}}}
    options = "&enable-tidb-extension=true" if place.protocol != "csv" else ""
    sink = f"file://{place.output}?protocol={place.protocol}&file-size=4096{options}"
    config = FeedConfig(
        changefeed_id=CHANGEFEED,
        capture_id=f"lone-{epoch}",
        epoch=epoch,
        feed_uid=1,
        rewind_id=0,
        floor_ts=0,
        target_ts=0,
        source=parse_source(source),
        sink=parse_sink(sink, replica_config),
        selection=selection_of(replica_config),
        time_zone="UTC",
        folder=str(place.output.parent / "checkpoint"),
    )
    return Delivery(config, lambda: None)


def _deliver_folder(place: Place, epoch: int) -> None:
    source = f"file://{place.source}?protocol=canal-json&max-bytes-per-batch=20000"
    feed = FolderFeed(_delivery(place, epoch, source), 2)
    while True:
        if not feed.advance(time.time(), lambda: False, lambda: None):
            feed.delivery.guard()
            time.sleep(0.002)


def _deliver_queue(place: Place, epoch: int) -> None:
    source = "kafka://127.0.0.1:1/t?protocol=canal-json&watermark=require"
    feed = QueueFeed(_delivery(place, epoch, source), place.partitions, time.time(), lambda position: True)
    queue = _Queue(place, feed.offsets)
    while True:
        batch = queue.batch()
        if batch is not None:
            feed.advance(batch, time.time())
        else:
            feed.delivery.guard()
            time.sleep(0.002)


class _Queue:
    """Reads a plain queue; the offset of a message is the number of its line."""

    def __init__(self, place: Place, offsets: dict[int, int]) -> None:
        self._paths = {number: str(place.source / str(number)) for number in range(place.partitions)}
        self._queue = Queue(place.partitions)
        self._queue.next = dict(offsets)
        self._bytes = {
            number: sum(len(line) + 1 for line in read_lines(path, 0)[: offsets[number]])
            for number, path in self._paths.items()
        }

    def batch(self) -> Batch | None:
        """What is new, at most some hundred messages of each partition; None if nothing is."""
        messages: dict[int, list[bytes]] = {}
        at_end = True
        for number, path in self._paths.items():
            lines = read_lines(path, self._bytes[number])
            at_end &= len(lines) <= _MOST_MESSAGES
            lines = lines[:_MOST_MESSAGES]
            if lines:
                messages[number] = lines
                self._bytes[number] += sum(len(line) + 1 for line in lines)
        return self._queue.batch(messages, at_end=at_end) if messages else None


_MOST_MESSAGES = 200
