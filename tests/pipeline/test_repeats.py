"""Each change once, although the upstream is at least once: TiCDC sends again from its checkpoint after a restart."""

import pytest

from tests.pipeline.messages import insert, row, ts, watermark
from tests.pipeline.scene import NOON, Queue, Scene


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


@pytest.fixture
def queue():
    return Queue(1)


def update(key, name, commit_ts, build_ms=0):
    """An update as TiCDC builds it at some time: ``ts`` and the order of ``mysqlType`` differ from copy to copy."""
    message = row("orders", {"id": str(key), "name": name}, commit_ts, kind="UPDATE", old={"id": str(key), "name": "x"})
    message = message.replace(b'"ts":%d' % ((commit_ts >> 18) + 7), b'"ts":%d' % ((commit_ts >> 18) + 7 + build_ms))
    if build_ms:
        message = message.replace(b'{"id":"bigint","name":"varchar"}', b'{"name":"varchar","id":"bigint"}')
    return message


def test_what_is_sent_again_above_the_last_watermark_comes_out_once(scene, queue):
    feed = scene.queue_feed(partitions=1)
    rows = [insert("orders", 1, ts(20)), update(1, "a", ts(30)), update(1, "b", ts(40))]
    feed.advance(queue.batch({0: [watermark(ts(10)), *rows]}), NOON)
    again = [insert("orders", 1, ts(20)), update(1, "a", ts(30), 9), update(1, "b", ts(40), 9), update(1, "c", ts(50))]
    feed.advance(queue.batch({0: [*again, watermark(ts(60))]}), NOON)
    events = list(scene.read().events(("shop", "orders")))
    assert [(event.operation, event.commit_ts) for event in events] == [
        ("I", ts(20)),
        ("U", ts(30)),
        ("U", ts(40)),
        ("U", ts(50)),
    ]
    assert feed.delivery.view.totals.repeats_dropped == 3
    assert feed.delivery.view.totals.rows == 4


def test_copies_meet_also_when_all_of_them_waited_and_owners_changed(scene, queue):
    rows = [insert("orders", key, ts(20 + key)) for key in range(10)]
    for part in (rows[:6], rows[:3], rows):
        scene.queue_feed(partitions=1).advance(queue.batch({0: part}), NOON)
    feed = scene.queue_feed(partitions=1)
    feed.advance(queue.batch({0: [watermark(ts(25))]}), NOON)
    feed.advance(queue.batch({0: [watermark(ts(99))]}), NOON)
    assert scene.keys() == [str(key) for key in range(10)]
    assert feed.delivery.view.totals.repeats_dropped == 9


def test_rows_of_one_transaction_are_no_copies_of_one_another(scene, queue):
    feed = scene.queue_feed(partitions=1)
    rows = [insert("orders", key, ts(20)) for key in range(5)]
    feed.advance(queue.batch({0: [*rows, watermark(ts(30))]}), NOON)
    assert scene.keys() == [str(key) for key in range(5)]
    assert feed.delivery.view.totals.repeats_dropped == 0


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ("&repeats=keep", {"id": "1", "name": "n"}),
        ("", {"id": None, "name": "n"}),
        ("", {"id": "\ufffd", "name": "n"}),
    ],
    ids=["as the source URI says", "a key that is NULL", "a key that the source could not show"],
)
def test_rows_that_may_be_two_both_come_out(tmp_path, queue, options, values):
    columns = {"id": ("varchar", 12), "name": ("varchar", 12)}
    feed = Scene(tmp_path).queue_feed(options, partitions=1)
    message = row("orders", values, ts(20), columns=columns)
    feed.advance(queue.batch({0: [message, message, watermark(ts(30))]}), NOON)
    assert feed.delivery.view.totals.rows == 2


def test_copies_in_other_partitions_are_not_told(scene):
    """A key belongs to one partition; where it does not, nothing says which of two rows is the repeat."""
    feed = scene.queue_feed(partitions=2)
    message = insert("orders", 1, ts(20))
    feed.advance(Queue(2).batch({0: [message, watermark(ts(30))], 1: [message, watermark(ts(30))]}), NOON)
    assert scene.keys() == ["1", "1"]
