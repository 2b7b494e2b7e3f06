"""MySQL column types: their text, read and written, and their java.sql.Types codes.

Rules

1. Base names are TiDB's (``int``, ``decimal`` …); MySQL's other spellings are read as these (``ALIASES``). ``bool`` is
   ``tinyint(1)``, ``float(p)`` with p > 24 is ``double``, ``zerofill`` implies ``unsigned``, every spatial type is
   ``geometry``.
2. What the text does not say is not known: ``decimal`` is read without precision, because TiCDC's ``mysqlType`` leaves
   it out. In a column definition the same word means ``decimal(10,0)``: ``with_ddl_defaults`` adds that.
3. Three ways to write a type:

   ============== =============================== =============================================
   ``short_text`` TiCDC's ``mysqlType``           ``decimal unsigned``, ``enum``
   ``full_text``  TiCDC's ``content-compatible``  ``int(10) unsigned``, ``enum('a','b')``
   ``canal_text`` Canal's own                     only what is known: ``int unsigned``, ``decimal(10,2)``
   ============== =============================== =============================================

   ``unsigned`` is not written for bit and year, ``zerofill`` not for year.
4. The java.sql.Types code of an unsigned integer depends on the value: one that does not fit the signed type has the
   code of the next wider one (``WIDER_CODES``); mediumint always fits. NULL has the base code in TiCDC; Canal has other
   codes for NULL in two types (``CANAL_NULL_CODES``).
"""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final

import msgspec

from spark_jobs.cdc.events import CHOICE_TYPES, INTEGER_TYPES, TIME_TYPES, ColumnType, Value


class Dialect(StrEnum):
    """Whose rules of text and codes: TiCDC's or those of Canal's own server."""

    TICDC = "ticdc"
    CANAL = "canal"


ALIASES: Final[dict[str, str]] = {
    "bool": "tinyint",
    "boolean": "tinyint",
    "int1": "tinyint",
    "int2": "smallint",
    "int3": "mediumint",
    "middleint": "mediumint",
    "int4": "int",
    "integer": "int",
    "int8": "bigint",
    "serial": "bigint",
    "float4": "float",
    "float8": "double",
    "real": "double",
    "double precision": "double",
    "numeric": "decimal",
    "dec": "decimal",
    "fixed": "decimal",
    "newdecimal": "decimal",
    "character": "char",
    "nchar": "char",
    "national char": "char",
    "national character": "char",
    "character varying": "varchar",
    "char varying": "varchar",
    "varcharacter": "varchar",
    "var_string": "varchar",
    "nvarchar": "varchar",
    "nchar varchar": "varchar",
    "nchar varying": "varchar",
    "national varchar": "varchar",
    "national varcharacter": "varchar",
    "national char varying": "varchar",
    "national character varying": "varchar",
    "char byte": "binary",
    "long": "mediumtext",
    "long varchar": "mediumtext",
    "long varbinary": "mediumblob",
} | dict.fromkeys(
    (
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
        "geomcollection",
    ),
    "geometry",
)
"""Other spellings of a base name."""

_TYPE = re.compile(
    r"""([^()'"]*+) (?:\( ((?: [^()'"] | '(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+" )*+) \) ([^()'"]*+))?""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_ELEMENTS = re.compile(r"""\s*(?:'((?:[^'\\]|\\.|'')*+)'|"((?:[^"\\]|\\.|"")*+)")\s*(,|\Z)""", re.DOTALL)
_ESCAPE = re.compile(r"''|\\(.)", re.DOTALL)
_DOUBLE_QUOTED_ESCAPE = re.compile(r'""|\\(.)', re.DOTALL)
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "b": "\b", "Z": "\x1a"}
_QUOTED = str.maketrans({"'": "''", "\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_CACHED_LENGTH = 1024
_MAX_LENGTH = 1 << 20
_MAX_PARAMETER = (1 << 32) - 1


def parse_type(text: str) -> ColumnType:
    """The type that a text such as ``decimal(10,2) unsigned`` or ``ENUM('a','b''c')`` names.

    Unknown base names are kept in lower case; attributes other than unsigned, zerofill, charset and collate are passed
    over. Raises ``ValueError`` for text that is no type at all.
    """
    return _parse_cached(text) if len(text) <= _CACHED_LENGTH else _parse(text)


def _parse(text: str) -> ColumnType:
    match = _TYPE.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    words = match[1].lower().split() if match else []
    if match is None or not words or not _NAME.fullmatch(words[0]):
        raise ValueError(f"{text[:80]!r} is not a MySQL type")
    written = _longest_name(words)
    name = ALIASES.get(written, written)
    words = words[written.count(" ") + 1 :] + (match[3] or "").lower().split()
    length, scale, elements = _parameters(name, written, match[2], text)
    if name == "float" and length is not None and scale is None:
        name, length = ("double" if length > 24 else "float"), None
    zerofill = "zerofill" in words
    return ColumnType(
        name=name,
        unsigned=zerofill or "unsigned" in words or written == "serial",
        zerofill=zerofill,
        length=length,
        scale=scale,
        elements=elements,
        charset=_after(words, "charset") or _after(words, "set"),
        collation=_after(words, "collate"),
    )


_parse_cached = lru_cache(maxsize=4096)(_parse)


def _longest_name(words: list[str]) -> str:
    """``double precision`` is one name, ``int unsigned`` a name and an attribute."""
    candidates = (" ".join(words[:count]) for count in (3, 2))
    return next((name for name in candidates if name in ALIASES), words[0])


def _after(words: list[str], key: str) -> str:
    return next((word for before, word in pairwise(words) if before == key), "")


def _parameters(
    name: str, written: str, inside: str | None, text: str
) -> tuple[int | None, int | None, tuple[str, ...] | None]:
    if inside is None:
        return (1 if written in ("bool", "boolean") else None), None, None
    if name in CHOICE_TYPES:
        return None, None, _parse_elements(inside, text)
    numbers = [part.strip() for part in inside.split(",")]
    if len(numbers) > 2 or not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in numbers):
        raise ValueError(f"{text[:80]!r} is not a MySQL type: {inside[:80]!r} is not a length")
    first, second = int(numbers[0]), int(numbers[1]) if len(numbers) == 2 else None
    if max(first, second or 0) > _MAX_PARAMETER:
        raise ValueError(f"{text[:80]!r} is not a MySQL type: the length is too big")
    if name in TIME_TYPES:
        return None, first, None
    return first, (0 if name == "decimal" and second is None else second), None


def _parse_elements(inside: str, text: str) -> tuple[str, ...]:
    elements: list[str] = []
    at, more = 0, True
    while more:
        match = _ELEMENTS.match(inside, at)
        if match is None:
            raise ValueError(f"{text[:80]!r} is not a MySQL type: its elements are not quoted strings")
        elements.append(_element(match))
        at, more = match.end(), match[3] == ","
    return tuple(elements)


def _element(match: re.Match[str]) -> str:
    if match[1] is not None:
        return _ESCAPE.sub(lambda found: _unescape(found, "'"), match[1])
    return _DOUBLE_QUOTED_ESCAPE.sub(lambda found: _unescape(found, '"'), match[2])


def _unescape(found: re.Match[str], quote: str) -> str:
    escaped: str | None = found[1]
    return quote if escaped is None else _UNESCAPED.get(escaped, escaped)


DEFAULT_WIDTHS: Final[dict[str, tuple[int, int]]] = {
    "tinyint": (4, 3),
    "smallint": (6, 5),
    "mediumint": (9, 8),
    "int": (11, 10),
    "bigint": (20, 20),
}
"""Display width of an integer type that gives none: (signed, unsigned)."""

_DDL_LENGTHS: Final = {"bit": 1, "year": 4, "decimal": 10, "char": 1, "binary": 1}


def with_ddl_defaults(type_: ColumnType) -> ColumnType:
    """The type that a *column definition* with these words creates: widths, precision and length that MySQL assumes."""
    if type_.length is not None:
        return type_
    length = _default_width(type_) or _DDL_LENGTHS.get(type_.name)
    scale = 0 if type_.name == "decimal" else type_.scale
    return msgspec.structs.replace(type_, length=length, scale=scale)


def _default_width(type_: ColumnType) -> int | None:
    widths = DEFAULT_WIDTHS.get(type_.name)
    return widths[type_.unsigned] if widths else None


_NO_UNSIGNED: Final = frozenset({"bit", "year"})


def _attributes(type_: ColumnType) -> str:
    unsigned = " unsigned" if type_.unsigned and type_.name not in _NO_UNSIGNED else ""
    zerofill = " zerofill" if type_.zerofill and type_.name != "year" else ""
    return unsigned + zerofill


def quote_element(element: str) -> str:
    """An enum or set element as MySQL writes it."""
    return f"'{element.translate(_QUOTED)}'"


def _known_parameters(type_: ColumnType) -> str:
    if type_.elements is not None:
        return f"({','.join(map(quote_element, type_.elements))})"
    if type_.name in TIME_TYPES:
        return f"({type_.scale})" if type_.scale else ""
    if type_.length is None or type_.name in _BARE:
        return ""
    return f"({type_.length})" if type_.scale is None else f"({type_.length},{type_.scale})"


_BARE: Final = frozenset(
    {"tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob", "json", "geometry"}
)


def short_text(type_: ColumnType) -> str:
    """TiCDC's ``mysqlType``: base name, unsigned, zerofill."""
    return type_.name + _attributes(type_)


def full_text(type_: ColumnType) -> str:
    """TiCDC's ``mysqlType`` with ``content-compatible``: with all parameters.

    Integers and year without a known width get MySQL's default one, since a width says nothing about the values; what
    does (precision of decimal, length of char …) is written only where it is known.
    """
    if type_.length is None and (type_.name in INTEGER_TYPES or type_.name == "year"):
        type_ = with_ddl_defaults(type_)
    return type_.name + _known_parameters(type_) + _attributes(type_)


def canal_text(type_: ColumnType) -> str:
    """The type as Canal's own server writes it, as far as it is known. (Canal keeps the letter case of the DDL.)"""
    return type_.name + _known_parameters(type_) + _attributes(type_)


SQL_CODES: Final[dict[str, int]] = {
    "tinyint": -6,
    "smallint": 5,
    "mediumint": 4,
    "int": 4,
    "bigint": -5,
    "float": 7,
    "double": 8,
    "decimal": 3,
    "date": 91,
    "time": 92,
    "datetime": 93,
    "timestamp": 93,
    "char": 1,
    "varchar": 12,
    "tinytext": 2005,
    "text": 2005,
    "mediumtext": 2005,
    "longtext": 2005,
    "binary": 2004,
    "varbinary": 2004,
    "tinyblob": 2004,
    "blob": 2004,
    "mediumblob": 2004,
    "longblob": 2004,
    "geometry": 2004,
    "enum": 4,
    "set": -7,
    "bit": -7,
    "year": 12,
    "json": 12,
    "vector": 12,
}
OTHER_SQL_CODE: Final = 12
"""java.sql.Types code of a type that has none of its own (VARCHAR)."""

WIDER_CODES: Final[dict[str, tuple[int, int]]] = {
    "tinyint": (127, 5),
    "smallint": (32767, 4),
    "int": (2147483647, -5),
    "bigint": (9223372036854775807, 3),
}
"""Unsigned integers: (the last value with the base code, the code of greater ones)."""

CANAL_NULL_CODES: Final[dict[str, int]] = {"json": 1111, "set": 2004}
"""Codes of NULL in Canal where they are not the base code."""


def sql_code(type_: ColumnType) -> int:
    """The base java.sql.Types code: that of a value in the signed range, and of NULL in TiCDC."""
    return SQL_CODES.get(type_.name, OTHER_SQL_CODE)


def wider_code(type_: ColumnType) -> tuple[int, int] | None:
    """(limit, code for values above it) for a type whose code depends on the value, None for all others."""
    return WIDER_CODES.get(type_.name) if type_.unsigned else None


@lru_cache(maxsize=1024)
def sql_code_of(type_: ColumnType, dialect: Dialect) -> Callable[[Value], int]:
    """A function from a value (None for NULL) to its java.sql.Types code."""
    base = sql_code(type_)
    null = CANAL_NULL_CODES.get(type_.name, base) if dialect is Dialect.CANAL else base
    limit_code = wider_code(type_)
    if limit_code is None:
        return (lambda value: base) if null == base else (lambda value: null if value is None else base)
    limit, wider = limit_code
    return lambda value: base if value is None or value <= limit else wider  # type: ignore[operator]
