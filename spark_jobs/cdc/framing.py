"""Cuts a stream into messages, and puts messages into a stream.

    ========  =========================================================================================
    lines     a text message a line; LF or CR LF. Rows of CSV may hold line breaks between their quotes
    hex       a message a line, in hexadecimal
    length    4 bytes of length, big-endian, before each message
    drainer   TiDB Binlog's local files: magic, length, payload, checksum
    ========  =========================================================================================

Reading takes constant memory: one message of at most ``max_bytes``. What cannot be cut out is a frame with a ``fault``;
the last one, where nothing behind it can be told apart any more. Empty lines are no messages.
"""

from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

import msgspec

from spark_jobs.cdc.codecs.drainer import files as drainer_files
from spark_jobs.cdc.errors import DecodeError

MAX_MESSAGE_BYTES: Final = 256 << 20
MAX_LENGTH: Final = (1 << 32) - 1
_CHUNK_BYTES: Final = 1 << 16


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A message, or why there is none; ``offset``: of its first byte in the stream."""

    offset: int
    data: bytes
    fault: str = ""


def _nobody(_size: int) -> None:
    pass


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """How a stream is cut. ``quote`` and ``line_end`` are CSV's; ``last_file``: no other file follows.

    ``passed_over`` is told how many bytes between the messages of a stream were none.
    """

    max_bytes: int = MAX_MESSAGE_BYTES
    line_end: bytes = b"\n"
    quote: bytes = b""
    last_file: bool = True
    passed_over: Callable[[int], None] = _nobody


class Framing(msgspec.Struct, frozen=True):
    """``text_only``: it cannot carry bytes as they are."""

    name: str
    read: Callable[[BinaryIO, Cut], Iterator[Frame]]
    write: Callable[[bytes], bytes]
    text_only: bool = False


def _read_lines(stream: BinaryIO, cut: Cut) -> Iterator[Frame]:
    parts: list[bytes] = []
    begin = at = size = 0
    quotes = 0
    too_long = False
    for part, is_end in _pieces(stream, cut.line_end):
        at += len(part)
        size += len(part)
        too_long = too_long or size > cut.max_bytes
        if too_long:
            parts.clear()
        else:
            parts.append(part)
        if cut.quote:
            quotes += part.count(cut.quote)
        if not is_end or quotes % 2:
            continue
        yield from _line(begin, parts, cut, too_long)
        parts, begin, size, quotes, too_long = [], at, 0, 0, False
    yield from _line(begin, parts, cut, too_long)


def _line(offset: int, parts: list[bytes], cut: Cut, too_long: bool) -> Iterator[Frame]:
    if too_long:
        yield Frame(offset, b"", f"a line of more than {cut.max_bytes} bytes")
        return
    line = b"".join(parts).removesuffix(cut.line_end)
    if cut.line_end == b"\n":
        line = line.removesuffix(b"\r")
    if line:
        yield Frame(offset, line)


def _pieces(stream: BinaryIO, end: bytes) -> Iterator[tuple[bytes, bool]]:
    """The stream in pieces of bounded size; True for a piece that ends a line."""
    if len(end) == 1 and end == b"\n":
        while piece := stream.readline(_CHUNK_BYTES):
            yield piece, piece.endswith(b"\n")
        return
    rest = b""
    while chunk := _some(stream):
        *lines, rest = (rest + chunk).split(end)
        for line in lines:
            yield line + end, True
        if len(rest) > _CHUNK_BYTES:
            # keep what may be the beginning of a line end
            yield rest[: -len(end)], False
            rest = rest[-len(end) :]
    if rest:
        yield rest, False


def _some(stream: BinaryIO) -> bytes:
    """Up to a chunk, as soon as there is anything."""
    read1 = getattr(stream, "read1", stream.read)
    return bytes(read1(_CHUNK_BYTES))


def _read_hex(stream: BinaryIO, cut: Cut) -> Iterator[Frame]:
    for frame in _read_lines(stream, Cut(max_bytes=2 * cut.max_bytes)):
        if frame.fault:
            yield frame
            continue
        try:
            data = bytes.fromhex(frame.data.decode("ascii"))
        except ValueError as error:
            yield Frame(frame.offset, b"", f"not hexadecimal: {error}")
            continue
        if data:
            yield Frame(frame.offset, data)


def _read_length(stream: BinaryIO, cut: Cut) -> Iterator[Frame]:
    offset = 0
    while head := _exactly(stream, 4):
        size = int.from_bytes(head, "big")
        if len(head) < 4:
            yield Frame(offset, b"", "the input ends inside the length of a message")
            return
        if size > cut.max_bytes:
            yield Frame(offset, b"", f"a message of {size} bytes; the limit is {cut.max_bytes} (is this the framing?)")
            return
        data = _exactly(stream, size)
        if len(data) < size:
            yield Frame(offset, b"", f"the input ends after {len(data)} of the {size} bytes of a message")
            return
        yield Frame(offset, data)
        offset += 4 + size


def _exactly(stream: BinaryIO, size: int) -> bytes:
    """So many bytes, or fewer at the end. Memory grows with what is there, not with what was promised."""
    parts = []
    while size and (part := stream.read(min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _read_drainer(stream: BinaryIO, cut: Cut) -> Iterator[Frame]:
    reader = drainer_files.FrameReader()
    fed = count = 0
    while chunk := _some(stream):
        reader.feed(chunk)
        fed += len(chunk)
        for found in _records(reader):
            count += 1
            yield found
        if fed - reader.offset > cut.max_bytes + _CHUNK_BYTES:
            yield Frame(reader.offset, b"", f"a frame of more than {cut.max_bytes} bytes")
            return
    for found in _last_records(reader, cut):
        count += 1
        yield found
    if reader.skipped_bytes and not count:
        yield Frame(0, b"", f"none of its {reader.skipped_bytes} bytes is a frame (is this the framing?)")
        return
    cut.passed_over(reader.skipped_bytes)


def _last_records(reader: drainer_files.FrameReader, cut: Cut) -> Iterator[Frame]:
    goes_on = True
    while goes_on:
        begin = reader.offset
        try:
            reader.finish(last_file=cut.last_file)
            return
        except DecodeError as error:
            yield Frame(begin, b"", error.reason)
        goes_on = reader.offset > begin
        yield from _records(reader)


def _records(reader: drainer_files.FrameReader) -> Iterator[Frame]:
    while True:
        begin = reader.offset
        try:
            record = reader.next_record()
        except DecodeError as error:
            yield Frame(begin if error.offset is None else error.offset, b"", error.reason)
            continue
        if record is None:
            return
        yield Frame(record.offset, record.payload)


def _write_length(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


FRAMINGS: Final[dict[str, Framing]] = {
    framing.name: framing
    for framing in (
        Framing("lines", _read_lines, lambda message: message + b"\n", text_only=True),
        Framing("hex", _read_hex, lambda message: message.hex().encode() + b"\n"),
        Framing("length", _read_length, _write_length),
        Framing("drainer", _read_drainer, drainer_files.frame),
    )
}
