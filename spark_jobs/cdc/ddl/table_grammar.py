"""The grammar of CREATE TABLE."""

import msgspec

from spark_jobs.cdc.ddl.alter_grammar import table_element
from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.key_grammar import if_not_exists, table_name
from spark_jobs.cdc.ddl.nodes import ColumnDefinition, Constraint, TableName, Tokens
from spark_jobs.cdc.ddl.option_grammar import table_options
from spark_jobs.cdc.ddl.partition_grammar import partitioning
from spark_jobs.cdc.ddl.tree import CreateTable


def create_table(cursor: Cursor, replace: bool) -> CreateTable:
    """``[GLOBAL] [TEMPORARY] TABLE …``"""
    temporary = " ".join(filter(None, (cursor.accept_any(("GLOBAL",)), cursor.accept_any(("TEMPORARY",)))))
    cursor.expect("TABLE")
    exists = if_not_exists(cursor)
    name = table_name(cursor)
    table = CreateTable(name, if_not_exists=exists, or_replace=replace, temporary=temporary)
    like = _like(cursor)
    if like is None and cursor.at("(") and cursor.peek(1).word not in ("SELECT", "WITH", "("):
        table = _with_elements(cursor, table)
    table = msgspec.structs.replace(table, like=like, options=table_options(cursor))
    if cursor.at("PARTITION", "BY"):
        table = msgspec.structs.replace(table, partitioning=partitioning(cursor))
    on_duplicate, select = _select(cursor)
    commit = _on_commit(cursor)
    return msgspec.structs.replace(table, on_duplicate=on_duplicate, select=select, on_commit=commit)


def _like(cursor: Cursor) -> TableName | None:
    if cursor.accept("LIKE"):
        return table_name(cursor)
    if not cursor.accept("(", "LIKE"):
        return None
    like = table_name(cursor)
    cursor.expect(")")
    return like


def _with_elements(cursor: Cursor, table: CreateTable) -> CreateTable:
    columns: list[ColumnDefinition] = []
    constraints: list[Constraint] = []
    for element in cursor.parenthesised(table_element):
        if isinstance(element, ColumnDefinition):
            columns.append(element)
        else:
            constraints.append(element)
    return msgspec.structs.replace(table, columns=tuple(columns), constraints=tuple(constraints))


def _select(cursor: Cursor) -> tuple[str, Tokens]:
    on_duplicate = cursor.accept_any(("IGNORE", "REPLACE"))
    cursor.accept("AS")
    if cursor.at_any(("SELECT", "WITH", "VALUES", "TABLE", "(")):
        return on_duplicate, cursor.rest()
    return "", ()


def _on_commit(cursor: Cursor) -> str:
    if not cursor.accept("ON", "COMMIT"):
        return ""
    kept = cursor.accept_any(("DELETE", "PRESERVE"))
    cursor.expect("ROWS")
    return kept
