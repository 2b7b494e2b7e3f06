"""Rows gathered into staged files.

A piece is a file under a private name in the staging folder: rows of one table, of one structure, of one date folder,
in order. It gets its final name after the commit log names it, so no reader ever sees a file that is not committed.
"""

import os
import secrets
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from spark_jobs.cdc.events import TableSchema
from spark_jobs.pipeline.job import Job, Piece
from spark_jobs.store import durable

FLUSH_BYTES: Final = 256 << 10
SYNC_BYTES: Final = 1 << 20
_DISK: Final = ThreadPoolExecutor(4, thread_name_prefix="disk")
"""Waits for the disk in place of the task, which decodes meanwhile. Has no thread before its first use, which is after
Spark has forked its workers."""


class OpenPiece:
    """A piece that is being filled. ``low_ts``/``high_ts``: range of commit-ts of its date folder. ``output``: what is
    not written yet; ``limit``: of how many bytes of it the piece must be written, or is complete."""

    __slots__ = (
        "date",
        "first_ts",
        "full",
        "high_ts",
        "last_ts",
        "limit",
        "low_ts",
        "order",
        "output",
        "partition_id",
        "rows",
        "structure",
        "writer",
        "written",
    )

    def __init__(self, structure: TableSchema, full: bool, date: str, order: tuple[int, int], head: bytes) -> None:
        self.structure, self.full, self.date, self.order = structure, full, date, order
        self.partition_id = 0
        self.output = bytearray(head)
        self.limit = FLUSH_BYTES
        self.written = 0
        self.rows = 0
        self.first_ts = self.last_ts = 0
        self.low_ts = self.high_ts = 0
        self.writer: StagedFile | None = None

    @property
    def bytes(self) -> int:
        """Of the whole piece so far."""
        return self.written + len(self.output)


class StagedFile:
    """A file of the staging folder, written in parts. They go to the disk meanwhile; after ``settle`` all are there."""

    def __init__(self, folder: str) -> None:
        self.name = secrets.token_hex(12)
        self._path = os.path.join(folder, self.name)
        self._unsynced = 0
        self._sync: Future[None] | None = None
        try:
            self._file = open(self._path, "xb", buffering=0)  # noqa: SIM115 - closed by _finish
        except OSError as error:
            raise durable.fault(error, self._path) from error

    def write(self, content: bytearray) -> None:
        try:
            with memoryview(content) as view:
                done = 0
                while done < len(view):
                    done += self._file.write(view[done:])
        except OSError as error:
            raise durable.fault(error, self._path) from error
        self._unsynced += len(content)
        if self._unsynced >= SYNC_BYTES and (self._sync is None or self._sync.done()):
            self.settle()
            self._sync = _DISK.submit(self._go_on)
            self._unsynced = 0

    def finish(self) -> None:
        """Nothing more is written."""
        self._sync = _DISK.submit(self._finish, self._sync)

    def settle(self) -> None:
        """Waits for what was begun; raises ``StorageFault``."""
        try:
            if self._sync is not None:
                self._sync.result()
        except OSError as error:
            raise durable.fault(error, self._path) from error

    def _go_on(self) -> None:
        os.fdatasync(self._file.fileno())

    def _finish(self, earlier: Future[None] | None) -> None:
        with self._file:
            if earlier is not None:
                earlier.result()
            os.fsync(self._file.fileno())


class Pieces:
    """Finishes pieces into staged files and remembers them."""

    def __init__(self, job: Job, header: Callable[[TableSchema], bytes]) -> None:
        self._folder = job.staging
        self._header = header
        self.file_size = job.file_size
        self._finished: list[tuple[Piece, StagedFile]] = []

    def begin(self, structure: TableSchema, full: bool, date: str, order: tuple[int, int]) -> OpenPiece:
        piece = OpenPiece(structure, full, date, order, self._header(structure))
        piece.limit = min(FLUSH_BYTES, self.file_size)
        return piece

    def overflow(self, piece: OpenPiece) -> bool:
        """Called when the piece has reached its limit: writes what is pending, so that memory stays bounded, or ends
        the piece; whether it did."""
        if piece.bytes >= self.file_size:
            self.finish(piece)
            return True
        self._spill(piece)
        piece.limit = min(FLUSH_BYTES, self.file_size - piece.written)
        return False

    def _spill(self, piece: OpenPiece) -> None:
        if piece.writer is None:
            piece.writer = StagedFile(self._folder)
        piece.writer.write(piece.output)
        piece.written += len(piece.output)
        piece.output = bytearray()

    def finish(self, piece: OpenPiece) -> None:
        """Closes a piece; one without rows leaves nothing."""
        if not piece.rows:
            return
        if piece.output or piece.writer is None:
            self._spill(piece)
        assert piece.writer is not None
        piece.writer.finish()
        done = Piece(
            schema=piece.structure.schema,
            table=piece.structure.table,
            structure=piece.structure,
            full=piece.full,
            date=piece.date,
            partition_id=piece.partition_id,
            order=piece.order,
            staged=piece.writer.name,
            rows=piece.rows,
            bytes=piece.bytes,
            first_ts=piece.first_ts,
            last_ts=piece.last_ts,
        )
        self._finished.append((done, piece.writer))

    def settled(self) -> list[Piece]:
        """All finished pieces, now durable; raises ``StorageFault``."""
        for _, writer in self._finished:
            writer.settle()
        return [piece for piece, _ in self._finished]
