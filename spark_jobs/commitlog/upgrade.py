"""Reads entries and snapshots of this format and of the one before, which is carried over as it is read.

Format 1 named positions by source (offsets, a cursor, files read), listed all held segments in each entry, and had the
totals of a table in its state. Its last entry may be unpublished: it becomes one step, in the order of that time.
"""

from typing import Any

import msgspec

from spark_jobs.cdc.events import TableSchema
from spark_jobs.commitlog.entries import FORMAT, Entry, HeldSegment, State, StrandState, Totals
from spark_jobs.commitlog.view import View
from spark_jobs.sinks.base import Document, FileRecord, Step, TableCount, TableState


class UnknownFormat(Exception):
    """The text is the number of the format."""


class _Head(msgspec.Struct):
    format: int = 1


class _Cursor(msgspec.Struct, frozen=True):
    name: str
    size: int
    offset: int


class _Partition(msgspec.Struct, frozen=True):
    stream: str
    partition: int
    last_ts: int = 0
    watermark_ts: int = 0
    extension: bool = False

    def strand(self) -> StrandState:
        return StrandState(self.stream, self.partition, self.last_ts, self.watermark_ts, self.extension)


class _Table(msgspec.Struct, frozen=True):
    schema: str
    table: str
    version: int
    structure: TableSchema | None = None
    full: bool = False
    rows: int = 0
    bytes: int = 0
    last_ts: int = 0

    def state(self) -> TableState:
        return TableState(self.schema, self.table, self.version, self.structure, self.full)

    def count(self, before: TableCount | None = None) -> TableCount:
        rows, size = (before.rows, before.bytes) if before else (0, 0)
        return TableCount(self.schema, self.table, self.rows - rows, self.bytes - size, self.last_ts)


class _Entry(msgspec.Struct, kw_only=True):
    number: int
    kind: str
    epoch: int
    capture_id: str = ""
    changefeed_id: str = ""
    feed_uid: int = 0
    rewind_id: int = 0
    fresh: bool = False
    batch_id: int = -1
    offsets: dict[str, dict[int, int]] | None = None
    cursor: _Cursor | None = None
    files_read: list[str] = []
    partitions: list[_Partition] = []
    tables: list[_Table] = []
    files: list[FileRecord] = []
    schema_files: list[Document] = []
    held: list[HeldSegment] | None = None
    checkpoint_ts: int = 0
    resolved_ts: int = 0
    estimated: bool = False
    without_watermarks: bool = False
    totals: Totals | None = None
    finished: bool = False


class _State(msgspec.Struct, kw_only=True):
    number: int = 0
    epoch: int = 0
    feed_uid: int = 0
    rewind_id: int = 0
    batch_id: int = -1
    offsets: dict[str, dict[int, int]] = {}
    cursor: _Cursor | None = None
    files_read: list[str] = []
    started: bool = False
    partitions: list[_Partition] = []
    tables: list[_Table] = []
    folders: dict[str, int] = {}
    held: list[HeldSegment] = []
    checkpoint_ts: int = 0
    resolved_ts: int = 0
    estimated: bool = False
    without_watermarks: bool = False
    totals: Totals = Totals()
    finished: bool = False


def read_entry(content: bytes, before: View) -> Entry:
    """An entry of any format; ``before``: what is committed up to it. Raises ``UnknownFormat`` and msgspec's errors."""
    if _is_current(content):
        return msgspec.json.decode(content, type=Entry)
    return _entry(msgspec.json.decode(content, type=_Entry), before)


def read_state(content: bytes) -> State:
    """A snapshot of any format; raises as ``read_entry``."""
    if _is_current(content):
        return msgspec.json.decode(content, type=State)
    return _state(msgspec.json.decode(content, type=_State))


def _is_current(content: bytes) -> bool:
    number = msgspec.json.decode(content, type=_Head).format
    if number not in (1, FORMAT):
        raise UnknownFormat(str(number))
    return number == FORMAT


def _entry(old: _Entry, before: View) -> Entry:
    moves = old.kind == "claim" and (old.fresh or old.rewind_id != before.rewind_id)
    position = _position(old.offsets, old.cursor, old.files_read)
    if not moves and old.offsets is None:
        position = position if old.kind == "commit" else {}
    entry = Entry(
        format=FORMAT,
        number=old.number,
        kind="claim" if old.kind == "claim" else "commit",
        epoch=old.epoch,
        capture_id=old.capture_id,
        changefeed_id=old.changefeed_id,
        feed_uid=old.feed_uid,
        rewind_id=old.rewind_id,
        fresh=old.fresh,
        batch_id=old.batch_id,
        position=position if moves or old.kind == "commit" else None,
        strands=[item.strand() for item in old.partitions],
        tables=[item.state() for item in old.tables],
        counts=[item.count(before.counts.get((item.schema, item.table))) for item in old.tables],
        steps=[Step(documents=old.schema_files, files=old.files)] if old.schema_files or old.files else [],
        sink=_folders(old.files),
        staging=old.files[0].staged.partition("/")[0] if old.files else "",
        checkpoint_ts=old.checkpoint_ts,
        resolved_ts=old.resolved_ts,
        estimated=old.estimated,
        without_watermarks=old.without_watermarks,
        totals=old.totals,
        finished=old.finished,
    )
    if old.held is not None:
        names = {segment.name for segment in old.held}
        entry.held_added = [segment for segment in old.held if segment.name not in before.held]
        entry.held_used = [name for name in before.held if name not in names]
    return entry


def _state(old: _State) -> State:
    return State(
        number=old.number,
        epoch=old.epoch,
        feed_uid=old.feed_uid,
        rewind_id=old.rewind_id,
        batch_id=old.batch_id,
        started=old.started,
        position={key: value for key, value in _position(old.offsets, old.cursor, old.files_read).items() if value},
        strands=[item.strand() for item in old.partitions],
        tables=[item.state() for item in old.tables],
        counts=[item.count() for item in old.tables],
        sink={"folders": old.folders} if old.folders else {},
        held=old.held,
        checkpoint_ts=old.checkpoint_ts,
        resolved_ts=old.resolved_ts,
        estimated=old.estimated,
        without_watermarks=old.without_watermarks,
        totals=old.totals,
        finished=old.finished,
    )


def _position(
    offsets: dict[str, dict[int, int]] | None, cursor: _Cursor | None, files_read: list[str]
) -> dict[str, Any]:
    if offsets:
        return {
            "offsets": {topic: {str(n): next_ for n, next_ in numbers.items()} for topic, numbers in offsets.items()}
        }
    at = {"name": cursor.name, "size": cursor.size, "offset": cursor.offset} if cursor is not None else None
    return {"at": at, "read": dict.fromkeys(files_read, -1)} if files_read or at else {"at": None}


def _folders(files: list[FileRecord]) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    for file in files:
        folder, _, name = file.path.rpartition("/")
        numbers[folder] = int(name.removeprefix("CDC").partition(".")[0])
    return {"folders": numbers} if numbers else {}
