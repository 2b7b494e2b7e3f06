"""Times as TiCDC prints them. ``*_ms``: milliseconds since 1970; ``*_ts``: a TSO."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from app.errors import InvalidParam
from spark_jobs.cdc import tso

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = 253_402_300_799_999  # the last millisecond of the year 9999
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def now_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000


def _at(unix_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=min(unix_ms, _LAST_MS))


def json_time(unix_ms: int) -> str:
    """``2025-11-21 03:03:58.404``: exactly three digits, no zone; the zone is UTC."""
    return _at(unix_ms).strftime("%Y-%m-%d %H:%M:%S.") + f"{min(unix_ms, _LAST_MS) % 1000:03d}"


def json_time_of(ts: int) -> str:
    """The wall-clock time of a TSO in that form."""
    return json_time(tso.physical_ms(ts))


def known_time_of(ts: int) -> str | None:
    """That, or None for a TSO of 0: nothing is known yet, and it was not in 1970."""
    return json_time_of(ts) if ts else None


def known_rfc3339(unix_ms: int) -> str | None:
    """``rfc3339``, or None for 0: not known, or never."""
    return rfc3339(unix_ms) if unix_ms else None


def rfc3339(unix_ms: int) -> str:
    """``2025-11-21T03:03:58.404Z``."""
    return json_time(unix_ms).replace(" ", "T") + "Z"


def ms_of_rfc3339(text: str, field: str) -> int:
    """Milliseconds since 1970 of an RFC 3339 time with a zone; 0 for ""."""
    return tso.physical_ms(tso_of_rfc3339(text, field)) if text else 0


def tso_of_rfc3339(text: str, field: str) -> int:
    """The TSO of an RFC 3339 time with a zone."""
    if not _RFC3339.fullmatch(text):
        raise InvalidParam(f"{field}: {text!r} is not an RFC 3339 time with a zone, such as 2025-11-21T03:03:58Z")
    try:
        return max(tso.from_datetime(datetime.fromisoformat(text.upper())), 0)
    except (ValueError, OverflowError):
        raise InvalidParam(f"{field}: {text!r} is not a time of the calendar") from None
