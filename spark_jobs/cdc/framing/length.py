"""Framing ``length``: before each message its length, 4 bytes, big-endian.

Nothing tells where a message begins but the lengths before it, so nothing behind a wrong one can be read.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO, Final

from spark_jobs.cdc.framing.base import Block, Cut, Fault, FramingError, Read, bytes_at

MAX_LENGTH: Final = (1 << 32) - 1
_HEAD_BYTES: Final = 4


def write_length(message: bytes) -> bytes:
    """The message in its frame."""
    return len(message).to_bytes(_HEAD_BYTES, "big") + message


def scan_length(read: Read, cut: Cut, begin: int, step: int) -> Iterator[Block | Fault]:
    """See ``base.Scan``. A fault is the last thing. Memory grows with what is there, not with what is promised."""
    parts: list[bytes] = []
    have, needed = 0, _HEAD_BYTES
    while chunk := read(step):
        parts.append(chunk)
        have += len(chunk)
        if have < needed:
            continue
        data = b"".join(parts)
        messages, size, needed = _messages(data, cut.max_bytes)
        if messages:
            yield Block(messages, begin + size, partial(_offsets, begin, messages))
        begin += size
        if needed > _HEAD_BYTES + cut.max_bytes:
            yield Fault(begin, _too_long(needed - _HEAD_BYTES, cut))
            return
        parts, have = [data[size:]], len(data) - size
    if 0 < have < _HEAD_BYTES:
        yield Fault(begin, "the input ends inside the length of a message")
    elif have:
        told = needed - _HEAD_BYTES
        yield Fault(begin, f"the input ends after {have - _HEAD_BYTES} of the {told} bytes of a message")


def seek_length(file: BinaryIO, cut: Cut, start: int, near: int, limit: int) -> int:
    """See ``base.Seek``. Reads the lengths alone."""
    while start < min(near, limit):
        head = bytes_at(file, start, min(_HEAD_BYTES, limit - start))
        size = int.from_bytes(head, "big")
        if len(head) < _HEAD_BYTES:
            raise FramingError("length", "the input ends inside the length of a message", start)
        if size > cut.max_bytes:
            raise FramingError("length", _too_long(size, cut), start)
        end = start + _HEAD_BYTES + size
        if end > limit:
            there = limit - start - _HEAD_BYTES
            raise FramingError("length", f"the input ends after {there} of the {size} bytes of a message", start)
        start = end
    return start


def _messages(data: bytes, max_bytes: int) -> tuple[list[bytes], int, int]:
    """The whole messages, how many bytes they are with their lengths, and how many bytes the next one needs."""
    messages: list[bytes] = []
    at, needed = 0, _HEAD_BYTES
    while at + _HEAD_BYTES <= len(data):
        size = int.from_bytes(data[at : at + _HEAD_BYTES], "big")
        needed = _HEAD_BYTES + size
        if size > max_bytes or at + needed > len(data):
            break
        messages.append(data[at + _HEAD_BYTES : at + needed])
        at += needed
        needed = _HEAD_BYTES
    return messages, at, needed


def _offsets(at: int, messages: Sequence[bytes]) -> Sequence[int]:
    offsets = []
    for message in messages:
        offsets.append(at)
        at += _HEAD_BYTES + len(message)
    return offsets


def _too_long(size: int, cut: Cut) -> str:
    return f"a message of {size} bytes; the limit is {cut.max_bytes} (is this the framing?)"
