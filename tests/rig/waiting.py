"""Waits for conditions, never for time."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 180.0


def wait_for(holds: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> float:
    """Returns when ``holds`` does, with the seconds it took; ``AssertionError`` after ``seconds``."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            raise AssertionError(f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(0.02)
    return time.monotonic() - began
