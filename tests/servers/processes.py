"""Server processes of tests: they end with the test run in whatever way it ends, and whole groups of them."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_GRACE_SECONDS: Final = 20


@contextlib.contextmanager
def server(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, its output in ``log``: SIGTERM at the end, then SIGKILL to what is left."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end_with_parent() -> None:
    """Linux: SIGKILL when the thread that started it ends, so that a killed test run leaves no server."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
