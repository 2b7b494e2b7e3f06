"""The six value types of DataHub's Blob JSON ("StreamX" types), to and from MySQL's.

Written (fact sheet §3; the column's type decides, never the value, so that type list and values agree)

    =====================================  ========  ==========================================================
    MySQL                                  StreamX   JSON
    =====================================  ========  ==========================================================
    tinyint … bigint, year, bit(2…63)      LONG      integer; bigint unsigned exact up to 2**64 - 1, although a
                                                     Java reader stops at 2**63 - 1 (``bigint-unsigned=string``)
    tinyint(1)                             LONG      ``tinyint1=boolean``: BOOLEAN, and 2 is refused
    bit(1)                                 BOOLEAN   true, false
    bit(64), time, json, text types        STRING    the text
    of no name (TiDB Binlog has such)      STRING    numbers as digits, bytes as ISO-8859-1
    enum, set                              STRING    the names; the number's digits where no elements are known
    float, double                          DOUBLE    number
    decimal                                STRING    the exact text; ``decimal=double``: DOUBLE with all its digits
    date, datetime, timestamp              DATE      milliseconds since 1970 of the text read in ``time-zone``;
                                                     digits below the millisecond are cut off (``microseconds=fail``
                                                     refuses them), zero dates are null (``zero-date=fail``);
                                                     ``date=string``: STRING with MySQL's text, nothing is lost
    binary types, blob types, geometry     BYTES     base64 with padding
    =====================================  ========  ==========================================================

Read: the widest MySQL type that holds every value and may be a key (``READ_AS``). DATE becomes ``datetime(3)`` in
``time-zone``. LONG becomes ``bigint``; a message with a value above 2**63 - 1 has ``bigint unsigned`` in that column.
Besides their own form, LONG and DATE are read from strings of digits. NULL of every type is JSON null.
"""

import base64
import binascii
import math
import re
from collections.abc import Callable
from datetime import tzinfo
from typing import Final, TypeAlias

import msgspec

from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.events import BINARY_TYPES, CHOICE_TYPES, FLOAT_TYPES, INTEGER_TYPES, ColumnType, Value
from spark_jobs.cdc.mysql.types import Dialect
from spark_jobs.cdc.mysql.values import to_names, to_text
from spark_jobs.cdc.mysql.zoned_time import from_epoch_us, to_epoch_us

Json: TypeAlias = bool | int | float | str | None
Write: TypeAlias = Callable[[Value], Json | msgspec.Raw]
Read: TypeAlias = Callable[[Json], Value]

READ_AS: Final[dict[str, ColumnType]] = {
    "BOOLEAN": ColumnType("bit", length=1),
    "LONG": ColumnType("bigint"),
    "DOUBLE": ColumnType("double"),
    "STRING": ColumnType("varchar"),
    "DATE": ColumnType("datetime", scale=3),
    "BYTES": ColumnType("varbinary"),
}
UNSIGNED_LONG: Final = ColumnType("bigint", unsigned=True)
_MIN_LONG, _MAX_LONG, _MAX_UNSIGNED = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1

WRITE_OPTIONS: Final = (
    Option("decimal", "choice", "string", "decimal columns as STRING (exact) or DOUBLE", ("string", "double")),
    Option("bigint-unsigned", "choice", "long", "bigint unsigned as LONG or STRING", ("long", "string")),
    Option("tinyint1", "choice", "long", "tinyint(1) as LONG or BOOLEAN", ("long", "boolean")),
    Option("date", "choice", "date", "date, datetime, timestamp as DATE or STRING", ("date", "string")),
    Option("microseconds", "choice", "truncate", "digits below DATE's millisecond", ("truncate", "fail")),
    Option("zero-date", "choice", "null", "dates with a zero part, which are no DATE", ("null", "fail")),
    Option("time-zone", "str", "UTC", "zone of zone-less dates and times"),
)


class Rules(msgspec.Struct, frozen=True):
    """How MySQL values are written; the defaults lose the least."""

    decimal: str
    bigint_unsigned: str
    tinyint1: str
    date: str
    microseconds: str
    zero_date: str
    zone: tzinfo

    @classmethod
    def of(cls, options: Options) -> "Rules":
        return cls(
            decimal=options.text("decimal"),
            bigint_unsigned=options.text("bigint-unsigned"),
            tinyint1=options.text("tinyint1"),
            date=options.text("date"),
            microseconds=options.text("microseconds"),
            zero_date=options.text("zero-date"),
            zone=options.zone("time-zone"),
        )


class TooLong(Exception):
    """A LONG that only an unsigned column holds."""


def writer(type_: ColumnType, rules: Rules) -> tuple[str, Write]:
    """The StreamX type of a column, and the function that writes its values that are not NULL.

    The function raises ``ValueError`` for a value that the type cannot carry.
    """
    name = type_.name
    if name in INTEGER_TYPES or name == "year":
        return _integer_writer(type_, rules)
    if name == "bit":
        return _BIT_WRITERS.get(type_.length, ("LONG", _as_it_is))
    if name in FLOAT_TYPES:
        return "DOUBLE", _write_double
    if name == "decimal" and rules.decimal == "double":
        return "DOUBLE", _write_exact_number
    if name in ("date", "datetime", "timestamp") and rules.date == "date":
        return "DATE", lambda value: _write_date(value, rules)
    if name in BINARY_TYPES:
        return "BYTES", _write_bytes
    if not name:
        return "STRING", to_text(type_, Dialect.TICDC)
    return "STRING", to_names(type_) if name in CHOICE_TYPES else _as_it_is


def _integer_writer(type_: ColumnType, rules: Rules) -> tuple[str, Write]:
    if type_.name == "bigint" and type_.unsigned and rules.bigint_unsigned == "string":
        return "STRING", str
    if type_.name == "tinyint" and type_.length == 1 and rules.tinyint1 == "boolean":
        return "BOOLEAN", _write_boolean
    return "LONG", _as_it_is


def _as_it_is(value: Value) -> Json:
    return value  # type: ignore[return-value]


def _write_boolean(value: Value) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{value!r} is neither 0 nor 1, so it is no BOOLEAN")
    return value == 1


def _write_double(value: Value) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


_BIT_WRITERS: Final[dict[int | None, tuple[str, Write]]] = {1: ("BOOLEAN", _write_boolean), 64: ("STRING", str)}
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)


def _write_exact_number(value: Value) -> msgspec.Raw:
    text = str(value)
    if not _JSON_NUMBER.fullmatch(text):
        raise ValueError(f"{value!r} is not a decimal number")
    return msgspec.Raw(text.encode())


def _write_date(value: Value, rules: Rules) -> int | None:
    epoch_us = to_epoch_us(str(value), rules.zone)
    if epoch_us is None:
        if rules.zero_date == "fail":
            raise ValueError(f"{value!r} is no point in time")
        return None
    if epoch_us % 1000 and rules.microseconds == "fail":
        raise ValueError(f"{value!r} has digits below the millisecond, which DATE cannot carry")
    return epoch_us // 1000


def _write_bytes(value: Value) -> str:
    return base64.b64encode(value).decode("ascii")  # type: ignore[arg-type]


def readers(zone: tzinfo) -> dict[str, Read]:
    """For each StreamX type the function that reads values that are not null.

    It raises ``ValueError`` for a value of another type. That of LONG raises ``TooLong`` above 2**63 - 1;
    ``read_unsigned`` then takes its place.
    """
    return _READERS | {"DATE": lambda value: _read_date(value, zone)}


def _read_boolean(value: Json) -> int:
    if not isinstance(value, bool):
        raise ValueError(f"BOOLEAN is true or false, not {_shown(value)}")
    return int(value)


def _read_long(value: Json) -> int:
    number = value if type(value) is int else _integer(value, "LONG")
    if not _MIN_LONG <= number <= _MAX_LONG:
        if number <= _MAX_UNSIGNED and number > 0:
            raise TooLong
        raise ValueError(f"{_shown(value)} does not fit 64 bits")
    return number


def read_unsigned(value: Json) -> int:
    """A LONG of a column that holds one above 2**63 - 1."""
    number = _integer(value, "LONG")
    if not 0 <= number <= _MAX_UNSIGNED:
        raise ValueError(f"{_shown(value)} does not fit an unsigned column beside a value above 2**63 - 1")
    return number


_DIGITS = re.compile(r"-?[0-9]{1,20}", re.ASCII)


def _integer(value: Json, streamx: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    raise ValueError(f"{streamx} is an integer, not {_shown(value)}")


def _read_double(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"DOUBLE is a number, not {_shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{_shown(value)} does not fit a DOUBLE") from None


def _read_string(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError(f"STRING is a string, not {_shown(value)}")
    return value


def _read_date(value: Json, zone: tzinfo) -> str:
    epoch_ms = _integer(value, "DATE")
    try:
        return from_epoch_us(epoch_ms * 1000, zone, 3)
    except (OverflowError, ValueError):
        raise ValueError(f"{_shown(value)} milliseconds are outside the years 1 to 9999") from None


def _read_bytes(value: Json) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"BYTES is a base64 string, not {_shown(value)}")
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("BYTES is not standard base64") from None


_READERS: Final[dict[str, Read]] = {
    "BOOLEAN": _read_boolean,
    "LONG": _read_long,
    "DOUBLE": _read_double,
    "STRING": _read_string,
    "BYTES": _read_bytes,
}


def _shown(value: Json) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else ascii(value)[:40]
