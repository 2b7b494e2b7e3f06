"""The events as files below ``bench/.cache``, and in a topic of a broker whose data is kept there too."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.events import SCHEMA, TICDC, commit_ts, events, watermark
from tests.servers.kafka import Kafka

CACHE: Final = Path(__file__).parent / ".cache"
FILE_BYTES: Final = 64 << 20
SMALLEST_FILES: Final = 8
PARTITIONS: Final = 4
WATERMARK_EVERY: Final = 1_000
_DONE: Final = ".complete"


def folder(count: int, wording: str = TICDC) -> Path:
    """The files, whole lines, named in commit order."""
    path = CACHE / f"files-{count}-{wording}"
    if not (path.parent / f"{path.name}{_DONE}").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        _write(path, count, wording)
        (path.parent / f"{path.name}{_DONE}").touch()
    return path


def size(path: Path) -> int:
    """Bytes of the files of a folder."""
    return sum(file.stat().st_size for file in path.iterdir())


def _write(path: Path, count: int, wording: str) -> None:
    most = min(FILE_BYTES, count * 930 // SMALLEST_FILES)
    lines: list[bytes] = []
    filled = number = 0
    for _, message in events(count, wording):
        lines.append(message)
        filled += len(message) + 1
        if filled >= most:
            _file(path, number, lines)
            lines, filled, number = [], 0, number + 1
    if lines:
        _file(path, number, lines)


def _file(path: Path, number: int, lines: list[bytes]) -> None:
    (path / f"{SCHEMA}-{number:05d}.json").write_bytes(b"\n".join(lines) + b"\n")


def topic(kafka: Kafka, count: int, wording: str = TICDC) -> str:
    """A topic with the events, a row always in the same partition, and watermarks in every partition."""
    name = f"events-{count}-{wording}"
    done = CACHE / "kafka" / f"{name}{_DONE}"
    if not done.exists():
        if kafka.partitions(name):
            kafka.delete_topic(name)
        kafka.create_topic(name, PARTITIONS, retention_ms="-1", retention_bytes="-1")
        for part in range(PARTITIONS):
            kafka.produce(name, _messages(count, part, wording), partition=part)
        done.touch()
    return name


def _messages(count: int, part: int, wording: str) -> Iterator[bytes]:
    for number, (key, message) in enumerate(events(count, wording)):
        if key % PARTITIONS == part:
            yield message
        if number % WATERMARK_EVERY == WATERMARK_EVERY - 1 or number == count - 1:
            yield watermark(commit_ts(number))
