"""Rows gathered into staged files.

A piece is a file under a private name in the staging folder: rows of one table, of one structure, of one date folder,
in order. It gets its final name after the commit log names it, so no reader ever sees a file that is not committed.
"""

import os
import secrets
from collections.abc import Callable
from typing import Final

from spark_jobs import durable
from spark_jobs.cdc.events import TableSchema
from spark_jobs.pipeline.job import Job, Piece

FLUSH_BYTES: Final = 4 << 20


class OpenPiece:
    """A piece that is being filled. ``low_ts``/``high_ts``: range of commit-ts of its date folder."""

    __slots__ = (
        "bytes",
        "date",
        "first_ts",
        "full",
        "high_ts",
        "last_ts",
        "low_ts",
        "order",
        "partition_id",
        "parts",
        "pending",
        "rows",
        "structure",
        "writer",
    )

    def __init__(self, structure: TableSchema, full: bool, date: str, order: tuple[int, int], head: bytes) -> None:
        self.structure, self.full, self.date, self.order = structure, full, date, order
        self.partition_id = 0
        self.parts: list[bytes | memoryview] = [head] if head else []
        self.pending = self.bytes = len(head)
        self.rows = 0
        self.first_ts = self.last_ts = 0
        self.low_ts = self.high_ts = 0
        self.writer: StagedFile | None = None


class StagedFile:
    """A file of the staging folder, written in parts and made durable at the end."""

    def __init__(self, folder: str) -> None:
        self.name = secrets.token_hex(12)
        self._path = os.path.join(folder, self.name)
        try:
            self._file = open(self._path, "xb", buffering=0)  # noqa: SIM115 - closed by finish
        except OSError as error:
            raise durable.fault(error, self._path) from error

    def write(self, parts: list[bytes | memoryview]) -> None:
        try:
            view = memoryview(b"".join(parts))
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise durable.fault(error, self._path) from error

    def finish(self) -> None:
        try:
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise durable.fault(error, self._path) from error


class Pieces:
    """Finishes pieces into staged files and remembers them."""

    def __init__(self, job: Job, header: Callable[[TableSchema], bytes]) -> None:
        self._folder = job.staging
        self._header = header
        self.file_size = job.file_size
        self.done: list[Piece] = []

    def begin(self, structure: TableSchema, full: bool, date: str, order: tuple[int, int]) -> OpenPiece:
        return OpenPiece(structure, full, date, order, self._header(structure))

    def spill(self, piece: OpenPiece) -> None:
        """Writes what is pending, so that memory stays bounded."""
        if piece.writer is None:
            piece.writer = StagedFile(self._folder)
        piece.writer.write(piece.parts)
        piece.parts = []
        piece.pending = 0

    def finish(self, piece: OpenPiece) -> None:
        """Closes a piece; one without rows leaves nothing."""
        if not piece.rows:
            return
        if piece.parts or piece.writer is None:
            self.spill(piece)
        assert piece.writer is not None
        piece.writer.finish()
        self.done.append(
            Piece(
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
        )
