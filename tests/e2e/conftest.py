"""The whole product as a user starts it, once for these tests: control plane, one capture, the demo; a real broker."""

import itertools
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from spark_jobs.host.session import has_kafka
from tests.pipeline.messages import insert
from tests.rig.plane import Plane
from tests.rig.waiting import wait_for
from tests.servers.kafka import Kafka
from tests.storage_reader import Folder, read_folder

SINK = "protocol=canal-json&enable-tidb-extension=true&flush-interval=100ms"


class Weir:
    """The API as a user calls it. ``folder`` is where sources and sinks of the tests are."""

    def __init__(self, plane: Plane, kafka: Kafka) -> None:
        self.plane = plane
        self.kafka = kafka
        self.folder = plane.folder
        self.api = httpx.Client(base_url=f"{plane.url}/api/v2", timeout=60)

    def create(self, sink: str = SINK, **body: Any) -> "Feed":
        """A changefeed with a name and an output folder of its own. ``sink``: parameters of its URI."""
        feed = Feed(self, f"feed-{uuid.uuid4().hex[:8]}")
        body = {"changefeed_id": feed.name, "sink_uri": f"file://{feed.output}?{sink}", **body}
        reply = self.api.post("/changefeeds", json=body)
        assert reply.status_code == 200, reply.text
        return feed

    def source(self) -> "SourceFolder":
        return SourceFolder(self.folder / f"source-{uuid.uuid4().hex[:8]}")

    def topic(self, partitions: int = 1) -> str:
        name = f"topic-{uuid.uuid4().hex[:8]}"
        self.kafka.create_topic(name, partitions=partitions)
        return name

    def topic_uri(self, *topics: str, options: str = "&start=earliest") -> str:
        return f"kafka://{self.kafka.bootstrap}/{','.join(topics)}?protocol=canal-json{options}"


class SourceFolder:
    """A folder into which files are renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.uri = f"file://{path}?protocol=canal-json"
        self._numbers = itertools.count()
        path.mkdir()

    def put(self, *lines: bytes) -> Path:
        """The next file."""
        name = f"{next(self._numbers):06d}.json"
        being_written = self.path.parent / f"{self.path.name}-{name}"
        being_written.write_bytes(b"".join(line + b"\n" for line in lines))
        return being_written.rename(self.path / name)

    def insert(self, *keys: int) -> Path:
        """Rows of ``shop.orders``: the commit-ts of a key is that many milliseconds."""
        return self.put(*(insert("orders", key, key << 18) for key in keys))


class Feed:
    """One changefeed."""

    def __init__(self, weir: Weir, name: str) -> None:
        self.weir = weir
        self.name = name
        self.output = weir.folder / f"output-{name}"
        self._api = weir.api

    def get(self, what: str = "") -> Any:
        reply = self._api.get(f"/changefeeds/{self.name}{what}")
        assert reply.status_code == 200, reply.text
        return reply.json()

    @property
    def state(self) -> str:
        return str(self.get("/status")["state"])

    def pause(self) -> None:
        assert self._api.post(f"/changefeeds/{self.name}/pause").status_code == 200
        assert self.state == "stopped"

    def resume(self, **body: Any) -> None:
        reply = self._api.post(f"/changefeeds/{self.name}/resume", json=body)
        assert reply.status_code == 200, reply.text

    def update(self, **body: Any) -> httpx.Response:
        return self._api.put(f"/changefeeds/{self.name}", json=body)

    def remove(self) -> None:
        assert self._api.delete(f"/changefeeds/{self.name}").status_code == 200

    def wait_for_state(self, *states: str) -> Any:
        """Until it is in one of the states; its last error."""
        wait_for(lambda: self.state in states, f"{self.name} to be {' or '.join(states)}")
        return self.get().get("error")

    def wait_for_log(self, text: str) -> None:
        """Until a line of its log says so; a capture's lines come with its next heartbeat."""
        wait_for(lambda: any(text in line for line in self.get("/logs")["lines"]), f"{self.name} to log {text!r}")

    def read(self, protocol: str = "canal-json", **options: Any) -> Folder:
        return read_folder(self.output, protocol, **options)

    def keys(self, *tables: str) -> list[int]:
        """Keys of everything that has come out (of some tables), in a consumer's order."""
        folder = self.read(ordered=False)
        found = [
            int(str((event.after or event.before or {})["id"]))
            for event in folder.all_events()
            if not tables or event.table in tables
        ]
        assert folder.problems == []
        return found

    def wait_for_keys(self, *keys: int) -> None:
        """Until exactly these rows have come out."""

        def came() -> bool:
            assert self.state != "failed" or len(self.keys()) >= len(keys), self.get("/status")
            return len(self.keys()) >= len(keys)

        wait_for(came, f"{len(keys)} rows of {self.name}")
        assert sorted(self.keys()) == sorted(keys)


@pytest.fixture(scope="package")
def weir(tmp_path_factory: pytest.TempPathFactory, kafka: Kafka) -> Iterator[Weir]:
    if not has_kafka():
        pytest.skip("the jars of Spark's Kafka connector are not in jars/spark (make setup)")
    plane = Plane(tmp_path_factory.mktemp("weir"), captures=1, demo=True)
    try:
        plane.start()
        running = Weir(plane, kafka)
        wait_for(plane.captures, "the capture to register", 120)
        yield running
        running.api.close()
    finally:
        plane.end()
