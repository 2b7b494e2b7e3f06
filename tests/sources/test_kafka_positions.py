"""Where reading begins and goes on, and what happens when the broker does not have that any more."""

import json
import re
import time

import pytest
from confluent_kafka import Uuid

from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.sources.base import PositionLost
from spark_jobs.sources.kafka.admin import Topic, id_text
from spark_jobs.sources.kafka.enumerator import KafkaEnumerator
from spark_jobs.sources.kafka.positions import identity_of
from tests.pipeline.messages import ts
from tests.sources.kafka_scene import kafka_source

ROWS = [b"%d" % number for number in range(10)]


def offsets(position, name):
    return position["offsets"].get(name)


# Where to begin


@pytest.mark.parametrize(
    ("start", "expected"),
    [("latest", {"0": 10, "1": 0}), ("earliest", {"0": 3, "1": 0}), ("offset:0:7", {"0": 7, "1": 0})],
)
def test_a_start_is_resolved_to_offsets(topic, kafka, start, expected):
    orders = topic(2)
    orders.put(*ROWS)
    kafka.delete_records(orders.name, 0, 3)
    source = orders.source(f"&start={start}")
    source.check()
    text = source.resolve_start()
    assert json.loads(text) == {orders.name: expected}
    enumerator = source.enumerator(None)
    assert enumerator.begin(text, 0) == enumerator.begin("", 0) == {"offsets": {orders.name: expected}}


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("offset:0:11", r"start names offset 11 of .*/0, but the broker has 3 to 10"),
        ("offset:0:2", r"start names offset 2 of .*/0, but the broker has 3 to 10"),
        ("offset:5:0", "start names partition 5, which no topic has"),
    ],
    ids=["beyond the end", "before the beginning", "no such partition"],
)
def test_offsets_that_are_not_there_are_refused(topic, kafka, start, said):
    orders = topic()
    orders.put(*ROWS)
    kafka.delete_records(orders.name, 0, 3)
    source = orders.source(f"&start={start}")
    for refused in (source.check, source.resolve_start):
        with pytest.raises(ConfigError, match=said):
            refused()


def test_a_start_by_time_is_searched_with_a_margin(topic):
    orders = topic(2)
    now_ms = int(time.time() * 1000)
    for age_seconds in (600, 300, 100):
        orders.put(b"row", timestamp_ms=now_ms - age_seconds * 1000)
    resolve = orders.source().resolve_start
    for age_seconds, expected in ((9999, 0), (300, 1), (200, 2), (45, 2), (1, 3)):
        found = json.loads(resolve(ts(now_ms - age_seconds * 1000)))
        assert found == {orders.name: {"0": expected, "1": 0}}, age_seconds
    at_time = orders.source(f"&start={ts(now_ms - 200_000)}")
    assert json.loads(at_time.resolve_start()) == {orders.name: {"0": 2, "1": 0}}


def test_a_topic_without_times_is_read_from_its_beginning(topic):
    orders = topic()
    orders.put(*ROWS, timestamp_ms=-1)
    assert json.loads(orders.source().resolve_start(ts(int(time.time() * 1000)))) == {orders.name: {"0": 0}}


def test_a_time_behind_a_transaction_begins_at_the_end(topic):
    orders = topic()
    orders.transactions(([b"a"], True), ([b"b"], False))
    assert json.loads(orders.source().resolve_start(ts(int(time.time() * 1000) + 600_000))) == {orders.name: {"0": 4}}


# Where to go on


def test_a_position_that_holds_is_kept_and_new_partitions_begin_at_their_beginning(topic, kafka):
    orders = topic()
    orders.put(*ROWS)
    enumerator = orders.enumerator()
    known = enumerator.identity()
    assert enumerator.resume(orders.position(4), known) == (orders.position(4), [])
    assert not enumerator.at_end(orders.position(4))
    assert enumerator.at_end(orders.position(10))
    kafka.add_partitions(orders.name, 2)
    assert enumerator.resume(orders.position(10), known) == (orders.position(10, 0), [])
    orders.put(b"new", partition=1)
    assert not enumerator.at_end(orders.position(10))


def lost(orders, position, known, said):
    """What becomes of a lost position under both policies: the offsets that reading goes on from."""
    with pytest.raises(PositionLost, match=said) as caught:
        orders.enumerator().resume(position, known)
    assert caught.value.code == "CDC:ErrKafkaPositionLost"
    assert "set on-lost-position=earliest" in caught.value.message
    settled, sentences = orders.enumerator("&on-lost-position=earliest").resume(position, known)
    assert len([sentence for sentence in sentences if re.search(f"position lost: .*{said}", sentence)]) == 1
    return offsets(settled, orders.name)


def test_messages_that_were_deleted_are_a_lost_position(topic, kafka):
    orders = topic(2)
    orders.put(*ROWS)
    kafka.delete_records(orders.name, 0, 5)
    said = f"offset 3 of {orders.name}/0 is gone .the broker has 5 to 10."
    assert lost(orders, orders.position(3, 0), {}, said) == {"0": 5, "1": 0}


def test_a_log_that_was_cut_off_is_a_lost_position(topic):
    orders = topic()
    orders.put(*ROWS)
    said = f"offset 12 of {orders.name}/0 is gone .the broker has 0 to 10.; the log was cut off"
    assert lost(orders, orders.position(12), {}, said) == {"0": 0}


def test_a_topic_made_anew_is_a_lost_position_though_its_offsets_are_there(topic):
    orders = topic()
    orders.put(*ROWS[:3])
    enumerator = orders.enumerator()
    known = enumerator.identity()
    assert set(known) == {"cluster", f"topic:{orders.name}"}
    orders.make_anew()
    orders.put(*ROWS[:5])
    assert lost(orders, orders.position(3), known, f"topic {orders.name} was deleted and made anew") == {"0": 0}


def test_brokers_of_another_cluster_are_a_lost_position(topic):
    orders = topic()
    orders.put(*ROWS[:5])
    known = orders.enumerator().identity() | {"cluster": "elsewhere"}
    assert lost(orders, orders.position(3), known, "the brokers are those of another cluster") == {"0": 0}


def test_zeros_are_no_id_and_take_no_part_in_an_identity():
    assert id_text(Uuid(0, 0)) == ""
    assert id_text(Uuid(1, 2)) == str(Uuid(1, 2))
    topics = {"old": Topic("", (0,)), "new": Topic("x", (0,))}
    assert identity_of("", topics) == {"topic:new": "x"}


def test_ids_that_nobody_had_are_not_compared(topic):
    orders = topic()
    orders.put(*ROWS)
    for known in ({}, {"cluster": ""}, {"topic:other": "x"}):
        assert orders.enumerator().resume(orders.position(3), known) == (orders.position(3), [])


def test_a_topic_made_anew_while_it_is_read_shows_before_the_next_entry(topic):
    orders = topic()
    enumerator = orders.enumerator()
    before = enumerator.identity()
    orders.make_anew()
    enumerator._identity = enumerator._identity[0], float("-inf")  # what each batch does
    after = enumerator.identity()
    assert after["cluster"] == before["cluster"]
    assert after[f"topic:{orders.name}"] != before[f"topic:{orders.name}"]


def test_an_identity_between_batches_costs_nothing(topic, monkeypatch):
    enumerator = topic().enumerator()
    known = enumerator.identity()
    monkeypatch.setattr(enumerator, "_broker", None)
    assert enumerator.identity() == known


def test_a_partition_that_is_there_no_longer_is_a_lost_position(topic):
    orders = topic()
    orders.put(*ROWS)
    said = f"partition {orders.name}/1 has been read before and is not there any more"
    assert lost(orders, orders.position(3, 8), {}, said) == {"0": 3}


def test_a_named_topic_that_is_gone_is_a_lost_position_that_nothing_moves(topic, kafka):
    orders = topic()
    kafka.delete_topic(orders.name)
    for policy in ("fail", "earliest"):
        enumerator = orders.enumerator(f"&on-lost-position={policy}")
        with pytest.raises(PositionLost, match=f"has no topic '{orders.name}'"):
            enumerator.resume(orders.position(3), {})


def test_a_topic_of_a_pattern_that_is_gone_is_read_no_longer(topic, kafka):
    kept, gone, others = topic(), topic(), topic(name="__internal-looking")
    pattern = f"({kept.name}|{gone.name}|__.*)"
    source = kafka_source(f"kafka://{kafka.bootstrap}/?topic-pattern={pattern}&protocol=canal-json")
    enumerator = KafkaEnumerator(source, None)
    position = enumerator.begin("", 0)
    assert set(position["offsets"]) == {kept.name, gone.name} != {others.name}
    kafka.delete_topic(gone.name)
    settled, said = enumerator.resume(position, {})
    assert settled == kept.position(0)
    assert said == [f"topic {gone.name} is not there any more; it is read no longer"]
    kafka.delete_topic(kept.name)
    with pytest.raises(ConfigError, match="no topic matches"):
        enumerator.resume(position, {})


@pytest.mark.parametrize(
    ("brokers", "said"),
    [
        ("127.0.0.1:1", ("Connection refused", "nothing listens there")),
        ("nobody.invalid:9092", ("Failed to resolve 'nobody.invalid:9092'", "cannot be resolved")),
    ],
    ids=["refused", "no such name"],
)
def test_brokers_that_do_not_answer_are_named_with_the_reason(monkeypatch, brokers, said):
    monkeypatch.setattr("spark_jobs.sources.kafka.admin.DOWN_SECONDS", 0.5)
    source = kafka_source(f"kafka://{brokers}/t?protocol=canal-json")
    with pytest.raises(EnvironmentFault, match=said[0]) as caught:
        source.enumerator(None).resume({"offsets": {"t": {"0": 1}}}, {})
    assert caught.value.code == "CDC:ErrKafkaUnreachable"
    assert f"the Kafka broker at {brokers} does not answer" in caught.value.message
    with pytest.raises(ConfigError, match=said[1]):
        source.check()
