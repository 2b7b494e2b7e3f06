"""Source messages that wait for a watermark: segments below ``_weir/<changefeed>/held/``, named by the commit log.

A segment holds messages as they came, with their positions, so that they are decoded under the configuration of the
batch that delivers them. It is written whole before the log names it, and removed after the log no longer does.
"""

import os
import secrets
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from spark_jobs.pipeline.job import HeldFile
from spark_jobs.store import durable

SEGMENT_BYTES: Final = 8 << 20


class HeldMessage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message with its position and commit-ts."""

    stream: str
    partition: int
    offset: int
    commit_ts: int
    value: bytes


_SEGMENTS: Final = msgspec.msgpack.Decoder(list[HeldMessage])


def write_held(folder: str, messages: list[HeldMessage]) -> list[HeldFile]:
    """Writes the messages, by commit-ts, as segments of about ``SEGMENT_BYTES``."""
    if not messages:
        return []
    messages.sort(key=lambda message: (message.commit_ts, message.stream, message.partition, message.offset))
    return [_write(folder, part) for part in _parts(messages)]


def _parts(messages: list[HeldMessage]) -> Iterator[list[HeldMessage]]:
    part: list[HeldMessage] = []
    size = 0
    for message in messages:
        part.append(message)
        size += len(message.value)
        if size >= SEGMENT_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _write(folder: str, part: list[HeldMessage]) -> HeldFile:
    name = secrets.token_hex(12)
    content = msgspec.msgpack.encode(part)
    path = os.path.join(folder, name)
    try:
        durable.write(path, content)
    except OSError as error:
        raise durable.fault(error, path) from error
    return HeldFile(name, len(part), len(content), part[0].commit_ts, part[-1].commit_ts)


def read_held(folder: str, names: Iterable[str]) -> Iterator[HeldMessage]:
    """The messages of segments."""
    for name in names:
        path = os.path.join(folder, name)
        content = durable.read(path)
        if content is None:
            raise durable.StorageFault(f"{path} is missing: it holds rows that wait for a watermark")
        yield from _SEGMENTS.decode(content)
