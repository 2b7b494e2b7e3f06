"""Columns, indexes and tables as their definitions make them.

Rules (MySQL's)

1. A text column without a charset gets the table's; with the charset ``binary`` it is a blob or binary column.
   ``TEXT(50)`` is the smallest text type for 50 characters. NCHAR is utf8.
2. Keys: the columns of a primary key are NOT NULL, an AUTO_INCREMENT column too. An index without a name is called like
   its first column, with ``_2`` … if that is taken; a primary key is ``PRIMARY``.
3. Defaults are text as TiDB keeps it: ``"10"`` for 10 and '10', "1" for TRUE, ``"CURRENT_TIMESTAMP"`` whatever it was
   called and with any number of digits; the bytes of bit and binary columns as code points. NULL and no default are
   the same.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from spark_jobs.cdc.ddl import nodes, tree
from spark_jobs.cdc.ddl.column_grammar import BINARY_TWINS
from spark_jobs.cdc.ddl.parts_text import default_text, part_text
from spark_jobs.cdc.ddl.tokens import Kind
from spark_jobs.cdc.events import BINARY_TYPES, NUMBER_TYPES, TIME_TYPES, Column, ColumnType, Index, TableSchema
from spark_jobs.cdc.mysql.types import with_ddl_defaults

PRIMARY: Final = "PRIMARY"
_CHARACTER_TYPES: Final = frozenset(BINARY_TWINS) | {"enum", "set"}
_SIZED: Final = {
    "text": ("tinytext", "text", "mediumtext", "longtext"),
    "blob": ("tinyblob", "blob", "mediumblob", "longblob"),
}
_SIZES: Final = (255, 65535, 16777215)
_BYTES_PER_CHARACTER: Final = {
    "latin1": 1,
    "ascii": 1,
    "binary": 1,
    "gbk": 2,
    "ucs2": 2,
    "utf8": 3,
    "utf8mb3": 3,
}


class Charset(msgspec.Struct, frozen=True):
    """What a table gives its columns."""

    name: str = ""
    collation: str = ""


def column_type(type_: nodes.DataType, inherited: Charset, collation: str = "", late_charset: str = "") -> ColumnType:
    """The type that a definition with these words creates."""
    length, scale = _parameters(type_)
    charset = late_charset or type_.charset or ("utf8" if type_.national else "")
    plain = ColumnType(type_.name, type_.unsigned, type_.zerofill, length, scale, type_.elements)
    if type_.name in _CHARACTER_TYPES:
        return with_ddl_defaults(_with_charset(plain, charset, collation, inherited, type_.binary))
    return with_ddl_defaults(_sized(plain, 1))


def _parameters(type_: nodes.DataType) -> tuple[int | None, int | None]:
    numbers = type_.numbers
    if not numbers:
        return None, None
    if type_.name in TIME_TYPES:
        return None, numbers[0]
    if len(numbers) > 1:
        return numbers[0], numbers[1]
    if type_.name in ("float", "double"):
        return None, None
    return numbers[0], 0 if type_.name == "decimal" else None


def _with_charset(type_: ColumnType, charset: str, collation: str, inherited: Charset, binary: bool) -> ColumnType:
    if not charset and not collation:
        charset, collation = inherited.name, inherited.collation
    elif not charset:
        charset = charset_of(collation)
    if charset == "binary" and type_.name in BINARY_TWINS:
        type_ = msgspec.structs.replace(type_, name=BINARY_TWINS[type_.name])
        return _sized(type_, 1)
    if binary and charset and not collation:
        collation = f"{charset}_bin"
    type_ = msgspec.structs.replace(type_, charset=charset, collation=collation)
    return _sized(type_, _BYTES_PER_CHARACTER.get(charset, 4))


def charset_of(collation: str) -> str:
    """The charset a collation belongs to: the first part of its name."""
    return collation.partition("_")[0]


def _sized(type_: ColumnType, width: int) -> ColumnType:
    names = _SIZED.get(type_.name)
    if names is None or type_.length is None:
        return type_
    fits = sum(type_.length * width > size for size in _SIZES)
    return msgspec.structs.replace(type_, name=names[fits], length=None)


def column(definition: nodes.ColumnDefinition, inherited: Charset) -> Column:
    """The column that a definition makes, its own key options apart."""
    words = {option.kind: option.text for option in definition.options if isinstance(option, nodes.Attribute)}
    type_ = column_type(definition.type, inherited, words.get("COLLATE", ""), words.get("CHARACTER SET", ""))
    default, is_expression = _default(definition.options, type_)
    generated = [option for option in definition.options if isinstance(option, nodes.Generated)]
    increments = "AUTO_INCREMENT" in words
    return Column(
        name=definition.name,
        type=type_,
        is_key="PRIMARY KEY" in words,
        nullable=not increments and "PRIMARY KEY" not in words and _nullable(words),
        default=default,
        comment=words.get("COMMENT", ""),
        generated=("stored" if generated[-1].stored else "virtual") if generated else "",
        auto_increment=increments,
        on_update=_on_update(definition.options),
        default_is_expression=is_expression,
    )


def _nullable(words: Iterable[str]) -> bool:
    said = [word for word in words if word in ("NULL", "NOT NULL")]
    return said[-1:] != ["NOT NULL"]


def _default(options: Iterable[nodes.ColumnOption], type_: ColumnType) -> tuple[str | None, bool]:
    defaults = [option.value for option in options if isinstance(option, nodes.DefaultValue)]
    return default_value(defaults[-1], type_) if defaults else (None, False)


def _on_update(options: Iterable[nodes.ColumnOption]) -> str:
    values = [option.value for option in options if isinstance(option, nodes.OnUpdate)]
    return _expression(values[-1]) if values else ""


def default_value(default: nodes.Default, type_: ColumnType) -> tuple[str | None, bool]:
    """The default as a value, or as SQL and then True."""
    literal = None if default.bracketed else _literal(default.tokens)
    if literal is None:
        return _expression(default), True
    return _stored(literal[0], type_), False


def _expression(default: nodes.Default) -> str:
    text = default_text(default, "")
    if text.startswith("CURRENT_TIMESTAMP("):
        return "CURRENT_TIMESTAMP"
    return text[1:-1] if text.startswith("(") else text


def _literal(tokens: nodes.Tokens) -> tuple[str | bytes | int | None] | None:
    """The value of a literal, None if the tokens are no literal."""
    sign = "-" if tokens and tokens[0].word == "-" else ""
    tokens = tokens[1:] if tokens and tokens[0].word in ("-", "+") else tokens
    if len(tokens) > 1 and (tokens[0].text.startswith("_") or tokens[0].word in ("N", "DATE", "TIME", "TIMESTAMP")):
        tokens = tokens[1:]
    if not tokens or (len(tokens) > 1 and any(token.kind is not Kind.STRING for token in tokens)):
        return None
    if tokens[0].kind is Kind.STRING:
        return ("".join(token.text for token in tokens),)
    if tokens[0].kind is Kind.NUMBER:
        return (sign + tokens[0].text,)
    if tokens[0].kind is Kind.HEX:
        digits = tokens[0].text
        return (bytes.fromhex("0" * (len(digits) % 2) + digits),)
    if tokens[0].kind is Kind.BIT:
        return (int(tokens[0].text or "0", 2),)
    return _WORDS.get(tokens[0].word)


_WORDS: Final[dict[str, tuple[str | bytes | int | None]]] = {"NULL": (None,), "TRUE": ("1",), "FALSE": ("0",)}


def _stored(value: str | bytes | int | None, type_: ColumnType) -> str | None:
    """A literal in the form of the column's type."""
    if value is None:
        return None
    if type_.name == "bit":
        return _bits(value, type_)
    if isinstance(value, int):
        value = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
    if type_.name in BINARY_TYPES:
        return (value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value).decode("latin-1")
    if isinstance(value, str):
        return value
    if type_.name in NUMBER_TYPES:
        return str(int.from_bytes(value, "big"))
    return value.decode("utf-8", "surrogateescape")


def _bits(value: str | bytes | int, type_: ColumnType) -> str:
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) <= _LONGEST_BIT_NUMBER):
            return value
        value = int(value)
    if isinstance(value, int):
        size = ((type_.length or 1) + 7) // 8
        value = value.to_bytes(max(size, (value.bit_length() + 7) // 8), "big")
    return value.decode("latin-1")


_LONGEST_BIT_NUMBER: Final = 20


def own_keys(definition: nodes.ColumnDefinition) -> tuple[nodes.Key, ...]:
    """The keys that a column's own options make."""
    kinds = [option.kind for option in definition.options if isinstance(option, nodes.Attribute)]
    part = (nodes.IndexPart(definition.name),)
    return tuple(nodes.Key(kind.replace("UNIQUE KEY", "UNIQUE"), part) for kind in _OWN_KEYS if kind in kinds)


_OWN_KEYS: Final = ("PRIMARY KEY", "UNIQUE KEY")


def index(key: nodes.Key, taken: Iterable[str]) -> Index:
    """The index that a key makes; ``taken``: names of the table's other indexes."""
    columns = tuple(part.column or part_text(part) for part in key.parts)
    return Index(
        name=PRIMARY if key.kind == "PRIMARY KEY" else key.name or key.symbol or _free_name(key, taken),
        columns=columns,
        unique=key.kind in ("PRIMARY KEY", "UNIQUE"),
        visible=key.options.visible is not False,
    )


def _free_name(key: nodes.Key, taken: Iterable[str]) -> str:
    first = key.parts[0].column or "expression_index"
    used = {name.lower() for name in taken}
    number, name = 2, first
    while name.lower() in used:
        number, name = number + 1, f"{first}_{number}"
    return name


def new_table(change: tree.CreateTable, schema: str) -> TableSchema:
    """The structure that CREATE TABLE with columns makes."""
    values = {option.name: option.value for option in change.options}
    collation = values.get("COLLATE", "")
    inherited = Charset(values.get("CHARACTER SET") or charset_of(collation), collation)
    return TableSchema(
        schema=change.name.schema or schema,
        table=change.name.table,
        columns=tuple(column(definition, inherited) for definition in change.columns),
        indexes=(),
        comment=values.get("COMMENT", ""),
        charset=inherited.name,
        collation=inherited.collation,
        partitioned=change.partitioning is not None,
    )
