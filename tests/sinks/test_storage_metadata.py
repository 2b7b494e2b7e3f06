"""``metadata``: never ahead of what is in the folder, whoever writes there."""

import json
import os
import shutil

import pytest

from spark_jobs import failpoints
from spark_jobs.sinks.storage.checkpoints import end
from tests.pipeline.messages import insert, ts
from tests.sinks.storage_scene import Fenced, Scene

ADOPTING = "protocol=canal-json&date-separator=none&adopt=restart"


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def published(scene: Scene) -> int:
    return int(json.loads((scene.root / "metadata").read_bytes())["checkpoint-ts"])


def test_a_lone_changefeed_says_its_own_checkpoint_and_nothing_before_there_is_one(scene):
    scene.deliver(insert("orders", 1, ts(5)))
    assert not (scene.root / "metadata").exists()
    scene.deliver(insert("orders", 2, ts(6)), checkpoint_ts=ts(6))
    assert (scene.root / "metadata").read_bytes() == b'{"checkpoint-ts":%d}' % ts(6)


def test_metadata_goes_back_only_where_that_is_meant(scene):
    scene.deliver(insert("orders", 1, ts(5)), checkpoint_ts=ts(5))
    scene.committer.watermark(ts(3))
    assert published(scene) == ts(5)
    scene.committer.watermark(ts(3), may_go_back=True)
    assert published(scene) == ts(3)
    scene.committer.watermark(0, may_go_back=True)
    assert published(scene) == 0


def test_of_several_changefeeds_in_a_folder_metadata_is_the_least(tmp_path):
    one = Scene(tmp_path, feed="one")
    one.deliver(insert("orders", 1, ts(100)), checkpoint_ts=ts(100))
    two = Scene(tmp_path, ADOPTING, feed="two")
    two.owner()
    two.committer.watermark(0, may_go_back=True)
    assert published(one) == 0
    one.deliver(insert("orders", 2, ts(200)), checkpoint_ts=ts(200))
    assert published(one) == 0
    two.deliver(insert("items", 1, ts(50)), checkpoint_ts=ts(50))
    assert published(one) == ts(50)
    one.committer.upkeep(one.log)
    assert published(one) == ts(50)
    two.deliver(insert("items", 2, ts(300)), checkpoint_ts=ts(300))
    assert published(one) == ts(200)


def test_a_removed_changefeed_holds_metadata_back_no_longer_until_it_is_made_anew(tmp_path):
    one, two = Scene(tmp_path, feed="one"), Scene(tmp_path, ADOPTING, feed="two")
    one.deliver(insert("orders", 1, ts(100)), checkpoint_ts=ts(100))
    two.deliver(insert("items", 1, ts(50)), checkpoint_ts=ts(50))
    two.committer.watermark(ts(50), may_go_back=True)
    end(str(two.home))
    end(str(two.home))
    end(str(tmp_path / "nothing"))
    one.deliver(insert("orders", 2, ts(200)), checkpoint_ts=ts(200))
    assert published(one) == ts(200)
    two.owner()
    one.deliver(insert("orders", 3, ts(300)), checkpoint_ts=ts(300))
    assert published(one) == ts(200)


def test_two_that_write_at_once_end_with_the_least(tmp_path, monkeypatch):
    """The other one goes back between the first one's look at all homes and its write."""
    one, two = Scene(tmp_path, feed="one"), Scene(tmp_path, ADOPTING, feed="two")
    one.deliver(insert("orders", 1, ts(100)), checkpoint_ts=ts(100))
    two.deliver(insert("items", 1, ts(100)), checkpoint_ts=ts(100))
    real = os.replace
    slept: list[str] = []

    def replace(source: str, target: str) -> None:
        if target.endswith("/metadata") and not slept:
            slept.append(target)
            two.committer.watermark(ts(10), may_go_back=True)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    two.committer.watermark(ts(150))
    one.committer.watermark(ts(120))
    assert slept
    assert published(one) == ts(10)


@pytest.mark.parametrize("content", [b"", b"{", b'{"checkpoint-ts":"x"}'])
def test_a_checkpoint_that_a_power_cut_damaged_holds_metadata_where_it_is(tmp_path, content):
    one, two = Scene(tmp_path, feed="one"), Scene(tmp_path, ADOPTING, feed="two")
    one.deliver(insert("orders", 1, ts(100)), checkpoint_ts=ts(100))
    two.deliver(insert("items", 1, ts(100)), checkpoint_ts=ts(100))
    (two.home / "checkpoint").write_bytes(content)
    one.committer.watermark(ts(200))
    assert published(one) == ts(100)
    two.owner()
    one.committer.watermark(ts(200))
    assert published(one) == ts(100)


def test_strays_among_the_homes_disturb_nobody(scene):
    scene.deliver(insert("orders", 1, ts(5)))
    (scene.home.parent / ".DS_Store").write_bytes(b"")
    (scene.home.parent / "lost+found").mkdir()
    scene.deliver(insert("orders", 2, ts(6)), checkpoint_ts=ts(6))
    scene.owner()
    assert published(scene) == ts(6)


def test_an_owner_that_was_shut_out_says_nothing(scene):
    scene.deliver(insert("orders", 1, ts(5)), checkpoint_ts=ts(5))
    old = scene.committer
    scene.owner()
    scene.deliver(insert("orders", 2, ts(6)), checkpoint_ts=ts(6))
    with pytest.raises(Fenced):
        old.watermark(ts(9))
    assert published(scene) == ts(6)


@pytest.mark.parametrize("step", ["before-metadata", "after-metadata"])
def test_a_crash_beside_metadata_is_made_good_by_the_next_owner(scene, tmp_path, monkeypatch, step):
    scene.commit(insert("orders", 1, ts(5)), checkpoint_ts=ts(5))
    monkeypatch.setattr(failpoints, "_armed", failpoints._Armed(f"{step}:error:{tmp_path}/mark"))
    with pytest.raises(failpoints.InjectedFault):
        scene.publish()
    scene.owner()
    assert published(scene) == ts(5)


def test_a_damaged_metadata_is_written_anew(scene):
    scene.deliver(insert("orders", 1, ts(5)), checkpoint_ts=ts(5))
    (scene.root / "metadata").write_bytes(b"")
    scene.committer.watermark(ts(5))
    assert published(scene) == ts(5)
    shutil.rmtree(scene.home / "owners" / "1")
    with pytest.raises(Exception, match="cannot be written"):
        scene.committer.watermark(ts(6))
