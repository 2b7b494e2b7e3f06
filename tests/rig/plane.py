"""The control plane as a process, and its API as a user calls it."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import httpx

from tests.rig.group import Group
from tests.rig.waiting import wait_for
from tests.servers.ports import free_port

PROJECT = Path(__file__).resolve().parents[2]
_JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of the product's processes: nothing of ours but what is needed, temporary files in ``folder``."""
    (folder / "tmp").mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "SPARK_", "PYTEST_"))}
    return {
        **kept,
        "PYTHONPATH": str(PROJECT),
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": f"{folder}/tmp",
        "SPARK_LOCAL_DIRS": f"{folder}/tmp",
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={folder}/tmp {_JAVA_OPTIONS}",
        **more,
    }


class Plane:
    """``start`` begins it, again after it was killed: same home, same port."""

    def __init__(self, folder: Path, *, captures: int = 0, spark_master: str = "local[2]", demo: bool = False):
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = environment(
            folder,
            WEIR_HOME=str(folder / "home"),
            WEIR_LISTEN=f"127.0.0.1:{self.port}",
            WEIR_DEMO="1" if demo else "0",
            WEIR_CAPTURES=str(captures),
            WEIR_SPARK_MASTER=spark_master,
        )
        self._client = httpx.Client(base_url=self.url, timeout=20)
        self.group: Group | None = None

    def start(self) -> None:
        """Returns when it answers and owns."""
        command = [sys.executable, "-m", "app"]
        self.group = Group(command, self._environment, self.folder / "plane.log", cwd=self.folder)
        wait_for(self._is_ready, "the control plane to be ready")

    def kill(self) -> None:
        """SIGKILL."""
        assert self.group is not None
        self.group.signal_leader(signal.SIGKILL)
        wait_for(lambda: self.group is not None and self.group.status is not None, "the control plane to be killed")

    def end(self) -> None:
        if self.group is not None:
            self.group.end()
        self._client.close()

    def _is_ready(self) -> bool:
        assert self.group is not None
        assert self.group.status is None, self.group.said()
        try:
            return self._client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The reply's JSON; ``AssertionError`` with what it says unless it is a success."""
        reply = self._client.request(method, f"/api/v2{path}", json=body)
        assert reply.is_success, f"{method} {path}: {reply.status_code} {reply.text}"
        return reply.json() if reply.content else None

    def create(self, name: str, source_uri: str, sink_uri: str, **more: Any) -> None:
        self.call(
            "POST",
            "/changefeeds",
            {"changefeed_id": name, "source_uri": source_uri, "sink_uri": sink_uri, "replica_config": more},
        )

    def changefeed(self, name: str) -> dict[str, Any]:
        return dict(self.call("GET", f"/changefeeds/{name}"))

    def history(self, name: str) -> list[dict[str, Any]]:
        return list(self.call("GET", f"/changefeeds/{name}/history")["items"])

    def captures(self) -> list[dict[str, Any]]:
        return list(self.call("GET", "/captures")["items"])
