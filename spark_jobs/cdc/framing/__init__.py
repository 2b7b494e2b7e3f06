"""Cuts streams and files into messages, and puts messages into a stream.

    ========  =========================================================================================
    lines     a text message a line; LF or CR LF. Rows of CSV may hold line breaks between their quotes
    hex       a message a line, in hexadecimal
    length    4 bytes of length, big-endian, before each message
    drainer   TiDB Binlog's local files: magic, length, payload, checksum
    ========  =========================================================================================

Each framing has one scanner, which everything below goes through. Memory is constant: a block and one message of at
most ``max_bytes``. Blank lines are no messages.

* ``Framing.read``: a stream message by message, for the command line; what cannot be cut out is a frame with a fault.
* ``blocks``: a range of a file in blocks, each of as many messages as a read gives. ``scan``: the same with faults.
* ``cut``: where a file may be cut, so that ranges can be read apart from each other.

Nothing is opened here: files are given, open for reading.
"""

from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from spark_jobs.cdc.codecs.drainer import files as drainer_files
from spark_jobs.cdc.framing.base import (
    BLOCK_BYTES,
    MAX_MESSAGE_BYTES,
    WHOLE,
    Block,
    Cut,
    Fault,
    FileChanged,
    Frame,
    Framing,
    FramingError,
    Read,
    shorter,
)
from spark_jobs.cdc.framing.drainer import scan_drainer, seek_drainer
from spark_jobs.cdc.framing.length import MAX_LENGTH, scan_length, seek_length, write_length
from spark_jobs.cdc.framing.lines import scan_hex, scan_lines, seek_hex, seek_line

__all__ = [
    "FRAMINGS",
    "MAX_LENGTH",
    "MAX_MESSAGE_BYTES",
    "WHOLE",
    "Block",
    "Cut",
    "Fault",
    "FileChanged",
    "Frame",
    "Framing",
    "FramingError",
    "blocks",
    "cut",
    "scan",
]

FRAMINGS: Final[dict[str, Framing]] = {
    framing.name: framing
    for framing in (
        Framing("lines", scan_lines, seek_line, lambda message: message + b"\n", text_only=True),
        Framing("hex", scan_hex, seek_hex, lambda message: message.hex().encode() + b"\n"),
        Framing("length", scan_length, seek_length, write_length),
        Framing("drainer", scan_drainer, seek_drainer, drainer_files.frame),
    )
}


def blocks(
    framing: Framing,
    file: BinaryIO,
    start: int,
    end: int | None,
    size: int | None,
    block_bytes: int = BLOCK_BYTES,
    how: Cut = WHOLE,
) -> Iterator[Block]:
    """The messages of the bytes from ``start`` to ``end`` (None: to the end), both boundaries, in blocks.

    ``size``: what the file has; None: not known, as of a packed file. ``FileChanged`` if it has another size or ends
    too early, ``FramingError`` at the first bytes that are no message; what stands before them has been given then.
    """
    for item in scan(framing, file, start, end, size, block_bytes, how):
        if isinstance(item, Fault):
            raise FramingError(framing.name, item.reason, item.offset)
        yield item


def scan(
    framing: Framing,
    file: BinaryIO,
    start: int,
    end: int | None,
    size: int | None,
    block_bytes: int = BLOCK_BYTES,
    how: Cut = WHOLE,
) -> Iterator[Block | Fault]:
    """Like ``blocks``, but bytes that are no message are a ``Fault``, behind which it goes on if that is possible."""
    if size is not None:
        there = file.seek(0, 2)
        if there != size:
            raise FileChanged(f"the file has {there} bytes and no longer {size}", min(there, size))
        if end is not None and end < size:
            how = msgspec.structs.replace(how, last_file=False)
    yield from framing.scan(_range(file, start, end), how, start, block_bytes)


def cut(framing: Framing, file: BinaryIO, start: int, near: int, limit: int, how: Cut = WHOLE) -> int:
    """The first boundary at or after ``near``, or ``limit`` if there is none before it.

    ``start`` is a known boundary at or before ``near`` (0, or what an earlier call gave), ``limit`` the end of the file
    or another boundary. Lines are looked for from ``near`` on; the frames of ``length`` and ``drainer`` are followed
    from ``start``, payloads unread, as are rows with quotes. ``FramingError`` and ``FileChanged`` as in ``blocks``.
    """
    return framing.seek(file, how, start, near, limit)


def _range(file: BinaryIO, start: int, end: int | None) -> Read:
    at = file.seek(start)
    if at != start:
        raise FileChanged("the file ends before the place to go on at", at)

    def read(size: int) -> bytes:
        nonlocal at
        wanted = size if end is None else min(size, end - at)
        data = file.read(wanted) if wanted else b""
        if wanted and not data and end is not None:
            raise shorter(at)
        at += len(data)
        return data

    return read
