"""Rows gathered into staged files.

A piece is a file under a private name in the staging folder: rows of one lane, one label, one section of time, in
order. It gets its final name, or is sent, after the commit log names it, so no reader ever sees what is not committed.
"""

import os
import secrets
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final
from zlib import crc32

from spark_jobs.sinks.base import Label, Lane, Order, Piece, Serializer
from spark_jobs.store import durable

FLUSH_BYTES: Final = 256 << 10
SYNC_BYTES: Final = 1 << 20
OPEN_BYTES: Final = 64 << 20
"""What all open pieces or chunks of a task hold in memory at most; beyond it all are written out."""
_DISK: Final = ThreadPoolExecutor(4, thread_name_prefix="disk")
"""Waits for the disk in place of the task, which decodes meanwhile. Has no thread before its first use, which is after
Spark has forked its workers."""


class OpenPiece:
    """A piece that is being filled with rows of ``low_ts`` <= commit-ts < ``high_ts``. ``output``: what is not written
    yet; ``limit``: of how many bytes of it the piece must be written, or is complete. ``source``: the table's name in
    the source. ``guest``: another label whose rows join."""

    __slots__ = (
        "digest", "file", "first_ts", "guest", "high_ts", "label", "lane", "last_ts", "limit", "low_ts", "order",
        "output", "rows", "section", "source", "written",
    )  # fmt: skip

    def __init__(
        self, lane: Lane, label: Label, source: tuple[str, str], section: tuple[str, int, int], order: Order
    ) -> None:
        self.lane, self.label, self.source, self.order = lane, label, source, order
        self.section, self.low_ts, self.high_ts = section
        self.output = bytearray()
        self.limit = FLUSH_BYTES
        self.written = self.digest = self.rows = 0
        self.first_ts, self.last_ts = 1 << 63, 0
        self.file: StagedFile | None = None
        self.guest = label

    def add(self, data: bytes, commit_ts: int) -> None:
        self.output += data
        self.rows += 1
        if commit_ts > self.last_ts:
            self.last_ts = commit_ts
        if commit_ts < self.first_ts:
            self.first_ts = commit_ts

    @property
    def bytes(self) -> int:
        """Of the whole piece so far."""
        return self.written + len(self.output)


class StagedFile:
    """A file of the staging folder, written in parts. Parts go to the disk meanwhile; after ``settle`` all are there.

    It is open only while it is written, so that a task can fill thousands.
    """

    def __init__(self, folder: str) -> None:
        self.name = secrets.token_hex(12)
        self._path = os.path.join(folder, self.name)
        self._unsynced = 0
        self._sync: Future[None] | None = None

    def write(self, content: bytearray) -> None:
        try:
            with open(self._path, "ab", buffering=0) as file, memoryview(content) as view:
                done = 0
                while done < len(view):
                    done += file.write(view[done:])
        except OSError as error:
            raise durable.fault(error, self._path) from error
        self._unsynced += len(content)
        if self._unsynced >= SYNC_BYTES and (self._sync is None or self._sync.done()):
            self.settle()
            self._begin_sync()

    def finish(self) -> None:
        """Nothing more is written."""
        if self._sync is not None:
            self.settle()
        self._begin_sync()

    def _begin_sync(self) -> None:
        self._unsynced = 0
        self._sync = _DISK.submit(durable.sync_content, self._path)

    def settle(self) -> None:
        """Waits for what was begun; raises ``StorageFault``."""
        try:
            if self._sync is not None:
                self._sync.result()
        except OSError as error:
            raise durable.fault(error, self._path) from error


class Pieces:
    """Finishes pieces into staged files and remembers them."""

    def __init__(self, folder: str, serializer: Serializer) -> None:
        self._folder = folder
        self._serializer = serializer
        self._size = serializer.piece_bytes
        self._finished: list[tuple[Piece, StagedFile]] = []

    def begin(
        self, lane: Lane, label: Label, source: tuple[str, str], section: tuple[str, int, int], order: Order
    ) -> OpenPiece:
        piece = OpenPiece(lane, label, source, section, order)
        piece.output += self._serializer.head(label)
        piece.limit = min(FLUSH_BYTES, self._size)
        return piece

    def overflow(self, piece: OpenPiece) -> bool:
        """Called when the piece has reached its limit: writes what is pending, so that memory stays bounded, or ends
        the piece; whether it did."""
        if piece.bytes >= self._size:
            self.finish(piece)
            return True
        self.spill(piece)
        return False

    def spill(self, piece: OpenPiece) -> None:
        """Writes what is pending."""
        if piece.file is None:
            piece.file = StagedFile(self._folder)
        piece.file.write(piece.output)
        piece.digest = crc32(piece.output, piece.digest)
        piece.written += len(piece.output)
        piece.output = bytearray()
        piece.limit = min(FLUSH_BYTES, max(self._size - piece.written, 1))

    def finish(self, piece: OpenPiece) -> None:
        """Closes a piece; one without rows leaves nothing."""
        if not piece.rows:
            return
        if piece.output or piece.file is None:
            self.spill(piece)
        assert piece.file is not None
        piece.file.finish()
        done = Piece(
            lane=piece.lane,
            label=piece.label,
            section=piece.section,
            order=piece.order,
            staged=f"{os.path.basename(self._folder)}/{piece.file.name}",
            rows=piece.rows,
            bytes=piece.bytes,
            digest=piece.digest,
            first_ts=piece.first_ts,
            last_ts=piece.last_ts,
        )
        self._finished.append((done, piece.file))

    def settled(self) -> list[Piece]:
        """All finished pieces, now durable; raises ``StorageFault``."""
        for _, file in self._finished:
            file.settle()
        return [piece for piece, _ in self._finished]
