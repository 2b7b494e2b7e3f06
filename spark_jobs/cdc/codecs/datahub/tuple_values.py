"""The field types of DataHub's Tuple topics, to and from MySQL's (fact sheet §8).

Every value goes over the wire as text, or as null.

    =====================================  =========================================================================
    MySQL                                  Tuple
    =====================================  =========================================================================
    tinyint … bigint, year, bit(2…63)      BIGINT; ``integers=exact``: TINYINT, SMALLINT, INTEGER, BIGINT, for
                                           unsigned ones the next larger (these need readers of SDK 2.16.1 or later)
    bigint unsigned, bit(64)               DECIMAL; ``bigint-unsigned=string``: STRING. A bit whose width the source
                                           does not tell counts as bit(64), for its values may be as large
    tinyint(1)                             as above; ``tinyint1=boolean``: BOOLEAN, and 2 is refused
    bit(1)                                 BOOLEAN: ``true``, ``false``
    float, double                          DOUBLE, shortest digits
    decimal                                DECIMAL with all its digits; STRING above a precision of 38; where the
                                           source tells no precision, a value of more digits is refused
    date, datetime, timestamp              TIMESTAMP: **microseconds** since 1970 of the text read in ``time-zone``;
                                           zero dates are null
    time, json, text types                 STRING
    enum, set                              STRING: the names; the number's digits where no elements are known
    binary types, blob types, geometry     STRING with base64: the format has no bytes
    =====================================  =========================================================================

A STRING holds at most 2 MB. ``READ_AS`` has the MySQL type that each field type is read as.
"""

import base64
import math
import re
from collections.abc import Callable
from datetime import tzinfo
from decimal import Decimal
from typing import Final, TypeAlias

import msgspec

from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.events import BINARY_TYPES, CHOICE_TYPES, FLOAT_TYPES, INTEGER_TYPES, ColumnType, Value
from spark_jobs.cdc.mysql.float_text import float32
from spark_jobs.cdc.mysql.types import Dialect
from spark_jobs.cdc.mysql.values import read_double, to_names, to_text
from spark_jobs.cdc.mysql.zoned_time import from_epoch_us, to_epoch_us

Write: TypeAlias = Callable[[Value], str | None]
Read: TypeAlias = Callable[[str], Value]

MAX_STRING_BYTES: Final = 2 << 20
_MIN_TIMESTAMP, _MAX_TIMESTAMP = -62135798400000000, 253402271999000000
_MAX_DECIMAL_DIGITS = 38

WRITE_OPTIONS: Final = (
    Option("integers", "choice", "bigint", "integers as BIGINT or in their own size", ("bigint", "exact")),
    Option("bigint-unsigned", "choice", "decimal", "bigint unsigned as DECIMAL or STRING", ("decimal", "string")),
    Option("tinyint1", "choice", "integer", "tinyint(1) as integer or BOOLEAN", ("integer", "boolean")),
    Option("time-zone", "str", "UTC", "zone of zone-less dates and times"),
)


class Rules(msgspec.Struct, frozen=True):
    """How MySQL values are written."""

    exact_integers: bool
    unsigned_as_string: bool
    tinyint1_as_boolean: bool
    zone: tzinfo

    @classmethod
    def of(cls, options: Options) -> "Rules":
        return cls(
            exact_integers=options.text("integers") == "exact",
            unsigned_as_string=options.text("bigint-unsigned") == "string",
            tinyint1_as_boolean=options.text("tinyint1") == "boolean",
            zone=options.zone("time-zone"),
        )


_EXACT: Final[dict[tuple[str, bool], str]] = {
    ("tinyint", False): "TINYINT",
    ("tinyint", True): "SMALLINT",
    ("smallint", False): "SMALLINT",
    ("smallint", True): "INTEGER",
    ("mediumint", False): "INTEGER",
    ("mediumint", True): "INTEGER",
    ("int", False): "INTEGER",
}
"""(type, unsigned) → the smallest field type that holds it, where that is not BIGINT."""


def writer(type_: ColumnType, rules: Rules) -> tuple[str, Write]:
    """The field type of a column, and the function that writes its values that are not NULL.

    The function raises ``ValueError`` for a value that the type cannot carry.
    """
    name = type_.name
    if name in INTEGER_TYPES or name in ("year", "bit"):
        return _integer_writer(type_, rules)
    if name in FLOAT_TYPES:
        return "DOUBLE", _write_double
    if name == "decimal":
        return ("STRING", _write_text) if (type_.length or 0) > _MAX_DECIMAL_DIGITS else ("DECIMAL", _write_decimal)
    if name in ("date", "datetime", "timestamp"):
        return "TIMESTAMP", lambda value: _write_timestamp(value, rules.zone)
    if name in BINARY_TYPES:
        return "STRING", _write_bytes
    if not name:
        text = to_text(type_, Dialect.TICDC)
        return "STRING", lambda value: _write_text(text(value))
    return "STRING", _choice_writer(type_) if name in CHOICE_TYPES else _write_text


def _integer_writer(type_: ColumnType, rules: Rules) -> tuple[str, Write]:
    name, bits = type_.name, (type_.length or 64) if type_.name == "bit" else None
    if bits == 1 or (name == "tinyint" and type_.length == 1 and rules.tinyint1_as_boolean):
        return "BOOLEAN", _write_boolean
    if bits == 64 or (name == "bigint" and type_.unsigned):
        return ("STRING" if rules.unsigned_as_string else "DECIMAL"), str
    return (_EXACT.get((name, type_.unsigned), "BIGINT") if rules.exact_integers else "BIGINT"), str


def _write_boolean(value: Value) -> str:
    if value not in (0, 1):
        raise ValueError(f"{value!r} is neither 0 nor 1, so it is no BOOLEAN")
    return "true" if value else "false"


def _write_decimal(value: Value) -> str:
    text = _write_text(value)
    if len(text) > _MAX_DECIMAL_DIGITS and sum(map(str.isdigit, text)) > _MAX_DECIMAL_DIGITS:
        raise ValueError(f"{text[:80]!r} has more than {_MAX_DECIMAL_DIGITS} digits, so it is no DECIMAL")
    return text


def _write_double(value: Value) -> str:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return repr(float(value))


def _write_timestamp(value: Value, zone: tzinfo) -> str | None:
    epoch_us = to_epoch_us(str(value), zone)
    if epoch_us is None:
        return None
    if not _MIN_TIMESTAMP <= epoch_us <= _MAX_TIMESTAMP:
        raise ValueError(f"{value!r} in this time zone is outside the range of TIMESTAMP")
    return str(epoch_us)


def _write_text(value: Value) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    # a character has four bytes at most
    if len(value) > MAX_STRING_BYTES // 4 and len(value.encode()) > MAX_STRING_BYTES:
        raise ValueError(f"a text of more than {MAX_STRING_BYTES} bytes does not fit a STRING")
    return value


def _write_bytes(value: Value) -> str:
    return _write_text(base64.b64encode(value).decode("ascii"))  # type: ignore[arg-type]


def _choice_writer(type_: ColumnType) -> Write:
    names = to_names(type_)
    return lambda value: _write_text(names(value))


READ_AS: Final[dict[str, ColumnType]] = {
    "TINYINT": ColumnType("tinyint"),
    "SMALLINT": ColumnType("smallint"),
    "INTEGER": ColumnType("int"),
    "BIGINT": ColumnType("bigint"),
    "FLOAT": ColumnType("float"),
    "DOUBLE": ColumnType("double"),
    "BOOLEAN": ColumnType("bit", length=1),
    "TIMESTAMP": ColumnType("datetime", scale=6),
    "STRING": ColumnType("varchar"),
    "DECIMAL": ColumnType("decimal"),
}
"""The MySQL type that a field is read as."""

_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
_INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,38}(?:\.[0-9]{1,38})?", re.ASCII)
_SCIENTIFIC = re.compile(r"[+-]?[0-9]{1,38}(?:\.[0-9]{0,38})?[eE][+-]?[0-9]{1,2}", re.ASCII)
_BOOLEANS: Final = {"true": 1, "1": 1, "false": 0, "0": 0}


def readers(zone: tzinfo) -> dict[str, Read]:
    """For each field type the function that reads its texts; it raises ``ValueError`` for a text of another type."""
    integers: dict[str, Read] = {name: _integer_reader(name, bits) for name, bits in _BITS.items()}
    return integers | {
        "FLOAT": lambda text: _read_float(text),
        "DOUBLE": read_double,
        "BOOLEAN": _read_boolean,
        "TIMESTAMP": lambda text: _read_timestamp(text, zone),
        "STRING": lambda text: text,
        "DECIMAL": _read_decimal,
    }


def _integer_reader(name: str, bits: int) -> Read:
    limit = 1 << bits - 1

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text) or not -limit <= int(text) < limit:
            raise ValueError(f"{text[:40]!r} is not a {name}")
        return int(text)

    return read


def _read_float(text: str) -> float:
    try:
        return float32(read_double(text))
    except OverflowError:
        raise ValueError(f"{text[:40]!r} does not fit a FLOAT") from None


def _read_boolean(text: str) -> int:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError(f"{text[:40]!r} is not a BOOLEAN")
    return value


def _read_timestamp(text: str, zone: tzinfo) -> str:
    try:
        if _INTEGER.fullmatch(text):
            return from_epoch_us(int(text), zone, 6)
    except (OverflowError, ValueError):
        pass
    raise ValueError(f"{text[:40]!r} is not a TIMESTAMP of the years 1 to 9999 in microseconds")


def _read_decimal(text: str) -> str:
    if _DECIMAL.fullmatch(text):
        return text
    if _SCIENTIFIC.fullmatch(text):
        return format(Decimal(text), "f")
    raise ValueError(f"{text[:40]!r} is not a DECIMAL")
