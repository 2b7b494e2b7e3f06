"""Rows → lines of a data file, in the workers.

A lane is (schema, table, partition id): what lies in one folder but for version and date. A label is the structure of
the rows, and whether they define it: images that may lack columns do not. Where values belong to columns by their place
(CSV), a DELETE with other columns than its keys must have a structure of its own, so it defines one.
"""

from collections.abc import Sequence
from typing import Final

from spark_jobs.cdc.codec import Opener, Rows
from spark_jobs.cdc.codecs import header, row_writer
from spark_jobs.cdc.events import TableSchema
from spark_jobs.cdc.rows.definitions import Enricher, is_part_of
from spark_jobs.cdc.storage.paths import DataDir
from spark_jobs.sinks.base import NO_LABEL, Definition, Label, Lane
from spark_jobs.sinks.storage.dates import Dates
from spark_jobs.sinks.storage.uri import StorageSink

MAX_LABELS: Final = 65_536
"""Structures whose labels are remembered; the oldest go first, so that many tables do not forget one another."""


class StorageSerializer:
    """One for each task; remembers labels only."""

    def __init__(self, sink: StorageSink, opener: Opener, definitions: Sequence[Definition], time_zone: str) -> None:
        end = sink.terminator.encode()
        structure_of = Enricher(definitions) if sink.needs_definitions and definitions else None
        self._write = row_writer(opener, sink.protocol, sink.codec_options, end, structure_of).rows
        self._header = header(sink.protocol, sink.codec_options, end)
        self._positional = sink.protocol == "csv"
        self._partitioned = sink.enable_partition_separator
        self._dates = Dates(sink.date_separator, time_zone)
        self._size = sink.file_size
        self._lanes: dict[Lane, Lane] = {}
        self._labels: dict[tuple[int, bool], tuple[TableSchema, Label]] = {}
        self._latest: dict[tuple[str, str, bool], Label] = {}

    @property
    def piece_bytes(self) -> int:
        """The size at which a data file is cut."""
        return self._size

    def serialize(self, rows: Rows, commit_ts: int, /) -> Sequence[tuple[Lane, bytes]]:
        """The rows of one message for their folder; nothing where the format has no line for them."""
        partition_id = getattr(rows, "partition_id", 0) if self._partitioned else 0
        lane: Lane = (rows.schema, rows.name, partition_id)
        known = self._lanes.get(lane) or self._lane(lane)
        output = bytearray()
        self._write(rows, commit_ts, output)
        return ((known, bytes(output)),) if output else ()

    def label(self, rows: Rows, /) -> Label:
        """The same object as long as the structure stays."""
        table, partial = rows.table, rows.is_partial
        found = self._labels.get((id(table), partial))
        return found[1] if found is not None else self._label(table, partial)

    def joins(self, label: Label, other: Label, /) -> bool:
        """Whether rows that do not define a structure may stand between those of ``other``."""
        if label is other:
            return True
        if label.full or self._positional or label.structure is None or other.structure is None:
            return False
        return is_part_of(label.structure, other.structure)

    def section(self, commit_ts: int, /) -> tuple[str, int, int]:
        """The date folder, with the commit-ts at which it begins and at which the next one does."""
        return self._dates.folder(commit_ts)

    def head(self, label: Label, /) -> bytes:
        """The line that names the columns, where one is asked for."""
        return b"" if label.structure is None else self._header(label.structure)

    def _lane(self, lane: Lane) -> Lane:
        """Raises ``EncodeError`` for names that no folder can have."""
        schema, name, partition_id = lane
        assert DataDir(1, int(partition_id), "", str(schema), str(name)).path
        return self._lanes.setdefault(lane, lane)

    def _label(self, table: TableSchema, partial: bool) -> Label:
        full = not partial or (self._positional and not all(column.is_key for column in table.columns))
        key = (table.schema, table.table, full)
        label = self._latest.get(key, NO_LABEL)
        if label.structure != table:
            label = self._latest[key] = Label(table, full)
        if len(self._labels) >= MAX_LABELS:
            del self._labels[next(iter(self._labels))]
        self._labels[id(table), partial] = (table, label)
        return label
