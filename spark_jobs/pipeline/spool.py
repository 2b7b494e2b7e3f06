"""Rows between reading and ordering: chunks of lanes, one file for each task, in the batch's staging folder.

Through Spark goes only where a chunk lies: rows that crossed into the JVM, its shuffle and back cost more than decoding
them. The files need not be durable, since a batch that is not committed is done again; they go with the staging folder.
"""

import mmap
import os
import secrets
from array import array
from collections.abc import Iterable
from types import TracebackType
from typing import Final

import msgspec

from spark_jobs.pipeline.job import ChunkPlace
from spark_jobs.sinks.base import Label, Lane
from spark_jobs.sources.base import Strand
from spark_jobs.store import durable

CHUNK_BYTES: Final = 4 << 20


class Chunk(msgspec.Struct, frozen=True):
    """Serialised rows of one lane with one label from one strand, in its order.

    Packed arrays, one number a row: ``keys`` to sort by (empty: the same as ``times``), ``times`` (commit-ts),
    ``offsets`` and ``lengths``; ``prints`` (``repeats``), 16 bytes a row, empty where none are wanted. ``payload``: the
    rows; a view, since it may be of a file.
    """

    lane: Lane
    label: Label
    stream: str
    partition: int
    keys: bytes
    times: bytes
    offsets: bytes
    lengths: bytes
    prints: bytes
    payload: memoryview


class OpenChunk:
    """A chunk that is being filled."""

    __slots__ = ("keys", "label", "lane", "lengths", "limit", "offsets", "output", "prints", "strand", "times")

    def __init__(self, lane: Lane, label: Label, strand: Strand) -> None:
        self.lane, self.label, self.strand = lane, label, strand
        self.limit = CHUNK_BYTES
        self.keys, self.times, self.offsets, self.lengths = array("q"), array("q"), array("q"), array("i")
        self.prints = bytearray()
        self.output = bytearray()

    def add(self, data: bytes, commit_ts: int, key: int, offset: int) -> None:
        self.output += data
        self.keys.append(key)
        self.times.append(commit_ts)
        self.offsets.append(offset)
        self.lengths.append(len(data))

    def close(self) -> Chunk:
        times, keys = self.times.tobytes(), self.keys.tobytes()
        return Chunk(
            self.lane,
            self.label,
            self.strand.stream,
            self.strand.partition,
            b"" if keys == times else keys,
            times,
            self.offsets.tobytes(),
            self.lengths.tobytes(),
            bytes(self.prints),
            memoryview(self.output),
        )


class Spool:
    """A task's chunks, in a file that is made with the first one. Raises ``StorageFault``."""

    def __init__(self, folder: str) -> None:
        self.places: list[ChunkPlace] = []
        self._name = secrets.token_hex(12)
        self._path = os.path.join(folder, self._name)
        self._end = 0
        self._open = False

    def __enter__(self) -> "Spool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self._file.close()

    def add(self, chunk: Chunk) -> None:
        head = msgspec.msgpack.encode(msgspec.structs.replace(chunk, payload=memoryview(b"")))
        self._write(head)
        self._write(chunk.payload)
        keys = memoryview(chunk.keys or chunk.times).cast("q")
        self.places.append(
            ChunkPlace(chunk.lane, self._name, self._end, len(head), len(chunk.payload), max(keys, default=0))
        )
        self._end += len(head) + len(chunk.payload)

    def _write(self, content: bytes | memoryview) -> None:
        view = memoryview(content)
        try:
            if not self._open:
                self._file = open(self._path, "xb", buffering=0)  # noqa: SIM115 - closed when the block is left
                self._open = True
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise durable.fault(error, self._path) from error


_CHUNK: Final = msgspec.msgpack.Decoder(Chunk)


def load(folder: str, places: Iterable[ChunkPlace]) -> list[Chunk]:
    """The chunks at those places; their rows stay in the page cache until they are written on."""
    files: dict[str, memoryview] = {}
    chunks: list[Chunk] = []
    for place in places:
        content = files.get(place.file)
        if content is None:
            content = files[place.file] = _mapped(os.path.join(folder, place.file))
        rows = place.start + place.head_bytes
        head = _CHUNK.decode(content[place.start : rows])
        chunks.append(msgspec.structs.replace(head, payload=content[rows : rows + place.row_bytes]))
    return chunks


def _mapped(path: str) -> memoryview:
    try:
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise durable.StorageFault(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from error
