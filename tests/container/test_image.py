"""The image builds, and does both roles as a user that is not root, with nothing but what is inside it."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.container import root
from tests.container.image import Image, container
from tests.servers.ports import free_port

ADMIN_TOKEN = "an admin token that only tests use"

pytestmark = pytest.mark.timeout(1200)


def _data_files(image: Image) -> list[Path]:
    """Committed ones: those that an index file names, or an earlier number than it."""
    indexes = (image.root / "data/demo/output").rglob("CDC.index")
    return [index.parent.parent / index.read_text().strip() for index in indexes]


def _get(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as reply:
        body: bytes = reply.read()
        return body


@pytest.fixture
def volume(image: Image) -> Iterator[Path]:
    """The image's volume, empty and its user's, as a new named volume is."""
    data = image.root / "data"
    assert list(data.iterdir()) == []
    yield data
    wiped = root.run(image.root, ["find", "/data", "-mindepth", "1", "-delete"])
    assert wiped.returncode == 0, wiped.stdout


def test_the_code_belongs_to_root_and_cannot_be_changed_by_the_service(image: Image) -> None:
    assert image.run(["id", "-u"]).stdout.strip() == image.user.split(":")[0] != "0"
    assert image.run(["touch", "/opt/weir/app/x"]).returncode != 0
    assert image.run(["find", "/opt/weir", "-writable", "-not", "-type", "l"]).stdout == ""


def test_the_archives_of_the_kafka_connector_are_inside(image: Image) -> None:
    said = image.run(["python", "-c", "from spark_jobs.host import session; print(session.has_kafka())"])
    assert said.stdout.strip() == "True"


def test_the_command_line_tool_is_inside(image: Image) -> None:
    assert "canal-json" in image.run([*image.entrypoint, "cli.main", "formats"]).stdout


def test_the_service_runs_serves_its_pages_and_drains(image: Image, volume: Path, tmp_path: Path) -> None:
    port = free_port()
    log = tmp_path / "service.log"
    given = {"WEIR_LISTEN": f"0.0.0.0:{port}", "WEIR_ADMIN_TOKEN": ADMIN_TOKEN, "WEIR_SPARK_MASTER": "local[2]"}
    with container(image, log, environment=given) as run:
        run.wait_for(run.is_healthy, "the health check to hold")
        assert json.loads(_get(port, "/openapi.json"))["info"]["title"]
        assert b"swagger-ui" in _get(port, "/docs")
        run.wait_for(lambda: any(path.exists() for path in _data_files(image)), "a committed data file of the demo")
        assert {path.stat().st_uid for path in volume.rglob("*")} == {int(image.user.split(":")[0])}
        assert len(root.processes(image.root)) >= 3, "the service, its capture, a JVM"
        assert run.stop() == 0, run.output()
    assert root.processes(image.root) == []
    assert "event='ended'" in (volume / "logs/capture-1.log").read_text(), "the capture was drained, not killed"


def test_a_capture_in_a_container_of_its_own_does_the_work(image: Image, volume: Path, tmp_path: Path) -> None:
    port = free_port()
    common = {"WEIR_CAPTURE_TOKEN": "a token that only this test uses", "WEIR_SPARK_MASTER": "local[2]"}
    alone = {**common, "WEIR_ADMIN_TOKEN": ADMIN_TOKEN, "WEIR_LISTEN": f"0.0.0.0:{port}", "WEIR_CAPTURES": "0"}
    role = ("spark_jobs.capture", "--server", f"http://127.0.0.1:{port}", "--detached")
    with container(image, tmp_path / "service.log", environment=alone) as service:
        service.wait_for(service.is_healthy, "the health check to hold")
        with container(image, tmp_path / "capture.log", role, common) as capture:
            capture.wait_for(lambda: any(path.exists() for path in _data_files(image)), "a committed data file")
            assert capture.stop() == 0, capture.output()
            assert "event='ended'" in capture.output()
        assert service.stop() == 0, service.output()
    assert root.processes(image.root) == []


def test_a_wrong_setting_is_said_in_one_sentence(image: Image, volume: Path) -> None:
    environment = {**image.environment, "WEIR_LISTEN": "nonsense"}
    command = [*image.entrypoint, *image.command]
    done = root.run(image.root, command, user=image.user, folder=image.folder, environment=environment)
    assert done.returncode == 1
    assert done.stdout.startswith("weir: WEIR_LISTEN:")
