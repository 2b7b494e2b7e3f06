"""Values inside filter expressions: MySQL's kinds, and how one becomes another.

Rules

1. ``NUMBER`` is exact (int or Decimal); ``DOUBLE`` is not; times are MySQL's texts, so that zero dates live on.
2. Text as a number is its longest numeric beginning, else 0; a date as a number is YYYYMMDD, a date and time
   YYYYMMDDhhmmss[.f], a time hhmmss[.f].
3. Collations: ``…_ci`` ignores case, and accents unless its name has ``_as_``; all others compare code points. Trailing
   blanks do not count, except in ``binary`` and the ``…_0900_…`` ones. Unknown is TiDB's default, ``utf8mb4_bin``.
"""

import re
import unicodedata
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

Datum: TypeAlias = int | float | Decimal | str | bytes | None
Moment: TypeAlias = tuple[int, int, int, int, int, int, int]

EXACT: Final = Context(prec=150, rounding=ROUND_HALF_UP)
_LONGEST_EXACT: Final = 80
_NUMERIC: Final = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))([eE][+-]?\d{1,4})?", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)
_MOMENT: Final = re.compile(
    r"\s*(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6})\d*)?)?)?\s*",
    re.ASCII,
)
_COMPACT: Final = re.compile(r"\s*(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)(?:\.(\d{0,6})\d*)?)?\s*", re.ASCII)
_TIME: Final = re.compile(r"\s*(-?)(?:(\d{1,3}) )?(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6})\d*)?)?\s*", re.ASCII)


class Kind(Enum):
    """What a value is, known before any row is seen."""

    NULL = "NULL"
    NUMBER = "number"
    DOUBLE = "double"
    TEXT = "text"
    BYTES = "bytes"
    HEX = "hexadecimal literal"
    DATE = "date"
    DATETIME = "date and time"
    TIME = "time"


MOMENTS: Final = frozenset({Kind.DATE, Kind.DATETIME})
TEMPORAL: Final = MOMENTS | {Kind.TIME}
NUMERIC: Final = frozenset({Kind.NUMBER, Kind.DOUBLE})


def exact(text: str) -> Decimal:
    """A DECIMAL column's value; ``ValueError`` for what is none."""
    if len(text) > _LONGEST_EXACT or _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"{text[:80]!r} is not a decimal number")
    return Decimal(text)


@lru_cache(maxsize=4096)
def number_of_text(text: str) -> int | float | Decimal:
    """The number that a text begins with, exact where it can be; 0 for none."""
    found = _NUMERIC.match(text[:400])
    if found is None:
        return 0
    digits, exponent = found.groups()
    if exponent or len(digits) > _LONGEST_EXACT:
        return float(digits + (exponent or ""))
    return Decimal(digits) if "." in digits else int(digits)


@lru_cache(maxsize=4096)
def moment(text: str) -> Moment | None:
    """A date, or date and time, as numbers down to microseconds; None for a text that is none."""
    found = _MOMENT.fullmatch(text[:64]) or _COMPACT.fullmatch(text[:64])
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    if month > 12 or day > 31 or hour > 23 or minute > 59 or second > 59:
        return None
    return year, month, day, hour, minute, second, _micros(found[7])


@lru_cache(maxsize=4096)
def microseconds(text: str) -> int | None:
    """A TIME as signed microseconds; None for a text that is none."""
    found = _TIME.fullmatch(text[:64])
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:5])
    if minutes > 59 or seconds > 59:
        return None
    total = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + _micros(found[6])
    return -total if found[1] else total


def _micros(fraction: str | None) -> int:
    return int((fraction or "").ljust(6, "0"))


def _number_of_date(value: Datum) -> Datum:
    parts = moment(str(value))
    return None if parts is None else parts[0] * 10_000 + parts[1] * 100 + parts[2]


def _number_of_moment(value: Datum) -> Datum:
    parts = moment(str(value))
    if parts is None:
        return None
    whole = int("".join(f"{part:02d}" for part in parts[:6]))
    return Decimal(whole) + Decimal(parts[6]).scaleb(-6) if parts[6] else whole


def _number_of_time(value: Datum) -> Datum:
    micros = microseconds(str(value))
    if micros is None:
        return None
    seconds, rest = divmod(abs(micros), 1_000_000)
    clock = seconds // 3600 * 10_000 + seconds // 60 % 60 * 100 + seconds % 60
    amount: Datum = Decimal(clock) + Decimal(rest).scaleb(-6) if rest else clock
    return -amount if micros < 0 else amount  # type: ignore[operator]


def _number_of_bytes(value: Datum) -> Datum:
    return number_of_text(value.decode("latin-1")) if isinstance(value, bytes) else 0


def _number_of_hex(value: Datum) -> Datum:
    return int.from_bytes(value) if isinstance(value, bytes) else 0


def _same(value: Datum) -> Datum:
    return value


TO_NUMBER: Final[dict[Kind, Callable[[Datum], Datum]]] = {
    Kind.NULL: _same,
    Kind.NUMBER: _same,
    Kind.DOUBLE: _same,
    Kind.TEXT: lambda value: number_of_text(str(value)),
    Kind.BYTES: _number_of_bytes,
    Kind.HEX: _number_of_hex,
    Kind.DATE: _number_of_date,
    Kind.DATETIME: _number_of_moment,
    Kind.TIME: _number_of_time,
}
"""A value that is not NULL as a number; None where it has none."""


def text_of(value: Datum) -> str:
    """A value that is not NULL as MySQL prints it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return repr(value).removesuffix(".0").replace("e+", "e")
    return str(value)


def bytes_of(value: Datum) -> bytes:
    """A value that is not NULL as bytes."""
    return value if isinstance(value, bytes) else text_of(value).encode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)
def folding(collation: str) -> Callable[[str], str]:
    """How a collation sees a text, trailing blanks aside."""
    if not collation.endswith("_ci"):
        return str
    return str.casefold if "_as_" in collation else _without_accents


@lru_cache(maxsize=256)
def sorting(collation: str) -> Callable[[str], str]:
    """The text that stands for a text when it is compared under a collation."""
    fold = folding(collation)
    if collation == "binary" or "_0900_" in collation:
        return fold
    return lambda text: fold(text).rstrip(" ")


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))
