"""A capture as a process, and faults in it by order."""

import os
import sys
from pathlib import Path

from spark_jobs.failpoints import STEPS
from tests.rig.group import Group, is_stopped
from tests.rig.plane import Plane, environment
from tests.rig.waiting import wait_for

__all__ = ["STEPS", "CaptureProcess", "Order"]


class Order:
    """A fault that a capture was ordered to do. It is done when the capture itself has written its mark."""

    def __init__(self, capture: "CaptureProcess", step: str, action: str) -> None:
        self.step, self.action = step, action
        self._capture = capture
        self._mark = capture.folder / f"{capture.name}-{step}-{action}"
        capture.give(f"{step}:{action}:{self._mark}")

    def is_done(self) -> bool:
        pid = self._capture.group.pid
        marked = self._mark.exists() and self._mark.read_text() == str(pid)
        return marked and (self.action != "stop" or is_stopped(pid))

    def wait(self) -> None:
        """Until the step was hit, by this very process."""
        wait_for(self.is_done, f"{self._capture.name} to {self.action} itself at {self.step}")


class CaptureProcess:
    """Started at once; ``is_registered`` some seconds later. ``detached`` False: it ends when ``close_stdin``."""

    def __init__(
        self,
        plane: Plane,
        name: str,
        *,
        detached: bool = True,
        spark_master: str = "local[2]",
        spark_conf: Path | None = None,
    ) -> None:
        self.name = name
        self.folder = plane.folder
        self._plane = plane
        self._orders = plane.folder / f"{name}.order"
        command = [sys.executable, "-m", "spark_jobs.capture", "--server", plane.url]
        settings = {
            "WEIR_SPARK_MASTER": spark_master,
            "WEIR_SPARK_CONF": str(spark_conf or ""),
            "WEIR_FAILPOINT": f"@{self._orders}",
            "PYSPARK_PYTHON": sys.executable,
        }
        self.group = Group(
            [*command, "--detached"] if detached else command,
            environment(plane.folder, **settings),
            plane.folder / f"{name}.log",
            cwd=plane.folder,
            stdin_open=not detached,
        )

    @property
    def id(self) -> str:
        """The id that it has chosen; "" before it has registered, and after it was lost."""
        for item in self._plane.captures():
            if item["address"].endswith(f":{self.group.pid}") and item["state"] != "lost":
                return str(item["id"])
        return ""

    def is_registered(self) -> bool:
        assert self.group.status is None, f"{self.name} ended: {self.group.said()[-3000:]}"
        return bool(self.id)

    def has_stopped_itself(self) -> bool:
        """Whether it runs nothing any more of what it ran last, as it says itself; it may have ended altogether. What
        it stumbled over first when it was replaced does not matter."""
        if self.group.status is not None:
            return True
        said = self.group.said()
        last = said.rfind("running from")
        return any(said.rfind(word) > last for word in ("[CDC:Err", "the lease is over", "stopped"))

    def give(self, order: str) -> None:
        """Replaces the order for faults, in one step."""
        temporary = self._orders.with_suffix(".new")
        temporary.write_text(order)
        os.replace(temporary, self._orders)

    def order(self, step: str, action: str) -> Order:
        """``kill`` or ``stop`` at the next time that it reaches a step."""
        return Order(self, step, action)
