"""Gives a batch's pieces their place: table versions, schema files, file numbers, in steps.

Rules (contract §5)

1. Pieces and statements are gone through in order. A DDL's commit-ts is the new version of the tables it affects.
2. A table without a DDL has the commit-ts of its first delivered row as version, kept from then on.
3. A full image whose columns or types differ from the current version starts a new version at its commit-ts, with Query
   "" and Type 0. Partial images never define a structure; where values belong to columns by their place (CSV) they are
   refused once the structure is known.
4. A row that is late (by its time, or because two structures alternate) goes to the newest version since the last
   statement that has its structure, if there is one. Counted.
5. A version never decreases. What statements do to versions stands in ``statements``.
6. Numbers go on from the last one of each folder; names are looked at before anything is committed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import TableSchema
from spark_jobs.cdc.rows.definitions import is_part_of, same_structure
from spark_jobs.cdc.storage import schema_file
from spark_jobs.cdc.storage.paths import DataDir
from spark_jobs.sinks.base import FileRecord, Piece, Prepared, SinkView, Statement, TableCount, TableState
from spark_jobs.sinks.storage.documents import Documents
from spark_jobs.sinks.storage.numbers import FOLDERS, Numbers
from spark_jobs.sinks.storage.statements import Statements
from spark_jobs.sinks.storage.steps import Steps
from spark_jobs.sinks.storage.tables import EARLIER, WAITING, Key, Tables, has_shape, renamed, shape_of

KEPT_STRUCTURES: Final = 3
"""Earlier structures of a table that late rows may have."""
LATE_ROWS: Final = "late_rows"


class Versions:
    """Prepares one batch on top of ``view``. ``positional``: values belong to columns by their place."""

    def __init__(
        self,
        view: SinkView,
        tables: Tables,
        statements: Statements,
        documents: Documents,
        numbers: Numbers,
        steps: Steps,
    ) -> None:
        self._view = view
        self._tables = tables
        self._statements = statements
        self._documents = documents
        self._numbers = numbers
        self._steps = steps
        self._counts: dict[Key, TableCount] = {}
        self._late_rows = 0

    def prepare(self, items: Sequence[Piece | Statement], *, positional: bool) -> Prepared:
        """All pieces and statements of the batch, in order; what is said of folders is left to the caller."""
        for item in items:
            if isinstance(item, Statement):
                self._statements.take(item)
            else:
                self._piece(item, positional)
        patch: dict[str, Any] = self._tables.patch()
        if self._late_rows:
            patch[LATE_ROWS] = self._view.sink.get(LATE_ROWS, 0) + self._late_rows
        return Prepared(
            steps=self._steps.cut(),
            tables=list(self._tables.changed.values()),
            counts=list(self._counts.values()),
            sink=patch,
            repeated_statements=self._statements.repeated,
            unparsed_statements=self._statements.unparsed,
        )

    def alive(self) -> Iterator[tuple[str, int]]:
        """The folder of each table with each version that rows may still go to."""
        for key in {**self._view.tables, **self._tables.changed}:
            state = self._tables.state(key)
            if state is None or not state.version:
                continue
            for version in {state.version, *(version for version, _ in self._tables.note(EARLIER, key))}:
                yield DataDir(version, 0, "", *key).path.rpartition("/")[0], version

    def _piece(self, piece: Piece, positional: bool) -> None:
        schema, table, partition_id = piece.lane
        key = (str(schema), str(table))
        version = self._version(piece, key, positional)
        folder = DataDir(version, int(partition_id), piece.section, *key)
        record = FileRecord(
            staged=piece.staged,
            path=self._numbers.next_path(folder, ours=version in self._tables.committed(key)),
            rows=piece.rows,
            bytes=piece.bytes,
            first_ts=piece.first_ts,
            last_ts=piece.last_ts,
            digest=piece.digest,
            lane=piece.lane,
        )
        self._steps.file(key, record)
        now = self._counts.get(key) or TableCount(*key)
        self._counts[key] = TableCount(
            *key, now.rows + piece.rows, now.bytes + piece.bytes, max(now.last_ts, piece.last_ts)
        )

    def _version(self, piece: Piece, key: Key, positional: bool) -> int:
        state = self._tables.state(key)
        structure = piece.label.structure
        assert structure is not None
        if state is None or not state.version or self._tables.note(WAITING, key):
            return self._begin(piece, key, state, structure)
        if not piece.label.full:
            if positional:
                _require_every_column(piece, structure, state)
            return state.version
        if state.structure is not None and same_structure(structure, state.structure):
            return state.version
        return self._late(piece, key, state, structure) or self._begin(piece, key, state, structure)

    def _late(self, piece: Piece, key: Key, state: TableState, structure: TableSchema) -> int:
        """Rule 4; 0 if it is not late."""
        earlier = self._tables.note(EARLIER, key)
        mine = [version for version, shape in earlier if has_shape(structure, shape)]
        alternates = state.structure is not None and any(has_shape(state.structure, shape) for _, shape in earlier)
        if not mine or not (alternates or piece.first_ts < state.version):
            return 0
        self._late_rows += piece.rows
        return int(max(mine))

    def _begin(self, piece: Piece, key: Key, state: TableState | None, row: TableSchema) -> int:
        """Rules 2 and 3. What DDL told before the first row (``version`` 0) stays the structure; statements that waited
        for the columns come first, and the last of them gives the version."""
        told = state.structure if state is not None and not state.version else None
        is_told = told is not None and (same_structure if piece.label.full else is_part_of)(row, told)
        structure = renamed(told if is_told and told is not None else row, key)
        version = self._statements.give_columns(key, structure)
        if not version:
            version = max(piece.first_ts, state.version + 1 if state is not None else 1)
            version = self._documents.table([key], schema_file.of_table(structure, version))
        if state is not None and state.version and state.structure is not None:
            earlier = [*self._tables.note(EARLIER, key), [state.version, shape_of(state.structure)]]
            self._tables.set_note(EARLIER, key, earlier[-KEPT_STRUCTURES:])
        now = state if state is not None else TableState(*key, 0)
        known = structure if piece.label.full or is_told else None
        self._tables.put(msgspec.structs.replace(now, version=version, structure=known, full=is_told))
        return version


def folders_of(view: SinkView) -> dict[str, int]:
    """The last number of each folder that is kept."""
    found: dict[str, int] = view.sink.get(FOLDERS, {})
    return found


def _require_every_column(piece: Piece, structure: TableSchema, state: TableState) -> None:
    if state.structure is None or same_structure(structure, state.structure):
        return
    names = ", ".join(column.name for column in structure.columns)
    raise EncodeError(
        "csv",
        f"a DELETE of {state.schema}.{state.table} at commit-ts {piece.first_ts} holds only {names}, and CSV tells "
        "values by their place; let the source send whole rows (delete-only-output-handle-key-columns=false), or use "
        "protocol=canal-json",
    )
