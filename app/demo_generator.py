"""``python -m app.demo_generator HOME``: keeps writing the demo's source, a file a step, until its standard input ends.

A file is written in ``HOME/staging`` and renamed into ``HOME/source``: complete when it appears. What is in it follows
from its number (``app.demo_rows``), the commit times from the clock. A restart goes on with the next number.

Nothing is deleted, so it slows down and stops: a file a second for 600 files (10 minutes), then one in 10 seconds, none
after 10,000 files (about 26 hours, 15 MB).
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from app import demo_rows

QUICK_FILES: Final = 600
MOST_FILES: Final = 10_000
_QUICK_SECONDS: Final = 1.0
_SLOW_SECONDS: Final = 10.0


class Progress(msgspec.Struct, frozen=True):
    """What is kept in ``HOME/generator.json``: the next step, and the time of the last one."""

    step: int = 0
    unix_ms: int = 0


def pause_seconds(step: int) -> float | None:
    """How long to wait before that step; None: never."""
    if step >= MOST_FILES:
        return None
    return _QUICK_SECONDS if step < QUICK_FILES else _SLOW_SECONDS


def write_step(home: Path, progress: Progress, now_ms: int) -> Progress:
    """Writes the file of one step; the progress after it. Times never go back, also when the clock does."""
    unix_ms = max(now_ms, progress.unix_ms + 1)
    lines = demo_rows.messages(progress.step, unix_ms)
    after = Progress(progress.step + 1, unix_ms)
    _appear(home, home / "source" / f"{progress.step:08d}.json", b"".join(line + b"\n" for line in lines))
    _appear(home, home / "generator.json", msgspec.json.encode(after))
    return after


def read_progress(home: Path) -> Progress:
    """Where to go on. A file that appeared just before a crash counts as written."""
    try:
        kept = msgspec.json.decode((home / "generator.json").read_bytes(), type=Progress)
    except (FileNotFoundError, msgspec.DecodeError):
        kept = Progress()
    step = kept.step
    while (home / "source" / f"{step:08d}.json").exists():
        step += 1
    return Progress(step, kept.unix_ms)


def _appear(home: Path, path: Path, content: bytes) -> None:
    staged = home / "staging" / path.name
    with staged.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    staged.replace(path)


def run(home: Path, stop: threading.Event) -> None:
    """Until ``stop``, or the last file."""
    for folder in ("source", "staging"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    progress = read_progress(home)
    while (pause := pause_seconds(progress.step)) is not None and not stop.wait(pause if progress.step else 0):
        progress = write_step(home, progress, time.time_ns() // 1_000_000)
    stop.wait()


def main() -> int:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    signal.signal(signal.SIGINT, lambda number, frame: stop.set())

    def watch() -> None:
        sys.stdin.buffer.read()
        stop.set()

    threading.Thread(target=watch, daemon=True).start()
    run(Path(sys.argv[1]), stop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
