"""What a machine that loses its power may forget: contents and names that nobody made durable in time."""

import os
from pathlib import Path

import pytest

from spark_jobs.commitlog.log import SNAPSHOT_EVERY
from tests.pipeline.messages import insert, ts, watermark
from tests.pipeline.scene import NOON, Queue, Scene, deliver


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


class Disk:
    """Watches which files and folders were made durable, and when names appeared."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._steps: list[str] = []
        self._fsync, self._link = os.fsync, os.link
        monkeypatch.setattr(os, "fsync", self._on_fsync)
        monkeypatch.setattr(os, "link", self._on_link)

    def _on_fsync(self, descriptor: int) -> None:
        self._steps.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        self._fsync(descriptor)

    def _on_link(self, source: str, target: str) -> None:
        self._link(source, target)
        self._steps.append(f"link {target}")

    def made_durable_before(self, name: Path) -> list[str]:
        """Paths that were durable when ``name`` was linked."""
        return self._steps[: self._steps.index(f"link {name}")]


def entry(scene: Scene, number: int) -> Path:
    return scene.output / "_weir/feed/log" / f"{number:016d}"


def test_held_messages_and_their_names_are_durable_before_the_log_names_them(scene, monkeypatch):
    disk = Disk(monkeypatch)
    feed = scene.queue_feed()
    feed.advance(Queue().batch({0: [insert("orders", 2, ts(30)), watermark(ts(30))], 1: [watermark(ts(20))]}), NOON)
    (segment,) = feed.delivery.view.held.values()
    held = scene.output / "_weir/feed/held"
    durable_then = disk.made_durable_before(entry(scene, 2))
    assert str(held / segment.name) in durable_then
    assert str(held) in durable_then[durable_then.index(str(held / segment.name)) :]


def test_data_files_and_their_names_are_durable_before_the_log_names_them(scene, monkeypatch):
    disk = Disk(monkeypatch)
    scene.put("a.json", insert("orders", 1, ts(1)))
    feed = scene.folder_feed()
    deliver(feed)
    assert feed.delivery.log.last_commit is not None
    (file,) = feed.delivery.log.last_commit.steps[0].files
    staged = scene.output / "_weir/feed/staging" / file.staged
    durable_then = disk.made_durable_before(entry(scene, 2))
    assert str(staged.parent) in durable_then[durable_then.index(str(staged)) :]


@pytest.mark.parametrize("content", [None, b"", b"CDC000001.json\n"], ids=["no name", "no content", "an old one"])
def test_index_files_that_the_disk_forgot_are_made_again_from_the_log(scene, content):
    """Of every table since the last snapshot, not only of those in the last commit."""
    feed = scene.folder_feed()
    for key in (1, 2):
        scene.put(f"orders-{key}.json", insert("orders", key, ts(key)))
        deliver(feed)
    scene.put("items.json", insert("items", 1, ts(9)))
    deliver(feed)
    (index,) = scene.output.glob("shop/orders/*/*/meta/CDC.index")
    index.unlink() if content is None else index.write_bytes(content)
    (scene.output / "metadata").write_bytes(b"")
    scene.folder_feed()
    assert scene.keys() == ["1", "2"]
    assert scene.read().checkpoint == ts(9)


def test_index_files_are_durable_before_a_snapshot_takes_the_place_of_their_entries(scene, monkeypatch):
    disk = Disk(monkeypatch)
    feed = scene.folder_feed()
    for number in range(SNAPSHOT_EVERY):
        scene.put(f"{number:04d}.json", insert("orders" if number % 2 else "items", number, ts(number + 1)))
        deliver(feed)
    (snapshot,) = entry(scene, 0).parent.glob("snapshot-*")
    durable_then = disk.made_durable_before(snapshot)
    indexes = [*scene.output.glob("shop/*/*/*/meta/CDC.index"), scene.output / "metadata"]
    assert len(indexes) == 3
    for path in indexes:
        assert str(path) in durable_then
        assert str(path.parent) in durable_then[durable_then.index(str(path)) :]
