"""Publishing to a storage folder: what readers see between any two operations, and what a repetition finds."""

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs import failpoints
from spark_jobs.sinks.base import Document, FileRecord, Step
from spark_jobs.sinks.storage.disk import OutputGone
from spark_jobs.sinks.storage.steps import Steps
from spark_jobs.store import durable
from tests.pipeline.messages import COLUMNS, ddl, insert, row, ts
from tests.sinks.storage_scene import Fenced, Scene

CREATE = "CREATE TABLE `{}` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))"
STEPS = ("before-publish", "after-publish", "before-index", "after-index", "before-metadata", "after-metadata")
HANG_SECONDS = 300
"""A guard against standing still; nothing here is a measurement."""


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def create(table: str, commit_ts: int) -> bytes:
    return ddl(table, CREATE.format(table), commit_ts, kind="CREATE")


def stream(statements: int, rows: int, tables: tuple[str, ...] = ("orders", "items")) -> list[bytes]:
    """Rows of some tables with a statement on one of them every few rows."""
    messages, clock = [create(table, ts(n + 1)) for n, table in enumerate(tables)], 100
    columns: dict[str, dict[str, tuple[str, int]]] = {table: dict(COLUMNS) for table in tables}
    for n in range(statements):
        for key in range(rows):
            table = tables[key % len(tables)]
            clock += 1
            values = {name: str(clock) for name in columns[table]}
            messages.append(row(table, values, ts(clock), columns=columns[table]))
        table = tables[n % len(tables)]
        clock += 1
        messages.append(ddl(table, f"ALTER TABLE `{table}` ADD COLUMN `c{n}` INT", ts(clock)))
        columns[table] = {**columns[table], f"c{n}": ("int", 4)}
    return messages


class Consumer:
    """Follows index files as TiCDC's consumer does: a table's version counts as over when a later schema file of the
    table is seen, and rows of it that come after that would be dropped."""

    def __init__(self, root: Path, expected: dict[int, int]) -> None:
        self._root = root
        self._expected = expected
        self.looks = 0
        self.faults: list[str] = []

    def look(self) -> None:
        """Schema files first, then the rows that index files cover."""
        self.looks += 1
        seen: dict[str, int] = {}
        for path in self._root.glob("shop/*/meta/schema_*.json"):
            version = int(path.name.split("_")[1])
            seen[path.parts[-3]] = max(seen.get(path.parts[-3], 0), version)
        for table, newest in seen.items():
            for version, rows in self._expected.items():
                folder = self._root / "shop" / table
                if version < newest and (folder / "meta").is_dir() and self._is_of(table, version):
                    found = self._rows(folder / str(version))
                    if found != rows:
                        self.faults.append(f"{table}: version {newest} is visible, of {version} {found} of {rows} rows")

    def _is_of(self, table: str, version: int) -> bool:
        return bool(list((self._root / "shop" / table / "meta").glob(f"schema_{version}_*")))

    def _rows(self, folder: Path) -> int:
        index = folder / "meta" / "CDC.index"
        if not index.exists():
            return 0
        last = int(re.findall(r"\d+", index.read_text())[0])
        return sum((folder / f"CDC{n:06d}.json").read_bytes().count(b"\n") for n in range(1, last + 1))


def between_operations(monkeypatch: pytest.MonkeyPatch, look: Callable[[], None]) -> None:
    """Looks after each operation that changes a name."""
    for name in ("link", "replace", "mkdir", "unlink"):
        real = getattr(os, name)

        def watched(*arguments: Any, real: Any = real, **options: Any) -> Any:
            result = real(*arguments, **options)
            look()
            return result

        monkeypatch.setattr(os, name, watched)


def rows_by_version(scene: Scene) -> dict[int, int]:
    """Rows of each version that the last entry will publish."""
    found: dict[int, int] = {}
    for step in scene.log.last:
        for file in step.files:
            version = int(file.path.split("/")[2])
            found[version] = found.get(version, 0) + file.rows
    return found


def test_no_version_is_visible_before_all_rows_of_the_one_before_it(scene, monkeypatch):
    scene.commit(*stream(12, 7))
    consumer = Consumer(scene.root, rows_by_version(scene))
    between_operations(monkeypatch, consumer.look)
    monkeypatch.setattr(failpoints, "reached", lambda step: consumer.look())
    scene.publish()
    consumer.look()
    assert consumer.faults == []
    assert consumer.looks > 100
    assert len(scene.keys()) + len(scene.keys("items")) == 12 * 7


def test_the_consumer_of_these_tests_finds_documents_that_come_too_early(scene, monkeypatch):
    scene.commit(*stream(4, 6))
    consumer = Consumer(scene.root, rows_by_version(scene))
    steps = scene.log.last
    scene.committer.publish([Step(documents=[one for step in steps for one in step.documents])])
    consumer.look()
    assert consumer.faults


def arm(monkeypatch, tmp_path, step, count=1):
    monkeypatch.setattr(failpoints, "_armed", failpoints._Armed(f"{step}@{count}:error:{tmp_path}/mark"))


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("step", STEPS[:4])
def test_a_crash_at_any_step_is_finished_by_the_next_owner_with_the_same_tree(tmp_path, monkeypatch, step, count):
    (tmp_path / "whole").mkdir()
    whole = Scene(tmp_path / "whole")
    whole.deliver(*stream(5, 4), checkpoint_ts=ts(1000))
    (tmp_path / "crashed").mkdir()
    crashed = Scene(tmp_path / "crashed")
    crashed.commit(*stream(5, 4), checkpoint_ts=ts(1000))
    arm(monkeypatch, tmp_path, step, count)
    with pytest.raises(failpoints.InjectedFault):
        crashed.publish()
    monkeypatch.setattr(failpoints, "_armed", None)
    crashed.owner()
    assert crashed.tree() == whole.tree()
    crashed.committer.publish(crashed.log.last)
    assert crashed.tree() == whole.tree()


def test_a_failure_of_any_operation_is_finished_by_this_owner_or_the_next_with_the_same_tree(tmp_path, monkeypatch):
    (tmp_path / "whole").mkdir()
    whole = Scene(tmp_path / "whole")
    whole.deliver(*stream(3, 3))
    for count in range(1, 200):
        where = tmp_path / f"crashed-{count}"
        where.mkdir()
        crashed = Scene(where)
        crashed.commit(*stream(3, 3))
        left = count

        def fail() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            between_operations(patch, fail)
            with contextlib.suppress(durable.StorageFault, OSError):
                crashed.publish()
        if left > 0:
            break
        if count % 2:
            crashed.owner()
        crashed.publish()
        assert crashed.tree() == whole.tree(), count
        assert os.listdir(crashed.home / "owners" / str(crashed.epoch)) == []
    assert 20 < count < 199


def test_publishing_again_does_nothing_also_without_the_staged_files(scene):
    scene.commit(*stream(3, 3))
    scene.committer.publish(scene.log.last)
    before = {path: path.stat().st_mtime_ns for path in scene.root.rglob("*.json")}
    scene.committer.publish(scene.log.last)
    shutil.rmtree(scene.staging)
    (scene.home / "published").unlink()
    scene.owner()
    assert {path: path.stat().st_mtime_ns for path in scene.root.rglob("*.json")} == before


def test_a_file_of_the_same_content_counts_as_done_and_another_content_is_a_fault_with_the_path(scene):
    scene.commit(insert("orders", 1, ts(5)), insert("items", 1, ts(6)))
    (files,) = [step.files for step in scene.log.last]
    orders, items = sorted(files, key=lambda file: file.path, reverse=True)
    for file in (orders, items):
        (scene.root / file.path).parent.mkdir(parents=True)
        shutil.copy(scene.staging / file.staged, scene.root / file.path)
    scene.publish()
    assert scene.keys() == ["1"]
    (scene.home / "published").unlink()
    (scene.root / items.path).write_bytes(b"{}")
    with pytest.raises(durable.StorageFault, match=r"items/\d+/CDC000001.json is there already"):
        scene.committer.publish(scene.log.last)


def test_what_consumers_removed_does_not_come_back_whoever_publishes_again(scene):
    scene.deliver(insert("orders", 1, ts(5)), insert("orders", 2, ts(6)))
    for path in scene.root.glob("shop/orders/*/CDC*"):
        path.unlink()
    (scene.home / "published").unlink()
    scene.owner()
    assert list(scene.root.glob("shop/orders/*/CDC*")) == []
    shutil.rmtree(next(scene.root.glob("shop/orders/*/meta")).parent)
    scene.deliver(insert("orders", 3, ts(7)))


def test_a_folder_that_a_consumer_removed_whole_keeps_no_owner_from_starting(scene):
    scene.deliver(insert("orders", 1, ts(5)))
    shutil.rmtree(scene.root / "shop/orders" / str(ts(5)))
    scene.owner()
    scene.deliver(insert("orders", 2, ts(6)))
    assert [path.name for path in scene.root.glob("shop/orders/*/CDC*")] == ["CDC000002.json"]


def test_a_staged_file_that_is_gone_before_it_was_published_is_a_fault(scene):
    scene.commit(insert("orders", 1, ts(5)))
    shutil.rmtree(scene.staging)
    with pytest.raises(durable.StorageFault, match="neither it nor its staged form"):
        scene.publish()


def test_an_entry_of_an_older_version_without_digests_is_over_when_its_staging_folder_is_gone(scene):
    scene.owner()
    record = FileRecord("1-1-2/abc", f"shop/orders/{ts(5)}/CDC000001.json", 1, 1, ts(5), ts(5))
    scene.committer.publish([Step(files=[record])])
    assert scene.tree() == {}


def test_an_owner_that_was_shut_out_changes_no_index_file(scene, monkeypatch):
    scene.deliver(insert("orders", 1, ts(5)))
    scene.commit(insert("orders", 2, ts(6)))
    old, last = scene.committer, scene.log.last

    def sleep(step: str) -> None:
        if step == "before-index" and scene.committer is old:
            monkeypatch.setattr(failpoints, "reached", lambda step: None)
            scene.owner()
            scene.deliver(insert("orders", 3, ts(7)))

    monkeypatch.setattr(failpoints, "reached", sleep)
    with contextlib.suppress(Fenced):
        old.publish(last)
    assert scene.keys() == ["1", "2", "3"]


def test_index_files_and_metadata_that_went_back_are_put_right(scene):
    scene.deliver(insert("orders", 1, ts(5)), checkpoint_ts=ts(5))
    (index,) = scene.root.glob("shop/orders/*/meta/CDC.index")
    old = index.read_bytes(), (scene.root / "metadata").read_bytes()
    scene.deliver(insert("orders", 2, ts(6)), checkpoint_ts=ts(6))
    for put_right in (lambda: scene.committer.upkeep(scene.log), scene.owner):
        index.write_bytes(old[0])
        (scene.root / "metadata").write_bytes(old[1])
        put_right()
        assert scene.keys() == ["1", "2"]
        assert scene.read().checkpoint == ts(6)
    index.unlink()
    scene.owner()
    assert scene.keys() == ["1", "2"]


def test_an_output_that_was_removed_is_said_as_such(scene):
    scene.deliver(insert("orders", 1, ts(5)))
    shutil.rmtree(scene.root)
    for act in (lambda: scene.committer.upkeep(scene.log), lambda: scene.committer.publish(scene.log.last)):
        with pytest.raises(OutputGone, match="is gone: it was removed while the changefeed runs"):
            act()
    scene.staging.mkdir(parents=True)
    items = scene.items([insert("orders", 9, ts(9))])
    shutil.rmtree(scene.root)
    with pytest.raises(OutputGone, match=r"output folder .* is gone"):
        scene.committer.prepare(items, scene.log)
    assert not scene.root.exists()


def test_what_a_publication_made_is_durable_when_it_is_over_and_index_files_when_it_is_settled(scene, monkeypatch):
    synced: set[str] = set()
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    scene.deliver(create("orders", ts(1)), insert("orders", 1, ts(5)), checkpoint_ts=ts(5))
    data = scene.root / "shop/orders" / str(ts(1))
    folders = {data, data.parent, data.parent / "meta", data.parent.parent, scene.root}
    assert {str(folder) for folder in folders} <= synced
    assert any(path.startswith(str(scene.home / "owners")) for path in synced), "a document's content"
    assert str(data / "meta/CDC.index") not in synced
    scene.committer.settle(scene.log)
    assert {str(data / "meta/CDC.index"), str(data / "meta"), str(scene.root / "metadata")} <= synced


def test_after_a_power_cut_too_no_schema_file_stands_before_the_index_files_of_the_step_before(scene, monkeypatch):
    done: list[str] = []
    fsync, link = os.fsync, os.link

    def watched_fsync(descriptor: int) -> None:
        fsync(descriptor)
        done.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    def watched_link(source: str, target: str) -> None:
        link(source, target)
        done.append(f"link {target}")

    scene.commit(create("orders", ts(1)), insert("orders", 1, ts(5)), ddl("orders", "TRUNCATE TABLE `orders`", ts(9)))
    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "link", watched_link)
    scene.publish()
    index = scene.root / "shop/orders" / str(ts(1)) / "meta/CDC.index"
    (truncate,) = [step for step in done if f"schema_{ts(9)}_" in step and step.startswith("link")]
    assert {str(index), str(index.parent), str(index.parent.parent)} <= set(done[: done.index(truncate)])


# steps


def test_statements_without_rows_between_them_share_a_step_and_so_do_independent_tables():
    steps = Steps()
    for n in range(5000):
        steps.document([("shop", f"t{n}")], Document(f"d{n}", ""))
    for n in range(5000):
        steps.file(("shop", f"t{n}"), _record(f"f{n}"))
    (step,) = steps.cut()
    assert (len(step.documents), len(step.files)) == (5000, 5000)


def test_a_document_stands_above_the_files_of_the_tables_that_it_names_and_below_their_next_ones():
    steps = Steps()
    steps.file(("shop", "a"), _record("a1"))
    steps.document([("shop", "b")], Document("b", ""))
    steps.document([("shop", "a"), ("shop", "c")], Document("a and c", ""))
    steps.file(("shop", "c"), _record("c1"))
    steps.file(("shop", "b"), _record("b1"))
    assert names(steps) == [["b", "a1", "b1"], ["a and c", "c1"]]


def test_a_statement_on_a_database_separates_all_its_tables_also_later_ones():
    steps = Steps()
    steps.file(("shop", "a"), _record("a1"))
    steps.file(("other", "a"), _record("o1"))
    steps.document([("shop", "")], Document("drop shop", ""))
    steps.document([("shop", "new")], Document("new", ""))
    steps.document([("other", "x")], Document("x", ""))
    steps.file(("shop", "new"), _record("n1"))
    assert names(steps) == [["x", "a1", "o1"], ["drop shop", "new", "n1"]]


def names(steps: Steps) -> list[list[str]]:
    return [[*(one.path for one in step.documents), *(one.path for one in step.files)] for step in steps.cut()]


def _record(path: str) -> FileRecord:
    return FileRecord(path, path, 1, 1, 1, 1)


def test_cuts_are_asked_of_a_lane_for_statements_on_its_table_and_its_database(scene):
    scene.owner()
    scene.deliver(create("orders", ts(1)))
    asked: list[Any] = []
    real = scene.committer.cuts

    def cuts(statements: Any, view: Any) -> Any:
        asked.append(real(statements, view))
        return asked[-1]

    scene.committer.cuts = cuts
    scene.commit(
        create("orders", ts(0, 1)),
        ddl("orders", "ALTER TABLE `orders` ADD COLUMN `a` INT", ts(5)),
        ddl("items", "RENAME TABLE `items` TO `things`", ts(6)),
        ddl("", "DROP DATABASE `other`", ts(7)),
    )
    of = asked[0]
    assert of(("shop", "orders", 0)) == [ts(5)]
    assert of(("shop", "items", 0)) == of(("shop", "things", 3)) == [ts(6)]
    assert of(("other", "t", 0)) == [ts(7)]
    assert of(("shop", "rest", 0)) == []


# size


def test_thousands_of_new_tables_in_one_batch_are_published_in_one_step(scene):
    started = time.monotonic()
    tables = [f"t{n}" for n in range(5000)]
    scene.owner()
    messages = [create(table, ts(1 + n)) for n, table in enumerate(tables)]
    messages += [insert(table, 1, ts(6000 + n)) for n, table in enumerate(tables)]
    items = scene.items(messages)
    staged = time.monotonic()
    prepared = scene.committer.prepare(items, scene.log)
    scene.log.append(prepared, ts(20_000))
    prepared_at = time.monotonic()
    assert len(scene.log.last) == 1
    scene.publish()
    published = time.monotonic()
    print(
        f"5,000 new tables: staged {staged - started:.1f} s, prepared {prepared_at - staged:.1f} s, "
        f"published {published - prepared_at:.1f} s"
    )
    assert len(list(scene.root.glob("shop/*/*/meta/CDC.index"))) == 5000
    assert published - staged < HANG_SECONDS
    assert json.loads((scene.root / "metadata").read_bytes()) == {"checkpoint-ts": ts(20_000)}
