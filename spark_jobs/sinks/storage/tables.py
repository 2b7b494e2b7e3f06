"""The tables of the sink while a batch is prepared: what is committed, and on top of it what the batch changes.

Besides ``TableState`` the sink keeps short notes of some tables in its part of the view, by ``schema/table``:

    earlier   [[version, shape], …]        structures since the last statement that rows may come in late
    said      [version, crc, …]            the version of the last statement's file; the statements at ``ddl_ts``
    waiting   [[ts, query, action], …]     statements that wait for the table's columns
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from spark_jobs.cdc.events import Column, TableSchema
from spark_jobs.cdc.rows.definitions import sign_known, stored_columns
from spark_jobs.cdc.storage.paths import escape
from spark_jobs.sinks.base import SinkView, TableState

Key: TypeAlias = tuple[str, str]
Shape: TypeAlias = list[list[Any]]
"""Name in lower case, base type, and sign (0 signed, 1 unsigned, 2 not known) of each column."""

EARLIER: Final = "earlier"
SAID: Final = "said"
WAITING: Final = "waiting"


class Tables(Mapping[Key, TableSchema]):
    """States by their names in the sink. As a mapping: the known structures by their names in the *source*, as far as
    routing can be followed backwards, looked up in any letter case if need be."""

    def __init__(self, view: SinkView, routed: Callable[[str, str], Key]) -> None:
        self._view = view
        self._routed = routed
        self._notes: dict[str, dict[str, list[Any] | None]] = {}
        self._folded: dict[Key, Key] | None = None
        self.changed: dict[Key, TableState] = {}

    def state(self, key: Key) -> TableState | None:
        """A table's state, by its name in the sink."""
        return self.changed.get(key) or self._view.tables.get(key)

    def put(self, state: TableState) -> None:
        """The table's new state."""
        key = (state.schema, state.table)
        if self._folded is not None and key not in self.changed and key not in self._view.tables:
            self._folded.setdefault(_folded(key), key)
        self.changed[key] = state

    def committed(self, key: Key) -> set[int]:
        """The versions of a table that this changefeed is known to have made before this batch."""
        state = self._view.tables.get(key)
        notes = self._view.sink.get(EARLIER, {}).get(note_key(key), ())
        return {version for version, _ in notes} | ({state.version} if state is not None else set())

    def note(self, kind: str, key: Key) -> list[Any]:
        """A note of a table; empty if there is none."""
        name = note_key(key)
        changed = self._notes.get(kind, {})
        return (changed[name] if name in changed else self._view.sink.get(kind, {}).get(name)) or []

    def set_note(self, kind: str, key: Key, value: list[Any]) -> None:
        """An empty note is no note."""
        if value or self.note(kind, key):
            self._notes.setdefault(kind, {})[note_key(key)] = value or None

    def patch(self) -> dict[str, Any]:
        """The merge patch of the notes."""
        return {kind: dict(notes) for kind, notes in self._notes.items() if notes}

    def keys_of(self, schema: str) -> Iterator[Key]:
        """Tables of a database of the sink."""
        yield from (key for key in {**self._view.tables, **self.changed} if key[0] == schema)

    def __getitem__(self, name: Key) -> TableSchema:
        routed = self._routed(*name)
        state = self.state(routed)
        if state is not None and state.structure is not None:
            return renamed(state.structure, name)
        key = self._in_any_case(routed)
        state = self.state(key) if key is not None else None
        source = self._source(key, name[0]) or self._source(key, key[0]) if key is not None else None
        if source is None or state is None or state.structure is None:
            raise KeyError(name)
        return renamed(state.structure, source)

    def __iter__(self) -> Iterator[Key]:
        for key in {**self._view.tables, **self.changed}:
            source = self._source(key, key[0])
            if source is not None and self.state(key).structure is not None:  # type: ignore[union-attr]
                yield source

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _source(self, key: Key, schema: str) -> Key | None:
        """The name in the source, if it is the one in the sink, or differs in the database alone."""
        name = (schema, key[1])
        return name if self._routed(*name) == key else None

    def _in_any_case(self, key: Key) -> Key | None:
        if self._folded is None:
            self._folded = {_folded(known): known for known in (*self._view.tables, *self.changed)}
        return self._folded.get(_folded(key))


def renamed(structure: TableSchema, key: Key) -> TableSchema:
    """The structure under another name."""
    if (structure.schema, structure.table) == key:
        return structure
    return msgspec.structs.replace(structure, schema=key[0], table=key[1])


def note_key(key: Key) -> str:
    """A table's name as one text."""
    return f"{escape(key[0])}/{escape(key[1])}"


def shape_of(structure: TableSchema) -> Shape:
    """As much of a structure as rows tell."""
    return [[column.name.lower(), column.type.name, _sign(column)] for column in stored_columns(structure)]


def has_shape(structure: TableSchema, shape: Shape) -> bool:
    """Whether rows of the structure have this shape."""
    mine = shape_of(structure)
    return len(mine) == len(shape) and all(
        one[:2] == other[:2] and (one[2] == other[2] or 2 in (one[2], other[2]))
        for one, other in zip(mine, shape, strict=True)
    )


def _sign(column: Column) -> int:
    return int(column.type.unsigned) if sign_known(column) else 2


def _folded(key: Key) -> Key:
    return key[0].lower(), key[1].lower()
