"""Packed files (``.gz``, ``.zst``): read as what they hold.

A packed file is one unit: it cannot be cut, and its offsets are those of what it holds. Going to an offset unpacks
everything before it. Several members or frames behind each other are one file, as for gzip and zstd themselves; what
is left out at the end, or follows the last one, is an error. Nothing is opened here.
"""

import io
from typing import BinaryIO, Final, cast

from spark_jobs.cdc.errors import DataError

_PACKINGS: Final = {".gz": "gzip", ".zst": "zstd"}
_SKIP_BYTES: Final = 1 << 20


class PackedFileDamaged(DataError):
    """A packed file cannot be unpacked; ``offset`` is how many bytes of what it holds could be."""

    code = "CDC:ErrSourceFileDamaged"

    def __init__(self, path: str, offset: int, packed: int, reason: str) -> None:
        super().__init__(
            f"the file {path} is damaged or cut off, somewhere before its byte {packed} (behind byte {offset} of what "
            f"it holds): {reason}; put it back whole"
        )
        self.offset = offset


def is_packed(name: str) -> bool:
    """Whether a file of this name is read as what it holds."""
    return _packing(name) is not None


def unpacked(file: BinaryIO, path: str) -> BinaryIO:
    """What the file holds, from its beginning: ``read``, ``seek`` to an offset, and ``tell``.

    ``path`` tells the packing, and names the file in errors: ``PackedFileDamaged``, and ``OSError`` of the file itself.
    Closing it leaves the file open. A file that is not packed is given back as it is.
    """
    packing = _packing(path)
    return file if packing is None else cast(BinaryIO, _Unpacked(file, path, packing))


def _packing(name: str) -> str | None:
    return next((packing for suffix, packing in _PACKINGS.items() if name.endswith(suffix)), None)


class _Unpacked(io.RawIOBase):
    def __init__(self, file: BinaryIO, path: str, packing: str) -> None:
        self._file = file
        self._path = path
        self._packing = packing
        self._begin()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        if size < 0:
            return self.readall()
        try:
            data: bytes = self._stream.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise self._damaged(str(error)) from None
        if not data and size and not self._at and not self._file.tell():
            raise self._damaged("it is empty")
        self._at += len(data)
        return data

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Goes to an offset, or to the end if that comes first, and says where it is."""
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("only offsets from the beginning are known")
        if offset < self._at:
            self._begin()
        while self._at < offset and self.read(min(_SKIP_BYTES, offset - self._at)):
            pass
        return self._at

    def _begin(self) -> None:
        import pyarrow

        self._file.seek(0)
        self._at = 0
        self._stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(_Open(self._file), mode="r"), self._packing)

    def _damaged(self, reason: str) -> PackedFileDamaged:
        return PackedFileDamaged(self._path, self._at, self._file.tell(), reason)


class _Open:
    """A file that stays open when Arrow lets go of it."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read
        self.seek = file.seek
        self.tell = file.tell

    def close(self) -> None:
        """Leaves it open."""
