"""What Weir asks the brokers: which topics and partitions there are, their ids, where their logs begin and end.

Each question is one request for all topics or partitions. Ends are those of committed messages (the last stable
offset), which is where a reader of committed messages stops.
"""

import time
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import ALL_COMPLETED, Future, wait
from typing import Any, Final

import msgspec
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition, Uuid
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.sources.base import Strand
from spark_jobs.sources.common import WHAT
from spark_jobs.sources.kafka.client import (
    KafkaPositionMoved,
    admin,
    refused,
    require_files,
    settings_of,
    unreachable,
    words,
)
from spark_jobs.sources.kafka.uri import KafkaSource

TIMEOUT_SECONDS: Final = 10.0
DOWN_SECONDS: Final = 3.0
"""A broker that refuses the connection, or has no address, may come back so long."""
NO_TOPIC: Final = "CDC:ErrKafkaTopicNotExists"
ABSENT_SECONDS: Final = 3.0
"""A partition that was just made, or moves to another broker, has no leader for a moment."""
_LOOK_SECONDS: Final = 0.1
_GONE: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
_ABSENT: Final = (
    *_GONE,
    KafkaError._NOENT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
)
_NO_ID: Final = str(Uuid(0, 0))


class Topic(msgspec.Struct, frozen=True):
    """A topic that is there; ``id`` is "" where the broker is too old to have ids."""

    id: str
    partitions: tuple[int, ...]


class Broker:
    """Asks the brokers of a source. For any thread; keeps nothing open of its own.

    Raises ``EnvironmentFault`` when they do not answer.
    """

    def __init__(self, source: KafkaSource) -> None:
        require_files(source)
        self._source = source
        self._settings = settings_of(source)
        self.brokers: Final = source.brokers

    def topics(self) -> dict[str, Topic]:
        """The topics of the source that are there now."""
        names = self._source.topics or self._matching()
        if not names:
            return {}
        futures = admin(self._settings).client.describe_topics(
            TopicCollection(list(names)), request_timeout=TIMEOUT_SECONDS
        )
        found = {}
        for name, item in self._answers(futures, _GONE).items():
            if item is not None:
                found[name] = Topic(id_text(item.topic_id), tuple(sorted(part.id for part in item.partitions)))
        return dict(sorted(found.items()))

    def named_topics(self) -> dict[str, Topic]:
        """The same; ``ConfigError`` when one that is named is missing, or the pattern finds none."""
        found = self.topics()
        missing = [name for name in self._source.topics if name not in found]
        if missing:
            sentence = f"the broker at {self.brokers} has no topic {missing[0]!r}; create it first"
            raise ConfigError(f"{WHAT}: {sentence}", code=NO_TOPIC)
        if not found:
            raise ConfigError(f"{WHAT}: no topic matches {self._source.topic_pattern!r}", code=NO_TOPIC)
        return found

    def _matching(self) -> tuple[str, ...]:
        return tuple(name for name in self._listed() if self._source.matches(name))

    def cluster_id(self) -> str:
        """The cluster's id; "" where it has none."""
        future = admin(self._settings).client.describe_cluster(request_timeout=TIMEOUT_SECONDS)
        answer = self._answers({"": future})[""]
        return str(answer.cluster_id or "")

    def firsts(self, strands: Iterable[Strand]) -> dict[Strand, int]:
        """The first offset that each partition still has."""
        return self._offsets(strands, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def ends(self, strands: Iterable[Strand]) -> dict[Strand, int]:
        """The offset behind the last committed message of each partition."""
        return self._offsets(strands, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def at_time(self, strands: Iterable[Strand], at_ms: int) -> dict[Strand, int]:
        """The first offset whose message's time is not before ``at_ms``; -1 where there is none."""
        return self._offsets(strands, OffsetSpec.for_timestamp(at_ms))

    def _offsets(self, strands: Iterable[Strand], spec: OffsetSpec) -> dict[Strand, int]:
        wanted = {TopicPartition(strand.stream, strand.partition): spec for strand in strands}
        if not wanted:
            return {}
        deadline = time.monotonic() + ABSENT_SECONDS
        while True:
            futures = admin(self._settings).client.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=TIMEOUT_SECONDS
            )
            answers = self._answers(futures, none_for=_ABSENT)
            absent = [at for at, item in answers.items() if item is None]
            if not absent:
                return {Strand(at.topic, at.partition): item.offset for at, item in answers.items()}
            if time.monotonic() > deadline:
                raise KafkaPositionMoved(f"partition {absent[0].topic}/{absent[0].partition} is not there any more")
            time.sleep(_LOOK_SECONDS / 2)
            self._listed()  # the client looks for leaders in what it remembers, until it is told anew

    def _answers(self, futures: Mapping[Any, "Future[Any]"], none_for: Container[int] = ()) -> dict[Any, Any]:
        self._wait(futures.values())
        answers = {}
        for name, future in futures.items():
            try:
                answers[name] = future.result()
            except KafkaException as error:
                if error.args[0].code() not in none_for:
                    raise self._fault(error) from None
                answers[name] = None
        admin(self._settings).answered()
        return answers

    def _wait(self, futures: Iterable["Future[Any]"]) -> None:
        """Until all are done; gives up early when no broker can be reached at all."""
        shared, began = admin(self._settings), time.monotonic()
        while wait(futures, timeout=_LOOK_SECONDS, return_when=ALL_COMPLETED).not_done:
            shared.client.poll(0)
            waited = time.monotonic() - began
            if waited > TIMEOUT_SECONDS + 1 or (shared.down and waited > DOWN_SECONDS):
                raise unreachable(self.brokers, self._reason("no answer"))

    def _listed(self) -> Iterable[str]:
        """Every topic that the brokers have."""
        try:
            return admin(self._settings).client.list_topics(timeout=TIMEOUT_SECONDS).topics
        except KafkaException as error:
            raise self._fault(error) from None

    def _fault(self, error: KafkaException) -> EnvironmentFault:
        if error.args[0].code() > 0:  # the broker's word; librdkafka's own are negative
            return refused(self.brokers, words(error))
        return unreachable(self.brokers, self._reason(words(error)))

    def _reason(self, otherwise: str) -> str:
        """What librdkafka says of the connection, which tells more than that time ran out."""
        shared = admin(self._settings)
        shared.client.poll(0)
        return shared.reason or otherwise


def id_text(topic_id: Uuid) -> str:
    """A topic's id; "" for the zeros of brokers that have no ids. Uuids are equal to themselves only."""
    text = str(topic_id)
    return "" if text == _NO_ID else text


def strands_of(topics: Mapping[str, Topic]) -> list[Strand]:
    """Every partition of the topics, in order."""
    return [Strand(name, number) for name, topic in sorted(topics.items()) for number in topic.partitions]
