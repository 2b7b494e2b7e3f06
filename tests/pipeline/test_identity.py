"""A source that is made anew while it is read, or between two owners, and times that cannot be meant."""

import pytest

from spark_jobs.pipeline.bad_message import BadMessage
from spark_jobs.pipeline.intake import SourceChanged
from tests.pipeline.messages import insert, ts, watermark
from tests.pipeline.scene import NOON, Queue, Scene

TOMORROW_MS = NOON * 1000 + 86_400_000


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


@pytest.fixture
def queue():
    return Queue(1)


def test_the_log_knows_what_the_source_is(scene, queue):
    feed = scene.queue_feed(partitions=1, identity={"topic:t": "first"})
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10), extension=False)]}), NOON)
    assert scene.queue_feed(partitions=1).delivery.view.identity == {"topic:t": "first"}


def test_nothing_of_a_topic_that_was_made_anew_meanwhile_is_delivered(scene, queue):
    identity = {"topic:t": "first"}
    feed = scene.queue_feed(partitions=1, identity=identity)
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10), extension=False)]}), NOON)
    identity["topic:t"] = "second"
    with pytest.raises(SourceChanged, match="topic:t"):
        feed.advance(queue.batch({0: [insert("orders", 2, ts(20), extension=False)]}), NOON)
    assert scene.keys() == ["1"]


def test_the_watermarks_of_the_topic_that_was_are_none_of_the_one_that_is(scene, queue):
    """Its rows, of another upstream with lower TSOs, would all count as sent again."""
    feed = scene.queue_feed(partitions=1, identity={"topic:t": "first"})
    feed.advance(queue.batch({0: [insert("orders", 1, ts(1000)), watermark(ts(2000))]}), NOON)
    later = scene.queue_feed(partitions=1, identity={"topic:t": "second"})
    later.advance(queue.batch({0: [insert("orders", 2, ts(10)), watermark(ts(20))]}), NOON)
    assert sorted(scene.keys_unordered()) == ["1", "2"]
    assert later.delivery.view.identity == {"topic:t": "second"}
    assert later.delivery.view.totals.repeats_dropped == 0


@pytest.mark.parametrize("extension", [True, False], ids=["a commit-ts", "es"])
def test_a_time_more_than_a_day_ahead_makes_a_bad_message(scene, queue, extension):
    feed = scene.queue_feed("&watermark=ignore", partitions=1)
    good = insert("orders", 1, ts(TOMORROW_MS - 60_000), extension=extension)
    bad = insert("orders", 2, ts(TOMORROW_MS + 60_000), extension=extension)
    with pytest.raises(BadMessage, match=r"offset 1: .* is more than a day ahead"):
        feed.advance(queue.batch({0: [good, bad]}), NOON)


def test_a_watermark_more_than_a_day_ahead_releases_nothing(scene, queue):
    feed = scene.queue_feed("&bad-message=dead-letter", partitions=1)
    absurd = watermark(ts(TOMORROW_MS + 60_000))
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10)), watermark(ts(5)), absurd]}), NOON)
    assert feed.delivery.view.totals.held_rows == 1
    assert feed.delivery.view.checkpoint_ts == ts(5)
    assert feed.delivery.view.totals.dead_letters == 1
