"""Real captures under load, killed and stopped: at each named step, at random moments, with and without their JVM."""

import random
import signal

import pytest

from spark_jobs.failpoints import STEPS
from tests.rig.group import VICTIMS
from tests.rig.rig import Rig


@pytest.fixture
def running(loaded: Rig) -> Rig:
    """The rig with captures enough and nothing wrong so far."""
    loaded.refill(4, registered=3)
    return loaded


@pytest.fixture(autouse=True)
def judged_at_every_moment(loaded):
    yield
    assert loaded.problems() == []


def test_a_capture_drains_on_sigterm_and_leaves_nobody_behind(running):
    feed = running.feed("files")
    capture, epoch = running.wait_for_host(feed), feed.epoch()
    assert any("java" in command for command in capture.group.members().values())
    capture.group.signal_leader(signal.SIGTERM)
    running.drop(capture)
    assert capture.group.status == 0, capture.group.said()
    assert "[CDC:" not in capture.group.said()
    feed.wait_for_commit(epoch)


@pytest.mark.parametrize("victim", VICTIMS)
def test_when_a_capture_is_killed_another_goes_on(running, victim):
    """How long that takes is measured by ``python -m bench takeover``."""
    feed = running.feed("topics")
    capture, epoch = running.wait_for_host(feed), feed.epoch()
    capture.group.kill(victim)
    feed.wait_for_commit(epoch)
    running.drop(capture)


@pytest.mark.parametrize("step", STEPS)
def test_a_capture_killed_and_one_stopped_at_a_step_are_replaced(running, step):
    running.fault_at(step, stop_everybody=STEPS.index(step) % 3 == 0)


def test_captures_without_a_control_plane_go_on_until_their_lease_ends_and_again_when_it_is_back(running):
    running.leave_alone()


def test_kills_at_random_moments(running):
    chance = random.Random(5)
    for _ in range(8):
        running.random_kill(chance)
        running.refill(4, registered=2)


def test_everything_has_come_out_once(running):
    for feed in running.feeds:
        verdict = feed.judge()
        assert verdict.problems == []
        assert verdict.rounds > 100
        assert feed.pump.workload.ledger.statements > 3
    assert running.feed("topics").pump.workload.ledger.repeats > 10
