"""What a changefeed is at, for whoever asks why nothing moves."""

import time
from typing import NamedTuple


class Activity(NamedTuple):
    """What a changefeed is at: ``stage`` is source, decode, hold-back or sink; nothing has moved there since
    ``since_ms``. ``idle``: everything that the source has is delivered."""

    stage: str
    since_ms: int
    idle: bool = False
    waiting_for: str = ""


class AtWork:
    """Kept by the thread that works, read by others."""

    def __init__(self) -> None:
        self._stage, self._entered_ms = "source", _now_ms()
        self._moved_ms = self._entered_ms

    def enter(self, stage: str, *, moved: bool = False) -> None:
        """``moved``: resolved-ts has moved."""
        self._stage, self._entered_ms = stage, _now_ms()
        if moved:
            self._moved_ms = self._entered_ms

    def now(self, interval_seconds: float, *, idle: bool, waiting_for: str) -> Activity:
        """``waiting_for`` is not empty while rows wait for a watermark. The next batch of a source is due after an
        interval at the latest, so nothing is said to be late before."""
        if self._stage != "source":
            return Activity(self._stage, self._entered_ms)
        if waiting_for:
            return Activity("hold-back", self._moved_ms, waiting_for=waiting_for)
        return Activity("source", self._entered_ms + int(interval_seconds * 1000), idle=idle)


def _now_ms() -> int:
    return int(time.time() * 1000)
