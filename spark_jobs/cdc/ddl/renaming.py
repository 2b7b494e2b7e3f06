"""A statement under other names: what a sink gets whose schemas or tables are called otherwise than the source's.

Names of tables and databases are replaced where the grammar knows them as such. What is kept as text (the SELECT of a
view, expressions, a statement that could not be parsed) stays.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from spark_jobs.cdc.ddl import nodes, tree
from spark_jobs.cdc.ddl.classify import TableId
from spark_jobs.cdc.ddl.statement import Statement

Route: TypeAlias = Callable[[str, str], TableId]
"""From (schema, table) to its new name; the table is "" where a database is meant."""


def under_names(statement: Statement, route: Route) -> Statement:
    """The statement with ``route`` applied to its names; the same object if none changes."""
    change = statement.change
    names = {(statement.schema, ""), *statement.tables, *statement.old_tables}
    if change is None or all(route(*name) == name for name in names):
        return statement
    schema = route(statement.schema, "")[0] if statement.schema else ""
    return msgspec.structs.replace(statement, schema=schema, change=_renamed(change, statement.schema, schema, route))


def _renamed(value: Any, current: str, routed: str, route: Route) -> Any:
    """``current``: the database in which the statement ran, ``routed``: its new name."""
    if isinstance(value, nodes.TableName):
        schema, table = route(value.schema or current, value.table)
        return nodes.TableName(table, schema if value.schema or schema != routed else "")
    if isinstance(value, tuple):
        return tuple(_renamed(item, current, routed, route) for item in value)
    if not isinstance(value, msgspec.Struct):
        return value
    changed = {
        name: new
        for name in value.__struct_fields__
        if (new := _renamed(old := getattr(value, name), current, routed, route)) is not old
    }
    if isinstance(value, tree.CreateDatabase | tree.DropDatabase | tree.AlterDatabase) and value.name:
        changed["name"] = route(value.name, "")[0]
    if isinstance(value, tree.RecoverTable) and value.table is not None and value.new_name:
        changed["new_name"] = route(value.table.schema or current, value.new_name)[1]
    return msgspec.structs.replace(value, **changed) if changed else value
