"""A source folder to a storage folder, without Spark."""

import contextlib
import os

import msgspec
import pytest

from spark_jobs.commitlog.log import Fenced
from spark_jobs.pipeline.bad_message import BadMessage
from spark_jobs.sinks.storage.numbers import UnknownOrigin
from spark_jobs.sources.folder.listing import SourceFolderUnreadable
from spark_jobs.sources.folder.split import SourceFileChanged, SourceFileUnreadable
from spark_jobs.store import durable
from spark_jobs.store.durable import StorageFault
from tests.pipeline.messages import ddl, insert, ts
from tests.pipeline.scene import NOON, Scene, deliver, leftovers

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def test_rows_come_out_once_in_source_order(scene):
    scene.put("a.json", *(insert("orders", key, ts(1000 + key)) for key in range(50)))
    feed = scene.folder_feed()
    deliver(feed)
    deliver(feed)
    assert scene.keys() == [str(key) for key in range(50)]


def test_files_are_taken_in_name_order_whatever_their_age(scene):
    for name, key in (("b.json", 2), ("a.json", 1), ("sub/c.json", 3)):
        path = scene.put(name, insert("orders", key, ts(1000 + key)))
        os.utime(path, (key, key))
    deliver(scene.folder_feed())
    assert scene.keys() == ["1", "2", "3"]


def test_a_file_that_appears_later_is_read_though_its_name_and_age_are_older(scene):
    scene.put("m.json", insert("orders", 1, ts(1000)))
    feed = scene.folder_feed()
    deliver(feed)
    os.utime(scene.put("a.json", insert("orders", 2, ts(2000))), (0, 0))
    deliver(feed)
    assert scene.keys() == ["1", "2"]


def test_of_two_files_that_appear_while_the_folder_is_listed_the_second_is_not_taken_first(scene, monkeypatch):
    """A large folder is listed in parts; between two of them ``a`` appears in the first, then ``b`` in the second."""
    feed = scene.folder_feed()
    scandir = os.scandir

    def in_parts(path):
        with scandir(path) as first_part:
            entries = list(first_part)
        if not scene.source.joinpath("a.json").exists():
            scene.put("a.json", insert("orders", 1, ts(1000)))
            scene.put("b.json", insert("orders", 2, ts(2000)))
            with scandir(path) as second_part:
                entries += [entry for entry in second_part if entry.name == "b.json"]
        return contextlib.nullcontext(entries)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", in_parts)
        deliver(feed)
        deliver(feed)
    assert scene.keys_unordered() == ["1", "2"]


def test_a_new_owner_goes_on_where_the_log_says(scene):
    scene.put("a.json", insert("orders", 1, ts(1000)))
    deliver(scene.folder_feed())
    scene.put("b.json", insert("orders", 2, ts(2000)))
    deliver(scene.folder_feed())
    assert scene.keys() == ["1", "2"]


def test_a_big_file_is_read_over_many_batches_without_cutting_a_line(scene):
    scene.put("a.json", *(insert("orders", key, ts(1000 + key)) for key in range(500)))
    feed = scene.folder_feed("&max-bytes-per-batch=5000")
    deliver(feed)
    assert scene.keys() == [str(key) for key in range(500)]
    assert feed.delivery.view.number > 10


def test_splits_of_one_batch_keep_the_order(scene, monkeypatch):
    monkeypatch.setattr("spark_jobs.sources.folder.enumerator.SMALLEST_SPLIT", 2000)
    monkeypatch.setattr("spark_jobs.pipeline.intake.SMALL_BYTES", 0)
    scene.put("a.json", *(insert("orders", key, ts(1000 + key)) for key in range(200)))
    deliver(scene.folder_feed(workers=3))
    assert scene.keys() == [str(key) for key in range(200)]
    assert len(list(scene.output.glob("shop/orders/*/*/CDC*.json"))) == 6


def test_blank_lines_and_a_missing_last_line_end_are_no_fault(scene):
    scene.put("a.json", insert("orders", 1, ts(1)), b"", b"  ", insert("orders", 2, ts(2)), end=b"")
    deliver(scene.folder_feed())
    assert scene.keys() == ["1", "2"]


def test_an_empty_file_counts_as_read(scene):
    scene.put("a.json", end=b"")
    feed = scene.folder_feed()
    deliver(feed)
    assert feed.delivery.view.position["read"].keys() == {"a.json"}


def test_a_file_that_grows_after_it_appeared_is_an_error_that_names_it(scene):
    path = scene.put("a.json", *(insert("orders", key, ts(1000 + key)) for key in range(100)))
    feed = scene.folder_feed("&max-bytes-per-batch=2000")
    feed.advance(NOON, iter([False, True]).__next__, lambda: None)
    with open(path, "ab") as file:
        file.write(insert("orders", 100, ts(2000)) + b"\n")
    with pytest.raises(SourceFileChanged, match=r"a\.json: it has another size"):
        deliver(feed)


def test_a_bad_message_fails_the_batch_with_its_exact_place(scene):
    first, second = insert("orders", 1, ts(1)), insert("orders", 2, ts(2))
    path = scene.put("a.json", first, second, b'{"type":"INSERT"', insert("orders", 3, ts(3)))
    feed = scene.folder_feed()
    with pytest.raises(BadMessage) as caught:
        deliver(feed)
    assert f"file {path}, line 3 (byte {len(first) + len(second) + 2})" in str(caught.value)
    assert "nothing was skipped" in str(caught.value)
    assert caught.value.code == "CDC:ErrDecodeFailed"
    assert feed.delivery.view.number == 1


def test_a_bad_message_can_become_a_dead_letter_and_the_rest_goes_on(scene):
    scene.put("a.json", insert("orders", 1, ts(1)), b"\xff\xfe", insert("orders", 2, ts(2)))
    feed = scene.folder_feed(options="&bad-message=dead-letter")
    deliver(feed)
    assert scene.keys() == ["1", "2"]
    assert feed.delivery.view.totals.dead_letters == 1
    (letters,) = (scene.path / "checkpoint/_dead_letter").iterdir()
    assert b'"message":"//4="' in letters.read_bytes()


def test_date_folders_follow_the_commit_time_in_the_given_zone(scene):
    before, after = 1_795_305_599_000, 1_795_305_600_000  # around midnight at the end of 2026-11-21, UTC
    scene.put("a.json", insert("orders", 1, ts(before)), insert("orders", 2, ts(after)))
    deliver(scene.folder_feed())
    dates = [folder.date for folder in scene.read().tables["shop", "orders"]]
    assert dates == ["2026-11-21", "2026-11-22"]


def test_file_size_cuts_files_and_numbers_go_on(tmp_path):
    scene = Scene(tmp_path, sink="protocol=canal-json&file-size=1024&date-separator=none")
    scene.put("a.json", *(insert("orders", key, ts(1000 + key)) for key in range(20)))
    deliver(scene.folder_feed())
    assert scene.keys() == [str(key) for key in range(20)]
    paths = sorted(scene.output.glob("shop/orders/*/CDC*.json"))
    assert [path.name for path in paths] == [f"CDC{number:06d}.json" for number in range(1, len(paths) + 1)]
    row_size = len(paths[0].read_bytes().splitlines()[0]) + 2
    assert all(1024 <= path.stat().st_size < 1024 + row_size for path in paths[:-1])
    assert len(paths) > 1


def test_only_tables_that_pass_the_filter_come_out(scene):
    scene.put(
        "a.json", insert("orders", 1, ts(1)), insert("secrets", 2, ts(2)), ddl("secrets", "DROP TABLE secrets", ts(3))
    )
    deliver(scene.folder_feed(replica_config={"filter": {"rules": ["*.*", "!shop.secrets"]}}))
    assert set(scene.read().tables) == {("shop", "orders")}
    assert ("shop", "secrets") not in scene.read().schemas


def test_everything_up_to_the_target_is_delivered_nothing_above_and_it_finishes(scene):
    scene.put("a.json", *(insert("orders", key, ts(key)) for key in range(1, 10)))
    feed = scene.folder_feed(target_ts=ts(5))
    deliver(feed)
    assert scene.keys() == ["1", "2", "3", "4", "5"]
    assert feed.delivery.view.finished
    assert scene.read().checkpoint == ts(5)


def test_a_target_beyond_the_data_finishes_ten_seconds_after_it_by_the_clock(scene):
    target = ts(NOON * 1000)
    scene.put("a.json", insert("orders", 1, ts(1000)))
    feed = scene.folder_feed(target_ts=target)
    deliver(feed, NOON + 9)
    assert not feed.delivery.view.finished
    deliver(feed, NOON + 11)
    assert feed.delivery.view.finished
    assert scene.read().checkpoint == target


def test_without_commit_ts_of_its_own_a_row_gets_a_monotone_one(scene):
    scene.put("a.json", *(insert("orders", key, ts(1000), extension=False) for key in range(4)))
    deliver(scene.folder_feed())
    stamps = [event.commit_ts for event in scene.read().events(("shop", "orders"))]
    assert stamps == [ts(1000), ts(1000, 1), ts(1000, 2), ts(1000, 3)]


def test_monotone_commit_ts_are_the_same_however_the_batch_is_split(tmp_path, monkeypatch):
    monkeypatch.setattr("spark_jobs.sources.folder.enumerator.SMALLEST_SPLIT", 2000)
    monkeypatch.setattr("spark_jobs.pipeline.intake.SMALL_BYTES", 0)
    stamps = []
    for workers in (1, 4):
        (tmp_path / str(workers)).mkdir()
        scene = Scene(tmp_path / str(workers))
        scene.put("a.json", *(insert("orders", key, ts(1000 + key // 50), extension=False) for key in range(200)))
        deliver(scene.folder_feed(workers=workers))
        stamps.append([event.commit_ts for event in scene.read().events(("shop", "orders"))])
    assert stamps[0] == stamps[1]
    assert stamps[0] == sorted(set(stamps[0]))


def test_a_folder_with_files_of_somebody_else_is_refused_unless_adopted(tmp_path):
    scene = Scene(tmp_path, sink="protocol=canal-json&date-separator=none")
    foreign = scene.output / f"shop/orders/{ts(1000)}"
    foreign.mkdir(parents=True)
    (foreign / "CDC000007.json").write_bytes(b"")
    scene.put("a.json", insert("orders", 1, ts(1000)))
    with pytest.raises(UnknownOrigin, match="files up to number 7"):
        deliver(scene.folder_feed())
    adopting = Scene(tmp_path, sink="protocol=canal-json&date-separator=none&adopt=restart")
    adopting.epoch = 1
    deliver(adopting.folder_feed())
    assert (foreign / "CDC000008.json").exists()


def test_a_file_that_goes_before_it_is_read_whole_is_named_and_reading_goes_on_when_it_is_back(scene):
    path = scene.put("a.json", *(insert("orders", key, ts(1000 + key)) for key in range(100)))
    feed = scene.folder_feed("&max-bytes-per-batch=2000")
    feed.advance(NOON, iter([False, True]).__next__, lambda: None)
    path.rename(scene.path / "elsewhere")
    with pytest.raises(SourceFileUnreadable, match=r"a\.json is gone before it was read whole"):
        deliver(feed)
    (scene.path / "elsewhere").rename(path)
    deliver(scene.folder_feed())
    assert scene.keys() == [str(key) for key in range(100)]


def test_a_file_that_goes_before_it_is_begun_holds_nobody_up(scene):
    for number in range(3):
        scene.put(f"{number}.json", insert("orders", number, ts(1000 + number)), b" " * 1024)
    feed = scene.folder_feed("&max-bytes-per-batch=1024")
    feed.advance(NOON, iter([False, True]).__next__, lambda: None)
    assert scene.keys() == ["0"]
    (scene.source / "1.json").unlink()
    with pytest.raises(SourceFileUnreadable, match=r"1\.json is gone"):
        deliver(feed)
    deliver(scene.folder_feed())
    assert scene.keys() == ["0", "2"]


def test_a_source_folder_that_goes_is_named_and_may_come_back(scene):
    feed = scene.folder_feed()
    scene.source.rename(scene.path / "away")
    with pytest.raises(SourceFolderUnreadable, match=r"source cannot be listed: No such file"):
        deliver(feed)
    (scene.path / "away").rename(scene.source)
    scene.put("a.json", insert("orders", 1, ts(1)))
    deliver(scene.folder_feed())
    assert scene.keys() == ["1"]


def test_what_a_failed_batch_staged_goes_at_once(scene, monkeypatch):
    scene.put("a.json", insert("orders", 1, ts(1)))
    feed = scene.folder_feed()
    monkeypatch.setattr(feed.delivery.log, "append", fail)
    with pytest.raises(StorageFault):
        deliver(feed)
    assert leftovers(scene) == []


def test_what_a_failed_batch_staged_stays_if_the_log_names_it(scene, monkeypatch):
    """The entry is there, though writing it seemed to fail."""
    scene.put("a.json", insert("orders", 1, ts(1)))
    feed = scene.folder_feed()

    def append_and_fail(entry):
        durable.create(feed.delivery.log._entry_path(entry.number), msgspec.json.encode(entry))
        fail(entry)

    monkeypatch.setattr(feed.delivery.log, "append", append_and_fail)
    with pytest.raises(Fenced):
        deliver(feed)
    deliver(scene.folder_feed())
    assert scene.keys() == ["1"]


def fail(entry):
    raise StorageFault("the disk is full")


def test_dead_letters_of_an_earlier_changefeed_of_that_name_stay(scene):
    scene.put("a.json", b"first")
    deliver(scene.folder_feed(options="&bad-message=dead-letter"))
    (scene.path / "next").mkdir()
    again = Scene(scene.path / "next", folder=str(scene.path / "checkpoint"))
    again.put("a.json", b"second")
    deliver(again.folder_feed(options="&bad-message=dead-letter", feed_uid=2))
    assert len(list((scene.path / "checkpoint/_dead_letter").iterdir())) == 2


def test_an_owner_that_begins_inside_a_file_knows_of_the_files_behind_it(scene):
    """Else it would take the end of that file for the end of the folder, and finish."""
    scene.put("a.json", *(insert("orders", key, ts(key)) for key in range(1, 50)))
    scene.put("b.json", *(insert("orders", key, ts(key)) for key in range(50, 60)))
    first = scene.folder_feed("&max-bytes-per-batch=2000", target_ts=ts(1000))
    first.advance(NOON, iter([False, True]).__next__, lambda: None)
    assert first.delivery.view.position["at"]
    deliver(scene.folder_feed(target_ts=ts(1000)))
    assert scene.keys() == [str(key) for key in range(1, 60)]
