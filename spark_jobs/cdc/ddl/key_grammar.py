"""The grammar of keys and constraints: index parts, index options, references, checks."""

from collections.abc import Callable
from typing import Final

import msgspec

from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.nodes import (
    Check,
    Constraint,
    IndexOptions,
    IndexPart,
    Key,
    Reference,
    TableName,
)

_STARTS: Final = frozenset(
    {"CONSTRAINT", "PRIMARY", "KEY", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR", "FOREIGN", "CHECK"}
)
_TYPED_INDEXES: Final = frozenset({"FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR"})


def table_name(cursor: Cursor) -> TableName:
    """``table``, ``schema.table`` or ``.table``"""
    if cursor.accept("."):
        return TableName(cursor.name())
    first = cursor.name()
    return TableName(cursor.name(), first) if cursor.accept(".") else TableName(first)


def at_constraint(cursor: Cursor) -> bool:
    """Whether a key or check begins here, and not a column that is called like one (``vector int``)."""
    word, behind = cursor.peek().word, cursor.peek(1).word
    if word in ("VECTOR", "COLUMNAR"):
        return behind in ("INDEX", "KEY")
    return word in _STARTS


def constraint(cursor: Cursor) -> Constraint:
    """A key or check with all that belongs to it."""
    symbol = ""
    if cursor.accept("CONSTRAINT") and not cursor.at_any(_STARTS):
        symbol = cursor.name()
    if cursor.at("CHECK"):
        return check_tail(cursor, symbol)
    key = _key(cursor)
    return msgspec.structs.replace(key, symbol=symbol) if symbol else key


def _key(cursor: Cursor) -> Key:
    if cursor.accept("FOREIGN", "KEY"):
        exists = if_not_exists(cursor)
        name = "" if cursor.at("(") else cursor.name()
        parts = index_parts(cursor)
        return Key("FOREIGN KEY", parts, name, reference=reference(cursor), if_not_exists=exists)
    return key_tail(cursor, key_kind(cursor))


def key_kind(cursor: Cursor) -> str:
    """PRIMARY KEY, INDEX, UNIQUE, FULLTEXT … : one word for KEY and INDEX."""
    if cursor.accept("PRIMARY"):
        cursor.expect("KEY")
        return "PRIMARY KEY"
    word = cursor.accept_any(_TYPED_INDEXES) or cursor.accept_any(("UNIQUE",))
    if cursor.accept_any(("KEY", "INDEX")) and not word:
        return "INDEX"
    if not word:
        cursor.fail("a key")
    return f"{word} INDEX" if word in ("VECTOR", "COLUMNAR") else word


def key_tail(cursor: Cursor, kind: str) -> Key:
    """What follows the kind: name, type, parts, options."""
    exists = if_not_exists(cursor)
    name = cursor.name() if cursor.at_name() and not cursor.at_any(("USING", "TYPE")) else ""
    if not name and cursor.at("TYPE", "("):
        name = cursor.name()
    options = _index_type(cursor, IndexOptions())
    parts = index_parts(cursor)
    return Key(kind, parts, name, options=index_options(cursor, options), if_not_exists=exists)


def if_not_exists(cursor: Cursor) -> bool:
    """Whether IF NOT EXISTS stands here; passed over."""
    return cursor.accept("IF", "NOT", "EXISTS")


def if_exists(cursor: Cursor) -> bool:
    """Whether IF EXISTS stands here; passed over."""
    return cursor.accept("IF", "EXISTS")


def index_parts(cursor: Cursor) -> tuple[IndexPart, ...]:
    """``(column(length) DESC, (expression) …)``"""
    return cursor.parenthesised(_index_part)


def _index_part(cursor: Cursor) -> IndexPart:
    if cursor.at("("):
        expression = cursor.group()
        return IndexPart("", 0, _descending(cursor), expression)
    column = cursor.name()
    while cursor.accept("."):
        column = cursor.name()
    if cursor.at("("):
        start = cursor.peek()
        inside = cursor.group()
        if len(inside) == 1 and inside[0].text.isdecimal() and len(inside[0].text) <= 10:
            return IndexPart(column, int(inside[0].text), _descending(cursor))
        cursor.fail(f"a prefix length after character {start.start}")
    return IndexPart(column, 0, _descending(cursor))


def _descending(cursor: Cursor) -> bool:
    return cursor.accept_any(("ASC", "DESC")) == "DESC"


def index_options(cursor: Cursor, options: IndexOptions | None = None) -> IndexOptions:
    """Options behind an index's columns, in any order."""
    options = options or IndexOptions()
    while (read := _INDEX_OPTIONS.get(cursor.peek().word)) is not None:
        options = read(cursor, options)
    return options


def _index_type(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    if cursor.accept_any(("USING", "TYPE")):
        return msgspec.structs.replace(options, kind=cursor.next().word or cursor.fail("an index type"))
    return options


def _clustered(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    return msgspec.structs.replace(options, clustered=cursor.next().word == "CLUSTERED")


def _visible(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    return msgspec.structs.replace(options, visible=cursor.next().word in ("VISIBLE", "NOT"))


def _ignored(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    visible = cursor.accept("NOT")
    cursor.expect("IGNORED")
    return msgspec.structs.replace(options, visible=visible)


def _block_size(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    cursor.next()
    cursor.accept("=")
    return msgspec.structs.replace(options, block_size=cursor.integer())


def _comment(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    cursor.next()
    cursor.accept("=")
    return msgspec.structs.replace(options, comment=cursor.string())


def _parser(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    cursor.expect("WITH", "PARSER")
    return msgspec.structs.replace(options, parser=cursor.name())


def _scope(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    return msgspec.structs.replace(options, is_global=cursor.next().word == "GLOBAL")


def _pre_split(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    cursor.next()
    cursor.accept("=")
    if cursor.at("("):
        return msgspec.structs.replace(options, pre_split=cursor.bracketed())
    cursor.integer()
    return msgspec.structs.replace(options, pre_split=(cursor.last,))


def _unused(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    cursor.next()
    cursor.accept("=")
    cursor.next()
    return options


def _on_demand(cursor: Cursor, options: IndexOptions) -> IndexOptions:
    cursor.next()
    return options


_INDEX_OPTIONS: Final[dict[str, Callable[[Cursor, IndexOptions], IndexOptions]]] = {
    "USING": _index_type,
    "TYPE": _index_type,
    "CLUSTERED": _clustered,
    "NONCLUSTERED": _clustered,
    "VISIBLE": _visible,
    "INVISIBLE": _visible,
    "IGNORED": _ignored,
    "KEY_BLOCK_SIZE": _block_size,
    "COMMENT": _comment,
    "WITH": _parser,
    "GLOBAL": _scope,
    "LOCAL": _scope,
    "ENGINE_ATTRIBUTE": _unused,
    "SECONDARY_ENGINE_ATTRIBUTE": _unused,
    "PRE_SPLIT_REGIONS": _pre_split,
    "ADD_COLUMNAR_REPLICA_ON_DEMAND": _on_demand,
}


def check_tail(cursor: Cursor, name: str) -> Check:
    """``CHECK (…) [[NOT] ENFORCED]``"""
    cursor.expect("CHECK")
    expression = cursor.group()
    if cursor.accept("NOT", "ENFORCED"):
        return Check(expression, name, enforced=False)
    cursor.accept("ENFORCED")
    return Check(expression, name)


def reference(cursor: Cursor) -> Reference:
    """``REFERENCES table (…) MATCH … ON DELETE … ON UPDATE …``"""
    cursor.expect("REFERENCES")
    table = table_name(cursor)
    parts = index_parts(cursor) if cursor.at("(") else ()
    match = cursor.accept_any(("FULL", "PARTIAL", "SIMPLE")) if cursor.accept("MATCH") else ""
    actions = {"DELETE": "", "UPDATE": ""}
    while cursor.at("ON", "DELETE") or cursor.at("ON", "UPDATE"):
        cursor.expect("ON")
        event = cursor.accept_any(("DELETE", "UPDATE"))
        actions[event] = _reference_action(cursor)
    return Reference(table, parts, match, actions["DELETE"], actions["UPDATE"])


def _reference_action(cursor: Cursor) -> str:
    if cursor.accept("SET"):
        return f"SET {cursor.accept_any(('NULL', 'DEFAULT'))}"
    if cursor.accept("NO"):
        cursor.expect("ACTION")
        return "NO ACTION"
    return cursor.accept_any(("RESTRICT", "CASCADE")) or cursor.fail("RESTRICT, CASCADE, SET NULL or NO ACTION")
