"""Batches of a Kafka source as Spark's streaming query paces them, against what was written to the topics."""

import threading
import time
import uuid

import pytest

from spark_jobs.cdc.errors import EnvironmentFault
from spark_jobs.commitlog.merge_patch import patched
from spark_jobs.sources.base import Pace, PositionLost, Strand
from spark_jobs.sources.kafka import client
from spark_jobs.sources.kafka.enumerator import KafkaEnumerator
from tests.pipeline.messages import insert, ts, watermark
from tests.rig.waiting import wait_for
from tests.sources.kafka_scene import Topic, kafka_source

MARKS = (b"TIDB_WATERMARK",)


class Run:
    """An enumerator that delivers into memory, until ``most`` batches came."""

    def __init__(self, session, source, folder, most=10**9):
        self.enumerator = KafkaEnumerator(source, session)
        self.position = self.enumerator.begin("", 0)
        self.folder = folder / uuid.uuid4().hex
        self.values: dict[Strand, list[bytes]] = {}
        self.batches = []
        self.identity = {}
        self.looks = []
        self.sizes = []
        self.counts = []
        self.strands = []
        self.at_work = threading.Lock()
        self._most = most
        pace = Pace(name=self.folder.name, interval_seconds=0.1, workers=2, folder=str(self.folder))
        self.enumerator.run(self.position, pace, self.deliver)

    def deliver(self, batch):
        assert self.at_work.acquire(blocking=False), "one batch at a time"
        self.looks.append(batch.look(MARKS, frozenset(self.values)))
        self.strands = list(batch.strands)
        self.sizes.append(0)
        for split in batch.splits:
            for block in split.blocks():
                self.values.setdefault(split.strand, []).extend(block.values)
                self.sizes[-1] += sum(map(len, block.values))
        self.identity = self.enumerator.identity()
        self.batches.append(batch)
        self.position = patched(self.position, batch.patch)
        self.counts = [len(values) for _, values in sorted(self.values.items())]
        self.at_work.release()
        return len(self.batches) < self._most

    def wait_for(self, *counts):
        """Until that many messages of each strand have come, by their order."""

        def came():
            self.enumerator.check()
            return self.counts == list(counts)

        wait_for(came, f"{counts} messages")

    def fault(self):
        with pytest.raises(EnvironmentFault) as caught:
            wait_for(self.enumerator.check, "a fault")
        return caught.value


@pytest.fixture
def run(session, tmp_path):
    runs = []

    def start(uri, **more):
        runs.append(Run(session, kafka_source(uri), tmp_path, **more))
        return runs[-1]

    yield start
    for item in runs:
        item.enumerator.stop()
        assert not item.folder.exists()
    client.sweep(0)


def test_new_messages_come_in_batches_and_new_partitions_from_their_beginning(run, kafka):
    orders = Topic(kafka, 2)
    rows = [insert("orders", key, ts(key + 1)) for key in range(3000)]
    orders.put(*rows, watermark(ts(5000)), partition=0)
    orders.put(*rows[:10], partition=1)
    size = sum(map(len, rows))
    source = f"kafka://{kafka.bootstrap}/{orders.name}?protocol=canal-json&start=earliest"
    whole, cut = run(source), run(f"{source}&max-bytes-per-batch={size // 5}")
    for reading in (whole, cut):
        reading.wait_for(3001, 10)
        assert reading.values[Strand(orders.name, 0)] == [*rows, watermark(ts(5000))]
        assert reading.position == orders.position(3001, 10)
        assert reading.batches[-1].at_end
        assert reading.enumerator.at_end(reading.position)
        (found,) = [scan for scan in reading.looks[-1] if scan.strand.partition == 0]
        assert (found.candidates, found.timed) == ((watermark(ts(5000)),), True)
    assert len(whole.batches) == 1
    assert len(cut.batches) >= 5
    assert [batch.at_end for batch in cut.batches] == [False] * (len(cut.batches) - 1) + [True]
    assert max(cut.sizes) < size / 5 * 1.2
    kafka.add_partitions(orders.name, 3)
    orders.put(b"new", partition=2)
    whole.wait_for(3001, 10, 1)
    assert whole.strands == [Strand(orders.name, number) for number in range(3)]
    assert whole.position == orders.position(3001, 10, 1)
    whole.enumerator.stop()
    orders.put(b"unseen", partition=2)
    time.sleep(0.5)
    assert len(whole.values[Strand(orders.name, 2)]) == 1


def test_nothing_comes_after_a_batch_that_was_the_last(run, kafka):
    orders = Topic(kafka)
    orders.put(*[b"x" * 1000] * 100)
    uri = f"kafka://{kafka.bootstrap}/{orders.name}?protocol=canal-json&start=earliest&max-bytes-per-batch=20000"
    reading = run(uri, most=2)
    wait_for(lambda: len(reading.batches) == 2, "two batches")
    orders.put(b"unseen")
    time.sleep(0.5)
    reading.enumerator.check()
    assert len(reading.batches) == 2
    assert reading.position["offsets"][orders.name]["0"] < 100


def test_topics_of_a_pattern_come_and_go(run, kafka):
    first = Topic(kafka)
    first.put(b"a")
    pattern = f"topic-pattern={first.name}.*&start=earliest"
    reading = run(f"kafka://{kafka.bootstrap}/?protocol=canal-json&{pattern}")
    reading.wait_for(1)
    later = Topic(kafka, name=f"{first.name}-later")
    later.put(b"b")
    reading.wait_for(1, 1)
    first.put(b"c")
    reading.wait_for(2, 1)
    assert [item.stream for item in reading.strands] == [first.name, later.name]
    kafka.delete_topic(later.name)
    fault = reading.fault()
    assert fault.code == "CDC:ErrKafkaPositionLost"
    settled, said = reading.enumerator.resume(reading.position, {})
    assert settled == first.position(2)
    assert said == [f"topic {later.name} is not there any more; it is read no longer"]


def test_a_topic_made_anew_while_it_is_read_is_noticed_at_once_or_with_its_first_batch(run, kafka):
    orders = Topic(kafka)
    orders.put(b"1", b"2", b"3")
    reading = run(f"kafka://{kafka.bootstrap}/{orders.name}?protocol=canal-json&start=earliest")
    reading.wait_for(3)
    known, position = reading.identity, reading.position
    orders.make_anew()
    orders.put(*[b"new"] * 5)

    def noticed():
        try:
            reading.enumerator.check()
        except EnvironmentFault as fault:
            return fault.code in ("CDC:ErrKafkaPositionLost", "CDC:ErrQueryFailed")
        return reading.identity != known

    wait_for(noticed, "the new topic to be noticed")
    with pytest.raises(PositionLost, match="was deleted and made anew"):
        reading.enumerator.resume(position, known)


def test_a_query_that_spark_ends_is_said_with_its_reason(run, kafka, session):
    orders = Topic(kafka)
    orders.put(b"a")
    reading = run(f"kafka://{kafka.bootstrap}/{orders.name}?protocol=canal-json&start=earliest")
    reading.wait_for(1)
    (query,) = [query for query in session.streams.active if query.name == reading.folder.name]
    query.stop()
    assert reading.fault().code == "CDC:ErrQueryFailed"
