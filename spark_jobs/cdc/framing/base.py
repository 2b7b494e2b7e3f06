"""What all framings share: blocks of messages, faults, and how a stream is to be cut."""

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Final, Protocol, TypeAlias

import msgspec

from spark_jobs.cdc.errors import DataError, DecodeError, WeirError

MAX_MESSAGE_BYTES: Final = 256 << 20
BLOCK_BYTES: Final = 1 << 20

Read: TypeAlias = Callable[[int], bytes]
"""Up to so many bytes, b"" at the end."""


class FramingError(DecodeError):
    """Bytes that are no message in this framing; ``offset`` is the place in the file (in what a packed file holds)."""

    def __init__(self, framing: str, reason: str, offset: int) -> None:
        WeirError.__init__(self, f"no message of framing {framing} at byte {offset}: {reason}")
        self.protocol = framing
        self.reason = reason
        self.offset = offset


class FileChanged(DataError):
    """A file has not the bytes that it had when it was listed; ``offset`` is where that was noticed."""

    code = "CDC:ErrSourceFileChanged"

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(f"{reason} (byte {offset})")
        self.reason = reason
        self.offset = offset


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A message, or why there is none; ``offset``: of its first byte in the stream."""

    offset: int
    data: bytes
    fault: str = ""


class Fault(msgspec.Struct, frozen=True, gc=False):
    """Bytes at ``offset`` that are no message, and why."""

    offset: int
    reason: str


class Block(msgspec.Struct, frozen=True):
    """Messages that follow each other. ``end``: where what is behind them begins, which is a boundary.

    ``offsets`` makes a list of where each begins (at its length or magic, where there is one). It is made when asked
    for, since only errors need it.
    """

    messages: list[bytes]
    end: int
    offsets: Callable[[], Sequence[int]]

    def place(self, number: int) -> int:
        """The offset of a message of the block."""
        return self.offsets()[number]


def _nobody(_size: int) -> None:
    pass


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """How a stream is cut. ``quote``, ``line_end`` and ``keep_blank`` (white space alone is a row too) are CSV's.

    ``last_file``: no other file follows, and the end of a ``drainer`` file may be a frame that is still being written.
    ``strict``: bytes between the frames of a ``drainer`` file are a fault. Else they are passed over, and
    ``passed_over`` is told how many bytes of a stream were.
    """

    max_bytes: int = MAX_MESSAGE_BYTES
    line_end: bytes = b"\n"
    quote: bytes = b""
    keep_blank: bool = False
    last_file: bool = True
    strict: bool = False
    passed_over: Callable[[int], None] = _nobody


WHOLE: Final = Cut(last_file=False, strict=True)
"""For files that are complete and whose every byte counts."""


class Scan(Protocol):
    """Cuts what ``read`` gives, whose first byte is the stream's byte ``begin``; ``step``: how much to ask for.

    A generator: blocks and faults in order; after a fault it goes on where that is possible.
    """

    def __call__(self, read: Read, cut: Cut, begin: int, step: int) -> Iterator[Block | Fault]: ...


class Seek(Protocol):
    """The first boundary at or after ``near``, from the boundary ``start`` on; at most ``limit``."""

    def __call__(self, file: BinaryIO, cut: Cut, start: int, near: int, limit: int) -> int: ...


def bytes_at(file: BinaryIO, offset: int, size: int) -> bytes:
    """So many bytes, which must be there: ``FileChanged``."""
    file.seek(offset)
    data = b""
    while len(data) < size:
        more = file.read(size - len(data))
        if not more:
            raise shorter(offset + len(data))
        data += more
    return data


def shorter(offset: int) -> FileChanged:
    return FileChanged("the file became shorter while it was read", offset)


class Framing(msgspec.Struct, frozen=True):
    """``text_only``: it cannot carry bytes as they are."""

    name: str
    scan: Scan
    seek: Seek
    write: Callable[[bytes], bytes]
    text_only: bool = False

    def read(self, stream: BinaryIO, cut: Cut) -> Iterator[Frame]:
        """The messages and faults of a stream, as soon as they have arrived."""
        some: Read = getattr(stream, "read1", stream.read)
        for item in self.scan(some, cut, 0, _CHUNK_BYTES):
            if isinstance(item, Fault):
                yield Frame(item.offset, b"", item.reason)
            else:
                yield from map(Frame, item.offsets(), item.messages)


_CHUNK_BYTES: Final = 1 << 16
