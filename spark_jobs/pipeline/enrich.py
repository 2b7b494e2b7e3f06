"""Adds to a row's structure what only DDL tells: elements of enum and set, lengths, nullability.

Messages name base types only; CSV writes the names of enum and set elements, which the table's definition has.
"""

from collections.abc import Sequence

import msgspec

from spark_jobs.cdc.events import Column, TableSchema
from spark_jobs.pipeline.job import KnownStructure


class Enricher:
    """Looks up the definition that holds at a commit-ts; remembers the result per structure."""

    def __init__(self, known: Sequence[KnownStructure]) -> None:
        self._known: dict[tuple[str, str], list[KnownStructure]] = {}
        self.learn(sorted(known, key=lambda item: item.after_ts))
        self._done: dict[tuple[int, int], tuple[TableSchema, TableSchema]] = {}

    def learn(self, known: Sequence[KnownStructure]) -> None:
        """Adds definitions; of those that hold at a commit-ts the one learnt last counts."""
        for item in known:
            self._known.setdefault((item.schema, item.table), []).append(item)

    def __call__(self, table: TableSchema, commit_ts: int) -> TableSchema:
        definitions = self._known.get((table.schema, table.table))
        if not definitions:
            return table
        definition = next((item for item in reversed(definitions) if item.after_ts < commit_ts), None)
        if definition is None or definition.structure is None:
            return table
        key = (id(table), id(definition.structure))
        found = self._done.get(key)
        if found is None:
            found = self._done[key] = (table, enriched(table, definition.structure))
        return found[1]


def enriched(table: TableSchema, definition: TableSchema) -> TableSchema:
    """The columns of ``table``, each with its definition where name and base type agree."""
    columns = {column.name.lower(): column for column in definition.columns}
    merged = tuple(_merged(column, columns.get(column.name.lower())) for column in table.columns)
    return msgspec.structs.replace(table, columns=merged, indexes=definition.indexes)


def _merged(column: Column, definition: Column | None) -> Column:
    if definition is None or not same_type(column, definition):
        return column
    return msgspec.structs.replace(definition, name=column.name, is_key=column.is_key, source_type=column.source_type)


def same_type(one: Column, other: Column) -> bool:
    """Whether two columns have the same type as far as a message can tell: base name and signedness."""
    return one.type.name == other.type.name and one.type.unsigned == other.type.unsigned


def same_structure(row: TableSchema, definition: TableSchema) -> bool:
    """Whether rows of structure ``row`` fit ``definition``: same names and types in the same order.

    Virtual generated columns are in a definition and never in rows.
    """
    stored = [column for column in definition.columns if column.generated != "virtual"]
    if len(row.columns) != len(stored):
        return False
    pairs = zip(row.columns, stored, strict=True)
    return all(one.name.lower() == other.name.lower() and same_type(one, other) for one, other in pairs)


def is_part_of(row: TableSchema, definition: TableSchema) -> bool:
    """Whether ``row`` has only columns of ``definition``, with their types: an image of handle keys only."""
    columns = {column.name.lower(): column for column in definition.columns}
    return all(
        (other := columns.get(column.name.lower())) is not None and same_type(column, other) for column in row.columns
    )
