"""Byte ranges of source files, read in a worker."""

import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from spark_jobs.cdc import framing
from spark_jobs.cdc.errors import DataError, EnvironmentFault
from spark_jobs.cdc.framing import FRAMINGS, Block
from spark_jobs.sources.base import FOLDER_STRAND, Place, Strand
from spark_jobs.sources.packed import is_packed, unpacked

_PLACES_PER_SPLIT = 1 << 40


class SourceFileChanged(DataError):
    """A file of the folder changed after it had appeared."""

    code = "CDC:ErrSourceFileChanged"


class SourceFileUnreadable(EnvironmentFault):
    """A file of the folder cannot be opened or read."""

    code = "CDC:ErrSourceFileUnreadable"

    @staticmethod
    def of(error: OSError, path: str) -> "SourceFileUnreadable":
        """The error of an operating-system call as a sentence."""
        if isinstance(error, FileNotFoundError):
            return SourceFileUnreadable(f"the file {path} is gone before it was read whole; put it back")
        return SourceFileUnreadable(f"{path} cannot be read: {os.strerror(error.errno or 0)}")


class BadFrame(DataError):
    """Bytes of a source file that are no message in its framing."""

    code = "CDC:ErrDecodeFailed"


class FileRange(msgspec.Struct, frozen=True, gc=False):
    """A part of a source file: bytes ``start`` to ``end``, whole messages; of a packed file, of what it holds.

    ``size``: of the file when it was listed. ``end`` -1: to its end.
    """

    path: str
    name: str
    start: int
    end: int
    size: int


def opened(path: str, *, buffering: int = -1) -> BinaryIO:
    """The file, for reading; ``SourceFileUnreadable``."""
    try:
        return open(path, "rb", buffering)
    except OSError as error:
        raise SourceFileUnreadable.of(error, path) from error


class FileBlock:
    """Messages of one range that follow one another. ``offsets``: their numbers in this batch."""

    __slots__ = ("_found", "_range", "offsets", "values")

    def __init__(self, part: FileRange, found: Block, number: int) -> None:
        self.values: Sequence[bytes | None] = found.messages
        self.offsets: Sequence[int] = range(number, number + len(found.messages))
        self._range = part
        self._found = found

    def place(self, at: int) -> Place:
        return place_of(self._range, self._found.place(at))


def place_of(part: FileRange, offset: int) -> Place:
    """A byte of a file as a person looks for it."""
    return Place(part.name, 0, offset, f"file {part.path}{_line(part, offset)} (byte {offset})")


def _line(part: FileRange, offset: int) -> str:
    if is_packed(part.name):
        return ""
    with opened(part.path) as file:
        line, left = 1, offset
        while left and (block := file.read(min(1 << 20, left))):
            line += block.count(b"\n")
            left -= len(block)
    return f", line {line}"


class FolderSplit(msgspec.Struct, frozen=True):
    """Ranges of files, in order."""

    index: int
    ranges: tuple[FileRange, ...]
    framing: str
    size: int

    @property
    def strand(self) -> Strand:
        return FOLDER_STRAND

    def blocks(self) -> Iterator[FileBlock]:
        number = self.index * _PLACES_PER_SPLIT
        for part in self.ranges:
            try:
                for found in self._read(part):
                    yield FileBlock(part, found, number)
                    number += len(found.messages)
            except framing.FileChanged as error:
                raise SourceFileChanged(
                    f"the file {part.path}: {error.reason}; a file must be complete when it appears: write it "
                    "elsewhere and rename it in"
                ) from None
            except framing.FramingError as error:
                raise BadFrame(
                    f"{place_of(part, error.offset or 0).text}: {error.reason}; nothing was skipped. Mend the file, or "
                    "say with framing= in the source URI how messages stand in it"
                ) from None

    def _read(self, part: FileRange) -> Iterator[Block]:
        if is_packed(part.name):
            with opened(part.path) as file:
                yield from framing.blocks(FRAMINGS[self.framing], unpacked(file, part.path), part.start, None, None)
            return
        with opened(part.path, buffering=0) as file:
            if os.fstat(file.fileno()).st_size != part.size:
                raise framing.FileChanged(f"it has another size than when it appeared ({part.size} bytes)", part.start)
            yield from framing.blocks(FRAMINGS[self.framing], file, part.start, part.end, part.size)
