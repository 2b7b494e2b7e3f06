"""The grammar of CREATE VIEW and ALTER VIEW; the query is kept as tokens."""

from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.key_grammar import if_not_exists, table_name
from spark_jobs.cdc.ddl.nodes import Tokens
from spark_jobs.cdc.ddl.tokens import Kind
from spark_jobs.cdc.ddl.tree import CreateView


def create_view(cursor: Cursor, replace: bool) -> CreateView | None:
    """``[ALGORITHM = …] [DEFINER = …] [SQL SECURITY …] VIEW …``; None if a stored program follows the definer."""
    algorithm, definer, security = "UNDEFINED", None, "DEFINER"
    if cursor.accept("ALGORITHM"):
        cursor.expect("=")
        algorithm = cursor.next().word
    if cursor.accept("DEFINER"):
        cursor.expect("=")
        definer = _user(cursor)
    if cursor.accept("SQL", "SECURITY"):
        security = cursor.accept_any(("DEFINER", "INVOKER")) or cursor.fail("DEFINER or INVOKER")
    if not cursor.at("VIEW"):
        return None
    cursor.expect("VIEW")
    if_not_exists(cursor)
    name = table_name(cursor)
    columns = cursor.parenthesised(Cursor.name) if cursor.at("(") else ()
    cursor.expect("AS")
    select, check = _without_check_option(cursor.rest())
    if not select:
        cursor.fail("a query")
    return CreateView(name, select, columns, replace, algorithm, definer, security, check)


def _user(cursor: Cursor) -> tuple[str, str] | None:
    if cursor.accept("CURRENT_USER"):
        if cursor.accept("("):
            cursor.expect(")")
        return None
    name = cursor.name_or_string()
    token = cursor.peek()
    if token.kind is Kind.VARIABLE:
        cursor.next()
        host = token.text[1:].strip("`'\"")
        return name, host or cursor.name_or_string()
    return name, "%"


def _without_check_option(select: Tokens) -> tuple[Tokens, str]:
    words = [token.word for token in select[-4:]]
    if words[-2:] != ["CHECK", "OPTION"]:
        return select, ""
    if words[-3:-2] == ["WITH"]:
        return select[:-3], "CASCADED"
    if words[:1] == ["WITH"] and words[1] in ("LOCAL", "CASCADED"):
        return select[:-4], words[1]
    return select, ""
