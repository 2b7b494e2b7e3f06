"""What DDL does to the versions of tables.

Rules

1. A statement is a repeat by the last statement's commit-ts of its table, or at that commit-ts by its text (RENAME may
   give a name away and to another table at once). A version that rows started says nothing about statements.
2. Its commit-ts is the version. Where rows have brought the table beyond it: if they came in the statement's structure,
   the schema file stands at the commit-ts, so that consumers execute it in its place, and rows go on where they are;
   else it gets the next version.
3. A table of which no column is known (the first message is an ALTER) gets no schema file: its statements wait until a
   row shows the columns. A statement that cannot be parsed keeps the columns that were known.
4. A table that is renamed away or whose database is dropped ends without a file.
5. Statements at or below the floor, and those that an event filter leaves out, only teach. Of the latter a new
   structure starts a version with Query "", as rows would.
"""

from zlib import crc32

import msgspec

from spark_jobs.cdc.ddl.effects import Effect, effects
from spark_jobs.cdc.events import TableSchema
from spark_jobs.cdc.storage import schema_file
from spark_jobs.sinks.base import Selection, Statement, TableState
from spark_jobs.sinks.storage.documents import Documents
from spark_jobs.sinks.storage.tables import EARLIER, SAID, WAITING, Key, Tables, has_shape, renamed, shape_of


class Statements:
    """Goes through statements in order. ``repeated`` and ``unparsed`` count."""

    def __init__(self, tables: Tables, documents: Documents, select: Selection, floor_ts: int) -> None:
        self._tables = tables
        self._documents = documents
        self._select = select
        self._floor_ts = floor_ts
        self.repeated = 0
        self.unparsed = 0

    def take(self, statement: Statement) -> list[Key]:
        """The tables that it changed."""
        made = effects(statement.ddl, self._tables, self._passes, self._select.routed)
        self.unparsed += made.unparsed
        keys = [self._select.routed(effect.schema, effect.table) for effect in made.each]
        return [
            key
            for key, effect in zip(keys, made.each, strict=True)
            if self._apply(key, effect, statement.commit_ts, keys) and effect.table
        ]

    def give_columns(self, key: Key, structure: TableSchema) -> int:
        """Writes the statements that waited for the table's columns; returns the last one's version, 0 if there were
        none."""
        version = 0
        state = self._tables.state(key)
        for ts, query, action in self._tables.note(WAITING, key):
            at = max(ts, version + 1, state.version + 1 if state is not None else 1)
            version = self._documents.table([key], schema_file.of_table(structure, at, query, action))
            self._is_written(key, version)
        self._tables.set_note(WAITING, key, [])
        return version

    def _passes(self, schema: str, table: str) -> bool:
        return self._select.passes(schema, table) if table else self._select.passes_schema(schema)

    def _apply(self, key: Key, effect: Effect, ts: int, keys: list[Key]) -> bool:
        """Whether it is not a repeat."""
        state = self._tables.state(key) if effect.table else None
        if state is not None and self._is_repeat(key, effect, ts, state):
            self.repeated += not effect.quiet
            return False
        ignored = self._select.ignores_ddl(effect.schema, effect.table, effect.source, effect.action)
        if not effect.table:
            if not effect.quiet and not ignored and ts > self._floor_ts:
                file = schema_file.of_database(key[0], ts, effect.query, effect.action)
                self._documents.database(keys, file)
            return True
        if effect.quiet:
            if state is not None:
                self._end(key, state)
        elif ignored or ts <= self._floor_ts:
            self._teach(key, effect, ts, state, starts=ts > self._floor_ts)
        else:
            self._deliver(key, effect, ts, state, keys)
        self._said(key, effect, ts)
        return True

    def _is_repeat(self, key: Key, effect: Effect, ts: int, state: TableState) -> bool:
        last = state.ddl_ts or (state.version if state.full else 0)  # logs of older versions know no ``ddl_ts``
        if ts != last:
            return ts < last
        said = self._tables.note(SAID, key)[1:]
        return _text(effect) in said if said else effect.dropped or state.structure is not None

    def _said(self, key: Key, effect: Effect, ts: int) -> None:
        state = self._tables.state(key)
        if state is None:
            return
        written, *said = self._tables.note(SAID, key) or [0]
        self._tables.set_note(SAID, key, [written, *(said if state.ddl_ts == ts else ()), _text(effect)])
        self._tables.put(msgspec.structs.replace(state, ddl_ts=ts))

    def _end(self, key: Key, state: TableState) -> None:
        self._tables.set_note(EARLIER, key, [])
        self._tables.set_note(WAITING, key, [])
        self._tables.put(msgspec.structs.replace(state, structure=None, full=False))

    def _teach(self, key: Key, effect: Effect, ts: int, state: TableState | None, *, starts: bool) -> None:
        now = state if state is not None else TableState(*key, 0)
        if effect.dropped:
            self._end(key, now)
            return
        structure = None if effect.structure is None else renamed(effect.structure, key)
        if structure is None:
            if not now.version:
                self._tables.put(msgspec.structs.replace(now, structure=None, full=False))
        elif not now.version or (now.structure is not None and has_shape(structure, shape_of(now.structure))):
            self._tables.put(msgspec.structs.replace(now, structure=structure, full=True))
        elif starts:
            version = self._documents.table([key], schema_file.of_table(structure, max(ts, now.version + 1)))
            self._tables.set_note(EARLIER, key, [])
            self._tables.put(msgspec.structs.replace(now, version=version, structure=structure, full=True))

    def _deliver(self, key: Key, effect: Effect, ts: int, state: TableState | None, keys: list[Key]) -> None:
        now = state if state is not None else TableState(*key, 0)
        structure = effect.structure if effect.structure is not None else now.structure
        if structure is None and not effect.dropped and effect.has_rows:
            self._tables.set_note(EARLIER, key, [])
            self._tables.set_note(WAITING, key, [*self._tables.note(WAITING, key), [ts, effect.query, effect.action]])
            self._tables.put(now)
            return
        columns = renamed(structure, key) if structure is not None else TableSchema(*key, ())
        if effect.dropped and structure is None:
            self._tables.set_note(WAITING, key, [])  # nothing of what waited will ever be seen
        now = msgspec.structs.replace(now, version=max(now.version, self.give_columns(key, columns)))
        version = max(ts, now.version + 1) if now.version >= ts else ts
        stays = self._stays(now, columns, effect, ts, key)
        written = self._documents.table(
            keys, schema_file.of_table(columns, ts if stays else version, effect.query, effect.action)
        )
        self._is_written(key, written)
        earlier = [item for item in self._tables.note(EARLIER, key) if stays and item[0] > written]
        self._tables.set_note(EARLIER, key, earlier)
        self._tables.put(
            msgspec.structs.replace(
                now,
                version=now.version if stays else written,
                structure=None if effect.dropped or structure is None else columns,
                full=effect.structure is not None and not effect.dropped,
            )
        )

    def _stays(self, state: TableState, columns: TableSchema, effect: Effect, ts: int, key: Key) -> bool:
        """Rule 2: rows have come in the statement's structure, under a later version, and no file of a statement or
        with rows stands where this one's would be hidden."""
        if effect.dropped or state.structure is None or ts >= state.version:
            return False
        others = [version for version, _ in self._tables.note(EARLIER, key)]
        if ts in others or ts <= (self._tables.note(SAID, key) or [0])[0]:
            return False
        return has_shape(state.structure, shape_of(columns))

    def _is_written(self, key: Key, version: int) -> None:
        """A statement's file stands under this version."""
        _, *said = self._tables.note(SAID, key) or [0]
        self._tables.set_note(SAID, key, [version, *said])


def _text(effect: Effect) -> int:
    return crc32(f"{effect.action} {effect.quiet} {effect.query}".encode("utf-8", "surrogatepass"))
