"""Child processes: started in a process group of their own, watched, started again when they die, ended for good.

A child's standard input is a pipe that nobody writes to: it closes when this process ends in whatever way, and the
child ends itself then. An orderly end is SIGTERM to the child, time to drain, then SIGKILL to its whole group: what it
started itself (a JVM, Python workers) ends with it.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import structlog

_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 30.0
_HEALTHY_SECONDS: Final = 60.0
_LARGEST_LOG_BYTES: Final = 64 << 20
log = structlog.get_logger("weir.processes")


class Child:
    """One child process, kept alive by a thread until ``stop``. ``drain_seconds``: how long SIGTERM may take."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log_path: Path,
        environment: Mapping[str, str],
        drain_seconds: float = 20.0,
    ) -> None:
        self.name = name
        self._command = list(command)
        self._log_path = log_path
        self._environment = dict(environment)
        self._drain_seconds = drain_seconds
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep_alive, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The running process, if there is one."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def ask_to_stop(self) -> None:
        """SIGTERM; returns at once."""
        with self._lock:
            self._stopping.set()
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()

    def stop(self, *, hurry: threading.Event) -> None:
        """Waits for the orderly end, then ends the whole group. ``hurry``: no waiting any more."""
        self.ask_to_stop()
        deadline = time.monotonic() + self._drain_seconds
        while self.pid is not None and time.monotonic() < deadline and not hurry.is_set():
            hurry.wait(0.05)
        with self._lock:
            if self._process is not None:
                _kill_group(self._process)
        if self._thread.is_alive():
            self._thread.join()

    def _keep_alive(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            began = time.monotonic()
            process = self._start()
            if process is None:
                return
            code = process.wait()
            _kill_group(process)
            if self._stopping.is_set():
                return
            pause = _FIRST_PAUSE_SECONDS if time.monotonic() - began > _HEALTHY_SECONDS else pause
            log.warning("process_ended", name=self.name, code=code, log=str(self._log_path), again_in_seconds=pause)
            self._stopping.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            with _open_log(self._log_path) as output:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=self._environment,
                    start_new_session=True,
                )
            log.info("process_started", name=self.name, pid=self._process.pid)
            return self._process


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """The group outlives its leader as long as anyone is in it; once empty there is nothing to kill."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _open_log(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > _LARGEST_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")
