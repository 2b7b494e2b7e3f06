"""A folder: one ordered stream. Each task reads its byte ranges itself, decodes, encodes and stages; nothing is merged.

Rows of a table stay in source order: pieces sort by (split, sequence), and a statement cuts every open piece, so that
the driver can tell what stood before it from what stood after it.
"""

import os
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

from spark_jobs.cdc.codecs.canal_json.envelope import Envelope, Kind
from spark_jobs.cdc.codecs.canal_json.relay import Message
from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.cdc.events import TableSchema
from spark_jobs.pipeline.bad_message import MESSAGE_ERRORS, BadMessage, refuse_too_many
from spark_jobs.pipeline.dates import Dates
from spark_jobs.pipeline.job import DeadLetter, Job, Outcome, SourceRange, Split, Statement
from spark_jobs.pipeline.pieces import OpenPiece, Pieces
from spark_jobs.pipeline.translate import Translator

BLOCK_BYTES: Final = 1 << 20


class SourceFileChanged(ConfigError):
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


def opened(path: str, *, buffering: int = -1) -> BinaryIO:
    """The file, for reading; ``SourceFileUnreadable``."""
    try:
        return open(path, "rb", buffering)
    except OSError as error:
        raise SourceFileUnreadable.of(error, path) from error


def run_split(job: Job, split: Split) -> Outcome:
    """Reads one split and stages its rows; raises ``BadMessage``."""
    reader = _SplitReader(job, split)
    for part in split.ranges:
        reader.read(part)
    return reader.outcome()


def blocks(part: SourceRange) -> Iterator[tuple[int, bytes]]:
    """(byte offset, whole lines) of a range, about ``BLOCK_BYTES`` at a time. The last line may lack its line end."""
    with opened(part.path, buffering=0) as file:
        if os.fstat(file.fileno()).st_size != part.size:
            raise SourceFileChanged(
                f"the file {part.path} has another size than when it appeared ({part.size} bytes); a file must be "
                "complete when it appears: write it elsewhere and rename it in"
            )
        file.seek(part.start)
        offset, rest = part.start, b""
        left = part.end - part.start
        while left:
            block = file.read(min(BLOCK_BYTES, left))
            if not block:
                raise SourceFileChanged(f"the file {part.path} became shorter while it was read")
            left -= len(block)
            cut = block.rfind(b"\n") + 1 if left else len(block)
            lines = rest + block[:cut] if rest else block[:cut]
            rest = (rest + block if not cut else block[cut:]) if left else b""
            if cut and lines:
                yield offset, lines
                offset += len(lines)


class _SplitReader:
    def __init__(self, job: Job, split: Split) -> None:
        self._job = job
        self._split = split
        self._translator = Translator(job)
        self._pieces = Pieces(job, self._translator.header)
        self._dates = Dates(job.date_separator, job.time_zone)
        self._open: dict[tuple[str, str], OpenPiece | None] = {}
        self._sequence = 0
        self._last_ts = split.last_ts
        self._filtered_times = bool(job.start_ts or job.target_ts or job.late_ts)
        self._times_written = _writes_times(job)
        self._outcome = Outcome()

    def read(self, part: SourceRange) -> None:
        for offset, lines in blocks(part):
            if self._job.dead_letter:
                self._line_by_line(part, offset, lines)
                continue
            try:
                self._take(self._translator.open_lines(lines))
            except MESSAGE_ERRORS:
                self._find_bad(part, offset, lines)
                raise

    def outcome(self) -> Outcome:
        self._cut()
        self._outcome.pieces = self._pieces.settled()
        self._outcome.last_ts = self._last_ts
        return self._outcome

    def _line_by_line(self, part: SourceRange, offset: int, lines: bytes) -> None:
        """Bad lines become dead letters, each with its place."""
        for line in lines.split(b"\n"):
            if line.strip():
                try:
                    self._take([self._translator.open(line)])
                except MESSAGE_ERRORS as error:
                    self._outcome.dead_letters.append(DeadLetter(part.name, 0, offset, error.reason, line))
                    refuse_too_many(len(self._outcome.dead_letters))
            offset += len(line) + 1

    def _find_bad(self, part: SourceRange, offset: int, lines: bytes) -> None:
        """A block failed: raises ``BadMessage`` with the place of the first bad line."""
        for line in lines.split(b"\n"):
            if line.strip():
                try:
                    message = self._translator.open(line)
                    if message.kind is Kind.ROWS:
                        self._translator.write(message, self._translator.form(message), 1, bytearray())
                except MESSAGE_ERRORS as error:
                    raise BadMessage(_place(part, offset), error) from None
            offset += len(line) + 1

    def _take(self, messages: Iterable[Message]) -> None:
        form_of, write, open_pieces = self._translator.form, self._translator.write, self._open
        last_ts = self._last_ts
        untimed = False
        count = 0
        for message in messages:
            count += 1
            if type(message) is Envelope and not message.is_row:
                self._last_ts = last_ts
                last_ts = self._other(message)
                continue
            commit_ts = message.commit_ts
            if not commit_ts:
                commit_ts = max(message.es << 18, last_ts + 1)
                untimed = True
            if commit_ts > last_ts:
                last_ts = commit_ts
            if self._filtered_times and not self._wanted(commit_ts):
                continue
            key = (message.database, message.table)
            form = form_of(message)
            structure = form.table
            piece = open_pieces.get(key)
            if piece is None or piece.structure is not structure or not piece.low_ts <= commit_ts < piece.high_ts:
                if key in open_pieces and piece is None:
                    continue
                piece = self._piece(key, message, structure, commit_ts)
                if piece is None:
                    continue
            write(message, form, commit_ts, piece.output)
            piece.rows += 1
            piece.last_ts = commit_ts
            if len(piece.output) >= piece.limit and self._pieces.overflow(piece):
                del open_pieces[key]
        self._last_ts = last_ts
        self._outcome.messages += count
        if not untimed:
            self._outcome.extension = True
        elif self._split.index and self._times_written:
            self._outcome.needs_one_split = True

    def _wanted(self, commit_ts: int) -> bool:
        job = self._job
        if commit_ts <= job.start_ts or (job.target_ts and commit_ts > job.target_ts):
            return False
        if commit_ts <= job.late_ts:
            self._outcome.late += 1
        return True

    def _piece(
        self, key: tuple[str, str], message: Message, structure: TableSchema, commit_ts: int
    ) -> OpenPiece | None:
        """The piece that this row goes into, a new one if need be; None for a table that the filter drops."""
        piece = self._open.get(key)
        if piece is None and not self._translator.passes(*key):
            self._open[key] = None
            return None
        full = self._translator.is_full(message, structure)
        if piece is not None:
            fits = piece.low_ts <= commit_ts < piece.high_ts
            if not full and self._translator.joins(structure, piece.structure):
                if fits:
                    return piece
                structure, full = piece.structure, piece.full
            self._pieces.finish(piece)
        date, low_ts, high_ts = self._dates.folder(commit_ts)
        piece = self._pieces.begin(structure, full, date, self._next())
        piece.low_ts, piece.high_ts, piece.first_ts = low_ts, high_ts, commit_ts
        self._open[key] = piece
        return piece

    def _next(self) -> tuple[int, int]:
        self._sequence += 1
        return self._split.index, self._sequence

    def _cut(self) -> None:
        """Ends every open piece, in place: ``_take`` goes on with the same dict."""
        for key, piece in list(self._open.items()):
            if piece is not None:
                self._pieces.finish(piece)
                del self._open[key]

    def _other(self, message: Envelope) -> int:
        """A message that is no row; returns the greatest commit-ts after it."""
        if message.kind is not Kind.STATEMENT:
            return self._last_ts
        commit_ts = message.commit_ts
        if not commit_ts:
            commit_ts = max(message.es << 18, self._last_ts + 1)
            self._outcome.needs_one_split |= self._split.index > 0
        if not self._job.target_ts or commit_ts <= self._job.target_ts:
            self._cut()
            self._outcome.statements.append(
                Statement(
                    schema=message.database,
                    table=message.table,
                    query=message.sql or "",
                    commit_ts=commit_ts,
                    order=self._next(),
                    canal_type=message.type,
                )
            )
            if self._job.following:
                self._translator.learn(self._job.following[len(self._outcome.statements) - 1])
        return max(self._last_ts, commit_ts)


def _writes_times(job: Job) -> bool:
    """Whether the rows in the sink hold their commit-ts."""
    return any(job.encode_options.get(name) == "true" for name in ("enable-tidb-extension", "include-commit-ts"))


def _place(part: SourceRange, offset: int) -> str:
    with opened(part.path) as file:
        line = 1
        left = offset
        while left and (block := file.read(min(BLOCK_BYTES, left))):
            line += block.count(b"\n")
            left -= len(block)
    return f"file {part.path}, line {line} (byte {offset})"
