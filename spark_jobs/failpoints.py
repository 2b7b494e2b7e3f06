"""Named steps at which the fault harness may kill or stop this process. In production every call is one comparison.

``WEIR_FAILPOINT=STEP[@N]:ACTION:MARK`` acts at the Nth time (default 1) that STEP is reached: ``kill`` sends SIGKILL to
this process, ``stop`` SIGSTOP, ``error`` raises. MARK is a file that is created first: proof that the step was hit.
``WEIR_FAILPOINT=@FILE`` reads such an order from FILE whenever a step is reached, so that a running process can get
one after another; an empty or missing file orders nothing.
"""

import os
import signal
import threading
from typing import Final

STEPS: Final = (
    "before-data-files",
    "after-data-files",
    "before-log-entry",
    "after-log-entry",
    "before-publish",
    "after-publish",
    "before-index",
    "after-index",
    "before-metadata",
    "after-metadata",
    "before-spark-commit",
)
_ENVIRONMENT: Final = "WEIR_FAILPOINT"


class InjectedFault(Exception):
    """Raised by the action ``error``."""


class _Armed:
    """One fault, done once."""

    def __init__(self, text: str) -> None:
        step, self.action, self.mark = text.split(":", 2)
        self.step, _, count = step.partition("@")
        if self.step not in STEPS or self.action not in ("kill", "stop", "error"):
            raise ValueError(
                f"{_ENVIRONMENT}={text!r}: STEP[@N]:kill|stop|error:FILE with a step of {', '.join(STEPS)}"
            )
        self.left = int(count or 1)
        self.lock = threading.Lock()

    def reached(self, step: str) -> None:
        if step != self.step:
            return
        with self.lock:
            self.left -= 1
            if self.left != 0:
                return
        with open(self.mark, "xb") as mark:
            mark.write(str(os.getpid()).encode())
            mark.flush()
            os.fsync(mark.fileno())
        self.act()

    def act(self) -> None:
        if self.action == "error":
            raise InjectedFault(self.step)
        os.kill(os.getpid(), signal.SIGKILL if self.action == "kill" else signal.SIGSTOP)


class _Ordered:
    """Faults by orders in a file; each new text is a new order."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.text = ""
        self.armed: _Armed | None = None
        self.lock = threading.Lock()

    def reached(self, step: str) -> None:
        try:
            with open(self.path) as file:
                text = file.read()
        except FileNotFoundError:
            text = ""
        with self.lock:
            if text != self.text:
                self.text, self.armed = text, _Armed(text) if text else None
            armed = self.armed
        if armed is not None:
            armed.reached(step)


def _from(text: str) -> _Armed | _Ordered | None:
    if text.startswith("@"):
        return _Ordered(text[1:])
    return _Armed(text) if text else None


_armed = _from(os.environ.get(_ENVIRONMENT, ""))


def arm(text: str) -> None:
    """Arms this process as the environment would have, "" with nothing."""
    global _armed
    _armed = _from(text)


def reached(step: str) -> None:
    """Says that ``step`` (one of ``STEPS``) has been reached."""
    if _armed is not None:
        _armed.reached(step)
