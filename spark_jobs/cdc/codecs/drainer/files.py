"""Drainer's local files: names, order, frames. What a frame holds is ``codecs/drainer_binlog``'s matter.

Rules

1. A file is a row of frames without a header, all numbers little endian:

   ======  ================================================
   4       magic 0x1C1B0504
   8       length of the payload (signed)
   length  the payload
   4       CRC-32C of the payload alone
   ======  ================================================

2. No magic where a frame should begin: the next magic is searched from the byte after, as Drainer does; what was passed
   over is counted. A wrong sum and an impossible length are errors.
3. A frame that the end of the file cuts off: the end of the data in the last file, which is being written; an error in
   every other one.
4. Where a sum is wrong, or the file ends inside a frame, the length may be what is damaged: if a whole frame stands
   inside, reading goes on there (``_RESCUES`` times for a file, so that time stays linear), and it is an error always.
5. Names: ``binlog-<16 digits>-<yyyymmddhhmmss>``; older ones without the time; some with the first commit-ts as a
   fourth part and perhaps an ending such as ``.tar.gz``. Indexes are consecutive from file to file; other names
   (``savepoint``, ``.lock``, ``*.tmp`` …) belong to no data. A file is full at 512 MiB, looked at after a frame.

No I/O here: bytes go in by ``feed``.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Final

import google_crc32c
import msgspec

from spark_jobs.cdc.errors import DecodeError

PROTOCOL: Final = "drainer file"
MAGIC: Final = 0x1C1B0504
FULL_FILE_BYTES: Final = 512 << 20
MAX_PAYLOAD_BYTES: Final = (1 << 31) - 1
"""No protobuf message is longer, so a greater length is a lie."""

_MAGIC_BYTES: Final = MAGIC.to_bytes(4, "little")
_HEAD: Final = struct.Struct("<Iq")
_SUM: Final = struct.Struct("<I")
_RESCUES: Final = 10
HEAD_BYTES: Final = _HEAD.size
FRAME_BYTES: Final = _HEAD.size + _SUM.size
"""What a frame has besides its payload."""


class Record(msgspec.Struct, frozen=True):
    """A frame's payload; ``offset`` is where the frame begins in the file, ``end`` where the next one may begin."""

    payload: bytes
    offset: int
    end: int


def frame(payload: bytes) -> bytes:
    """The payload in its frame. (Drainer never writes an empty one.)"""
    return _HEAD.pack(MAGIC, len(payload)) + payload + _SUM.pack(google_crc32c.value(payload))


def frame_bytes(head: bytes) -> int | None:
    """How many bytes the frame has that begins with these; None if none does. Of a cut-off head: at least so many."""
    if len(head) < HEAD_BYTES:
        return FRAME_BYTES if _MAGIC_BYTES.startswith(head[:4]) else None
    magic, length = _HEAD.unpack(head)
    return FRAME_BYTES + length if magic == MAGIC and 0 <= length <= MAX_PAYLOAD_BYTES else None


class FrameReader:
    """Bytes in, records out.

    ``next_record`` answers None when it needs more bytes. After a ``DecodeError`` it goes on behind the fault when
    called again. ``offset`` is that of the next byte to be looked at; ``skipped_bytes`` counts junk.
    """

    def __init__(self, *, offset: int = 0) -> None:
        self.offset = offset
        self.skipped_bytes = 0
        self._bytes = bytearray()
        self._at = 0
        self._rescues = _RESCUES

    def feed(self, chunk: bytes) -> None:
        """More bytes of the file, following those given before."""
        del self._bytes[: self._at]
        self._at = 0
        self._bytes += chunk

    def next_record(self) -> Record | None:
        self._find_magic()
        begin, at = self.offset, self._at
        if len(self._bytes) - at < _HEAD.size:
            return None
        _, length = _HEAD.unpack_from(self._bytes, at)
        if not 0 <= length <= MAX_PAYLOAD_BYTES:
            self._skip(1)
            raise DecodeError(PROTOCOL, f"a frame says that it is {length} bytes long", offset=begin)
        size = _HEAD.size + length + _SUM.size
        if len(self._bytes) - at < size:
            return None
        payload = bytes(memoryview(self._bytes)[at + _HEAD.size : at + _HEAD.size + length])
        (expected,) = _SUM.unpack_from(self._bytes, at + _HEAD.size + length)
        if google_crc32c.value(payload) != expected:
            if not self._rescue(at + size):
                self._advance(size)
            raise DecodeError(PROTOCOL, "the checksum does not match the payload; the file is damaged", offset=begin)
        self._advance(size)
        return Record(payload, begin, self.offset)

    def finish(self, *, last_file: bool) -> None:
        """No more bytes come. Raises ``DecodeError`` if a frame is cut off and this is not the last file.

        Also if whole frames stand in what is cut off; ``next_record`` then gives them.
        """
        self._find_magic()
        begin, rest = self.offset, len(self._bytes) - self._at
        if self._rescue(len(self._bytes)):
            reason = "the file ends inside a frame, but whole frames follow: its length is damaged"
            raise DecodeError(PROTOCOL, reason, offset=begin)
        if rest and not last_file:
            raise DecodeError(PROTOCOL, f"the file ends inside a frame, after {rest} bytes of it", offset=self.offset)

    def _rescue(self, end: int) -> bool:
        """Moves on to the first frame before ``end`` that has the right sum, but for the one here; False if none has.

        Looks at no more bytes than there are.
        """
        at, left = self._at, len(self._bytes) - self._at if self._rescues else 0
        while (at := self._bytes.find(_MAGIC_BYTES, at + 1, end)) >= 0 and len(self._bytes) - at >= _HEAD.size:
            _, length = _HEAD.unpack_from(self._bytes, at)
            behind = at + _HEAD.size + length
            if length < 0 or behind + _SUM.size > len(self._bytes):
                continue
            left -= length
            if left < 0:
                return False
            payload = bytes(memoryview(self._bytes)[at + _HEAD.size : behind])
            if google_crc32c.value(payload) == _SUM.unpack_from(self._bytes, behind)[0]:
                self._rescues -= 1
                self._skip(at - self._at)
                return True
        return False

    def _find_magic(self) -> None:
        """Moves on to the next magic, or to bytes at the end that may become one."""
        if self._bytes.startswith(_MAGIC_BYTES, self._at):
            return
        found = self._bytes.find(_MAGIC_BYTES, self._at)
        self._skip((found if found >= 0 else self._possible_magic()) - self._at)

    def _possible_magic(self) -> int:
        end = len(self._bytes)
        return next((end - size for size in (3, 2, 1) if self._bytes.endswith(_MAGIC_BYTES[:size], self._at)), end)

    def _skip(self, size: int) -> None:
        self.skipped_bytes += size
        self._advance(size)

    def _advance(self, size: int) -> None:
        self._at += size
        self.offset += size


def read_records(data: bytes, *, last_file: bool = True, offset: int = 0) -> Iterator[Record]:
    """The records of a whole file from ``offset`` on; raises ``DecodeError`` at the first fault."""
    reader = FrameReader(offset=offset)
    reader.feed(data[offset:])
    while (record := reader.next_record()) is not None:
        yield record
    reader.finish(last_file=last_file)


class FileName(msgspec.Struct, frozen=True):
    """What the name of a data file says; ``first_commit_ts`` is 0 and ``created`` "" where it does not."""

    name: str
    index: int
    created: str = ""
    first_commit_ts: int = 0

    @property
    def packed(self) -> bool:
        """Whether the file must be unpacked first."""
        return "." in self.name


_NAME: Final = re.compile(r"binlog-([0-9]{1,19})(?:-([0-9]{14})(?:-([0-9]{1,19})(?:\.(?!tmp$)[A-Za-z0-9.]+)?)?)?")


def file_name(index: int, created: datetime) -> str:
    """The name of a new file; ``created`` is local time, as in Drainer."""
    return f"binlog-{index:016d}-{created:%Y%m%d%H%M%S}"


def parse_file_name(name: str) -> FileName | None:
    """None for a name that is not a data file's."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return FileName(name, int(match[1]), match[2] or "", int(match[3] or 0))


def in_order(names: Iterable[str]) -> list[FileName]:
    """The data files among these names, oldest first; ``DecodeError`` where an index is missing or there twice."""
    files = sorted(filter(None, map(parse_file_name, names)), key=lambda file: (file.index, file.name))
    for before, after in pairwise(files):
        if after.index != before.index + 1:
            raise DecodeError(PROTOCOL, f"{after.name} does not follow {before.name}: indexes must be consecutive")
    return files
