"""Promises of ``docs/guarantees.md`` that no other test holds."""

import json

import pytest

from spark_jobs import failpoints
from spark_jobs.cdc.codecs import codec
from spark_jobs.cdc.events import INSERT, UPDATE, Column, ColumnType, RowChange, TableSchema
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.sources.folder.split import BadFrame
from spark_jobs.sources.packed import PackedFileDamaged
from tests.cdc.canal_messages import column, entry, packet, row, rows_entry
from tests.pipeline.messages import ddl, insert, ts, watermark
from tests.pipeline.messages import row as message
from tests.pipeline.scene import NOON, Queue, Scene, deliver, key_of
from tests.storage_reader import read_folder

ORDERS = TableSchema(
    "shop", "orders", (Column("id", ColumnType("bigint"), is_key=True), Column("name", ColumnType("varchar")))
)
CREATE = "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))"
ADD_INDEX = "ALTER TABLE `orders` ADD INDEX `i` (`name`)"
ADOPTING = "protocol=canal-json&enable-tidb-extension=true&adopt=continue"


def transaction(*tables: str) -> bytes:
    """A Canal packet with one transaction: a row of each table, in whole seconds as a binlog has them."""
    begin = entries.TransactionBegin(transactionId="1")
    end = entries.TransactionEnd(transactionId="1")
    rows = [rows_entry(entries.INSERT, row(after=[column(0, "id", "bigint", "7")]), tableName=name) for name in tables]
    return packet(entry(entries.TRANSACTIONBEGIN, begin), *rows, entry(entries.TRANSACTIONEND, end))


def lines(text: bytes) -> list[str]:
    """What stands out of each printed line: the key of a row, or a statement."""
    messages = map(json.loads, text.splitlines())
    return ["ddl" if message["isDdl"] else message["data"][0]["id"] for message in messages]


def test_a_later_life_that_continues_repeats_nothing_and_takes_what_waits(tmp_path):
    queue = Queue(1)
    first = Scene(tmp_path).queue_feed(partitions=1)
    first.advance(queue.batch({0: [insert("orders", 1, ts(10)), watermark(ts(20)), insert("orders", 2, ts(30))]}), NOON)
    again = Scene(tmp_path, sink=ADOPTING)
    feed = again.queue_feed(partitions=1, feed_uid=2)
    assert feed.offsets == {0: 3}
    feed.advance(queue.batch({0: [watermark(ts(40))]}), NOON)
    assert again.keys() == ["1", "2"]


def test_a_rewind_of_a_queue_reads_what_waited_again_and_delivers_it_once(tmp_path):
    scene, queue = Scene(tmp_path), Queue(1)
    messages = [insert("orders", 1, ts(10)), watermark(ts(20)), insert("orders", 2, ts(30))]
    scene.queue_feed(partitions=1).advance(queue.batch({0: messages}), NOON)
    rewound = scene.queue_feed(partitions=1, rewind_id=1, floor_ts=ts(5))
    assert rewound.delivery.view.held == {}
    rewound.advance(Queue(1).batch({0: [*messages, watermark(ts(40))]}), NOON)
    assert sorted(scene.keys_unordered()) == ["1", "1", "2"]


def test_a_rewind_of_rows_that_say_no_commit_ts_goes_by_their_own_time(tmp_path):
    """Not by the time that was made for them, which depends on where reading began."""
    scene = Scene(tmp_path)
    times = (100, 300, 200, 250)
    scene.put("a.json", *(insert("orders", key, ts(at), extension=False) for key, at in enumerate(times)))
    deliver(scene.folder_feed())
    deliver(scene.folder_feed(rewind_id=1, floor_ts=ts(200)))
    assert scene.keys_unordered() == ["0", "1", "2", "3", "1", "3"]


def test_a_partition_without_watermarks_keeps_its_order_though_its_times_step_back(tmp_path):
    feed = Scene(tmp_path).queue_feed("&watermark=ignore")
    stepping = [insert("orders", key, ts(at)) for key, at in enumerate((100, 50, 120, 60, 60, 130))]
    feed.advance(Queue().batch({0: stepping, 1: [insert("items", 1, ts(10))]}), NOON)
    folder = read_folder(tmp_path / "output", "canal-json", ordered=False)
    assert [key_of(event) for event in folder.events(("shop", "orders"))] == ["0", "1", "2", "3", "4", "5"]


def test_a_queue_of_one_partition_without_watermarks_has_its_statements_in_their_place(tmp_path):
    scene = Scene(tmp_path)
    feed = scene.queue_feed("&watermark=ignore", partitions=1)
    index = ddl("orders", ADD_INDEX, ts(50), kind="CINDEX")
    feed.advance(Queue(1).batch({0: [insert("orders", 1, ts(10)), index, insert("orders", 2, ts(60))]}), NOON)
    events = [(key_of(event), event.version) for event in scene.read().events(("shop", "orders"))]
    assert events == [("1", ts(10)), ("2", ts(50))]


@pytest.mark.parametrize("workers", [1, 4])
def test_rows_of_one_transaction_share_the_commit_ts_that_is_made_for_them(tmp_path, workers):
    """A source that says no commit-ts; two transactions of one second, of several tables each."""
    scene = Scene(tmp_path, protocol="canal")
    messages = [transaction("orders", "items"), transaction("items", "orders")]
    framed = b"".join(len(message).to_bytes(4, "big") + message for message in messages)
    scene.put("a.bin", framed, end=b"")
    deliver(scene.folder_feed(workers=workers))
    folder = scene.read()
    orders, items = ([event.commit_ts for event in folder.events(("shop", name))] for name in ("orders", "items"))
    assert orders == items
    assert orders[1] > orders[0] == 1_700_000_000_000 << 18


def test_halves_of_an_update_in_two_batches_come_out_as_one_update(tmp_path):
    make = codec("datahub-blob").encoder
    assert make is not None
    change = RowChange(UPDATE, ORDERS, (1, "a"), (1, "b"), 0, 5, 5, sequence=9)
    halves = make({}).encode(change)
    assert len(halves) == 2
    after = RowChange(INSERT, ORDERS, None, (2, "c"), 0, 6, 6, sequence=10)
    scene = Scene(tmp_path, protocol="datahub-blob")
    for number, messages in enumerate(([halves[0]], [halves[1], *make({}).encode(after)])):
        scene.put(f"{number}.json", *messages)
        deliver(scene.folder_feed())
    events = [(event.operation, (event.after or {})["name"]) for event in scene.read().events(("shop", "orders"))]
    assert events == [("U", "b"), ("I", "c")]


def test_stdout_prints_everything_in_one_order_with_statements_in_their_place(tmp_path, capfdbinary):
    feed = Scene(tmp_path, sink="stdout:?protocol=canal-json&enable-tidb-extension=true").queue_feed()
    alter = ddl("orders", "ALTER TABLE `orders` ADD COLUMN `age` INT", ts(25))
    left = [insert("orders", 1, ts(10)), alter, insert("orders", 3, ts(30)), watermark(ts(40))]
    right = [insert("items", 2, ts(20)), insert("items", 4, ts(35)), watermark(ts(40))]
    feed.advance(Queue().batch({0: left, 1: right}), NOON)
    assert lines(capfdbinary.readouterr().out) == ["1", "2", "ddl", "3", "4"]


@pytest.mark.parametrize(
    ("step", "printed"),
    [("before-log-entry", ["1"]), ("after-log-entry", ["1"]), ("after it was printed", ["1", "1"])],
)
def test_stdout_loses_nothing_and_may_print_the_last_batch_again(tmp_path, monkeypatch, capfdbinary, step, printed):
    scene = Scene(tmp_path, sink="stdout:?protocol=canal-json")
    scene.put("a.json", insert("orders", 1, ts(1)))
    feed = scene.folder_feed()

    def die(*_: object, **__: object) -> None:
        raise failpoints.InjectedFault(step)

    with monkeypatch.context() as patch:
        if step in failpoints.STEPS:
            patch.setattr(failpoints, "_armed", failpoints._Armed(f"{step}:error:{tmp_path}/mark"))
        else:
            patch.setattr(feed.delivery.committer, "watermark", die)
        with pytest.raises(failpoints.InjectedFault):
            deliver(feed)
    deliver(scene.folder_feed())
    assert lines(capfdbinary.readouterr().out) == printed


def test_a_blackhole_counts_and_keeps_nothing(tmp_path):
    scene = Scene(tmp_path, sink="blackhole://")
    scene.put("a.json", *(insert("orders", key, ts(key + 1)) for key in range(20)))
    feed = scene.folder_feed()
    deliver(feed)
    assert feed.delivery.view.totals.rows == 20
    assert feed.delivery.view.checkpoint_ts == ts(20)
    assert list(scene.output.iterdir()) == []


def test_a_message_of_several_rows_is_put_aside_whole(tmp_path):
    """The second of its entries cannot be read, so nothing of it comes out."""
    scene = Scene(tmp_path, protocol="canal")
    good = rows_entry(entries.INSERT, row(after=[column(0, "id", "bigint", "7")]))
    broken = entry(entries.ROWDATA, b"\xff\xff", good.header)
    messages = [transaction("orders"), packet(good, broken), transaction("orders")]
    scene.put("a.bin", b"".join(len(message).to_bytes(4, "big") + message for message in messages), end=b"")
    feed = scene.folder_feed("&bad-message=dead-letter")
    deliver(feed)
    assert scene.keys() == ["7", "7"]
    assert feed.delivery.view.totals.dead_letters == 1


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [("a.bin", b"\x00\x00\x00\x09short", BadFrame), ("a.bin.gz", b"no gzip at all", PackedFileDamaged)],
)
def test_a_file_that_cannot_be_cut_into_messages_stops_it_also_with_dead_letters(tmp_path, name, content, error):
    scene = Scene(tmp_path, protocol="canal")
    scene.put(name, content, end=b"")
    feed = scene.folder_feed("&bad-message=dead-letter")
    with pytest.raises(error):
        deliver(feed)
    assert feed.delivery.view.number == 1


def test_filters_selectors_and_target_names_take_effect_on_rows_and_statements(tmp_path):
    scene = Scene(tmp_path)
    create = CREATE.replace("orders", "{}")
    scene.put(
        "a.json",
        ddl("orders", create.format("orders"), ts(1), kind="CREATE"),
        ddl("items", create.format("items"), ts(2), kind="CREATE"),
        insert("orders", 1, ts(10)),
        message("orders", {"id": "1", "name": "n1"}, ts(11), kind="DELETE"),
        insert("items", 2, ts(12)),
    )
    replica_config = {
        "filter": {
            "rules": ["*.*", "!shop.items"],
            "event_filters": [{"matcher": ["*.*"], "ignore_event": ["delete"]}],
        },
        "sink": {
            "column_selectors": [{"matcher": ["*.*"], "columns": ["id"]}],
            "dispatchers": [{"matcher": ["*.*"], "target-schema": "lake", "target-table": "{table}_raw"}],
        },
    }
    deliver(scene.folder_feed(replica_config=replica_config))
    folder = scene.read_unordered()
    assert set(folder.tables) == {("lake", "orders_raw")}
    assert [(one.operation, one.after) for one in folder.events(("lake", "orders_raw"))] == [("I", {"id": "1"})]
    assert set(folder.schemas) == {("lake", "orders_raw")}
