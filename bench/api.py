"""The API itself: creating a changefeed beside a bare FastAPI route with one insert, and reading with 1,000
changefeeds."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import httpx

from bench.report import Report
from tests.rig.waiting import wait_for
from tests.servers.ports import free_port

CHANGEFEEDS: Final = 1000
REQUESTS: Final = 200
# The least that a route with an insert can be: the floor that POST is compared with.
BARE: Final = """
import sqlite3, sys, threading, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
lock, db = threading.Lock(), sqlite3.connect(sys.argv[1], check_same_thread=False)
db.execute("PRAGMA journal_mode=WAL"); db.execute("PRAGMA synchronous=NORMAL")
db.execute("CREATE TABLE feeds (name TEXT PRIMARY KEY, body TEXT)")
class Order(BaseModel):
    changefeed_id: str
    sink_uri: str
api = FastAPI()
@api.post("/feeds")
def create(order: Order):
    with lock, db:
        db.execute("INSERT INTO feeds VALUES (?, ?)", (order.changefeed_id, order.sink_uri))
    return order
uvicorn.run(api, port=int(sys.argv[2]), log_level="critical")
"""


def api(options: argparse.Namespace) -> None:
    """POST beside a bare route with one insert; list, query and status with 1,000 changefeeds."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        folder = Path(name)
        figures = {"POST, a bare route": _bare(folder), **_weir(folder)}
    for title, figure in figures.items():
        print(f"    {title}: {figure}", flush=True)
    Report(name="api", arguments={"changefeeds": CHANGEFEEDS, "requests": REQUESTS}, figures=figures).write()


def _bare(folder: Path) -> dict[str, float]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", BARE, str(folder / "bare.db"), str(port)])
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_for(lambda: _answers(client, "/openapi.json"), "the bare route", 60)
            return _measured(lambda n: client.post("/feeds", json={"changefeed_id": f"f{n}", "sink_uri": "file:///o"}))
    finally:
        process.kill()
        process.wait()


def _weir(folder: Path) -> dict[str, dict[str, float]]:
    port = free_port()
    settings = {"PATH": os.environ["PATH"], "WEIR_HOME": str(folder / "home"), "WEIR_LISTEN": f"127.0.0.1:{port}"}
    settings |= {"WEIR_CAPTURES": "0", "WEIR_DEMO": "0"}
    (folder / "in").mkdir()
    process = subprocess.Popen([sys.executable, "-m", "app"], env=settings, stdout=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_for(lambda: _answers(client, "/readyz"), "Weir", 60)
            figures = {"POST": _measured(lambda n: client.post("/api/v2/changefeeds", json=_order(folder, n)))}
            for number in range(REQUESTS, CHANGEFEEDS):
                client.post("/api/v2/changefeeds", json=_order(folder, number)).raise_for_status()
            for title, path in (("list", ""), ("query", "/f7"), ("status", "/f7/status")):
                figures[title] = _measured(lambda n, path=path: client.get(f"/api/v2/changefeeds{path}"))  # type: ignore[misc]
            return figures
    finally:
        process.terminate()
        process.wait()


def _order(folder: Path, number: int) -> dict[str, str]:
    source = f"file://{folder}/in?protocol=canal-json"
    return {
        "changefeed_id": f"f{number}",
        "source_uri": source,
        "sink_uri": f"file://{folder}/out/{number}?protocol=csv",
    }


def _answers(client: httpx.Client, path: str) -> bool:
    try:
        return client.get(path).status_code == 200
    except httpx.TransportError:
        return False


def _measured(request: Callable[[int], httpx.Response]) -> dict[str, float]:
    seconds = []
    for number in range(REQUESTS):
        began = time.perf_counter()
        request(number).raise_for_status()
        seconds.append(time.perf_counter() - began)
    per_second = len(seconds) / sum(seconds)
    p99 = statistics.quantiles(seconds, n=100)[98]
    return {
        "requests/s": round(per_second, 1),
        "median ms": round(statistics.median(seconds) * 1000, 2),
        "p99 ms": round(p99 * 1000, 2),
    }
