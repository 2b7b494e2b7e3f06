"""The structures of all tables, followed through a stream of statements.

Rules

1. A table that is not in the catalog is not known, or is not there; nothing is ever raised for it. A change of an
   unknown table leaves it unknown, and so does what makes a table of an unknown one (LIKE, AS SELECT, recovery).
2. A statement that could not be parsed makes the tables it is about unknown, and so does a change that does not fit
   what is known: a wrong structure is worse than none.
3. Names are looked up as written, and if that fails in any letter case, as TiDB does.
4. Temporary tables are not replicated: they neither enter nor hide a table.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from spark_jobs.cdc.ddl import tree
from spark_jobs.cdc.ddl.classify import TableId, resolved
from spark_jobs.cdc.ddl.statement import Statement
from spark_jobs.cdc.ddl.structure import Unfit, altered, created
from spark_jobs.cdc.events import TableSchema


class Catalog(Mapping[TableId, TableSchema]):
    """Structures by (schema, table). Immutable: ``with_table`` and ``without`` give new ones."""

    __slots__ = ("_folded", "_tables")

    def __init__(self, tables: Mapping[TableId, TableSchema] | None = None) -> None:
        self._tables = dict(tables or {})
        self._folded = {_folded(key): key for key in self._tables}

    def __getitem__(self, key: TableId) -> TableSchema:
        return self._tables[self._stored(key)]

    def __iter__(self) -> Iterator[TableId]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"Catalog({self._tables!r})"

    def _stored(self, key: TableId) -> TableId:
        return key if key in self._tables else self._folded.get(_folded(key), key)

    def with_table(self, table: TableSchema) -> "Catalog":
        """This catalog with the table in its new structure."""
        key = (table.schema, table.table)
        changed = self.without(key) if self._stored(key) != key else self
        return Catalog._of(changed._tables | {key: table}, changed._folded | {_folded(key): key})

    def without(self, *keys: TableId) -> "Catalog":
        """This catalog without these tables, whether they are in it or not."""
        stored = {self._stored(key) for key in keys} & self._tables.keys()
        if not stored:
            return self
        tables, folded = self._tables.copy(), self._folded.copy()
        for key in stored:
            del tables[key]
            folded.pop(_folded(key), None)
        return Catalog._of(tables, folded)

    @classmethod
    def _of(cls, tables: dict[TableId, TableSchema], folded: dict[TableId, TableId]) -> "Catalog":
        catalog = cls.__new__(cls)
        catalog._tables, catalog._folded = tables, folded
        return catalog

    def without_schema(self, schema: str) -> "Catalog":
        """This catalog without any table of the schema."""
        return self.without(*(key for key in self._tables if key[0].lower() == schema.lower()))


def _folded(key: TableId) -> TableId:
    return key[0].lower(), key[1].lower()


def apply(statement: Statement, catalog: Catalog) -> Catalog:
    """The catalog after the statement. Never raises."""
    if statement.change is None:
        return _after_unparsed(statement, catalog)
    change = _CHANGES.get(type(statement.change))
    if change is None:
        return catalog
    try:
        return change(catalog, statement.change, statement)
    except Unfit:
        return catalog.without(*statement.tables, *statement.old_tables)


def _after_unparsed(statement: Statement, catalog: Catalog) -> Catalog:
    for schema, table in statement.tables:
        catalog = catalog.without((schema, table)) if table else catalog.without_schema(schema)
    return catalog


def _create_table(catalog: Catalog, change: tree.CreateTable, statement: Statement) -> Catalog:
    key = statement.tables[0]
    if change.temporary or (change.if_not_exists and key in catalog):
        return catalog
    if change.like is not None:
        source = catalog.get(resolved(change.like, statement.schema))
        if source is None:
            return catalog.without(key)
        return catalog.with_table(msgspec.structs.replace(source, schema=key[0], table=key[1]))
    if change.select or not change.columns:
        return catalog.without(key)
    return catalog.with_table(created(change, statement.schema))


def _drop_table(catalog: Catalog, change: tree.DropTable, statement: Statement) -> Catalog:
    return catalog if change.temporary or change.view else catalog.without(*statement.tables)


def _rename_table(catalog: Catalog, change: tree.RenameTable, statement: Statement) -> Catalog:
    return _renamed(catalog, catalog.get(statement.old_tables[0]), statement)


def _renamed(catalog: Catalog, table: TableSchema | None, statement: Statement) -> Catalog:
    new, old = statement.tables[0], statement.old_tables[0]
    if table is None:
        # it has been renamed already, or it never was known: what the new name says now stays only in the first case
        return catalog
    return catalog.without(old).with_table(msgspec.structs.replace(table, schema=new[0], table=new[1]))


def _alter_table(catalog: Catalog, change: tree.AlterTable, statement: Statement) -> Catalog:
    key = statement.old_tables[0] if statement.old_tables else statement.tables[0]
    table = catalog.get(key)
    table = None if table is None else altered(table, change.specs)
    if statement.old_tables:
        return _renamed(catalog, table, statement)
    return catalog if table is None else catalog.with_table(table)


def _create_index(catalog: Catalog, change: tree.CreateIndex, statement: Statement) -> Catalog:
    return _with_spec(catalog, tree.AddConstraint(change.key), statement)


def _drop_index(catalog: Catalog, change: tree.DropIndex, statement: Statement) -> Catalog:
    return _with_spec(catalog, tree.DropKey("INDEX", change.name), statement)


def _with_spec(catalog: Catalog, spec: tree.Spec, statement: Statement) -> Catalog:
    table = catalog.get(statement.tables[0])
    return catalog if table is None else catalog.with_table(altered(table, (spec,)))


def _drop_database(catalog: Catalog, change: tree.DropDatabase, statement: Statement) -> Catalog:
    return catalog.without_schema(change.name)


_CHANGES: Final[dict[type, Callable[[Catalog, Any, Statement], Catalog]]] = {
    tree.CreateTable: _create_table,
    tree.AlterTable: _alter_table,
    tree.DropTable: _drop_table,
    tree.RenameTable: _rename_table,
    tree.CreateIndex: _create_index,
    tree.DropIndex: _drop_index,
    tree.DropDatabase: _drop_database,
}
