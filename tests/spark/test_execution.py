"""What Spark runs gives the same bytes as what this process runs."""

import functools
import json

import pytest

from spark_jobs.cdc.errors import DecodeError
from spark_jobs.host import execution
from spark_jobs.pipeline.bad_message import BadMessage
from spark_jobs.pipeline.folder_feed import FolderFeed
from spark_jobs.pipeline.queue_feed import Batch, QueueFeed, SmallBatch
from spark_jobs.sources.kafka_tail import KafkaTail
from tests.pipeline.messages import WIDER, ddl, insert, row, ts, watermark
from tests.pipeline.scene import NOON, Scene, deliver, run_here
from tests.spark.parsed import folder_source, kafka_source

CREATE = "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))"
ROWS = 4000


def contents(scene):
    """Every file that readers see, by its path."""
    files = [path for path in scene.output.rglob("*") if path.is_file() and "_weir" not in path.parts]
    return {str(path.relative_to(scene.output)): path.read_bytes() for path in files}


def queue_messages(partition):
    """Rows of three tables, one of which changes in the middle, and watermarks; keys belong to one partition."""
    end = ts(10 * ROWS)
    messages = [ddl("orders", CREATE, ts(1), kind="CREATE")] if partition == 0 else []
    for number in range(partition, ROWS, 2):
        at = ts(10 * number + 10)
        if number == ROWS // 2:
            messages.append(ddl("orders", "ALTER TABLE `orders` ADD COLUMN `age` INT", at - 1))
        wide = number >= ROWS // 2
        values = {"id": str(number), "name": "żółć" if number % 3 else None} | ({"age": "7"} if wide else {})
        messages.append(row("orders", values, at, columns=WIDER))
        messages.append(insert(("items", "users")[number % 2], number, at))
        if number % 100 == partition:
            messages.append(watermark(at))
    return [*messages, watermark(end), insert("items", 10**6 + partition, end + 1)]


def read_batch(session, source, topic, count):
    """A finished topic as the frame of a micro-batch."""
    frame = (
        session.read.format("kafka")
        .option("kafka.bootstrap.servers", source.brokers)
        .option("subscribe", topic)
        .option("endingOffsets", json.dumps({topic: {str(number): end for number, end in count.items()}}))
        .load()
    )
    return frame.select("topic", "partition", "offset", "value")


@pytest.mark.parametrize(
    "sink",
    [
        "protocol=canal-json&enable-tidb-extension=true&file-size=100000",
        "protocol=csv",
        "protocol=canal-json&dialect=canal",
    ],
    ids=["relayed", "csv", "encoded"],
)
def test_a_large_batch_of_a_queue_gives_the_files_of_a_small_one(session, kafka, tmp_path, sink):
    topic = f"large-{sink.split('&')[-1].replace('=', '-')}"
    kafka.create_topic(topic, partitions=2)
    ends = {number: kafka.produce(topic, queue_messages(number), partition=number) for number in range(2)}
    source = kafka_source(f"kafka://{kafka.bootstrap}/{topic}?protocol=canal-json")
    frame = read_batch(session, source, topic, ends)
    tail = KafkaTail(source)
    outputs = []
    for name in ("small", "large"):
        (tmp_path / name).mkdir()
        scene = Scene(tmp_path / name, sink=sink)
        feed = QueueFeed(scene.owner(), source, NOON)
        feed.delivery.claim(functools.partial(feed.begin, {topic: {0: 0, 1: 0}}))
        batch: Batch
        if name == "small":
            batch = SmallBatch(execution.by_partition(frame.toArrow()), {topic: ends}, at_end=True)
        else:
            batch = execution.LargeBatch(session, frame, tail, {topic: {0: 0, 1: 0}}, {topic: ends}, at_end=True)
        feed.advance(batch, NOON)
        assert feed.delivery.view.totals.rows == 2 * ROWS
        assert feed.delivery.view.totals.held_rows == 2
        assert feed.delivery.view.resolved_ts == ts(10 * ROWS)
        assert len(feed.delivery.view.tables) == 3
        outputs.append(contents(scene))
    tail.close()
    assert outputs[0] == outputs[1]
    assert len([path for path in outputs[0] if "/orders/" in path and "/meta/" not in path]) >= 2


def test_what_was_held_comes_out_of_a_large_batch_too(session, kafka, tmp_path):
    kafka.create_topic("held", partitions=1)
    kafka.produce("held", [insert("orders", key, ts(100 + key)) for key in range(20)] + [watermark(ts(50))])
    source = kafka_source(f"kafka://{kafka.bootstrap}/held?protocol=canal-json")
    tail = KafkaTail(source)
    scene = Scene(tmp_path)
    feed = QueueFeed(scene.owner(), source, NOON)
    feed.delivery.claim(lambda: feed.begin({"held": {0: 0}}))
    first = read_batch(session, source, "held", {0: 21})
    feed.advance(execution.LargeBatch(session, first, tail, {"held": {0: 0}}, {"held": {0: 21}}, at_end=True), NOON)
    assert feed.delivery.view.totals.held_rows == 20
    kafka.produce("held", [watermark(ts(109))])
    second = read_batch(session, source, "held", {0: 22}).where("offset >= 21")
    feed.advance(execution.LargeBatch(session, second, tail, {"held": {0: 21}}, {"held": {0: 22}}, at_end=True), NOON)
    tail.close()
    assert scene.keys() == [str(key) for key in range(10)]
    assert feed.delivery.view.totals.held_rows == 10


def test_a_bad_message_comes_back_from_a_worker_with_its_place(session, kafka, tmp_path):
    kafka.create_topic("bad-in-worker")
    kafka.produce("bad-in-worker", [insert("orders", 1, ts(1)), b'{"type":"INSERT"'])
    source = kafka_source(f"kafka://{kafka.bootstrap}/bad-in-worker?protocol=canal-json&watermark=ignore")
    feed = QueueFeed(Scene(tmp_path).owner(), source, NOON)
    feed.delivery.claim(lambda: feed.begin({"bad-in-worker": {0: 0}}))
    frame = read_batch(session, source, "bad-in-worker", {0: 2})
    tail = KafkaTail(source)
    offsets = {"bad-in-worker": {0: 0}}
    batch = execution.LargeBatch(session, frame, tail, offsets, {"bad-in-worker": {0: 2}}, at_end=True)
    with pytest.raises(
        BadMessage, match="topic bad-in-worker, partition 0, offset 1: not a canal-json message"
    ) as caught:
        feed.advance(batch, NOON)
    assert caught.value.code == DecodeError.code
    tail.close()


@pytest.mark.parametrize(
    "sink", ["protocol=canal-json&enable-tidb-extension=true", "protocol=csv"], ids=["json", "csv"]
)
def test_splits_on_spark_give_the_files_of_splits_in_this_process(session, tmp_path, monkeypatch, sink):
    monkeypatch.setattr("spark_jobs.pipeline.folder_feed.SMALLEST_SPLIT", 100_000)
    monkeypatch.setattr("spark_jobs.host.execution.SMALL_SPLIT_BYTES", 0)
    outputs = []
    for name, run in (("here", run_here), ("spark", lambda job, splits: execution.run_splits(session, job, splits))):
        (tmp_path / name).mkdir()
        scene = Scene(tmp_path / name, sink=sink)
        scene.put("a.json", *queue_messages(0)[:1500])
        scene.put("b.json", *queue_messages(0)[1500:])
        source = folder_source(f"file://{scene.source}?protocol=canal-json")
        feed = FolderFeed(scene.owner(), source, run, 2)
        feed.delivery.claim(functools.partial(feed.begin, ""))
        deliver(feed)
        scene.put("c.json", *(insert("parcels", number, ts(10 * ROWS + number)) for number in range(1500)))
        deliver(feed)
        outputs.append(contents(scene))
        assert feed.delivery.view.number == 3
    assert outputs[0] == outputs[1]
    assert sum("/parcels/" in path and "CDC0" in path for path in outputs[0]) > 1, "a file of each split"


def test_a_file_that_a_worker_cannot_read_is_named(session, tmp_path, monkeypatch):
    monkeypatch.setattr("spark_jobs.host.execution.SMALL_SPLIT_BYTES", 0)
    scene = Scene(tmp_path)
    path = scene.put("a.json", insert("orders", 1, ts(1)))

    def run(job, splits):
        path.unlink()
        return execution.run_splits(session, job, splits)

    feed = FolderFeed(scene.owner(), folder_source(f"file://{scene.source}?protocol=canal-json"), run, 1)
    feed.delivery.claim(lambda: feed.begin(""))
    with pytest.raises(Exception, match=r"CDC:ErrSourceFileUnreadable.*a\.json is gone"):
        deliver(feed)
