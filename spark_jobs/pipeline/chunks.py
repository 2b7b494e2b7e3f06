"""Chunks between the two stages of a queue: one file for each task of stage 1, in the batch's staging folder.

Through Spark goes only where a chunk lies: rows that crossed into the JVM, its shuffle and back cost more than decoding
them. The files need not be durable, since a batch that is not committed is done again; they go with the staging folder.
"""

import mmap
import os
import secrets
from collections.abc import Iterable
from types import TracebackType
from typing import Final

import msgspec

from spark_jobs.pipeline.merged import Chunk
from spark_jobs.store import durable

_CHUNK: Final = msgspec.msgpack.Decoder(Chunk)


class ChunkPlace(msgspec.Struct, frozen=True, gc=False):
    """Where a chunk of a table lies: its head (everything but the rows) at ``start``, its rows behind it."""

    schema: str
    table: str
    file: str
    start: int
    head_bytes: int
    row_bytes: int


class ChunkFile:
    """A file of chunks; it is there for others once the ``with`` block is left. Raises ``StorageFault``."""

    def __init__(self, folder: str) -> None:
        self.places: list[ChunkPlace] = []
        self._name = secrets.token_hex(12)
        self._path = os.path.join(folder, self._name)
        self._end = 0

    def __enter__(self) -> "ChunkFile":
        try:
            self._file = open(self._path, "xb", buffering=0)
        except OSError as error:
            raise durable.fault(error, self._path) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, chunk: Chunk) -> None:
        head = msgspec.msgpack.encode(msgspec.structs.replace(chunk, payload=memoryview(b"")))
        self._write(head)
        self._write(chunk.payload)
        structure, row_bytes = chunk.structure, len(chunk.payload)
        place = ChunkPlace(structure.schema, structure.table, self._name, self._end, len(head), row_bytes)
        self.places.append(place)
        self._end += len(head) + row_bytes

    def _write(self, content: bytes | memoryview) -> None:
        view = memoryview(content)
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise durable.fault(error, self._path) from error


def load(folder: str, places: Iterable[ChunkPlace]) -> list[Chunk]:
    """The chunks at those places; their rows stay in the page cache until they are written on."""
    files: dict[str, memoryview] = {}
    chunks: list[Chunk] = []
    for place in places:
        content = files.get(place.file)
        if content is None:
            content = files[place.file] = _open(os.path.join(folder, place.file))
        rows = place.start + place.head_bytes
        head = _CHUNK.decode(content[place.start : rows])
        chunks.append(msgspec.structs.replace(head, payload=content[rows : rows + place.row_bytes]))
    return chunks


def _open(path: str) -> memoryview:
    try:
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise durable.StorageFault(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from error
