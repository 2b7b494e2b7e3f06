"""Child processes: kept alive, drained, and ended with all that they started."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from app.owner.processes import Child

# Says its pid and that of its own child, drains on SIGTERM for as long as told, ends when its standard input closes.
PROGRAM = """
import os, signal, subprocess, sys, threading, time
drain = float(sys.argv[1])
below = subprocess.Popen(["sleep", "600"])
print(os.getpid(), below.pid, flush=True)
def end(*_):
    time.sleep(drain)
    print("drained", flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
def watch():
    sys.stdin.buffer.read()
    below.kill()
    os._exit(3)
threading.Thread(target=watch, daemon=True).start()
while True:
    time.sleep(0.05)
"""


def eventually(ask, seconds=15):
    deadline = time.monotonic() + seconds
    while not (value := ask()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return value


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def child(tmp_path):
    made = []

    def make(drain=0.0, drain_seconds=10.0):
        child = Child(
            "child",
            [sys.executable, "-c", PROGRAM, str(drain)],
            log_path=tmp_path / "logs" / "child.log",
            environment=dict(os.environ),
            drain_seconds=drain_seconds,
        )
        made.append(child)
        child.start()
        return child

    yield make
    for child in made:
        hurry = threading.Event()
        hurry.set()
        child.stop(hurry=hurry)


def lives(tmp_path, count):
    """The (pid, pid of its child) of the first lives of the program, once there are so many."""
    path = tmp_path / "logs" / "child.log"

    def read():
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        found = [tuple(map(int, line)) for line in lines if len(line) == 2]
        return found if len(found) >= count else None

    return eventually(read)


def test_a_child_drains_before_it_ends_and_its_children_end_with_it(child, tmp_path):
    running = child(drain=0.2)
    ((pid, below),) = lives(tmp_path, 1)
    running.stop(hurry=threading.Event())
    assert "drained" in (tmp_path / "logs" / "child.log").read_text()
    eventually(lambda: not alive(pid) and not alive(below))


def test_a_child_that_does_not_drain_in_time_is_killed_with_its_group(child, tmp_path):
    running = child(drain=600, drain_seconds=0.2)
    ((pid, below),) = lives(tmp_path, 1)
    running.stop(hurry=threading.Event())
    eventually(lambda: not alive(pid) and not alive(below))


def test_hurry_ends_the_waiting(child, tmp_path):
    running = child(drain=600, drain_seconds=600)
    lives(tmp_path, 1)
    hurry = threading.Event()
    threading.Timer(0.2, hurry.set).start()
    began = time.monotonic()
    running.stop(hurry=hurry)
    assert time.monotonic() - began < 10


def test_a_child_that_dies_is_started_again_and_leaves_nothing_behind(child, tmp_path):
    running = child()
    ((pid, below),) = lives(tmp_path, 1)
    os.kill(pid, signal.SIGKILL)
    first, second = lives(tmp_path, 2)
    assert first == (pid, below)
    assert not alive(below)
    assert running.pid == second[0]


def test_a_child_ends_when_its_parent_is_killed(tmp_path):
    program = (
        "import sys, time, os; from pathlib import Path; from app.owner.processes import Child\n"
        f"Child('c', [sys.executable, '-c', {PROGRAM!r}, '0'], log_path=Path({str(tmp_path / 'logs' / 'child.log')!r}),"
        " environment=dict(os.environ)).start()\n"
        "time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ((pid, below),) = lives(tmp_path, 1)
    parent.kill()
    parent.wait()
    eventually(lambda: not alive(pid) and not alive(below))
