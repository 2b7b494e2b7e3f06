"""Owners without Spark, killed and stopped hundreds of times: what the commit log alone promises, without any lease."""

import pytest

from spark_jobs import failpoints
from tests.rig.arena import KINDS, arena

every_kind = pytest.mark.parametrize(("partitions", "protocol"), KINDS)
folder_and_queue = pytest.mark.parametrize(("partitions", "protocol"), [(0, "canal-json"), (3, "csv")])


@every_kind
def test_kills_at_random_moments_lose_and_repeat_nothing(tmp_path, partitions, protocol):
    with arena(tmp_path, partitions, protocol, seed=11) as scene:
        for _ in range(30):
            scene.kill_at_random()


@folder_and_queue
def test_owners_that_sleep_at_random_moments_and_wake_up_late_change_nothing(tmp_path, partitions, protocol):
    with arena(tmp_path, partitions, protocol, seed=12) as scene:
        for _ in range(10):
            scene.sleep_at_random()


@folder_and_queue
def test_three_owners_that_all_believe_in_themselves_do_no_harm(tmp_path, partitions, protocol):
    with arena(tmp_path, partitions, protocol, seed=13) as scene:
        for _ in range(4):
            scene.fight()


@folder_and_queue
def test_kills_and_sleeps_at_every_step(tmp_path, partitions, protocol):
    with arena(tmp_path, partitions, protocol, seed=14) as scene:
        for step in failpoints.STEPS:
            scene.kill_at(step)
            scene.sleep_at(step)
