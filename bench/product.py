"""The product as its users start it: ``python -m app`` with one capture, in a folder of its own, asked over HTTP."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import msgspec

from bench.measure import below, parents_of_all
from tests.servers.ports import free_port
from tests.servers.processes import server

START_SECONDS: Final = 300
CREATE_SECONDS: Final = 60
POLL_SECONDS: Final = 0.005


class Usage(msgspec.Struct, frozen=True):
    """What a capture takes: memory that is its own (proportional set size), threads, CPU time so far."""

    capture_mib: float
    jvm_mib: float
    workers_mib: float
    processes: int
    threads: int
    cpu_seconds: float


class Product:
    """A running service with one warm capture."""

    def __init__(self, home: Path, client: httpx.Client) -> None:
        self.home = home
        self._client = client

    def create(self, name: str, source_uri: str, options: str) -> Path:
        """POSTs a changefeed; returns its output folder."""
        output = self.home / "output" / name
        body = {"changefeed_id": name, "source_uri": source_uri, "sink_uri": f"file://{output}?{options}"}
        reply = self._client.post("/api/v2/changefeeds", json=body)
        if reply.status_code != httpx.codes.OK:
            raise RuntimeError(f"{name} was refused: {reply.text}")
        return output

    def remove(self, name: str) -> None:
        """DELETEs a changefeed."""
        self._client.delete(f"/api/v2/changefeeds/{name}").raise_for_status()

    def captures(self) -> int:
        """How many captures have registered."""
        try:
            reply = self._client.get("/api/v2/captures")
        except httpx.TransportError:
            return 0
        return int(reply.json()["total"]) if reply.status_code == httpx.codes.OK else 0

    def not_normal(self) -> list[str]:
        """Changefeeds that have trouble, with it."""
        items = self._client.get("/api/v2/changefeeds?state=all").json()["items"]
        return [f"{item['id']}: {item['state']} {item['error']}" for item in items if item["state"] != "normal"]

    def usage(self) -> Usage:
        """Of the capture's process, its JVM and its Python workers, now."""
        parents = parents_of_all()
        capture = next(
            pid
            for pid in below(os.getpid(), parents)
            if _command(pid)[1:3] == ["-m", "spark_jobs.capture"] and pid in parents
        )
        whole = below(capture, parents)
        jvms = {pid for pid in whole if _command(pid)[0].endswith("java")}
        return Usage(
            capture_mib=_memory({capture}),
            jvm_mib=_memory(jvms),
            workers_mib=_memory(whole - jvms - {capture}),
            processes=len(whole),
            threads=sum(_threads(pid) for pid in whole),
            cpu_seconds=_cpu(whole),
        )


@contextlib.contextmanager
def product(home: Path, cores: int) -> Iterator[Product]:
    """Started, its capture registered; ended with everything it started."""
    port = free_port()
    settings = {
        "WEIR_HOME": str(home / "weir"),
        "WEIR_LISTEN": f"127.0.0.1:{port}",
        "WEIR_DEMO": "0",
        "WEIR_SPARK_MASTER": f"local[{cores}]",
    }
    command = ["env", *(f"{name}={value}" for name, value in settings.items()), sys.executable, "-m", "app"]
    with (
        server(command, home / "weir.log"),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        running = Product(home, client)
        until(lambda: running.captures() == 1, START_SECONDS, "the capture to register")
        yield running


def until(holds, seconds: float, what: str) -> None:
    """Waits for a condition, looking every few milliseconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(POLL_SECONDS)


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0") or [""]
    except OSError:
        return [""]


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def _memory(pids: set[int]) -> float:
    """Proportional set size in MiB: pages that forked workers share are counted once."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


def _cpu(pids: set[int]) -> float:
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(field) for field in fields[11:15])
    return total / os.sysconf("SC_CLK_TCK")
