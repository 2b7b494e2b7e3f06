"""One changefeed as a capture hosts it: a real Spark session, a real broker, no control plane."""

import itertools
import json
import time
import uuid

import pytest
from confluent_kafka import Producer

from spark_jobs.host.assignment import HostedFeed
from spark_jobs.host.lease import Lease, seconds
from spark_jobs.sources import parse_source
from spark_jobs.wire import Assignment, Phase
from tests.pipeline.messages import insert, ts, watermark
from tests.rig.waiting import wait_for
from tests.storage_reader import read_folder

SINK = "protocol=canal-json&enable-tidb-extension=true&flush-interval=100ms"


class Host:
    """Hosts one changefeed, under one epoch after the other."""

    def __init__(self, session, path, name, source_uri, **more):
        self.path = path
        self.output = path / "output"
        self.name = name
        self._session = session
        self._lease = Lease()
        self._lease.renew(seconds(), 3600)
        self._order = {"source_uri": source_uri, "sink_uri": f"file://{self.output}?{SINK}", "feed_uid": 1, **more}
        self.epoch = 0
        self.feed: HostedFeed

    def begin(self, **changes):
        self.epoch += 1
        self._order |= changes
        assignment = Assignment(
            changefeed_id=self.name, epoch=self.epoch, checkpoint_root=str(self.path / "checkpoints"), **self._order
        )
        self.feed = HostedFeed(assignment, self._session, "capture", self._lease)
        self.feed.start()

    @property
    def report(self):
        return self.feed.report()

    def end(self):
        """Stops it and waits until nothing of it runs any more."""
        self.feed.ask_to_stop()
        wait_for(lambda: self.feed.ended, f"{self.name} to end")
        return self.report

    def wait_for_phase(self, phase):
        wait_for(lambda: self.report.phase in (phase, Phase.FAILED, Phase.FINISHED), f"{self.name} to be {phase}")
        assert self.report.phase is phase, self.report.fault
        if phase is Phase.FAILED:
            wait_for(lambda: self.feed.ended, f"{self.name} to end")
        return self.report

    def wait_for_keys(self, *keys):
        """Until exactly these rows have come out, whatever their order."""
        wanted = sorted(map(str, keys))

        def came():
            assert self.report.fault is None, self.report.fault
            return len(self.keys()) >= len(wanted)

        wait_for(came, f"{len(wanted)} rows of {self.name}")
        assert sorted(self.keys()) == wanted

    def keys(self):
        folder = read_folder(self.output, "canal-json", ordered=False)
        found = [str((event.after or event.before or {})["id"]) for event in folder.all_events()]
        assert folder.problems == []
        return found

    def wait_for_position(self, position):
        wait_for(lambda: json.loads(self.report.source_position) == position, f"{self.name} to be at {position}")


@pytest.fixture
def host(session, tmp_path):
    hosts = []

    def make(source_uri, **more):
        name = f"feed-{uuid.uuid4().hex[:8]}"
        hosts.append(Host(session, tmp_path, name, source_uri, **more))
        return hosts[-1]

    yield make
    for item in hosts:
        item.end()


@pytest.fixture
def topic(kafka):
    """A topic of this test's own, as the source URI of a changefeed and as something to write to."""

    def make(partitions=1, options="&start=earliest"):
        name = f"t{uuid.uuid4().hex[:8]}"
        kafka.create_topic(name, partitions=partitions)
        return name, f"kafka://{kafka.bootstrap}/{name}?protocol=canal-json{options}"

    return make


def test_a_folder_is_read_stopped_and_read_on(host, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.json").write_bytes(insert("orders", 1, ts(1)) + b"\n")
    feed = host(f"file://{source}?protocol=canal-json")
    feed.begin()
    feed.wait_for_keys(1)
    feed.wait_for_position({"files_read": 1})
    assert feed.end().phase is Phase.STOPPED
    (source / "b.json").write_bytes(insert("orders", 2, ts(2)) + b"\n")
    feed.begin()
    feed.wait_for_keys(1, 2)
    feed.wait_for_position({"files_read": 2})


def test_a_topic_is_read_stopped_and_read_on(host, topic, kafka, tmp_path):
    name, uri = topic(partitions=2)
    kafka.produce(name, [insert("orders", 1, ts(1)), watermark(ts(5))], partition=0)
    kafka.produce(name, [insert("orders", 2, ts(2)), insert("orders", 3, ts(9)), watermark(ts(5))], partition=1)
    feed = host(uri)
    feed.begin()
    feed.wait_for_keys(1, 2)
    feed.wait_for_position({name: {"0": 2, "1": 3}})
    assert feed.end().phase is Phase.STOPPED
    for number in range(2):
        kafka.produce(name, [watermark(ts(10))], partition=number)
    of_spark = tmp_path / "checkpoints" / feed.name / "spark"
    (of_spark / "1-1").mkdir()
    feed.begin()
    feed.wait_for_keys(1, 2, 3)
    wait_for(lambda: feed.report.checkpoint_ts == ts(10), "the checkpoint")
    feed.end()
    assert list(of_spark.iterdir()) == []


def test_a_target_in_the_past_is_reached_with_everything_however_small_the_batches(host, topic, kafka):
    """Spark shares the limit of a batch among partitions and rounds down: such a batch is not the end."""
    name, uri = topic(3, "&start=earliest&max-rows-per-batch=20")
    for number in range(3):
        keys = range(number, 210, 3)
        kafka.produce(name, [insert("orders", key, ts(key + 1), extension=False) for key in keys], partition=number)
    feed = host(uri, target_ts=ts(1000))
    feed.begin()
    assert feed.wait_for_phase(Phase.FINISHED).checkpoint_ts == ts(1000)
    assert sorted(map(int, feed.keys())) == list(range(210))


def test_large_messages_are_taken_a_few_at_a_time(host, topic, kafka):
    """Spark limits messages only; here one micro-batch of it is many batches of ours, with watermarks in between."""
    name, uri = topic(2, "&start=earliest&max-bytes-per-batch=100000")
    for number in range(2):
        rows = [insert("orders", key, ts(key + 1)) for key in range(number, 3000, 2)]
        kafka.produce(name, [*rows, watermark(ts(5000))], partition=number)
    size = len(insert("orders", 1000, ts(1000)))
    feed = host(uri)
    feed.begin()
    feed.wait_for_keys(*range(3000))
    feed.end()
    entries = [json.loads(path.read_bytes()) for path in (feed.output / "_weir" / feed.name / "log").iterdir()]
    patches = [entry.get("position", {}).get("offsets", {}) for entry in entries if entry["kind"] == "commit"]
    positions = [patch[name] for patch in patches if patch]
    read = sorted(sum({"0": 0, "1": 0, **position}.values()) for position in positions)
    assert read[-1] == 3002
    assert 100_000 * 0.5 < max(b - a for a, b in itertools.pairwise([0, *read])) * size < 100_000 * 1.2
    assert len(read) >= 3000 * size // 100_000


def test_a_target_that_passes_while_nobody_looks_is_reached_though_nothing_new_comes(host, topic, kafka):
    name, uri = topic()
    kafka.produce(name, [insert("orders", 1, ts(1), extension=False)])
    feed = host(uri, target_ts=ts(int(time.time() * 1000) + 3_600_000))
    feed.begin()
    feed.wait_for_keys(1)
    feed.end()
    feed.begin(target_ts=ts(int(time.time() * 1000) - 60_000))
    feed.wait_for_phase(Phase.FINISHED)


def test_a_partition_that_is_added_is_read_from_its_beginning(host, topic, kafka):
    name, uri = topic()
    kafka.produce(name, [insert("orders", 1, ts(1), extension=False)])
    feed = host(uri)
    feed.begin()
    feed.wait_for_keys(1)
    kafka.add_partitions(name, 2)
    kafka.produce(name, [insert("orders", 2, ts(2), extension=False)], partition=1)
    feed.wait_for_keys(1, 2)
    feed.end()
    kafka.produce(name, [insert("orders", 3, ts(3), extension=False)], partition=1)
    feed.begin()
    feed.wait_for_keys(1, 2, 3)


@pytest.mark.parametrize("policy", ["fail", "earliest"])
def test_a_position_that_is_gone_when_reading_starts(host, topic, kafka, policy):
    name, uri = topic(options=f"&start=earliest&on-lost-position={policy}")
    kafka.produce(name, [insert("orders", key, ts(key), extension=False) for key in range(1, 4)])
    feed = host(uri)
    feed.begin()
    feed.wait_for_keys(1, 2, 3)
    feed.end()
    kafka.produce(name, [insert("orders", key, ts(key), extension=False) for key in range(4, 8)])
    kafka.delete_records(name, 0, 5)
    feed.begin()
    if policy == "earliest":
        feed.wait_for_keys(1, 2, 3, 6, 7)
        assert any("position lost" in line for line in feed.report.logs)
    else:
        fault = feed.wait_for_phase(Phase.FAILED).fault
        assert (fault.code, fault.retryable) == ("CDC:ErrKafkaPositionLost", False)
        assert f"offset 3 of {name}/0 is gone (the broker has 5 to 7)" in fault.message
        assert "on-lost-position=earliest" in fault.message


def test_a_topic_that_disappears_stops_reading_and_is_named(host, topic, kafka):
    name, uri = topic()
    kafka.produce(name, [insert("orders", 1, ts(1), extension=False)])
    feed = host(uri)
    feed.begin()
    feed.wait_for_keys(1)
    kafka.delete_topic(name)
    fault = feed.wait_for_phase(Phase.FAILED).fault
    assert (fault.code, fault.retryable) == ("CDC:ErrKafkaPositionLost", True)
    feed.begin()
    fault = feed.wait_for_phase(Phase.FAILED).fault
    assert (fault.code, fault.retryable) == ("CDC:ErrKafkaTopicNotExists", False)
    assert f"has no topic '{name}'; create it first" in fault.message


def test_a_pattern_finds_topics_that_come_later_and_none_of_kafkas_own(host, topic, kafka):
    name, _ = topic()
    kafka.produce(name, [insert("orders", 1, ts(1), extension=False)])
    feed = host(f"kafka://{kafka.bootstrap}/?topic-pattern=(__.*|{name}.*)&protocol=canal-json&start=earliest")
    feed.begin()
    feed.wait_for_keys(1)
    kafka.create_topic(f"{name}-later")
    kafka.produce(f"{name}-later", [insert("orders", 2, ts(2), extension=False)])
    feed.wait_for_keys(1, 2)


def test_aborted_transactions_are_not_read_and_marks_are_no_messages(host, topic, kafka):
    name, uri = topic()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name})
    producer.init_transactions()
    for key, commits in ((1, True), (2, False), (3, True), (4, False)):
        producer.begin_transaction()
        producer.produce(name, insert("orders", key, ts(key), extension=False))
        producer.flush()
        (producer.commit_transaction if commits else producer.abort_transaction)()
    feed = host(uri)
    feed.begin()
    feed.wait_for_keys(1, 3)
    feed.wait_for_position({name: {"0": 8}})


def test_a_start_by_time_finds_every_row_after_it(host, topic, kafka):
    name, uri = topic(options="")
    now_ms = int(time.time() * 1000)
    for key, age_seconds in ((1, 600), (2, 300), (3, 100)):
        at = now_ms - age_seconds * 1000
        kafka.produce(name, [insert("orders", key, ts(at))], timestamp_ms=at)
    kafka.produce(name, [watermark(ts(now_ms))])
    start_ts = ts(now_ms - 200_000)
    feed = host(uri, start_ts=start_ts, start_position=parse_source(uri).resolve_start(start_ts))
    assert json.loads(feed._order["start_position"]) == {name: {"0": 2}}
    feed.begin()
    feed.wait_for_keys(3)


def test_a_rewind_delivers_again_what_is_above_it(host, topic, kafka):
    name, uri = topic()
    now_ms = int(time.time() * 1000) - 600_000
    for key in range(1, 5):
        at = now_ms + key * 100_000
        kafka.produce(name, [insert("orders", key, ts(at)), watermark(ts(at))], timestamp_ms=at)
    feed = host(uri)
    feed.begin()
    feed.wait_for_keys(1, 2, 3, 4)
    feed.end()
    feed.begin(rewind_ts=ts(now_ms + 200_000), rewind_id=1)
    feed.wait_for_keys(1, 2, 3, 3, 4, 4)
    wait_for(lambda: feed.report.checkpoint_ts == ts(now_ms + 400_000), "the checkpoint")


def test_a_query_that_spark_ends_is_said_with_its_reason(host, topic, kafka, session):
    name, uri = topic()
    kafka.produce(name, [insert("orders", 1, ts(1), extension=False)])
    feed = host(uri)
    feed.begin()
    feed.wait_for_keys(1)
    (query,) = [query for query in session.streams.active if query.name == feed.name]
    query.stop()
    fault = feed.wait_for_phase(Phase.FAILED).fault
    assert (fault.code, fault.retryable) == ("CDC:ErrQueryFailed", True)
