"""Where a workload goes: a folder that grows, topics of a broker, or a queue of plain files for lone owners."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from confluent_kafka import Producer

from tests.rig.workload import Message, Workload
from tests.servers.kafka import Kafka


class Upstream(Protocol):
    """Takes messages; when ``write`` returns they are there for every reader, in their order."""

    def write(self, messages: list[Message]) -> None: ...

    def close(self) -> None: ...


class GrowingFolder:
    """Each write is a file that is written elsewhere and renamed in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._number = 0
        path.mkdir(parents=True, exist_ok=True)

    def write(self, messages: list[Message]) -> None:
        self._number += 1
        being_written = self.path.parent / f"{self.path.name}-being-written"
        being_written.write_bytes(b"".join(message.value + b"\n" for message in messages))
        being_written.rename(self.path / f"{self._number:08d}.json")

    def close(self) -> None:
        """Nothing is open between two writes."""


class Topics:
    """One or more topics of a broker; a table's partition decides which, so that the same key stays in one place."""

    def __init__(self, kafka: Kafka, topics: tuple[str, ...], partitions: int) -> None:
        self._topics = topics
        self._partitions = partitions
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "linger.ms": 2})
        for topic in topics:
            kafka.create_topic(topic, partitions)

    @property
    def total(self) -> int:
        """Partitions of all topics: what a workload counts as its partitions."""
        return len(self._topics) * self._partitions

    def write(self, messages: list[Message]) -> None:
        for message in messages:
            topic, partition = divmod(message.partition, self._partitions)
            self._producer.produce(self._topics[topic], message.value, partition=partition)
        if self._producer.flush(30):
            raise RuntimeError("the broker did not take messages in time")

    def close(self) -> None:
        self._producer.close()


class PlainQueue:
    """One file for each partition, a message a line; a line counts once its line feed is there."""

    def __init__(self, path: Path, partitions: int) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._files = [open(path / str(number), "ab", buffering=0) for number in range(partitions)]  # noqa: SIM115

    def write(self, messages: list[Message]) -> None:
        for message in messages:
            self._files[message.partition].write(message.value + b"\n")

    def close(self) -> None:
        for file in self._files:
            file.close()


def read_lines(path: str, offset: int) -> list[bytes]:
    """The whole lines of a growing file from a byte on."""
    with open(path, "rb") as file:
        file.seek(offset)
        content = file.read()
    return content[: content.rfind(b"\n") + 1].splitlines()


class Pump:
    """Moves a workload into an upstream at a steady rate, in a thread, until it is told to stop."""

    def __init__(self, workload: Workload, upstream: Upstream, *, steps_per_second: float, steps_per_write: int = 5):
        self.workload = workload
        self._upstream = upstream
        self._pause = steps_per_write / steps_per_second
        self._steps = steps_per_write
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)

    def _run(self) -> None:
        try:
            while not self._stopping.wait(self._pause):
                self.write_at_once(self._steps)
        except BaseException as error:  # raised again by stop
            self._error = error

    def write_at_once(self, steps: int) -> None:
        with self._lock:
            messages = [message for _ in range(steps) for message in self.workload.next()]
            if messages:
                self._upstream.write(messages)

    def stop(self) -> None:
        """Nothing is written any more but what lets everything come out."""
        self._stopping.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        last = self.workload.finish()
        if last:
            self._upstream.write(last)

    @contextlib.contextmanager
    def running(self) -> Iterator["Pump"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            self._thread.join()
            self._upstream.close()
