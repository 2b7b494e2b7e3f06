"""A queue to a storage folder, without Spark: hold-back, order, statements, repeats, targets."""

import msgspec
import pytest

from spark_jobs.cdc.errors import EncodeError
from spark_jobs.pipeline.bad_message import BadMessage
from spark_jobs.pipeline.intake import HoldQuotaExceeded
from spark_jobs.pipeline.job import Task, join
from spark_jobs.pipeline.read import read
from tests.pipeline.messages import WIDER, ddl, insert, row, ts, watermark
from tests.pipeline.scene import NOON, Queue, Scene

pytestmark = pytest.mark.usefixtures("both_ways")

CREATE = "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))"


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


@pytest.fixture
def queue():
    return Queue()


def test_rows_above_the_least_watermark_wait(scene, queue):
    feed = scene.queue_feed()
    feed.advance(
        queue.batch(
            {0: [insert("orders", 1, ts(10)), insert("orders", 2, ts(30)), watermark(ts(30))], 1: [watermark(ts(20))]}
        ),
        NOON,
    )
    assert scene.keys() == ["1"]
    assert feed.delivery.view.totals.held_rows == 1
    assert scene.read().checkpoint == ts(20)


def test_held_rows_come_out_when_the_watermark_has_passed_them(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [insert("orders", 2, ts(30)), watermark(ts(30))], 1: [watermark(ts(20))]}), NOON)
    feed.advance(queue.batch({1: [insert("orders", 1, ts(25)), watermark(ts(40))]}), NOON)
    assert scene.keys() == ["1", "2"]
    assert feed.delivery.view.held == {}
    assert list((scene.output / "_weir/feed/held").iterdir()) == []


def test_held_rows_survive_a_change_of_owner(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [insert("orders", 2, ts(30)), watermark(ts(30))], 1: [watermark(ts(20))]}), NOON)
    later = scene.queue_feed()
    later.advance(queue.batch({1: [watermark(ts(40))]}), NOON)
    assert scene.keys() == ["2"]


def test_rows_of_all_partitions_are_merged_by_commit_ts(scene, queue):
    feed = scene.queue_feed()
    even = [insert("orders", key, ts(key)) for key in range(0, 20, 2)]
    odd = [insert("orders", key, ts(key)) for key in range(1, 20, 2)]
    feed.advance(queue.batch({0: [*even, watermark(ts(100))], 1: [*odd, watermark(ts(100))]}), NOON)
    assert scene.keys() == [str(key) for key in range(20)]


def test_equal_commit_ts_keep_topic_partition_and_offset_order(scene, queue):
    feed = scene.queue_feed()
    feed.advance(
        queue.batch(
            {
                1: [insert("orders", 3, ts(5)), insert("orders", 4, ts(5)), watermark(ts(9))],
                0: [insert("orders", 1, ts(5)), insert("orders", 2, ts(5)), watermark(ts(9))],
            }
        ),
        NOON,
    )
    assert scene.keys() == ["1", "2", "3", "4"]


def test_a_statement_on_partition_0_separates_rows_of_every_partition(scene, queue):
    feed = scene.queue_feed()
    feed.advance(
        queue.batch(
            {
                0: [
                    ddl("orders", "ALTER TABLE `orders` ADD INDEX `i` (`name`)", ts(20), kind="CINDEX"),
                    watermark(ts(50)),
                ],
                1: [
                    insert("orders", 1, ts(10)),
                    insert("orders", 2, ts(20)),
                    insert("orders", 4, ts(25)),
                    watermark(ts(50)),
                ],
            }
        ),
        NOON,
    )
    assert scene.versions() == [ts(10), ts(20)]
    events = list(scene.read().events(("shop", "orders")))
    assert [(event.after["id"], event.version) for event in events] == [("1", ts(10)), ("2", ts(10)), ("4", ts(20))]


def test_a_statement_that_is_read_late_still_sorts_before_the_rows_that_need_it(scene, queue):
    feed = scene.queue_feed()
    wide = row("orders", {"id": "2", "name": "n", "age": "1"}, ts(30), columns=WIDER)
    feed.advance(queue.batch({1: [insert("orders", 1, ts(10)), wide, watermark(ts(40))], 0: [watermark(ts(15))]}), NOON)
    assert scene.keys() == ["1"]
    feed.advance(
        queue.batch({0: [ddl("orders", "ALTER TABLE `orders` ADD COLUMN `age` INT", ts(20)), watermark(ts(40))]}), NOON
    )
    assert scene.versions() == [ts(10), ts(20)]
    assert [schema.action for schema in scene.read().schemas["shop", "orders"]] == [0, 5]


@pytest.mark.parametrize("messages", [1, 2], ids=["in one message", "in two, as TiCDC cuts them"])
def test_a_table_swapped_in_by_a_rename_has_its_structure_and_its_statement(scene, queue, messages):
    """As online schema changes do: the old table goes aside and the new one takes its name, at one commit-ts."""
    create = "CREATE TABLE `{}` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20){})"
    away, back = "`shop`.`orders` TO `shop`.`_orders_old`", "`shop`.`_orders_new` TO `shop`.`orders`"
    texts = [f"RENAME TABLE {away}, {back}"] if messages == 1 else [f"RENAME TABLE {away}", f"RENAME TABLE {back}"]
    wide = row("orders", {"id": "2", "name": "n", "age": "1"}, ts(30), columns=WIDER)
    feed = scene.queue_feed()
    feed.advance(
        queue.batch(
            {
                0: [
                    ddl("orders", create.format("orders", ""), ts(1), kind="CREATE"),
                    ddl("_orders_new", create.format("_orders_new", ",`age` INT"), ts(2), kind="CREATE"),
                    insert("orders", 1, ts(10)),
                    *(ddl("orders", text, ts(20), kind="RENAME") for text in texts),
                    wide,
                    watermark(ts(50)),
                ],
                1: [watermark(ts(50))],
            }
        ),
        NOON,
    )
    assert scene.versions() == [ts(1), ts(20)]
    assert [(schema.version, schema.action) for schema in scene.read().schemas["shop", "orders"]] == [
        (ts(1), 3),
        (ts(20), 14),
    ]
    assert feed.delivery.view.tables["shop", "orders"].full
    before = feed.delivery.view.tables
    sent_again = [ddl("orders", text, ts(20), kind="RENAME") for text in texts]
    scene.queue_feed("&watermark=ignore").advance(queue.batch({0: sent_again}), NOON)
    assert feed.delivery.view.tables == before
    assert scene.versions() == [ts(1), ts(20)]


def test_statements_of_one_commit_ts_keep_the_order_of_their_offsets_wherever_they_waited(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [ddl("", "CREATE DATABASE `a`", ts(20), schema="a", kind="QUERY")]}), NOON)
    feed.advance(queue.batch({0: [ddl("", "CREATE DATABASE `b`", ts(20), schema="b", kind="QUERY")]}), NOON)
    first, second = feed.delivery.view.held
    job = msgspec.structs.replace(feed.delivery.new_job(), horizon_ts=ts(50), drop_repeats=True)
    outcome = join([read(job, Task((), (second, first)))])
    assert [statement.ddl.schema for statement in outcome.statements] == ["a", "b"]


def test_a_statement_sent_again_late_gives_csv_rows_no_names_that_are_over(tmp_path, queue):
    scene = Scene(tmp_path, sink="protocol=csv&date-separator=none")
    columns = {"id": ("bigint", -5), "size": ("enum", 4)}
    create = "CREATE TABLE `shirts` (`id` BIGINT PRIMARY KEY,`size` ENUM('S','M','L'))"
    first = ddl("shirts", "ALTER TABLE `shirts` MODIFY COLUMN `size` ENUM('S','M')", ts(10))
    last = ddl("shirts", "ALTER TABLE `shirts` MODIFY COLUMN `size` ENUM('XS','S','M')", ts(20))
    feed = scene.queue_feed("&watermark=ignore")
    feed.advance(queue.batch({0: [ddl("shirts", create, ts(1), kind="CREATE"), first, last]}), NOON)
    feed.advance(queue.batch({0: [first, row("shirts", {"id": "1", "size": "2"}, ts(30), columns=columns)]}), NOON)
    (path,) = scene.output.glob("shop/shirts/*/CDC*")
    assert path.read_bytes() == b'"I","shirts","shop",1,"S"\r\n'


def test_a_row_below_a_watermark_of_its_own_partition_is_a_repeat(scene, queue):
    feed = scene.queue_feed()
    feed.advance(
        queue.batch(
            {
                0: [
                    insert("orders", 1, ts(10)),
                    watermark(ts(20)),
                    insert("orders", 1, ts(10)),
                    insert("orders", 2, ts(20)),
                ],
                1: [watermark(ts(20))],
            }
        ),
        NOON,
    )
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10)), watermark(ts(30))], 1: [watermark(ts(30))]}), NOON)
    assert scene.keys() == ["1", "2"]
    assert feed.delivery.view.totals.repeats_dropped == 2


def test_commit_ts_never_decrease_across_files_with_watermarks(scene, queue):
    feed = scene.queue_feed()
    for step in range(1, 6):
        base = step * 100
        feed.advance(
            queue.batch(
                {
                    0: [insert("orders", base + 9, ts(base + 90)), watermark(ts(base + 95))],
                    1: [insert("orders", base + 3, ts(base + 30)), watermark(ts(base + 40))],
                }
            ),
            NOON,
        )
    stamps = [event.commit_ts for event in scene.read().events(("shop", "orders"))]
    assert stamps == sorted(stamps)


def test_without_any_extension_rows_are_delivered_at_once_and_resolved_ts_is_an_estimate(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10), extension=False)], 1: []}), NOON)
    assert scene.keys() == ["1"]
    assert feed.delivery.view.estimated


def test_auto_waits_for_the_first_watermark_and_then_goes_on_without(scene, queue):
    feed = scene.queue_feed("&watermark-timeout=60s")
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10))], 1: []}), NOON)
    assert ("shop", "orders") not in scene.read().tables
    assert not feed.wants_time(NOON + 59)
    assert feed.wants_time(NOON + 61)
    feed.advance(None, NOON + 61)
    assert scene.keys() == ["1"]
    assert feed.delivery.view.without_watermarks
    assert not feed.wants_time(NOON + 1000)


def test_require_waits_for_ever(scene, queue):
    feed = scene.queue_feed("&watermark=require")
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10))], 1: []}), NOON)
    feed.advance(None, NOON + 1_000_000)
    assert feed.delivery.view.totals.held_rows == 1


def test_require_holds_again_after_auto_had_given_up(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10))], 1: []}), NOON)
    feed.advance(None, NOON + 61)
    assert feed.delivery.view.without_watermarks
    changed = scene.queue_feed("&watermark=require")
    changed.advance(queue.batch({0: [insert("orders", 2, ts(20))], 1: []}), NOON + 70)
    assert scene.keys() == ["1"]
    changed.advance(queue.batch({0: [watermark(ts(30))], 1: [watermark(ts(30))]}), NOON + 80)
    assert scene.keys() == ["1", "2"]


def test_ignore_delivers_whatever_watermarks_say(scene, queue):
    feed = scene.queue_feed("&watermark=ignore")
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10)), watermark(ts(5))], 1: []}), NOON)
    assert scene.keys() == ["1"]


def test_a_row_below_an_estimated_checkpoint_is_delivered_and_counted_as_late(scene, queue):
    feed = scene.queue_feed("&watermark=ignore")
    feed.advance(queue.batch({0: [insert("orders", 1, ts(100))], 1: []}), NOON)
    feed.advance(queue.batch({1: [insert("orders", 2, ts(50))]}), NOON)
    assert sorted(scene.keys_unordered()) == ["1", "2"]
    assert feed.delivery.view.totals.late_rows == 1
    assert feed.delivery.view.checkpoint_ts == ts(100)


def test_a_partition_that_appears_later_starts_at_the_current_resolved_ts(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [watermark(ts(50))], 1: [watermark(ts(50))]}), NOON)
    feed.advance(queue.batch({2: [insert("orders", 1, ts(60))], 0: [watermark(ts(70))], 1: [watermark(ts(70))]}), NOON)
    assert feed.delivery.view.checkpoint_ts == ts(50)
    feed.advance(queue.batch({2: [watermark(ts(70))]}), NOON)
    assert scene.keys() == ["1"]


def test_the_checkpoint_never_goes_back(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [watermark(ts(50))], 1: [watermark(ts(50))]}), NOON)
    feed.advance(queue.batch({0: [watermark(ts(40))], 1: [watermark(ts(40))]}), NOON)
    assert scene.read().checkpoint == ts(50)


def test_with_watermarks_the_target_ends_it_when_they_reach_it(scene, queue):
    feed = scene.queue_feed(target_ts=ts(30))
    feed.advance(
        queue.batch(
            {0: [insert("orders", 1, ts(30)), insert("orders", 2, ts(31)), watermark(ts(29))], 1: [watermark(ts(90))]}
        ),
        NOON,
    )
    assert not feed.delivery.view.finished
    feed.advance(queue.batch({0: [watermark(ts(40))]}), NOON)
    assert feed.delivery.view.finished
    assert scene.keys() == ["1"]
    assert scene.read().checkpoint == ts(30)


def test_without_watermarks_a_target_needs_a_later_event_in_every_partition(scene, queue):
    feed = scene.queue_feed("&watermark=ignore", target_ts=ts(NOON * 1000))
    later = insert("orders", 9, ts(NOON * 1000 + 1))
    feed.advance(
        queue.batch({0: [insert("orders", 1, ts(10)), later], 1: [insert("orders", 2, ts(20))]}, at_end=False), NOON
    )
    assert not feed.delivery.view.finished
    feed.advance(queue.batch({1: [later]}, at_end=False), NOON)
    assert feed.delivery.view.finished


def test_the_clock_does_not_end_a_queue_while_the_broker_has_more_than_the_last_batch(scene, queue):
    """The next batch may be a flush interval away."""
    last = {"offsets": {"t": {"0": 2, "1": 0}}}
    feed = scene.queue_feed("&watermark=ignore", target_ts=ts(NOON * 1000), is_end=lambda offsets: offsets == last)
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10))], 1: []}), NOON)
    feed.advance(None, NOON + 11)
    assert not feed.delivery.view.finished
    assert not feed.wants_time(NOON + 12), "nothing is to be asked again before the next batch"
    feed.advance(queue.batch({0: [insert("orders", 2, ts(20))]}), NOON + 13)
    assert feed.delivery.view.finished
    assert scene.keys() == ["1", "2"]


def test_without_watermarks_a_read_out_queue_finishes_ten_seconds_after_the_target(scene, queue):
    feed = scene.queue_feed("&watermark=ignore", target_ts=ts(NOON * 1000))
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10))], 1: []}), NOON)
    assert not feed.wants_time(NOON + 9)
    assert feed.wants_time(NOON + 11)
    feed.advance(None, NOON + 11)
    assert feed.delivery.view.finished


def test_a_bad_message_names_topic_partition_and_offset(scene, queue):
    feed = scene.queue_feed()
    with pytest.raises(BadMessage, match="topic t, partition 1, offset 1"):
        feed.advance(queue.batch({1: [insert("orders", 1, ts(1)), b"{"]}), NOON)
    assert feed.delivery.view.number == 1


def test_a_tombstone_is_passed_over(scene, queue):
    feed = scene.queue_feed("&watermark=ignore")
    feed.advance(queue.batch({0: [None, insert("orders", 1, ts(1))], 1: []}), NOON)
    assert scene.keys() == ["1"]


def test_text_that_looks_like_a_watermark_inside_a_row_is_just_text(scene, queue):
    feed = scene.queue_feed()
    tricky = row("orders", {"id": "1", "name": "TIDB_WATERMARK"}, ts(10))
    feed.advance(queue.batch({0: [tricky, watermark(ts(20))], 1: [watermark(ts(20))]}), NOON)
    assert scene.keys() == ["1"]


def test_too_much_that_waits_stops_reading_and_names_the_lagging_partition(scene, queue, monkeypatch):
    monkeypatch.setattr("spark_jobs.pipeline.intake.HOLD_QUOTA_BYTES", 1000)
    feed = scene.queue_feed()
    rows = [insert("orders", key, ts(100 + key)) for key in range(10)]
    with pytest.raises(HoldQuotaExceeded, match="topic t, partition 1"):
        feed.advance(queue.batch({0: [*rows, watermark(ts(500))], 1: [watermark(ts(50))]}), NOON)
    assert feed.delivery.view.totals.held_rows == 10
    scene.queue_feed().advance(queue.batch({1: [watermark(ts(500))]}), NOON)
    assert len(scene.keys()) == 10


def test_a_delete_after_a_dropped_column_starts_no_version_of_its_own(scene):
    queue = Queue()
    wide = row("orders", {"id": "1", "name": "n", "age": "3"}, ts(100), columns=WIDER)
    delete = row("orders", {"id": "1", "name": "n"}, ts(300), kind="DELETE")
    drop = ddl("orders", "ALTER TABLE `orders` DROP COLUMN `age`", ts(200))
    scene.queue_feed().advance(
        queue.batch({0: [drop, watermark(ts(400))], 1: [wide, delete, watermark(ts(400))]}), NOON
    )
    assert scene.versions() == [ts(100), ts(200)]


def test_rows_of_a_partition_found_later_are_no_repeats_however_old_they_are(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [watermark(ts(50))], 1: [watermark(ts(50))]}), NOON)
    feed.advance(queue.batch({2: [insert("orders", 1, ts(40)), insert("orders", 2, ts(60))]}), NOON)
    assert scene.keys() == ["1"]
    feed.advance(queue.batch({n: [watermark(ts(70))] for n in range(3)}), NOON)
    assert scene.keys() == ["1", "2"]
    assert feed.delivery.view.totals.repeats_dropped == 0


def test_held_rows_without_a_commit_ts_keep_the_order_of_their_partition(scene):
    """Their times were made up: a clock that steps back must not turn them round when they are released."""
    queue = Queue(2)
    feed = scene.queue_feed("&watermark=require", partitions=2)
    stepping_back = [insert("orders", 1, ts(100), extension=False), insert("orders", 2, ts(90), extension=False)]
    feed.advance(queue.batch({0: stepping_back, 1: [watermark(ts(5))]}), NOON)
    assert feed.delivery.view.totals.held_rows == 2
    feed.advance(queue.batch({0: [watermark(ts(200))], 1: [watermark(ts(200))]}), NOON)
    events = list(scene.read().events(("shop", "orders")))
    assert [(event.after["id"], event.commit_ts) for event in events] == [("1", ts(100)), ("2", ts(100, 1))]


def test_a_new_owner_gives_up_waiting_for_watermarks_though_nothing_new_comes(scene, queue):
    scene.queue_feed().advance(queue.batch({0: [insert("orders", 1, ts(10))], 1: []}), NOON)
    later = scene.queue_feed(started=NOON + 100)
    assert not later.wants_time(NOON + 159)
    assert later.wants_time(NOON + 161)
    later.advance(None, NOON + 161)
    assert scene.keys() == ["1"]


@pytest.mark.parametrize(
    ("policy", "lagging"), [("auto", [insert("orders", 2, ts(10))]), ("require", [])], ids=["has rows", "required"]
)
def test_a_lagging_partition_is_waited_for_without_being_asked_for_all_the_time(scene, queue, policy, lagging):
    feed = scene.queue_feed(f"&watermark={policy}", target_ts=ts(1000))
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10)), watermark(ts(20))], 1: lagging}), NOON)
    assert feed.delivery.view.totals.held_rows == 1 + len(lagging)
    assert not feed.wants_time(NOON + 1_000_000)


def test_a_partition_that_never_carries_anything_does_not_hold_the_others_for_ever(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10)), watermark(ts(20))], 1: []}), NOON)
    assert not feed.wants_time(NOON + 59)
    assert feed.wants_time(NOON + 61)
    feed.advance(None, NOON + 61)
    assert scene.keys() == ["1"]
    assert feed.delivery.view.checkpoint_ts == ts(20)
    assert not feed.wants_time(NOON + 1_000_000)
    feed.advance(queue.batch({1: [insert("orders", 2, ts(30))], 0: [watermark(ts(40))]}), NOON + 100)
    assert scene.keys() == ["1"], "now that it has rows it is waited for"


def test_the_wait_for_watermarks_begins_with_the_first_row_that_could_have_some(scene, queue):
    """An idle hour before the producer starts loses no order."""
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [], 1: []}), NOON + 3600)
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10))]}), NOON + 3610)
    assert feed.delivery.view.totals.held_rows == 1
    feed.advance(queue.batch({0: [watermark(ts(20))], 1: [watermark(ts(20))]}), NOON + 3620)
    assert scene.keys() == ["1"]
    assert not feed.delivery.view.without_watermarks


def test_watermarks_that_appear_after_the_wait_was_given_up_hold_rows_again(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10))], 1: []}), NOON)
    feed.advance(None, NOON + 61)
    assert feed.delivery.view.without_watermarks
    feed.advance(queue.batch({0: [insert("orders", 3, ts(90)), watermark(ts(50))], 1: [watermark(ts(50))]}), NOON + 70)
    assert scene.keys() == ["1"]
    assert not feed.delivery.view.without_watermarks
    feed.advance(queue.batch({0: [watermark(ts(95))], 1: [insert("orders", 2, ts(60)), watermark(ts(95))]}), NOON + 80)
    assert scene.keys() == ["1", "2", "3"]


def test_a_topic_found_later_is_waited_for_from_then_on(scene, queue):
    feed = scene.queue_feed()
    feed.advance(queue.batch({0: [watermark(ts(50))], 1: [watermark(ts(50))]}), NOON)
    feed.advance(queue.batch({0: [watermark(ts(60))], 1: [watermark(ts(60))], 2: []}), NOON + 3600)
    assert feed.delivery.view.checkpoint_ts == ts(50)
    feed.advance(queue.batch({0: [watermark(ts(70))], 1: [watermark(ts(70))]}), NOON + 3600 + 59)
    assert feed.delivery.view.checkpoint_ts == ts(50)
    feed.advance(queue.batch({0: [watermark(ts(80))], 1: [watermark(ts(80))]}), NOON + 3600 + 61)
    assert feed.delivery.view.checkpoint_ts == ts(80)


def test_a_watermark_that_the_search_missed_counts_from_the_next_batch_on(scene, queue):
    feed = scene.queue_feed()
    batch = queue.batch({0: [insert("orders", 1, ts(10)), watermark(ts(20))], 1: [watermark(ts(20))]})
    batch.look = lambda marks, needed: []
    feed.advance(batch, NOON)
    feed.advance(queue.batch({0: [insert("orders", 2, ts(30))]}), NOON)
    assert scene.keys() == ["1"]
    assert feed.delivery.view.checkpoint_ts == ts(20)


def test_a_message_that_the_sink_cannot_carry_has_a_place_too(tmp_path, monkeypatch):
    def refuse(self, row):
        raise EncodeError("csv", "a value that has no CSV form")

    monkeypatch.setattr("spark_jobs.cdc.codecs.csv.encoder.Encoder.encode_row", refuse)
    feed = Scene(tmp_path, sink="protocol=csv").queue_feed("&watermark=ignore")
    with pytest.raises(BadMessage, match="topic t, partition 1, offset 0: cannot be written as csv") as caught:
        feed.advance(Queue().batch({0: [], 1: [insert("orders", 1, ts(1))]}), NOON)
    assert caught.value.code == "CDC:ErrEncodeFailed"


@pytest.mark.parametrize("gives_up", [False, True], ids=["a watermark comes", "the wait is over"])
def test_what_waited_for_long_comes_out_in_steps_that_a_batch_can_read(scene, queue, gives_up):
    feed = scene.queue_feed("&max-bytes-per-batch=1024")
    for step in range(10):
        feed.advance(queue.batch({0: [insert("orders", 2 * step + n, ts(100 + 2 * step + n)) for n in range(2)]}), NOON)
    assert feed.delivery.view.totals.held_rows == 20
    if gives_up:
        feed.advance(None, NOON + 61)
    else:
        feed.advance(queue.batch({0: [watermark(ts(500))], 1: [watermark(ts(500))]}), NOON)
    first = len(scene.keys())
    assert 0 < first < 10
    assert ts(100 + first - 1) <= scene.read().checkpoint < ts(100 + first)
    steps = 0
    while feed.wants_time(NOON + 61):
        feed.advance(None, NOON + 61)
        steps += 1
    assert scene.keys() == [str(key) for key in range(20)]
    assert 3 < steps < 20
    assert feed.delivery.view.without_watermarks is gives_up
