"""Spark's standalone master and worker, as processes on loopback."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyspark

from tests.rig.group import Group
from tests.rig.plane import environment
from tests.rig.waiting import wait_for
from tests.servers.ports import free_port

_HOME = os.path.dirname(pyspark.__file__)


@contextlib.contextmanager
def standalone(folder: Path, *, cores: int) -> Iterator[str]:
    """A master with one worker of so many cores; its URL."""
    port, web = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    address = ("--host", "127.0.0.1")
    with contextlib.ExitStack() as stack:
        _start(stack, folder, "Master", *address, "--port", str(port), "--webui-port", str(web))
        wait_for(lambda: _state(web) is not None, "Spark's master to answer")
        work = ("--work-dir", str(folder / "work"), "--webui-port", "0")
        _start(stack, folder, "Worker", *address, "--cores", str(cores), "--memory", "3g", *work, master)
        wait_for(lambda: (_state(web) or {}).get("aliveworkers") == 1, "Spark's worker to register")
        yield master


def worked(folder: Path) -> set[str]:
    """The applications whose executors have run Python tasks to their end."""
    said = (folder / "work").glob("app-*/*/stderr")
    return {path.parent.parent.name for path in said if b"PythonRunner: Times" in path.read_bytes()}


def _start(stack: contextlib.ExitStack, folder: Path, role: str, *arguments: str) -> None:
    command = [f"{_HOME}/bin/spark-class", f"org.apache.spark.deploy.{role.lower()}.{role}", *arguments]
    settings = {"SPARK_HOME": _HOME, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    group = Group(command, environment(folder, **settings), folder / f"{role}.log", cwd=folder)
    stack.callback(group.end)


def _state(port: int) -> dict[str, object] | None:
    try:
        reply = httpx.get(f"http://127.0.0.1:{port}/json/", timeout=5)
        return dict(reply.json()) if reply.is_success else None
    except (httpx.HTTPError, ValueError):
        return None
