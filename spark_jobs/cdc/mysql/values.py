"""Values between their canonical Python form (``events.VALUE_FORMS``) and Canal's text.

Rules

1. Canal (TiCDC's canal-json and Canal's own formats alike) writes every value that is not NULL as text.
2. bit is an unsigned decimal number, enum the 1-based index (0: the error value), set the bit mask.
3. Bytes of binary columns are ISO-8859-1: byte b is the character U+00bb, 0x80–0x9F included.
4. float and double: TiCDC never writes an exponent; Canal writes what Java prints.
5. year 0 is ``0`` in TiCDC and ``0000`` in Canal.
6. Everything else is passed on as it is: exact decimals, MySQL's date and time texts, JSON, strings.

The functions that are *returned* are decided once per type and take one value that is not NULL. They raise
``ValueError`` for a value that is none of the type; the codec that calls them says where.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Final

import msgspec

from spark_jobs.cdc.events import BINARY_TYPES, CHOICE_TYPES, NUMBER_TYPES, ColumnType, Value
from spark_jobs.cdc.mysql.float_text import float32, java32, java64, plain32, plain64
from spark_jobs.cdc.mysql.types import Dialect

FromText = Callable[[str], Value]
ToText = Callable[[Value], str]

_INTEGER = re.compile(r"[+-]?[0-9]{1,64}", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?", re.ASCII)
_MIN_INTEGER = -(1 << 63)
_MAX_INTEGER = (1 << 64) - 1
_read_int64s = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(ge=_MIN_INTEGER, le=_MAX_INTEGER >> 1)]]).decode
_read_floats = msgspec.json.Decoder(list[float]).decode


def read_integer(text: str) -> int:
    """A decimal number of at most 64 bits, signed or unsigned."""
    if _INTEGER.fullmatch(text) and _MIN_INTEGER <= (number := int(text)) <= _MAX_INTEGER:
        return number
    raise ValueError(f"{text[:80]!r} is not a 64-bit number")


def read_integers(texts: Sequence[str]) -> list[int]:
    """``read_integer`` of each; those of 64 bits in the usual form all at once, as a JSON list."""
    joined = ",".join(texts)
    try:
        numbers = _read_int64s(f"[{joined}]")
        if len(numbers) == len(texts) and _has_no_blank(joined):
            return numbers
    except msgspec.MsgspecError:
        pass
    return [read_integer(text) for text in texts]


def read_doubles(texts: Sequence[str]) -> list[float]:
    """``read_double`` of each; those in the usual form all at once, as a JSON list, which loses the sign of -0."""
    joined = ",".join(texts)
    try:
        numbers = _read_floats(f"[{joined}]")
        if len(numbers) == len(texts) and 0.0 not in numbers and math.isfinite(sum(numbers)) and _has_no_blank(joined):
            return numbers
    except msgspec.MsgspecError:
        pass
    return [read_double(text) for text in texts]


def _has_no_blank(text: str) -> bool:
    """JSON takes blanks around a number."""
    return text.split() == [text]


def read_double(text: str) -> float:
    """A 64-bit number; exponents are read, NaN and infinity are not (MySQL stores none)."""
    if len(text) <= 2048 and _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    raise ValueError(f"{text[:80]!r} is not a number")


def read_float(text: str) -> float:
    """A 32-bit number, widened."""
    try:
        return float32(read_double(text))
    except OverflowError:
        raise ValueError(f"{text[:80]!r} does not fit 32 bits") from None


def read_bytes(text: str) -> bytes:
    """ISO-8859-1 characters as bytes."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise ValueError(f"the text of a binary value has a character above U+00FF at index {error.start}") from None


def read_text(text: str) -> str:
    """Text stands for itself."""
    return text


@lru_cache(maxsize=1024)
def from_text(type_: ColumnType) -> FromText:
    """A function from Canal's text to a value of this type.

    Of enum and set it reads the number that Canal and TiCDC write; and names, which some other producers write, as the
    number where the elements are known and as they are where they are not.
    """
    if type_.name in NUMBER_TYPES:
        return read_integer
    if type_.name in CHOICE_TYPES:
        names = from_names(type_)
        return lambda text: read_integer(text) if _INTEGER.fullmatch(text) else names(text)
    if type_.name in BINARY_TYPES:
        return read_bytes
    return {"float": read_float, "double": read_double}.get(type_.name, read_text)


def _write_year(value: Value) -> str:
    return str(value).zfill(4)


def _write_bytes(value: Value) -> str:
    return value.decode("latin-1")  # type: ignore[union-attr]


def _write_text(value: Value) -> str:
    return value  # type: ignore[return-value]


_FLOAT_TEXT: Final[dict[tuple[str, Dialect], Callable[[float], str]]] = {
    ("float", Dialect.TICDC): plain32,
    ("double", Dialect.TICDC): plain64,
    ("float", Dialect.CANAL): java32,
    ("double", Dialect.CANAL): java64,
}


@lru_cache(maxsize=1024)
def to_text(type_: ColumnType, dialect: Dialect) -> ToText:
    """A function from a value of this type to the text that TiCDC or Canal writes.

    Values are expected in their canonical form and are not checked; of enum and set it also takes names, where the
    elements are known.
    """
    if type_.name == "year" and dialect is Dialect.CANAL:
        return _write_year
    if type_.name in NUMBER_TYPES:
        return str
    if type_.name in CHOICE_TYPES:
        number = choice_number(type_)
        return lambda value: str(number(value))
    if type_.name in BINARY_TYPES:
        return _write_bytes
    if not type_.name:
        return _UNTYPED[dialect]
    return _FLOAT_TEXT.get((type_.name, dialect), _write_text)  # type: ignore[return-value]


def _untyped(double: Callable[[float], str]) -> ToText:
    """For a column whose type the source does not name: the value says what it is."""
    texts: dict[type, Callable[..., str]] = {int: str, float: double, bytes: _write_bytes, str: _write_text}

    def text(value: Value) -> str:
        write = texts.get(type(value))
        if write is None:
            raise ValueError(f"{value!r:.80} is no value")
        return write(value)

    return text


_UNTYPED: Final[dict[Dialect, ToText]] = {Dialect.TICDC: _untyped(plain64), Dialect.CANAL: _untyped(java64)}


@lru_cache(maxsize=1024)
def from_names(type_: ColumnType) -> FromText:
    """A function from an enum's element or a set's joined elements to the value: the number if the elements are known.

    The text itself is the value if they are not. The empty text is 0 unless it is an element.
    """
    if type_.elements is None:
        return read_text
    numbers = _element_numbers(type_)
    if type_.name == "enum":
        return lambda text: _number_of(text, numbers)
    return lambda text: sum({_number_of(name, numbers) for name in text.split(",")})


def _number_of(name: str, numbers: dict[str, int]) -> int:
    number = numbers.get(name)
    if number is None:
        raise ValueError(f"{name[:80]!r} is none of the elements")
    return number


def _element_numbers(type_: ColumnType) -> dict[str, int]:
    elements = type_.elements or ()
    if type_.name == "enum":
        return {"": 0} | {name: index for index, name in enumerate(elements, 1)}
    return {"": 0} | {name: 1 << bit for bit, name in enumerate(elements)}


@lru_cache(maxsize=1024)
def choice_number(type_: ColumnType) -> Callable[[Value], int]:
    """A function from an enum or set value to its number; raises ``ValueError`` for names without known elements."""
    names = from_names(type_)

    def number(value: Value) -> int:
        found = names(value) if isinstance(value, str) else value
        if not isinstance(found, int):
            raise ValueError(f"the {type_.name} value {value!r} is a name, and its elements are not known")
        return found

    return number


@lru_cache(maxsize=1024)
def to_names(type_: ColumnType) -> ToText:
    """A function from an enum or set value to the element, or the elements joined by comma.

    Where the elements are not known it writes the number: nothing better is known. Raises ``ValueError`` for a number
    beyond the elements.
    """
    elements = type_.elements
    if elements is None:
        return str
    render = _enum_name if type_.name == "enum" else _set_names
    return lambda value: value if isinstance(value, str) else render(value, elements)


def _enum_name(value: Value, elements: tuple[str, ...]) -> str:
    assert isinstance(value, int)
    if not 0 <= value <= len(elements):
        raise ValueError(f"the enum has no element {value}")
    return elements[value - 1] if value else ""


def _set_names(value: Value, elements: tuple[str, ...]) -> str:
    assert isinstance(value, int)
    if value < 0 or value >> len(elements):
        raise ValueError(f"the set has no members for {value:#b}")
    return ",".join(name for bit, name in enumerate(elements) if value >> bit & 1)
