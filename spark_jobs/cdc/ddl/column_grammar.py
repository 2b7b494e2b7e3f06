"""The grammar of a column definition: data type and column options.

Rules

1. Type names have many spellings, of up to three words (``national character varying``); ``mysql_types.ALIASES`` knows
   them. ``serial`` as a type is ``bigint unsigned not null auto_increment unique``, ``serial default value`` as an
   option its last three.
2. Options may stand in any order, and several times; the last one wins.
"""

from collections.abc import Callable
from typing import Final

from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.default_grammar import default_value
from spark_jobs.cdc.ddl.key_grammar import check_tail, reference
from spark_jobs.cdc.ddl.nodes import (
    Attribute,
    ColumnDefinition,
    ColumnOption,
    DataType,
    DefaultValue,
    Generated,
    OnUpdate,
)
from spark_jobs.cdc.ddl.tokens import Kind
from spark_jobs.cdc.mysql.types import ALIASES

_LONGEST_TYPE_NAME: Final = 3
_SERIAL: Final = (Attribute("NOT NULL"), Attribute("AUTO_INCREMENT"), Attribute("UNIQUE KEY"))
_NATIONAL: Final = frozenset({"NATIONAL", "NCHAR", "NVARCHAR"})


def column_definition(cursor: Cursor) -> ColumnDefinition:
    """``name type option…``"""
    name = column_name(cursor)
    serial = cursor.at("SERIAL")
    type_ = data_type(cursor)
    options: list[ColumnOption] = [*_SERIAL] if serial else []
    while (found := _option(cursor)) is not None:
        options.extend(found)
    return ColumnDefinition(name, type_, tuple(options))


def column_name(cursor: Cursor) -> str:
    """A column's name; a table's before it is passed over."""
    name = cursor.name()
    while cursor.accept("."):
        name = cursor.name()
    return name


def data_type(cursor: Cursor) -> DataType:
    """A type with its parameters and attributes."""
    national = cursor.at_any(_NATIONAL)
    written = _type_name(cursor)
    name = ALIASES.get(written, written)
    numbers: tuple[int, ...] = (1,) if written in ("bool", "boolean") else ()
    elements, element_type = None, ""
    if cursor.at("(") and name in ("enum", "set"):
        elements = cursor.parenthesised(_element)
    elif cursor.at("("):
        numbers = cursor.parenthesised(Cursor.integer)
    elif name == "vector" and cursor.accept("<"):
        element_type = cursor.name().lower()
        cursor.expect(">")
        numbers = cursor.parenthesised(Cursor.integer) if cursor.at("(") else ()
    if name == "float" and len(numbers) == 1:
        name, numbers = ("double" if numbers[0] > 24 else "float"), ()
    return _with_attributes(
        cursor, DataType(name, numbers, elements, written == "serial", national=national, element_type=element_type)
    )


def _element(cursor: Cursor) -> str:
    token = cursor.peek()
    if token.kind is Kind.HEX and len(token.text) % 2 == 0:
        return bytes.fromhex(cursor.next().text).decode("utf-8", "surrogateescape")
    if token.kind is Kind.BIT and token.text:
        value = int(cursor.next().text, 2)
        return value.to_bytes((value.bit_length() + 7) // 8, "big").decode("utf-8", "surrogateescape")
    return cursor.string()


def _type_name(cursor: Cursor) -> str:
    for count in range(_LONGEST_TYPE_NAME, 1, -1):
        words = [cursor.peek(ahead).word for ahead in range(count)]
        name = " ".join(words).lower()
        if name in ALIASES:
            cursor.expect(*words)
            return name
    if cursor.peek().kind is not Kind.WORD or not cursor.peek().word[:1].isalpha():
        cursor.fail("a data type")
    return cursor.next().word.lower()


def _with_attributes(cursor: Cursor, type_: DataType) -> DataType:
    unsigned, zerofill, binary, charset = type_.unsigned, False, False, ""
    name = type_.name
    while True:
        if cursor.accept("UNSIGNED"):
            unsigned = True
        elif cursor.accept("ZEROFILL"):
            unsigned = zerofill = True
        elif cursor.accept("BINARY"):
            binary = True
        elif found := _charset(cursor):
            charset = found
        elif cursor.accept("BYTE"):
            charset = "binary"
        elif not cursor.accept("SIGNED"):
            break
    return DataType(
        BINARY_TWINS.get(name, name) if charset == "binary" else name,
        type_.numbers,
        type_.elements,
        unsigned,
        zerofill,
        binary,
        "" if charset == "binary" else charset,
        type_.national,
        type_.element_type,
    )


BINARY_TWINS: Final = {
    "char": "binary",
    "varchar": "varbinary",
    "tinytext": "tinyblob",
    "text": "blob",
    "mediumtext": "mediumblob",
    "longtext": "longblob",
}
"""What a text type is called with the charset ``binary``."""


def _charset(cursor: Cursor) -> str:
    if cursor.accept("CHARACTER", "SET") or cursor.accept("CHAR", "SET") or cursor.accept("CHARSET"):
        cursor.accept("=")
        return cursor.name_or_string().lower()
    return cursor.accept_any(("ASCII", "UNICODE")).lower().replace("ascii", "latin1").replace("unicode", "ucs2")


def _option(cursor: Cursor) -> tuple[ColumnOption, ...] | None:
    read = _OPTIONS.get(cursor.peek().word)
    return read(cursor) if read else None


def _words(*words: str, kind: str = "") -> Callable[[Cursor], tuple[ColumnOption, ...]]:
    def read(cursor: Cursor) -> tuple[ColumnOption, ...]:
        cursor.expect(*words)
        return (Attribute(kind or " ".join(words)),)

    return read


def _unique(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.expect("UNIQUE")
    cursor.accept("KEY")
    return (Attribute("UNIQUE KEY", _scope(cursor)),)


def _primary(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.accept("PRIMARY")
    cursor.expect("KEY")
    clustered = cursor.accept_any(("CLUSTERED", "NONCLUSTERED"))
    return (Attribute("PRIMARY KEY", clustered or _scope(cursor)),)


def _scope(cursor: Cursor) -> str:
    return cursor.accept_any(("GLOBAL", "LOCAL"))


def _comment(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.expect("COMMENT")
    cursor.accept("=")
    return (Attribute("COMMENT", cursor.string()),)


def _collate(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.expect("COLLATE")
    cursor.accept("=")
    return (Attribute("COLLATE", cursor.name_or_string().lower()),)


def _late_charset(cursor: Cursor) -> tuple[ColumnOption, ...]:
    charset = _charset(cursor)
    if not charset:
        cursor.fail("SET")
    return (Attribute("CHARACTER SET", charset),)


def _valued(cursor: Cursor) -> tuple[ColumnOption, ...]:
    kind = cursor.next().word
    cursor.accept("=")
    return (Attribute(kind, cursor.name_or_string().upper()),)


def _engine_attribute(cursor: Cursor) -> tuple[ColumnOption, ...]:
    kind = cursor.next().word
    cursor.accept("=")
    return (Attribute(kind, cursor.string()),)


def _srid(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.expect("SRID")
    return (Attribute("SRID", str(cursor.integer())),)


def _auto_random(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.expect("AUTO_RANDOM")
    return (Attribute("AUTO_RANDOM", numbers=cursor.parenthesised(Cursor.integer) if cursor.at("(") else ()),)


def _serial(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.expect("SERIAL", "DEFAULT", "VALUE")
    return _SERIAL


def _default(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.expect("DEFAULT")
    return (DefaultValue(default_value(cursor)),)


def _on_update(cursor: Cursor) -> tuple[ColumnOption, ...]:
    cursor.expect("ON", "UPDATE")
    return (OnUpdate(default_value(cursor)),)


def _generated(cursor: Cursor) -> tuple[ColumnOption, ...]:
    if cursor.accept("GENERATED"):
        cursor.expect("ALWAYS")
    cursor.expect("AS")
    expression = cursor.group()
    stored = cursor.accept_any(("VIRTUAL", "STORED", "PERSISTENT")) in ("STORED", "PERSISTENT")
    return (Generated(expression, stored),)


def _check(cursor: Cursor) -> tuple[ColumnOption, ...]:
    if not cursor.accept("CONSTRAINT") or cursor.at("CHECK"):
        return (check_tail(cursor, ""),)
    name = cursor.name()
    if cursor.at_any(_NAMELESS):
        return _option(cursor) or ()
    return (check_tail(cursor, name),)


_NAMELESS: Final = frozenset({"PRIMARY", "UNIQUE", "KEY", "REFERENCES"})
"""A column's key may be given a name, too; nobody keeps it."""


def _reference(cursor: Cursor) -> tuple[ColumnOption, ...]:
    return (reference(cursor),)


_OPTIONS: Final[dict[str, Callable[[Cursor], tuple[ColumnOption, ...]]]] = {
    "NOT": _words("NOT", "NULL"),
    "NULL": _words("NULL"),
    "AUTO_INCREMENT": _words("AUTO_INCREMENT"),
    "INVISIBLE": _words("INVISIBLE"),
    "VISIBLE": _words("VISIBLE"),
    "UNIQUE": _unique,
    "PRIMARY": _primary,
    "KEY": _primary,
    "COMMENT": _comment,
    "COLLATE": _collate,
    "CHARACTER": _late_charset,
    "CHARSET": _late_charset,
    "COLUMN_FORMAT": _valued,
    "STORAGE": _valued,
    "ENGINE_ATTRIBUTE": _engine_attribute,
    "SECONDARY_ENGINE_ATTRIBUTE": _engine_attribute,
    "SRID": _srid,
    "AUTO_RANDOM": _auto_random,
    "SERIAL": _serial,
    "DEFAULT": _default,
    "ON": _on_update,
    "GENERATED": _generated,
    "AS": _generated,
    "CHECK": _check,
    "CONSTRAINT": _check,
    "REFERENCES": _reference,
}
