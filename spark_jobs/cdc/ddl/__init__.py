"""MySQL's and TiDB's DDL: what a statement does, its normalised text, and the structure of tables after it.

    parse("ALTER TABLE t ADD c INT", "shop")   →  (Statement(action=ADD_COLUMN, tables=(("shop", "t"),), …),)
    apply(statement, catalog)                  →  the catalog after it
    normalise("alter table t add c int;")      →  ("ALTER TABLE `t` ADD COLUMN `c` INT",)
    canal_type_of("alter table t add c int;")  →  CanalType.ALTER

Rules

1. One ``Statement`` per table for DROP TABLE a, b, DROP VIEW a, b and RENAME TABLE a TO b, c TO d (each then is "rename
   table"). ``USE s`` gives none; it is the current database of what follows.
2. Nothing here raises, whatever the text is. What cannot be parsed is one ``Statement`` with ``parsed=False``, the
   reason, the text as it was, and what its first words tell.
3. A text above ``MAX_LENGTH``, ``MAX_STATEMENTS`` or ``cursor.MAX_TOKENS`` is not parsed. Below these, time grows with
   the length only: one pass, and no recursion.

No execution, no expression values, no privileges; SELECT and stored programs are passed over.
"""

from typing import Final

from spark_jobs.cdc.ddl import tree
from spark_jobs.cdc.ddl.actions import REPLICATED, Action, CanalType, action_name, canal_type
from spark_jobs.cdc.ddl.catalog import Catalog, apply
from spark_jobs.cdc.ddl.classify import TableId, action_of, tables_of
from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.fallback import guess
from spark_jobs.cdc.ddl.statement import Statement
from spark_jobs.cdc.ddl.statement_grammar import statement
from spark_jobs.cdc.ddl.statement_text import statement_text
from spark_jobs.cdc.ddl.tokens import DdlSyntaxError

__all__ = [
    "REPLICATED",
    "Action",
    "CanalType",
    "Catalog",
    "Statement",
    "TableId",
    "action_name",
    "apply",
    "canal_type",
    "canal_type_of",
    "normalise",
    "normalised",
    "parse",
]

MAX_LENGTH: Final = 4 << 20
"""Characters of a text that is still parsed."""
MAX_STATEMENTS: Final = 4096
"""Statements of a text that is still parsed."""


def parse(query: str, current_schema: str = "") -> tuple[Statement, ...]:
    """The statements of a text, in order. Empty for a text of blanks, comments and USE alone."""
    if len(query) > MAX_LENGTH:
        return (guess(query, current_schema, f"the text is longer than {MAX_LENGTH} characters"),)
    try:
        return _parse(query, current_schema)
    except DdlSyntaxError as error:
        return (guess(query, current_schema, str(error)),)


def _parse(query: str, schema: str) -> tuple[Statement, ...]:
    cursor, statements, start = Cursor(query), list[Statement](), 0
    while not cursor.finished:
        if cursor.accept(";"):
            start = cursor.last.end
        elif cursor.accept("USE"):
            schema = cursor.name()
        else:
            changes = statement(cursor)
            text = query[start : cursor.peek().start].strip()
            if len(statements) + len(changes) > MAX_STATEMENTS:
                raise DdlSyntaxError(f"there are more than {MAX_STATEMENTS} statements")
            statements += [_statement(change, text, schema) for change in changes]
    return tuple(statements)


def _statement(change: tree.Change, text: str, schema: str) -> Statement:
    action = action_of(change)
    tables, old_tables = tables_of(change, schema)
    return Statement(
        query=text,
        action=action,
        canal_type=canal_type(action),
        schema=schema,
        tables=tables,
        old_tables=old_tables,
        change=change,
    )


def canal_type_of(query: str) -> CanalType:
    """Canal's word for a text: that of its first statement, as Canal itself has it; QUERY where there is none.

    An ALTER TABLE that TiDB has no action for (ENGINE, FORCE …) is ALTER.
    """
    first = next(iter(parse(query)), None)
    if first is None:
        return CanalType.QUERY
    if first.action is Action.NONE and isinstance(first.change, tree.AlterTable):
        return CanalType.ALTER
    return first.canal_type


def normalise(query: str, charset: str = "", collate: str = "", current_schema: str = "") -> tuple[str, ...]:
    """TiCDC's texts of the statements, one for each that ``parse`` gives; "" for one that no sink gets.

    ``charset`` and ``collate`` are those of the connection that ran the statement ("" is utf8mb4).
    """
    return tuple(normalised(statement, charset) for statement in parse(query, current_schema))


def normalised(statement: Statement, charset: str = "") -> str:
    """TiCDC's text of one statement; the text as it was if it could not be parsed."""
    if isinstance(statement.change, tree.Other | None):
        return "" if statement.change is not None and statement.change.dropped else statement.query
    return statement_text(statement.change, charset, statement.schema)
