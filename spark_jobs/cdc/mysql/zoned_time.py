"""MySQL's zone-less date texts as instants and back, exact to the microsecond.

A text has a zone only by agreement: the caller names it. A time that a clock change repeats means its first occurrence,
one that a clock change skips is taken with the offset before it (PEP 495, ``fold=0``). A date with a zero part (year,
month or day) is no instant: None.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_ZERO = timedelta()
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?: |T|$)", re.ASCII)


def to_epoch_us(text: str, zone: tzinfo) -> int | None:
    """Microseconds since 1970 of MySQL's date or datetime text; None for zero dates, ``ValueError`` for others."""
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        if _has_zero_part(text):
            return None
        raise
    if local.tzinfo is not None:
        raise ValueError(f"{text!r} has a zone of its own")
    offset = _ZERO if zone is UTC else zone.utcoffset(local) or _ZERO
    return (local - _EPOCH - offset) // _MICROSECOND


def from_epoch_us(epoch_us: int, zone: tzinfo, digits: int) -> str:
    """MySQL's datetime text with so many fraction digits; ``OverflowError`` outside the years 1 to 9999."""
    local = _EPOCH + timedelta(microseconds=epoch_us)
    if zone is not UTC:
        local = zone.fromutc(local.replace(tzinfo=zone)).replace(tzinfo=None)
    text = local.isoformat(" ", "microseconds")
    return text[: 19 + (digits and digits + 1)]


def _has_zero_part(text: str) -> bool:
    date = _DATE.match(text)
    return date is not None and not all(int(part) for part in date.groups())
