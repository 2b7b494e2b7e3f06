"""Values of columns as CSV text, decided once per column type. The rules stand in ``csv.py``."""

import base64
import binascii
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final

import msgspec

from spark_jobs.cdc.codecs.csv.fields import Bare
from spark_jobs.cdc.events import (
    BINARY_TYPES,
    CHOICE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    NUMBER_TYPES,
    ColumnType,
    Row,
    TableSchema,
    Value,
)
from spark_jobs.cdc.mysql.float_text import shortest32
from spark_jobs.cdc.mysql.values import from_names, read_double, read_float, read_integer, to_names

ToField = Callable[[Value], str]
FromField = Callable[[str], Value]

SURELY_PLAIN_FROM: Final = 1e-3
SURELY_PLAIN_BELOW: Final = 1e5
_PLAIN_EXPONENTS: Final = range(-4, 6)


def go64(value: float) -> str:
    """A double as Go prints it: shortest digits, with an exponent below -4 or from 6 on. Not a number: 0, as TiCDC."""
    if SURELY_PLAIN_FROM <= abs(value) < SURELY_PLAIN_BELOW or value == 0:
        text = repr(value)
        return text[:-2] if text.endswith(".0") else text
    return _go(repr(value)) if math.isfinite(value) else "0"


def go32(value: float) -> str:
    """The same for a float: the shortest digits of 32 bits."""
    if not math.isfinite(value):
        return "0"
    text = shortest32(value)
    return text if SURELY_PLAIN_FROM <= abs(value) < SURELY_PLAIN_BELOW or value == 0 else _go(text)


def _go(shortest: str) -> str:
    number = Decimal(shortest).normalize()
    # the exponent of the digits that are shown, which may have been rounded up to the next power of ten
    exponent = number.adjusted()
    if exponent in _PLAIN_EXPONENTS:
        return format(number, "f")
    sign, digits, _ = number.as_tuple()
    fraction = "".join(map(str, digits[1:]))
    return f"{'-' if sign else ''}{digits[0]}{'.' if fraction else ''}{fraction}e{exponent:+03d}"


def to_base64(value: Value) -> str:
    """Bytes of a binary column."""
    return base64.b64encode(value).decode("ascii")  # type: ignore[arg-type]


def _to_hex(value: Value) -> str:
    return value.hex()  # type: ignore[union-attr]


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text[:80]!r} is not base64") from error


def _from_hex(text: str) -> bytes:
    try:
        return binascii.unhexlify(text)
    except binascii.Error as error:
        raise ValueError(f"{text[:80]!r} is not hexadecimal") from error


class Slot(msgspec.Struct, frozen=True):
    """How one column's values of one Python type are written.

    ``text``: as a string, quoted or escaped. ``convert``: what to do with a value first, None if nothing.
    """

    text: bool
    convert: Callable[..., str] | None = None


def slots(kind: ColumnType, *, hexadecimal: bool) -> dict[type, Slot]:
    """The slots of a column, by the Python type of the value. NULL has none, nor has a type that does not belong."""
    if kind.name in NUMBER_TYPES:
        return {int: Slot(text=False)}
    if kind.name in FLOAT_TYPES:
        convert = go32 if kind.name == "float" else go64
        return {float: Slot(text=False, convert=convert)}
    if kind.name in BINARY_TYPES:
        return {bytes: Slot(text=True, convert=_to_hex if hexadecimal else to_base64)}
    if not kind.name:  # the value says what it is
        return {of: slot for name in ("bigint", "double", "blob", "text") for of, slot in _by_name(name, hexadecimal)}
    if kind.name not in CHOICE_TYPES:
        return {str: Slot(text=True)}
    if kind.elements is None:
        return {int: Slot(text=False), str: Slot(text=True)}
    return {int: Slot(text=True, convert=to_names(kind)), str: Slot(text=True)}


def _by_name(name: str, hexadecimal: bool) -> Iterable[tuple[type, Slot]]:
    return slots(ColumnType(name), hexadecimal=hexadecimal).items()


def reader(kind: ColumnType, *, hexadecimal: bool) -> FromField:
    """A function from the field's text to the value; raises ``ValueError`` for text that is none of the type."""
    if kind.name in NUMBER_TYPES:
        return read_integer
    if kind.name in CHOICE_TYPES:
        names = from_names(kind)
        return lambda text: read_integer(text) if isinstance(text, Bare) else names(text)
    if kind.name in BINARY_TYPES:
        return _from_hex if hexadecimal else _from_base64
    return {"float": read_float, "double": read_double}.get(kind.name, str)


def handle_text(table: TableSchema) -> Callable[[Row], str] | None:
    """A function from a row to the text of its handle: of one integer key the number, of others ``{a, b}``.

    TiDB's own hidden row id, the handle of a table without a clustered primary key, is in no message: None without a
    primary key.
    """
    keys = [(at, _key_text(column.type)) for at, column in enumerate(table.columns) if column.is_key]
    if not keys:
        return None
    if len(keys) == 1 and table.columns[keys[0][0]].type.name in INTEGER_TYPES:
        at = keys[0][0]
        return lambda row: str(row[at])
    return lambda row: f"{{{', '.join(text(row[at]) for at, text in keys)}}}"


def _key_text(kind: ColumnType) -> ToField:
    if kind.name in BINARY_TYPES:
        return lambda value: value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
    return to_names(kind) if kind.name in CHOICE_TYPES else str
