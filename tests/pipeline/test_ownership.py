"""Crashes at every step, and owners that do not know that they have been replaced."""

import contextlib
import os
import shutil
from typing import Any

import pytest

from spark_jobs import failpoints
from spark_jobs.commitlog.log import SNAPSHOT_EVERY, Fenced, LogDamaged
from tests.pipeline.messages import insert, ts, watermark
from tests.pipeline.scene import NOON, Queue, Scene, deliver, leftovers


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def arm(monkeypatch, tmp_path, step, action="error"):
    monkeypatch.setattr(failpoints, "_armed", failpoints._Armed(f"{step}:{action}:{tmp_path}/mark"))


def disarm(monkeypatch, tmp_path):
    assert (tmp_path / "mark").exists(), "the step was never reached"
    monkeypatch.setattr(failpoints, "_armed", None)


@pytest.mark.parametrize("step", failpoints.STEPS)
def test_a_crash_at_any_step_of_a_folder_batch_loses_and_repeats_nothing(scene, tmp_path, monkeypatch, step):
    scene.put("a.json", *(insert("orders", key, ts(key)) for key in range(1, 4)))
    deliver(scene.folder_feed())
    scene.put("b.json", *(insert("orders", key, ts(key)) for key in range(4, 8)), insert("items", 1, ts(9)))
    feed = scene.folder_feed()
    arm(monkeypatch, tmp_path, step)
    with pytest.raises(failpoints.InjectedFault):
        deliver(feed)
    disarm(monkeypatch, tmp_path)
    seen = scene.keys()
    assert seen == ["1", "2", "3"] or seen == ["1", "2", "3", "4", "5", "6", "7"]
    deliver(scene.folder_feed())
    assert scene.keys() == ["1", "2", "3", "4", "5", "6", "7"]
    assert scene.keys("items") == ["1"]
    assert scene.read().uncommitted == []
    assert scene.read().checkpoint == ts(9)
    assert leftovers(scene) == []


@pytest.mark.parametrize("step", failpoints.STEPS)
def test_a_crash_at_any_step_of_a_queue_batch_keeps_what_is_held(scene, tmp_path, monkeypatch, step):
    queue = Queue()
    scene.queue_feed().advance(queue.batch({0: [insert("orders", 2, ts(20))], 1: [watermark(ts(5))]}), NOON)
    after = {0: [watermark(ts(30)), insert("orders", 9, ts(90))], 1: [insert("orders", 1, ts(10)), watermark(ts(30))]}
    batch = queue.batch(after)
    arm(monkeypatch, tmp_path, step)
    with pytest.raises(failpoints.InjectedFault):
        scene.queue_feed().advance(batch, NOON)
    disarm(monkeypatch, tmp_path)
    feed = scene.queue_feed()
    if feed.offsets != {0: 3, 1: 3}:
        feed.advance(batch, NOON)
    assert scene.keys() == ["1", "2"]
    feed.advance(queue.batch({0: [watermark(ts(99))], 1: [watermark(ts(99))]}), NOON)
    assert scene.keys() == ["1", "2", "9"]
    assert leftovers(scene) == []


def test_an_owner_that_was_replaced_stops_before_it_touches_anything(scene):
    scene.put("a.json", insert("orders", 1, ts(1)))
    old = scene.folder_feed()
    new = scene.folder_feed()
    with pytest.raises(Fenced):
        deliver(old)
    assert not scene.output.joinpath("shop").exists()
    deliver(new)
    assert scene.keys() == ["1"]


def test_an_owner_replaced_in_the_middle_of_a_commit_leaves_no_trace(scene, tmp_path, monkeypatch):
    """The old owner sleeps before its log entry; the new one delivers the same rows meanwhile."""
    scene.put("a.json", insert("orders", 1, ts(1)))
    old = scene.folder_feed()
    slept: list[Any] = []

    def sleep(step):
        if step == "before-log-entry" and not slept:
            slept.append(step)
            deliver(scene.folder_feed())

    monkeypatch.setattr(failpoints, "reached", sleep)
    with pytest.raises(Fenced):
        deliver(old)
    assert slept
    assert scene.keys() == ["1"]
    assert len(list(scene.output.glob("shop/orders/*/*/CDC*"))) == 1


@pytest.mark.parametrize("step", ["before-publish", "before-index", "before-metadata"])
def test_an_owner_that_wakes_up_behind_its_entry_puts_nothing_back(scene, monkeypatch, step):
    scene.put("a.json", insert("orders", 1, ts(1)))
    old = scene.folder_feed()
    slept: list[Any] = []

    def sleep(name):
        if name == step and not slept:
            slept.append(name)
            later = scene.folder_feed()
            scene.put("b.json", insert("orders", 2, ts(2)))
            deliver(later)

    monkeypatch.setattr(failpoints, "reached", sleep)
    with contextlib.suppress(Fenced):
        deliver(old)
    with pytest.raises(Fenced):
        old.delivery.guard()
    assert slept
    assert scene.keys() == ["1", "2"]
    assert scene.read().checkpoint == ts(2)


def test_an_owner_that_slept_while_the_log_was_compacted_is_still_noticed(scene):
    old = scene.folder_feed()
    new = scene.folder_feed()
    for number in range(2 * SNAPSHOT_EVERY + 50):
        scene.put(f"{number:04d}.json", insert("orders", number, ts(number + 1)))
        deliver(new)
    log = scene.output / "_weir/feed/log"
    assert not (log / f"{2:016d}").exists(), "the entry that would have stopped the old owner is still there"
    with pytest.raises(Fenced):
        deliver(old)
    assert len(scene.keys()) == 2 * SNAPSHOT_EVERY + 50
    later = scene.folder_feed()
    assert later.delivery.view.totals.rows == 2 * SNAPSHOT_EVERY + 50


def test_an_earlier_epoch_cannot_claim_after_a_later_one(scene):
    scene.epoch = 5
    scene.folder_feed()
    scene.epoch = 3
    with pytest.raises(Fenced):
        scene.folder_feed()


def test_a_later_life_of_the_same_id_needs_adopt_and_goes_on_numbering(tmp_path):
    scene = Scene(tmp_path, sink="protocol=canal-json&date-separator=none")
    scene.put("a.json", insert("orders", 1, ts(1)))
    deliver(scene.folder_feed())
    with pytest.raises(Exception, match="adopt=restart"):
        scene.folder_feed(feed_uid=2)
    adopting = Scene(tmp_path, sink="protocol=canal-json&date-separator=none&adopt=restart")
    deliver(adopting.folder_feed(feed_uid=2))
    assert adopting.keys() == ["1", "1"]
    assert sorted(path.name for path in scene.output.glob("shop/orders/*/CDC*")) == ["CDC000001.json", "CDC000002.json"]


def test_a_rewind_delivers_again_under_new_numbers(tmp_path):
    scene = Scene(tmp_path, sink="protocol=canal-json&date-separator=none")
    scene.put("a.json", *(insert("orders", key, ts(key)) for key in (1, 2, 3)))
    deliver(scene.folder_feed())
    deliver(scene.folder_feed(rewind_id=1, floor_ts=ts(1)))
    assert scene.keys_unordered() == ["1", "2", "3", "2", "3"]
    assert scene.read_unordered().checkpoint == ts(3)


def test_files_that_a_consumer_removed_do_not_come_back_and_disturb_nobody(scene):
    scene.put("a.json", insert("orders", 1, ts(1)))
    deliver(scene.folder_feed())
    for path in scene.output.glob("shop/orders/*/*/CDC*"):
        path.unlink()
    scene.put("b.json", insert("orders", 2, ts(2)))
    deliver(scene.folder_feed())
    assert [path.name for path in scene.output.glob("shop/orders/*/*/CDC*")] == ["CDC000002.json"]


def test_a_damaged_log_stops_everything_and_names_the_entry(scene):
    scene.put("a.json", insert("orders", 1, ts(1)))
    deliver(scene.folder_feed())
    (scene.output / "_weir/feed/log" / f"{2:016d}").write_bytes(b"{")
    with pytest.raises(LogDamaged, match="0000000000000002"):
        scene.folder_feed()


def test_a_late_zombies_index_and_metadata_are_put_right(scene):
    scene.put("a.json", insert("orders", 1, ts(1)))
    feed = scene.folder_feed()
    deliver(feed)
    (index,) = scene.output.glob("shop/orders/*/*/meta/CDC.index")
    old_index, old_metadata = index.read_bytes(), (scene.output / "metadata").read_bytes()
    scene.put("b.json", insert("orders", 2, ts(2)))
    deliver(feed)
    index.write_bytes(old_index)
    (scene.output / "metadata").write_bytes(old_metadata)
    feed.delivery.upkeep()
    assert scene.keys() == ["1", "2"]
    assert scene.read().checkpoint == ts(2)


def test_dead_letters_are_put_aside_once_though_the_owner_dies_before_its_entry(scene, tmp_path, monkeypatch):
    scene.put("a.json", insert("orders", 1, ts(1)), b"{", insert("orders", 2, ts(2)))
    arm(monkeypatch, tmp_path, "before-log-entry")
    with pytest.raises(failpoints.InjectedFault):
        deliver(scene.folder_feed(options="&bad-message=dead-letter"))
    disarm(monkeypatch, tmp_path)
    deliver(scene.folder_feed(options="&bad-message=dead-letter"))
    assert scene.keys() == ["1", "2"]
    assert [len(path.read_bytes().splitlines()) for path in (tmp_path / "checkpoint/_dead_letter").iterdir()] == [1]


def test_a_crash_right_after_the_claim_of_a_rewind_leaves_no_metadata_ahead_of_it(scene, tmp_path, monkeypatch):
    scene.put("a.json", *(insert("orders", key, ts(key)) for key in (1, 2, 3)))
    deliver(scene.folder_feed())
    arm(monkeypatch, tmp_path, "before-metadata")
    with pytest.raises(failpoints.InjectedFault):
        scene.folder_feed(rewind_id=1, floor_ts=ts(1))
    disarm(monkeypatch, tmp_path)
    assert scene.read().checkpoint == ts(3)
    rewound = scene.folder_feed(rewind_id=1, floor_ts=ts(1))
    assert rewound.delivery.view.checkpoint_ts == scene.read().checkpoint == ts(1)


def test_a_folder_that_a_consumer_removed_whole_keeps_no_owner_from_starting(scene):
    scene.put("a.json", insert("orders", 1, ts(1)))
    deliver(scene.folder_feed())
    (folder,) = scene.output.glob("shop/orders/*/1970-01-01")
    shutil.rmtree(folder)
    scene.put("b.json", insert("orders", 2, ts(86_400_000)))
    feed = scene.folder_feed()
    deliver(feed)
    feed.delivery.upkeep()
    assert [path.name for path in scene.output.glob("shop/orders/*/1970*")] == ["1970-01-02"]


def test_a_sink_that_cannot_be_written_says_which_file_and_why(scene):
    scene.put("a.json", insert("orders", 1, ts(1)))
    feed = scene.folder_feed()
    (scene.output / "shop").write_bytes(b"a file where a folder must be")
    with pytest.raises(Exception, match=r"shop.* cannot be written: Not a directory"):
        deliver(feed)
    os.unlink(scene.output / "shop")
    deliver(scene.folder_feed())
    assert scene.keys() == ["1"]


def test_an_owner_that_wakes_up_behind_its_entry_leaves_what_the_next_one_holds(scene, monkeypatch):
    """The next owner has messages of its own waiting when the old one comes to clear up."""
    queue = Queue(1)
    old = scene.queue_feed(partitions=1)
    old.advance(queue.batch({0: [insert("orders", 1, ts(10)), watermark(ts(5))]}), NOON)
    slept: list[Any] = []

    def sleep(name):
        if name == "after-metadata" and not slept:
            slept.append(None)
            slept[0] = scene.queue_feed(partitions=1)
            slept[0].advance(queue.batch({0: [insert("orders", 2, ts(20))]}), NOON)

    monkeypatch.setattr(failpoints, "reached", sleep)
    with contextlib.suppress(Fenced):
        old.advance(queue.batch({0: [watermark(ts(12)), insert("orders", 3, ts(30))]}), NOON)
    slept[0].advance(queue.batch({0: [watermark(ts(99))]}), NOON)
    assert scene.keys() == ["1", "2", "3"]


def test_a_claim_that_wakes_up_late_leaves_what_the_next_owner_holds(scene, monkeypatch):
    queue = Queue(1)
    slept: list[Any] = []

    def sleep(name):
        if name == "after-metadata" and not slept:
            slept.append(None)
            slept[0] = scene.queue_feed(partitions=1)
            slept[0].advance(queue.batch({0: [watermark(ts(5)), insert("orders", 1, ts(20))]}), NOON)

    monkeypatch.setattr(failpoints, "reached", sleep)
    with contextlib.suppress(Fenced):
        scene.queue_feed(partitions=1)
    slept[0].advance(queue.batch({0: [watermark(ts(99))]}), NOON)
    assert scene.keys() == ["1"]


def test_a_claimant_that_is_overtaken_puts_nothing_back(scene, monkeypatch):
    """It finishes what the last owner committed; that owner is still alive and would go on, if it could."""
    scene.put("a.json", insert("orders", 1, ts(1)))
    old = scene.folder_feed()
    deliver(old)
    (index,) = scene.output.glob("shop/orders/*/*/meta/CDC.index")
    index.unlink()
    rename = os.replace
    slept: list[Any] = []

    def sleep(source, target):
        if str(target).endswith("CDC.index") and not slept:
            slept.append(target)
            scene.put("b.json", insert("orders", 2, ts(2)))
            with contextlib.suppress(Fenced):
                deliver(old)
        rename(source, target)

    monkeypatch.setattr(os, "replace", sleep)
    with contextlib.suppress(Fenced):
        scene.folder_feed()
    assert slept
    monkeypatch.setattr(os, "replace", rename)
    assert scene.read().uncommitted == []
    deliver(scene.folder_feed())
    assert scene.keys() == ["1", "2"]


@pytest.mark.parametrize("name", ["CDC.index", "metadata"])
def test_an_owner_asleep_between_its_last_look_and_a_rename_puts_nothing_back(scene, monkeypatch, name):
    scene.put("a.json", insert("orders", 1, ts(1)))
    old = scene.folder_feed()
    rename = os.replace
    slept: list[Any] = []

    def sleep(source, target):
        if str(target).endswith(name) and not slept:
            slept.append(name)
            later = scene.folder_feed()
            scene.put("b.json", insert("orders", 2, ts(2)))
            deliver(later)
        rename(source, target)

    monkeypatch.setattr(os, "replace", sleep)
    with pytest.raises(Fenced):
        deliver(old)
    assert slept
    assert scene.keys() == ["1", "2"]
    assert scene.read().checkpoint == ts(2)
    assert scene.read().strangers == []
