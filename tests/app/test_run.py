"""``python -m app`` as a process: it greets, serves, goes on after a restart, and leaves nothing behind."""

import contextlib
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from app.settings import variables
from tests.app.test_processes import alive, eventually
from tests.servers.ports import free_port


@pytest.fixture
def weir(tmp_path):
    """Starts Weir without captures; ends what is left of it."""
    running = []

    def start(port=None, **settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        given = {"HOME": str(tmp_path / "home"), "LISTEN": f"127.0.0.1:{port or free_port()}", "CAPTURES": "0"}
        environment |= {f"WEIR_{name}": value for name, value in (given | settings).items()}
        process = subprocess.Popen(
            [sys.executable, "-m", "app"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        running.append(process)
        return process, f"http://{environment['WEIR_LISTEN']}"

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def is_ready(url):
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz").status_code == 200
    return False


def generator_of(tmp_path):
    """The process id of the demo's generator."""
    home = str(tmp_path / "home" / "demo")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            arguments = file.read().decode(errors="replace").split("\0")
            if "app.demo_generator" in arguments and home in arguments:
                return int(pid)
    return None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_it_greets_serves_and_ends_with_all_that_it_started(weir, tmp_path, number):
    process, url = weir()
    eventually(lambda: is_ready(url), 60)
    generator = eventually(lambda: generator_of(tmp_path))
    process.send_signal(number)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert not alive(generator)
    assert f"{url}/docs" in said
    assert str(tmp_path / "home" / "demo" / "output") in said


def test_a_restart_goes_on_where_it_was(weir, tmp_path):
    def run():
        process, url = weir()
        eventually(lambda: is_ready(url), 60)
        eventually(lambda: generator_of(tmp_path))
        items = httpx.get(f"{url}/api/v2/changefeeds").json()["items"]
        history = httpx.get(f"{url}/api/v2/changefeeds/demo/history").json()["total"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        return [item["id"] for item in items], history

    assert run() == run() == (["demo"], 1)


def test_a_killed_control_plane_takes_its_children_with_it(weir, tmp_path):
    process, url = weir()
    eventually(lambda: is_ready(url), 60)
    generator = eventually(lambda: generator_of(tmp_path))
    process.kill()
    eventually(lambda: not alive(generator))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"TIME_ZONE": "Mars/Base"}, "weir: WEIR_TIME_ZONE: 'Mars/Base' is not an IANA time zone"),
        (
            {"DATABASE_URL": "postgresql://127.0.0.1:1/x", "SECRET_KEY": "k" * 20},
            "weir: WEIR_DATABASE_URL: the database cannot be used",
        ),
        ({"DATABASE_URL": "postgresql://127.0.0.1:1/x"}, "weir: WEIR_SECRET_KEY: set it"),
    ],
    ids=["a wrong setting", "no database", "no key"],
)
def test_what_is_wrong_at_the_start_is_one_sentence_and_status_1(weir, settings, sentence):
    process, _ = weir(**settings)
    said, complaint = process.communicate(timeout=60)
    assert (process.returncode, said) == (1, "")
    (line,) = complaint.splitlines()
    assert line.startswith(sentence)


def test_a_home_that_cannot_be_written_is_one_sentence(weir, tmp_path):
    (tmp_path / "home").write_text("a file")
    process, _ = weir()
    _, complaint = process.communicate(timeout=60)
    (line,) = complaint.splitlines()
    assert process.returncode == 1
    assert line.startswith(f"weir: WEIR_HOME: the folder {tmp_path}/home cannot be written (")


def ran(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False)


PROGRAMS = ["app", "cli.main", "spark_jobs.capture"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_tells_its_version_and_its_use(program):
    version = ran("-m", program, "--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert "0.1.0" in version.stdout
    use = ran("-m", program, "--help")
    assert (use.returncode, use.stderr) == (0, "")
    assert use.stdout.startswith("usage: ")


def test_the_use_of_the_service_lists_every_setting():
    said = ran("-m", "app", "--help").stdout
    assert all(name in said for name in variables())


@pytest.mark.parametrize("address", ["127.0.0.1:8300", "http://", "ftp://h", "http://h:99999999", "nonsense"])
def test_a_capture_refuses_an_address_that_is_none(address):
    done = ran("-m", "spark_jobs.capture", "--server", address)
    assert done.returncode == 2
    assert "is not an address such as http://127.0.0.1:8300" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_open_door_is_said_loudly_and_a_locked_one_is_not(weir):
    said = []
    for settings in ({}, {"ADMIN_TOKEN": "a-token-that-only-tests-use"}):
        process, url = weir(**settings)
        eventually(lambda url=url: is_ready(url), 60)
        process.send_signal(signal.SIGINT)
        said.append(process.communicate(timeout=30)[0])
    assert ["OPEN" in text for text in said] == [True, False]


def test_a_broker_for_trying_things_fails_on_a_taken_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = ran("-m", "tests.servers.kafka", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "cannot be used (Address already in use)" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_taken_port_is_one_sentence_and_status_1(weir):
    port = free_port()
    _, url = weir(port)
    eventually(lambda: is_ready(url), 60)
    second, _ = weir(port)
    _, complaint = second.communicate(timeout=60)
    assert second.returncode == 1
    (line,) = complaint.splitlines()
    assert f"127.0.0.1:{port} cannot be used (Address already in use)" in line
