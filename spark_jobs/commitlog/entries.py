"""Entries of the commit log and the state they add up to.

A *claim* begins an owner's time and carries its epoch. A *commit* holds everything that one batch changed: positions
read, files written, table versions, checkpoint, what is held. ``State`` is the sum; ``fold`` adds an entry to it. A
snapshot is a ``State`` after entry ``number``.

Nothing in here is a function of the clock: the same input gives the same entries.
"""

from typing import Final, Literal

import msgspec

from spark_jobs.cdc.events import TableSchema

FORMAT: Final = 1


class FileRecord(msgspec.Struct, frozen=True, gc=False):
    """A data file: staged under a private name, published under ``path`` (relative to the sink folder)."""

    staged: str
    path: str
    rows: int
    bytes: int
    first_ts: int
    last_ts: int


class SchemaFileRecord(msgspec.Struct, frozen=True, gc=False):
    """A schema file: its path relative to the sink folder, and its whole content."""

    path: str
    content: str


class HeldSegment(msgspec.Struct, frozen=True, gc=False):
    """Source messages that wait for a watermark: a file below ``held/`` with their range of commit-ts."""

    name: str
    rows: int
    bytes: int
    first_ts: int
    last_ts: int


class PartitionState(msgspec.Struct, frozen=True, gc=False):
    """What is known of one source partition: greatest commit-ts seen, last watermark, whether rows carry ``_tidb``."""

    stream: str
    partition: int
    last_ts: int = 0
    watermark_ts: int = 0
    extension: bool = False


class TableState(msgspec.Struct, frozen=True):
    """A table in the sink: its current version, its structure as of that version (None: not known), what was delivered.

    ``full`` is False when the structure was learnt from rows, which do not tell everything.
    """

    schema: str
    table: str
    version: int
    structure: TableSchema | None = None
    full: bool = False
    rows: int = 0
    bytes: int = 0
    last_ts: int = 0


class Totals(msgspec.Struct, frozen=True, gc=False):
    """Counts since the changefeed began."""

    rows: int = 0
    bytes: int = 0
    repeats_dropped: int = 0
    late_rows: int = 0
    dead_letters: int = 0
    held_rows: int = 0
    ddl_unparsed: int = 0


class FolderCursor(msgspec.Struct, frozen=True, gc=False):
    """The file of a source folder that is being read: its size, and the byte at which reading goes on."""

    name: str
    size: int
    offset: int


class Entry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One entry. A field that a batch did not change is left out; lists hold only what changed.

    ``feed_uid`` tells one life of a changefeed id from the next. ``offsets``: next offsets of all Kafka partitions.
    ``files_read``: names newly read of a folder. ``held``: all segments held after this entry, None: as before.
    """

    format: int = FORMAT
    number: int
    kind: Literal["claim", "commit"]
    epoch: int
    capture_id: str = ""
    changefeed_id: str = ""
    feed_uid: int = 0
    rewind_id: int = 0
    fresh: bool = False
    batch_id: int = -1
    offsets: dict[str, dict[int, int]] | None = None
    cursor: FolderCursor | None = None
    files_read: list[str] = []
    partitions: list[PartitionState] = []
    tables: list[TableState] = []
    files: list[FileRecord] = []
    schema_files: list[SchemaFileRecord] = []
    held: list[HeldSegment] | None = None
    checkpoint_ts: int = 0
    resolved_ts: int = 0
    estimated: bool = False
    without_watermarks: bool = False
    totals: Totals | None = None
    finished: bool = False


class State(msgspec.Struct, kw_only=True):
    """The sum of all entries up to ``number``."""

    format: int = FORMAT
    number: int = 0
    epoch: int = 0
    feed_uid: int = 0
    rewind_id: int = 0
    batch_id: int = -1
    offsets: dict[str, dict[int, int]] = {}
    cursor: FolderCursor | None = None
    files_read: list[str] = []
    started: bool = False
    partitions: list[PartitionState] = []
    tables: list[TableState] = []
    folders: dict[str, int] = {}
    held: list[HeldSegment] = []
    checkpoint_ts: int = 0
    resolved_ts: int = 0
    estimated: bool = False
    without_watermarks: bool = False
    totals: Totals = Totals()
    finished: bool = False


class View:
    """A ``State`` with look-ups by key; ``fold`` is the only way to change it."""

    def __init__(self, state: State) -> None:
        self.number = state.number
        self.epoch = state.epoch
        self.feed_uid = state.feed_uid
        self.rewind_id = state.rewind_id
        self.batch_id = state.batch_id
        self.started = state.started
        self.offsets = {topic: dict(numbers) for topic, numbers in state.offsets.items()}
        self.cursor = state.cursor
        self.files_read = set(state.files_read)
        self.partitions = {(item.stream, item.partition): item for item in state.partitions}
        self.tables = {(item.schema, item.table): item for item in state.tables}
        self.folders = dict(state.folders)
        self.held = list(state.held)
        self.checkpoint_ts = state.checkpoint_ts
        self.resolved_ts = state.resolved_ts
        self.estimated = state.estimated
        self.without_watermarks = state.without_watermarks
        self.totals = state.totals
        self.finished = state.finished

    def state(self) -> State:
        """The whole as a value, for a snapshot."""
        return State(
            number=self.number,
            epoch=self.epoch,
            feed_uid=self.feed_uid,
            rewind_id=self.rewind_id,
            batch_id=self.batch_id,
            started=self.started,
            offsets=self.offsets,
            cursor=self.cursor,
            files_read=sorted(self.files_read),
            partitions=list(self.partitions.values()),
            tables=list(self.tables.values()),
            folders=self.folders,
            held=self.held,
            checkpoint_ts=self.checkpoint_ts,
            resolved_ts=self.resolved_ts,
            estimated=self.estimated,
            without_watermarks=self.without_watermarks,
            totals=self.totals,
            finished=self.finished,
        )

    def fold(self, entry: Entry) -> None:
        """Adds the next entry."""
        if entry.number != self.number + 1:
            raise ValueError(f"entry {entry.number} does not follow {self.number}")
        self.number, self.epoch = entry.number, entry.epoch
        if entry.kind == "claim":
            self._claimed(entry)
        else:
            self._committed(entry)

    def _claimed(self, entry: Entry) -> None:
        if entry.fresh:
            self._begin_again()
        if entry.rewind_id != self.rewind_id or entry.fresh:
            self._go_to(entry)
        self.feed_uid, self.rewind_id = entry.feed_uid, entry.rewind_id
        self.batch_id = -1

    def _begin_again(self) -> None:
        """A new life of the id in an adopted folder: numbering and table versions stay, all else begins anew."""
        self.tables = {
            key: TableState(schema=item.schema, table=item.table, version=item.version, structure=item.structure)
            for key, item in self.tables.items()
        }
        self.totals = Totals()

    def _go_to(self, entry: Entry) -> None:
        """Reading begins at the position that the claim names: a new life, or an operator's rewind."""
        self.offsets = entry.offsets or {}
        self.cursor = entry.cursor
        self.files_read = set(entry.files_read)
        self.partitions = {}
        self.held = []
        self.checkpoint_ts = entry.checkpoint_ts
        self.resolved_ts = entry.resolved_ts
        self.estimated = entry.estimated
        self.without_watermarks = False
        self.finished = False
        self.started = True

    def _committed(self, entry: Entry) -> None:
        self.batch_id = entry.batch_id
        if entry.offsets is not None:
            self.offsets = entry.offsets
        self.cursor = entry.cursor
        self.files_read.update(entry.files_read)
        self.partitions.update({(item.stream, item.partition): item for item in entry.partitions})
        self.tables.update({(item.schema, item.table): item for item in entry.tables})
        for record in entry.files:
            folder, _, name = record.path.rpartition("/")
            self.folders[folder] = file_number(name)
        if entry.held is not None:
            self.held = entry.held
        self.checkpoint_ts, self.resolved_ts = entry.checkpoint_ts, entry.resolved_ts
        self.estimated, self.without_watermarks = entry.estimated, entry.without_watermarks
        self.totals = entry.totals or self.totals
        self.finished = entry.finished


def file_number(name: str) -> int:
    """The number in a data file's name (``CDC000012.json`` → 12)."""
    return int(name.removeprefix("CDC").partition(".")[0])
