"""What Weir asks a Kafka broker itself: which topics and partitions there are, and where they begin and end.

Uses librdkafka (confluent-kafka); Spark's connector does the reading.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import ConfigError, DataError, EnvironmentFault
from spark_jobs.sources.common import CODE, WHAT
from spark_jobs.sources.kafka import SEARCH_MARGIN_MS, KafkaSource

TIMEOUT_SECONDS: Final = 10.0
INTERNAL: Final = "__"
"""Topics whose names begin so are Kafka's own; no pattern of Spark's connector finds them either."""
Offsets: TypeAlias = dict[str, dict[int, int]]
"""``{topic: {partition: next offset}}``"""


class PositionLost(DataError):
    """The broker has deleted what was to be read next; trying again does not bring it back."""

    code = "CDC:ErrKafkaPositionLost"


class Settled(msgspec.Struct, frozen=True):
    """Where reading starts. ``at_end``: nothing is there to be read; ``moved``: sentences about lost positions."""

    offsets: Offsets
    at_end: bool
    moved: list[str]


def client_settings(source: KafkaSource) -> dict[str, str | bool | int]:
    """librdkafka's settings for this source."""
    settings: dict[str, str | bool | int] = {
        "bootstrap.servers": source.brokers,
        "group.id": "weir-admin",
        "enable.auto.commit": False,
        "allow.auto.create.topics": False,
        "log_level": 0,
        "socket.connection.setup.timeout.ms": 5000,
    }
    protocol = ("SASL_" if source.sasl_mechanism else "") + ("SSL" if source.tls else "PLAINTEXT")
    settings["security.protocol"] = protocol
    named = {
        "sasl.mechanism": source.sasl_mechanism,
        "sasl.username": source.sasl_user,
        "sasl.password": source.sasl_password,
        "ssl.ca.location": source.ca,
        "ssl.certificate.location": source.cert,
        "ssl.key.location": source.key,
        "client.id": source.client_id,
    }
    settings.update({name: value for name, value in named.items() if value})
    if source.tls and source.skip_verify:
        settings["enable.ssl.certificate.verification"] = False
    return settings


def _require_files(source: KafkaSource) -> None:
    for name, path in (("ca", source.ca), ("cert", source.cert), ("key", source.key)):
        if path and not os.access(path, os.R_OK):
            raise ConfigError(f"{WHAT}: {name}={path} is not a file that can be read here", code=CODE)


@contextlib.contextmanager
def _client(source: KafkaSource) -> Iterator[Consumer]:
    _require_files(source)
    try:
        consumer = Consumer(client_settings(source))
    except KafkaException as error:
        raise ConfigError(f"{WHAT}: the Kafka client refuses the settings: {_reason(error)}", code=CODE) from None
    try:
        yield consumer
    except KafkaException as error:
        raise _unreachable(source, _reason(error)) from None
    finally:
        consumer.close()


def _reason(error: KafkaException) -> str:
    return error.args[0].str() if error.args and isinstance(error.args[0], KafkaError) else str(error)


def _unreachable(source: KafkaSource, reason: str) -> EnvironmentFault:
    sentence = f"the Kafka broker at {source.brokers} does not answer: {reason}"
    return EnvironmentFault(sentence, code="CDC:ErrKafkaUnreachable")


def partitions(source: KafkaSource) -> dict[str, list[int]]:
    """Partitions of every topic of the source. ``ConfigError`` for a topic that is missing."""
    with _client(source) as consumer:
        return _partitions(source, consumer)


def _partitions(source: KafkaSource, consumer: Consumer) -> dict[str, list[int]]:
    known = consumer.list_topics(timeout=TIMEOUT_SECONDS).topics
    if source.topic_pattern:
        pattern = re.compile(source.topic_pattern)
        names = [name for name in known if pattern.fullmatch(name) and not name.startswith(INTERNAL)]
        if not names:
            raise ConfigError(f"{WHAT}: no topic matches {source.topic_pattern!r}", code="CDC:ErrKafkaTopicNotExists")
    else:
        names = list(source.topics)
        for name in names:
            if name not in known or known[name].error is not None:
                raise ConfigError(
                    f"{WHAT}: the broker at {source.brokers} has no topic {name!r}; create it first",
                    code="CDC:ErrKafkaTopicNotExists",
                )
    return {name: sorted(known[name].partitions) for name in sorted(names)}


def ends(source: KafkaSource) -> tuple[Offsets, Offsets]:
    """First available offset and next offset (high watermark) of every partition."""
    first: Offsets = {}
    last: Offsets = {}
    with _client(source) as consumer:
        for topic, numbers in _partitions(source, consumer).items():
            first[topic], last[topic] = {}, {}
            for number in numbers:
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=TIMEOUT_SECONDS)
                first[topic][number], last[topic][number] = low, high
    return first, last


def check(source: KafkaSource) -> None:
    """``ConfigError`` when the broker or a topic is not there."""
    try:
        known = partitions(source)
    except EnvironmentFault as fault:
        raise ConfigError(f"{WHAT}: {fault.message}", code=CODE) from None
    for partition, _ in _offset_list(source.start).items():
        if not any(partition in numbers for numbers in known.values()):
            raise ConfigError(f"{WHAT}: start names partition {partition}, which no topic has", code=CODE)


def resolve_start(source: KafkaSource, start_ts: int = 0) -> str:
    """Offsets to begin at, as JSON text. A time is searched by the broker's index, with a margin."""
    first, last = ends(source)
    wanted = start_ts or source.start_ts
    if wanted:
        offsets = _at_time(source, tso.physical_ms(wanted) - SEARCH_MARGIN_MS, last)
    elif source.start == "latest":
        offsets = last
    elif source.start == "earliest":
        offsets = first
    else:
        given = _offset_list(source.start)
        offsets = {topic: {n: given.get(n, low) for n, low in lows.items()} for topic, lows in first.items()}
    return dump(offsets)


def _at_time(source: KafkaSource, at_ms: int, last: Offsets) -> Offsets:
    asked = [TopicPartition(topic, n, max(at_ms, 0)) for topic, numbers in last.items() for n in numbers]
    with _client(source) as consumer:
        answer = consumer.offsets_for_times(asked, timeout=TIMEOUT_SECONDS)
    found: Offsets = {topic: {} for topic in last}
    for item in answer:
        if item.error is not None:
            raise _unreachable(source, item.error.str())
        end = last[item.topic][item.partition]
        found[item.topic][item.partition] = item.offset if item.offset >= 0 else end
    return found


def _offset_list(start: str) -> dict[int, int]:
    if not start.startswith("offset:"):
        return {}
    pairs = (pair.split(":") for pair in start.removeprefix("offset:").split(","))
    return {int(partition): int(offset) for partition, offset in pairs}


def settle(source: KafkaSource, wanted: Mapping[str, Mapping[int, int]]) -> Settled:
    """The offsets to start reading at: ``wanted``, first for partitions that are new since, checked against what the
    broker still has; lost positions are moved to the earliest.

    Raises ``PositionLost`` when a position is gone and ``on-lost-position`` is ``fail``.
    """
    first, last = ends(source)
    settled: Offsets = {}
    moved: list[str] = []
    for topic, lows in first.items():
        settled[topic] = {}
        for number, low in lows.items():
            offset = wanted.get(topic, {}).get(number, low)
            high = last[topic][number]
            if not low <= offset <= high:
                has = f"the broker has {low} to {high}"
                sentence = f"offset {offset} of {topic}/{number} is gone ({has}); rows between may be lost"
                if source.on_lost_position == "fail":
                    raise PositionLost(sentence + "; set on-lost-position=earliest in the source URI to go on")
                moved.append(sentence)
                offset = low
            settled[topic][number] = offset
    missing = [f"{topic}/{n}" for topic, numbers in wanted.items() for n in numbers if n not in first.get(topic, {})]
    if missing:
        raise PositionLost(
            f"partition {missing[0]} has been read before and is not there any more; give the topic its partitions "
            "back, or remove the changefeed and create it anew"
        )
    return Settled(settled, settled == last, moved)


def dump(offsets: Mapping[str, Mapping[int, int]]) -> str:
    """JSON text of offsets."""
    return msgspec.json.encode({t: {str(n): o for n, o in numbers.items()} for t, numbers in offsets.items()}).decode()


def load(text: str) -> Offsets:
    """Offsets from JSON text; "" is empty."""
    return msgspec.json.decode(text, type=dict[str, dict[int, int]]) if text else {}
