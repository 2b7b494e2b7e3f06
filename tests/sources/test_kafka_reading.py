"""Splits against a real broker: exactly the offsets they name, whatever lies at their ends."""

import pickle
import time

import pytest
from confluent_kafka import Producer

from spark_jobs.cdc.errors import EnvironmentFault
from spark_jobs.sources.base import PositionLost, Split
from spark_jobs.sources.kafka import client
from spark_jobs.sources.kafka.client import lent, settings_of
from spark_jobs.sources.kafka.split import BLOCK_BYTES, BLOCK_MESSAGES
from tests.rig.waiting import wait_for
from tests.sources.kafka_scene import kafka_source, read


def numbered(count, size=0):
    return [b"%d" % number + b"." * size for number in range(count)]


def test_a_range_is_read_from_its_start_to_its_end_wherever_the_log_goes_on(topic):
    orders = topic(2)
    orders.put(*numbered(3000), partition=0)
    orders.put(*numbered(7), partition=1)
    for start, end in ((0, 3000), (0, 1), (2999, 3000), (10, 2000), (5, 5), (0, 0)):
        assert read(orders.split(start, end)) == [(n, b"%d" % n) for n in range(start, end)]
    assert read(orders.split(3, 7, partition=1)) == [(n, b"%d" % n) for n in range(3, 7)]


def test_a_split_goes_to_a_worker_and_says_where_its_messages_stand(topic):
    orders = topic()
    orders.put(b"a", b"", b"c")
    split: Split = pickle.loads(pickle.dumps(orders.split(1, 3)))
    (block,) = split.blocks()
    assert (list(block.values), list(block.offsets)) == ([b"", b"c"], [1, 2])
    place = block.place(1)
    assert (place.stream, place.partition, place.offset) == (orders.name, 0, 2)
    assert place.text == f"topic {orders.name}, partition 0, offset 2"


def test_no_password_is_shown(topic):
    options = "&sasl-user=u&sasl-password=hunter2&sasl-mechanism=plain"
    assert "hunter2" not in repr(topic().split(0, 1, options=options))


def test_blocks_are_bounded_by_messages_and_by_bytes(topic):
    small, large = topic(), topic()
    small.put(*numbered(BLOCK_MESSAGES * 2 + 10))
    large.put(*numbered(100, size=100_000))
    assert max(len(block.offsets) for block in small.split(0, BLOCK_MESSAGES * 2 + 10).blocks()) < BLOCK_MESSAGES + 500
    sizes = [sum(map(len, block.values)) for block in large.split(0, 100).blocks()]
    assert sum(sizes) > 10_000_000
    assert max(sizes) < BLOCK_BYTES * 6


def test_what_was_not_committed_is_not_read_and_marks_hold_nobody_up(topic):
    orders = topic()
    orders.transactions(([b"a", b"b"], True), ([b"lost"], False), ([b"c"], True), ([b"lost", b"too"], False))
    assert read(orders.split(0, 10)) == [(0, b"a"), (1, b"b"), (5, b"c")]
    assert read(orders.split(2, 5)) == []
    assert read(orders.split(7, 10)) == []
    assert read(orders.split(6, 7)) == []


def test_what_was_compacted_away_leaves_gaps(topic, kafka):
    orders = topic(
        cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01", max_compaction_lag_ms="200"
    )
    for number in range(20):
        kafka.produce(orders.name, [b"%d" % number], key=b"same")
    time.sleep(0.2)  # a segment is closed by the first message after its time
    kafka.produce(orders.name, [b"last"], key=b"other")

    def gaps():
        return len(read(orders.split(0, 21))) < 21

    wait_for(gaps, "the log to be compacted")
    found = read(orders.split(0, 21))
    assert found[-1] == (20, b"last")
    assert read(orders.split(0, 5)) == [pair for pair in found if pair[0] < 5]


def test_no_message_is_a_message_too(topic, kafka):
    orders = topic()
    kafka.produce(orders.name, [b"a"])
    kafka.produce(orders.name, [None], key=b"k")
    assert read(orders.split(0, 2)) == [(0, b"a"), (1, None)]


def test_messages_that_are_larger_than_a_fetch_are_read(topic, kafka):
    orders = topic(max_message_bytes="20000000")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "message.max.bytes": 20_000_000})
    for letter in (b"a", b"b"):
        producer.produce(orders.name, letter * 9_000_000)
        producer.produce(orders.name, letter)
    producer.flush()
    assert [len(value or b"") for _, value in read(orders.split(0, 4))] == [9_000_000, 1, 9_000_000, 1]


@pytest.mark.parametrize("policy", ["fail", "earliest"])
def test_what_the_broker_has_deleted_is_a_lost_position(topic, kafka, policy):
    orders = topic()
    orders.put(*numbered(10))
    kafka.delete_records(orders.name, 0, 5)
    kind = PositionLost if policy == "fail" else EnvironmentFault
    with pytest.raises(kind, match=rf"offset 2 of {orders.name}/0.*\(the broker has 5 to 10\)") as caught:
        read(orders.split(2, 10, options=f"&on-lost-position={policy}"))
    assert caught.value.code == "CDC:ErrKafkaPositionLost"
    assert "on-lost-position=earliest" in caught.value.message


def test_a_log_that_ends_before_the_range_does_was_cut_off(topic):
    orders = topic()
    orders.put(*numbered(10))
    with pytest.raises(PositionLost, match="is gone"):
        read(orders.split(8, 12))


def test_a_topic_that_is_gone_is_judged_when_reading_begins_anew(topic, kafka):
    orders = topic()
    orders.put(*numbered(10))
    kafka.delete_topic(orders.name)
    with pytest.raises(EnvironmentFault, match=f"{orders.name}/0.*not there any more") as caught:
        read(orders.split(0, 10))
    assert caught.value.code == "CDC:ErrKafkaPositionLost"


def test_a_partition_that_came_after_the_client_was_opened_is_found(topic, kafka):
    orders = topic()
    orders.put(b"a")
    assert read(orders.split(0, 1)) == [(0, b"a")]
    kafka.add_partitions(orders.name, 2)
    orders.put(b"b", partition=1)
    assert read(orders.split(0, 1, partition=1)) == [(0, b"b")]


def test_a_client_is_lent_again_unless_something_went_wrong(topic):
    settings = settings_of(topic().source("&kafka-client-id=lent"))
    with lent(settings) as first:
        pass
    with lent(settings) as second, lent(settings) as third:
        assert second is first
        assert third is not first
    with pytest.raises(ZeroDivisionError), lent(settings) as fourth:
        raise ZeroDivisionError
    with lent(settings) as fifth:
        assert fifth is not fourth
    client.sweep(0)
    with lent(settings) as sixth:
        assert sixth not in (first, third, fifth)


@pytest.mark.parametrize(
    ("brokers", "said"),
    [("127.0.0.1:1", "Connection refused"), ("nobody.invalid:9092", "Failed to resolve 'nobody.invalid:9092'")],
    ids=["refused", "no such name"],
)
def test_a_broker_that_does_not_answer_is_named_with_the_reason(monkeypatch, brokers, said):
    monkeypatch.setattr("spark_jobs.sources.kafka.reading.TIMEOUT_SECONDS", 1.0)
    source = kafka_source(f"kafka://{brokers}/t?protocol=canal-json")
    split = pickle.loads(pickle.dumps(_split_of(source)))
    with pytest.raises(EnvironmentFault) as caught:
        read(split)
    assert caught.value.code == "CDC:ErrKafkaUnreachable"
    assert f"the Kafka broker at {brokers} does not answer" in caught.value.message
    assert said in caught.value.message


def _split_of(source):
    from spark_jobs.sources.base import Strand
    from spark_jobs.sources.kafka.split import KafkaSplit

    return KafkaSplit(strand=Strand("t", 0), start=0, end=1, size=0, settings=settings_of(source))
