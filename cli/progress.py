"""How far a command has come, on a terminal only."""

import time
from typing import Final, TextIO

_EVERY_SECONDS: Final = 0.5


class Progress:
    """A line on the terminal that overwrites itself; silent where ``terminal`` is None."""

    def __init__(self, terminal: TextIO | None) -> None:
        self._terminal = terminal
        self._begin = self._last = time.monotonic()

    def show(self, messages: int, size: int) -> None:
        """Takes what has been read so far; writes at most twice a second."""
        if self._terminal is None or (now := time.monotonic()) - self._last < _EVERY_SECONDS:
            return
        self._last = now
        rate = messages / (now - self._begin)
        self._terminal.write(f"\r{messages:,} messages, {size / 1e6:,.1f} MB, {rate:,.0f}/s\x1b[K")
        self._terminal.flush()

    def clear(self) -> None:
        """Takes the line away, so that other text can be written."""
        if self._terminal is not None and self._last > self._begin:
            self._terminal.write("\r\x1b[K")
            self._terminal.flush()
