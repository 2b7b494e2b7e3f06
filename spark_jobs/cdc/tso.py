"""TiDB timestamps: ``unix_ms << 18 | logical``, 64-bit integers, never floats."""

from datetime import UTC, datetime, timedelta, tzinfo

LOGICAL_BITS = 18
MAX_TSO = (1 << 63) - 1
MAX_MS = MAX_TSO >> LOGICAL_BITS
"""The last millisecond that a TSO holds, in the year 3084. A time beyond it is counted in another unit."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def compose(unix_ms: int, logical: int = 0) -> int:
    """The TSO of a wall-clock time in milliseconds."""
    return unix_ms << LOGICAL_BITS | logical


def physical_ms(tso: int) -> int:
    """Milliseconds since 1970 of a TSO."""
    return tso >> LOGICAL_BITS


def logical(tso: int) -> int:
    """The counter within the millisecond."""
    return tso & ((1 << LOGICAL_BITS) - 1)


def from_datetime(at: datetime) -> int:
    """The TSO of an aware datetime."""
    if at.tzinfo is None:
        raise ValueError("a datetime without a zone has no TSO")
    return compose((at - _EPOCH) // timedelta(milliseconds=1))


def to_datetime(tso: int, zone: tzinfo = UTC) -> datetime:
    """The wall-clock time of a TSO, to the millisecond."""
    return (_EPOCH + timedelta(milliseconds=physical_ms(tso))).astimezone(zone)
