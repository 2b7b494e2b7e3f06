"""Structures of rows beside definitions of tables: whether they agree, and what a definition adds.

Messages name base types only; enum elements, lengths and nullability are in a table's definition, which DDL tells.
"""

from collections.abc import Iterable
from typing import Final, Protocol

import msgspec

from spark_jobs.cdc.events import Column, TableSchema

MAX_STRUCTURES: Final = 16_384
"""Structures of rows whose enriched form is remembered; the oldest go first."""


class Told(Protocol):
    """A table's definition for rows behind ``after_ts``; ``structure`` None: not known any more."""

    @property
    def schema(self) -> str: ...

    @property
    def table(self) -> str: ...

    @property
    def after_ts(self) -> int: ...

    @property
    def structure(self) -> TableSchema | None: ...


class Enricher:
    """Looks up the definition that holds at a commit-ts; remembers the result per structure."""

    def __init__(self, told: Iterable[Told]) -> None:
        self._told: dict[tuple[str, str], list[Told]] = {}
        self._done: dict[tuple[int, int], tuple[TableSchema, TableSchema, TableSchema]] = {}
        for item in sorted(told, key=lambda item: item.after_ts):
            self._told.setdefault((item.schema, item.table), []).append(item)

    def __call__(self, table: TableSchema, commit_ts: int) -> TableSchema:
        told = self._told.get((table.schema, table.table))
        if not told:
            return table
        definition = next((item for item in reversed(told) if item.after_ts < commit_ts), None)
        if definition is None or definition.structure is None:
            return table
        key = (id(table), id(definition.structure))
        found = self._done.get(key)
        if found is None:
            if len(self._done) >= MAX_STRUCTURES:
                del self._done[next(iter(self._done))]
            found = self._done[key] = (table, definition.structure, enriched(table, definition.structure))
        return found[2]


def enriched(table: TableSchema, definition: TableSchema) -> TableSchema:
    """The columns of ``table``, each with its definition where name and base type agree."""
    columns = {column.name.lower(): column for column in definition.columns}
    merged = tuple(_merged(column, columns.get(column.name.lower())) for column in table.columns)
    return msgspec.structs.replace(table, columns=merged, indexes=definition.indexes)


def _merged(column: Column, definition: Column | None) -> Column:
    if definition is None or not same_type(column, definition):
        return column
    return msgspec.structs.replace(definition, name=column.name, is_key=column.is_key, source_type=column.source_type)


def sign_known(column: Column) -> bool:
    """Whether the source tells if the column is signed; some tell it by the value alone, and NULL tells nothing."""
    return bool(getattr(column.type, "sign_known", True))


def same_type(one: Column, other: Column) -> bool:
    """Whether two columns have the same type as far as a message can tell: base name and signedness."""
    if one.type.name != other.type.name:
        return False
    return one.type.unsigned == other.type.unsigned or not (sign_known(one) and sign_known(other))


def same_structure(row: TableSchema, definition: TableSchema) -> bool:
    """Whether rows of structure ``row`` fit ``definition``: same names and types in the same order.

    Virtual generated columns are in a definition and never in rows.
    """
    if row is definition:
        return True
    stored = stored_columns(definition)
    if len(row.columns) != len(stored):
        return False
    pairs = zip(row.columns, stored, strict=True)
    return all(one.name.lower() == other.name.lower() and same_type(one, other) for one, other in pairs)


def stored_columns(definition: TableSchema) -> list[Column]:
    """The columns that rows of the table have."""
    return [column for column in definition.columns if column.generated != "virtual"]


def is_part_of(row: TableSchema, definition: TableSchema) -> bool:
    """Whether ``row`` has only columns of ``definition``, with their types: an image of handle keys only."""
    columns = {column.name.lower(): column for column in definition.columns}
    return all(
        (other := columns.get(column.name.lower())) is not None and same_type(column, other) for column in row.columns
    )
