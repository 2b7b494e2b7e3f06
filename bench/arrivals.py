"""When rows become readable: a consumer that looks at index files and reads what they newly name."""

import glob
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SENT: Final = re.compile(rb'"sent":"(\d+)"')
_NUMBER: Final = re.compile(r"CDC(\d+)\.json")
POLL_SECONDS: Final = 0.002
LOOK_AROUND_SECONDS: Final = 0.25


class Consumer:
    """Watches output folders. ``seconds``: of each row that came, from sending to being readable."""

    def __init__(self, outputs: list[Path]) -> None:
        self._outputs = outputs
        self._taken: dict[str, int] = {}
        self._stamps: dict[str, int] = {}
        self._next_look = 0.0
        self.seconds: list[float] = []
        self.expected = 0

    def run(self, rows: int, deadline_seconds: float) -> None:
        """Until so many rows have come."""
        end = time.monotonic() + deadline_seconds
        while len(self.seconds) < rows:
            if time.monotonic() > end:
                raise RuntimeError(f"{len(self.seconds)} of {rows} rows came within {deadline_seconds:.0f} s")
            self.look()
            time.sleep(POLL_SECONDS)

    def look(self) -> None:
        """Takes what index files name by now."""
        if time.monotonic() >= self._next_look:
            for output in self._outputs:
                for path in glob.iglob(f"{output}/*/*/**/meta/CDC.index", recursive=True):
                    self._taken.setdefault(path, 0)
            self._next_look = time.monotonic() + LOOK_AROUND_SECONDS
        for path, taken in self._taken.items():
            now = Path(path).stat().st_mtime_ns
            if now != self._stamps.get(path):
                self._stamps[path] = now
                self._taken[path] = self._read(Path(path), taken)

    def _read(self, index: Path, taken: int) -> int:
        name = index.read_text().strip()
        found = _NUMBER.fullmatch(name)
        last = int(found[1]) if found else taken
        for number in range(taken + 1, last + 1):
            content = (index.parent.parent / f"CDC{number:06d}.json").read_bytes()
            arrived = time.time_ns()
            self.seconds += [(arrived - sent) / 1e9 for sent in _sent(content)]
        return last


def _sent(content: bytes) -> Iterator[int]:
    for line in content.split(b"\r\n"):
        found = _SENT.search(line)
        if found:
            yield int(found[1])
