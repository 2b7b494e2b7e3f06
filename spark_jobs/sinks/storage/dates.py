"""The date folder of a commit-ts, with the range of commit-ts that share it: looked up once a day, not once a row."""

from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from spark_jobs.cdc import tso
from spark_jobs.sinks.base import EVER

_FORMATS: Final = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}


class Dates:
    """``folder(commit_ts)`` → (name, first commit-ts, first commit-ts after it); name "" without date folders."""

    def __init__(self, separator: str, zone: str) -> None:
        self._separator = separator
        self._zone = ZoneInfo(zone)

    def folder(self, commit_ts: int) -> tuple[str, int, int]:
        if self._separator == "none":
            return EVER
        at = tso.to_datetime(commit_ts, self._zone)
        first = self._first(at)
        name = f"{at.year:04d}" + at.strftime(_FORMATS[self._separator].removeprefix("%Y"))
        return name, tso.from_datetime(first), tso.from_datetime(self._next(first))

    def _first(self, at: datetime) -> datetime:
        month = 1 if self._separator == "year" else at.month
        day = at.day if self._separator == "day" else 1
        return datetime(at.year, month, day, tzinfo=self._zone)

    def _next(self, first: datetime) -> datetime:
        if self._separator == "day":
            return first + timedelta(days=1)
        return self._first(first + timedelta(days=32 if self._separator == "month" else 367))
