"""A capture's lease, by a clock that goes on while the process is stopped."""

import threading
import time
from typing import Final

from spark_jobs.commitlog.log import Fenced

MARGIN_SECONDS: Final = 0.5


class LeaseOver(Fenced):
    """The lease ended before it was renewed; somebody else may own this capture's changefeeds now."""


def seconds() -> float:
    """Seconds of the machine's monotonic clock, time asleep included where the system has such a clock."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class Lease:
    """Renewed by each answered heartbeat; asked before every step that others could notice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends = 0.0

    def renew(self, sent_at: float, lease_seconds: float) -> None:
        """``sent_at``: when the call was sent that the control plane answered with this lease."""
        with self._lock:
            self._ends = max(self._ends, sent_at + lease_seconds)

    def left(self) -> float:
        """Seconds until others may take over; negative afterwards."""
        return self._ends - seconds()

    def check(self) -> None:
        """Raises ``LeaseOver`` shortly before the end."""
        if self.left() < MARGIN_SECONDS:
            raise LeaseOver("this capture's lease is over: the control plane has not answered in time")
