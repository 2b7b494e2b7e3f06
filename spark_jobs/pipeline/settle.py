"""Gives a batch's pieces their place: table versions, schema files, file numbers.

Rules (contract §5)

1. Pieces and statements are gone through in order. A DDL's commit-ts is the new version of the tables it affects.
2. A table without a DDL has the commit-ts of its first delivered row as version, kept from then on.
3. A full image whose columns or types differ from the current version starts a new version at its commit-ts, with Query
   "" and Type 0. Partial images never define a structure; where values belong to columns by their place (CSV) they are
   refused once the structure is known.
4. A version never decreases: a statement at or below the current version is a repeat and is passed over, unless it
   gives a table the name that another one gave away at the same commit-ts (tables that change names by one RENAME).
5. Numbers go on from the last committed one of each folder; a folder that holds files of somebody else is refused
   unless the changefeed adopts it.
"""

from collections.abc import Callable
from typing import Final

from spark_jobs.cdc.errors import ConfigError, EncodeError
from spark_jobs.cdc.events import TableSchema
from spark_jobs.cdc.filters.tables import TableFilter
from spark_jobs.cdc.storage import schema_file
from spark_jobs.cdc.storage.paths import DataDir, data_name
from spark_jobs.commitlog.entries import FileRecord, SchemaFileRecord, TableState, View
from spark_jobs.pipeline.ddl_changes import Change, Structures, changes, is_repeat
from spark_jobs.pipeline.enrich import is_part_of, same_structure
from spark_jobs.pipeline.job import KnownStructure, Outcome, Piece, Statement

Key = tuple[str, str]
NOTHING: Final = 0


class UnknownOrigin(ConfigError):
    """A folder of the sink holds files that this changefeed did not write."""

    code = "CDC:ErrSinkFolderNotEmpty"


class Settled:
    """What a batch adds to the commit log, apart from positions and times. ``following``: the definitions after each
    statement, of the tables that it names."""

    def __init__(self) -> None:
        self.files: list[FileRecord] = []
        self.schema_files: list[SchemaFileRecord] = []
        self.tables: dict[Key, TableState] = {}
        self.folders: dict[str, int] = {}
        self.following: list[tuple[KnownStructure, ...]] = []
        self.repeated_statements = 0
        self.unparsed_statements = 0


class Settling:
    """Settles one batch on top of ``view``. ``taken(folder)``: the greatest file number that is in a folder on disk."""

    def __init__(
        self,
        view: View,
        tables: TableFilter,
        *,
        staging_name: str,
        extension: str,
        width: int,
        start_ts: int,
        adopt: bool,
        positional: bool,
        taken: Callable[[str], int],
    ) -> None:
        self._view = view
        self._filter = tables
        self._staging_name = staging_name
        self._extension = extension
        self._width = width
        self._start_ts = start_ts
        self._adopt = adopt
        self._positional = positional
        self._taken = taken
        self._settled = Settled()

    def settle(self, outcome: Outcome) -> Settled:
        """All pieces and statements of the batch, in order."""
        items: list[tuple[tuple[int, int], Piece | Statement]] = [(piece.order, piece) for piece in outcome.pieces]
        items += [(statement.order, statement) for statement in outcome.statements]
        items.sort(key=lambda item: item[0])
        for _, item in items:
            if isinstance(item, Piece):
                self._piece(item)
            else:
                self._statement(item)
        return self._settled

    def _table(self, key: Key) -> TableState | None:
        return self._settled.tables.get(key) or self._view.tables.get(key)

    def _piece(self, piece: Piece) -> None:
        key = (piece.schema, piece.table)
        table = self._table(key)
        if table is None or not table.version or not _fits(piece, table):
            table = self._new_version(piece, table)
        elif self._positional and not piece.full:
            _require_every_column(piece, table)
        folder = DataDir(table.version, piece.partition_id, piece.date, piece.schema, piece.table).path
        name = data_name(self._number(folder), self._extension.removeprefix("."), self._width)
        self._settled.files.append(
            FileRecord(
                staged=f"{self._staging_name}/{piece.staged}",
                path=f"{folder}/{name}",
                rows=piece.rows,
                bytes=piece.bytes,
                first_ts=piece.first_ts,
                last_ts=piece.last_ts,
            )
        )
        self._settled.tables[key] = TableState(
            schema=table.schema,
            table=table.table,
            version=table.version,
            structure=table.structure,
            full=table.full,
            rows=table.rows + piece.rows,
            bytes=table.bytes + piece.bytes,
            last_ts=max(table.last_ts, piece.last_ts),
        )

    def _new_version(self, piece: Piece, table: TableState | None) -> TableState:
        """Rules 2 and 3. What DDL told before the table's first row (``version`` 0) stays its structure."""
        version = piece.first_ts if table is None else max(piece.first_ts, table.version + 1)
        told = table.structure if table is not None and not table.version else None
        structure = told if told is not None and _fits_structure(piece, told) else piece.structure
        self._schema_file(schema_file.of_table(structure, version))
        return TableState(
            schema=piece.schema,
            table=piece.table,
            version=version,
            structure=structure if piece.full or structure is told else None,
            full=structure is told,
            rows=table.rows if table else 0,
            bytes=table.bytes if table else 0,
            last_ts=table.last_ts if table else 0,
        )

    def _number(self, folder: str) -> int:
        last = self._settled.folders.get(folder)
        if last is None:
            last = self._view.folders.get(folder)
        if last is None:
            last = self._taken(folder)
            if last and not self._adopt:
                raise UnknownOrigin(
                    f"the sink's folder {folder} holds files up to number {last} that this changefeed did not write; "
                    "choose another folder, or add adopt=true to the sink URI to go on after them"
                )
        self._settled.folders[folder] = last + 1
        return last + 1

    def _statement(self, statement: Statement) -> None:
        made = changes(statement, self._structures(), self._filter)
        if made.unparsed:
            self._settled.unparsed_statements += 1
        for change in made.changes:
            self._change(statement, change)
        self._settled.following.append(tuple(self._definition(change.schema, change.table) for change in made.changes))

    def _definition(self, schema: str, name: str) -> KnownStructure:
        table = self._table((schema, name))
        return KnownStructure(schema, name, 0, table.structure if table is not None and table.full else None)

    def _structures(self) -> Structures:
        tables = {**self._view.tables, **self._settled.tables}
        return {key: table.structure for key, table in tables.items() if table.structure is not None}

    def _change(self, statement: Statement, change: Change) -> None:
        key = (change.schema, change.table)
        table = self._table(key)
        if table is not None and is_repeat(change, statement.commit_ts, table.version, table.structure):
            self._settled.repeated_statements += 1
            return
        if table is None and change.quiet:
            return
        teaches_only = statement.commit_ts <= self._start_ts
        if not teaches_only and not change.quiet:
            self._schema_file(_file_of(change, statement.commit_ts))
        if not change.table:
            return
        self._settled.tables[key] = TableState(
            schema=change.schema,
            table=change.table,
            version=0 if teaches_only else statement.commit_ts,
            structure=None if change.dropped else change.structure,
            full=change.structure is not None and not change.dropped,
            rows=table.rows if table else 0,
            bytes=table.bytes if table else 0,
            last_ts=table.last_ts if table else 0,
        )

    def _schema_file(self, file: schema_file.SchemaFile) -> None:
        self._settled.schema_files.append(SchemaFileRecord(file.path, file.encode().decode()))


def _file_of(change: Change, version: int) -> schema_file.SchemaFile:
    if not change.table:
        return schema_file.of_database(change.schema, version, change.query, change.action)
    structure = change.structure or TableSchema(change.schema, change.table, ())
    return schema_file.of_table(structure, version, change.query, change.action)


def _fits(piece: Piece, table: TableState) -> bool:
    if not piece.full:
        return True
    return table.structure is not None and same_structure(piece.structure, table.structure)


def _require_every_column(piece: Piece, table: TableState) -> None:
    if table.structure is None or same_structure(piece.structure, table.structure):
        return
    names = ", ".join(column.name for column in piece.structure.columns)
    raise EncodeError(
        "csv",
        f"a DELETE of {piece.schema}.{piece.table} at commit-ts {piece.first_ts} holds only {names}, and CSV tells "
        "values by their place; let the source send whole rows (delete-only-output-handle-key-columns=false), or use "
        "protocol=canal-json",
    )


def _fits_structure(piece: Piece, structure: TableSchema) -> bool:
    if piece.full:
        return same_structure(piece.structure, structure)
    return is_part_of(piece.structure, structure)
