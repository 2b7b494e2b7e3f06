"""A process with everything that it starts: a capture is a Python process, its JVM, and the JVM's Python workers.

Members are known by a mark in their environment, which they inherit: neither process groups nor parents tell, since
Spark's workers make a group of their own and lose their parent when the JVM dies.
"""

import os
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.rig.waiting import wait_for
from tests.servers.processes import end_with_parent

_MARK = "WEIR_RIG_GROUP"


VICTIMS = ("the capture", "its JVM", "both")


class Group:
    """Started at once. ``stdin_open``: its standard input is a pipe that stays open until ``close_stdin``."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, *, cwd: Path, stdin_open: bool = False
    ) -> None:
        self.log = log
        self._mark = uuid.uuid4().hex
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if stdin_open else subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**environment, _MARK: self._mark},
                cwd=cwd,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The leader's exit status; None while it lives."""
        return self._process.poll()

    def members(self) -> dict[int, str]:
        """Everybody who lives: process id → command line."""
        self._process.poll()
        wanted = f"{_MARK}={self._mark}".encode()
        found = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and wanted in _read(f"/proc/{name}/environ").split(b"\0"):
                found[int(name)] = _read(f"/proc/{name}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
        return found

    def jvm(self) -> int:
        """The process id of its Java virtual machine."""
        (pid,) = [pid for pid, command in self.members().items() if command.partition(" ")[0].endswith("java")]
        return pid

    def signal_leader(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def signal_all(self, number: signal.Signals) -> None:
        """To every member, the leader first."""
        for pid in sorted(self.members(), key=lambda pid: pid != self.pid):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def kill(self, victim: str) -> None:
        """``kill -9`` of one of ``VICTIMS``."""
        if victim == "the capture":
            self.signal_leader(signal.SIGKILL)
        elif victim == "its JVM":
            os.kill(self.jvm(), signal.SIGKILL)
        else:
            self.signal_all(signal.SIGKILL)

    def close_stdin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def is_gone(self) -> bool:
        """Whether nobody is left."""
        return not self.members()

    def wait_until_gone(self, seconds: float = 60) -> float:
        """Nobody helps: whoever is left must end by itself."""
        return wait_for(self.is_gone, f"everybody of {self.log.name} to end", seconds)

    def end(self) -> None:
        """Whatever its state: nobody of it is left."""
        while self.members():
            self.signal_all(signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def said(self) -> str:
        """Its output so far."""
        return self.log.read_text(errors="replace")


def is_stopped(pid: int) -> bool:
    """Whether a process sleeps by SIGSTOP."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2][1:2] == b"T"


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
