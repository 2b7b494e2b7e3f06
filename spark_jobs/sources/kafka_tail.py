"""Looks for the last watermark of each partition in a range of offsets, from its end backwards.

Spark's connector carries the rows; reading a large range twice through it would cost as much as delivering it. The last
watermark of a partition stands near its end, so a small client of our own reads the last few messages, and more only
where there was none.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from spark_jobs.cdc.errors import EnvironmentFault
from spark_jobs.sources.kafka import KafkaSource
from spark_jobs.sources.kafka_admin import client_settings

FIRST_WINDOW: Final = 500
WINDOW_GROWTH: Final = 8
SAMPLE: Final = 20
TIMEOUT_SECONDS: Final = 30.0
_CHUNK: Final = 1000

Partition = tuple[str, int]


class Range(msgspec.Struct, frozen=True):
    """New messages of a partition: offsets ``start`` (inclusive) to ``end`` (exclusive)."""

    start: int
    end: int


class KafkaTail:
    """Keeps one client open. Not thread-safe."""

    def __init__(self, source: KafkaSource) -> None:
        settings = client_settings(source) | {
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 50,
            "queued.max.messages.kbytes": 16384,
            "isolation.level": "read_committed",
        }
        self._consumer = Consumer(settings)
        self._brokers = source.brokers

    def close(self) -> None:
        """Closes the client."""
        self._consumer.close()

    def search(
        self,
        ranges: Mapping[Partition, Range],
        found: Callable[[Partition, list[bytes]], bool],
        *,
        whole: Iterable[Partition],
    ) -> None:
        """Hands the messages of ever larger tails to ``found`` until it says that it needs no more of that partition.

        Only partitions in ``whole`` are searched to the start of their range; of others the first tail is enough.
        Raises ``EnvironmentFault`` when the broker does not answer.
        """
        to_the_end = set(whole)
        window = FIRST_WINDOW
        left = {partition: part for partition, part in ranges.items() if part.end > part.start}
        while left:
            tails = {partition: Range(max(part.start, part.end - window), part.end) for partition, part in left.items()}
            messages = self._read(tails)
            left = {
                partition: Range(part.start, tails[partition].start)
                for partition, part in left.items()
                if not found(partition, messages[partition])
                and partition in to_the_end
                and tails[partition].start > part.start
            }
            window *= WINDOW_GROWTH

    def message_bytes(self, ranges: Mapping[Partition, Range]) -> float:
        """The average size of the next few messages of each partition; 0 if there are none."""
        heads = {
            partition: Range(part.start, min(part.end, part.start + SAMPLE))
            for partition, part in ranges.items()
            if part.end > part.start
        }
        sizes = [len(value) for values in self._read(heads).values() for value in values]
        return sum(sizes) / len(sizes) if sizes else 0.0

    def _read(self, tails: Mapping[Partition, Range]) -> dict[Partition, list[bytes]]:
        messages: dict[Partition, list[bytes]] = {partition: [] for partition in tails}
        open_ones = set(tails)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        self._consumer.assign([TopicPartition(topic, number, tails[topic, number].start) for topic, number in tails])
        while open_ones:
            if time.monotonic() > deadline:
                raise EnvironmentFault(
                    f"the Kafka broker at {self._brokers} does not answer in {TIMEOUT_SECONDS:g} s",
                    code="CDC:ErrKafkaUnreachable",
                )
            for message in self._consume():
                partition = str(message.topic()), int(message.partition() or 0)
                if message.error() is not None:
                    self._done_at_error(message, partition, open_ones)
                    continue
                end = tails[partition].end
                if (message.offset() or 0) < end and (value := message.value()) is not None:
                    messages[partition].append(value)
                if (message.offset() or 0) >= end - 1:
                    open_ones.discard(partition)
        self._consumer.unassign()
        return messages

    def _consume(self) -> list[Message]:
        try:
            return list(self._consumer.consume(_CHUNK, timeout=0.2))
        except KafkaException as error:
            raise EnvironmentFault(
                f"the Kafka broker at {self._brokers}: {error}", code="CDC:ErrKafkaUnreachable"
            ) from None

    def _done_at_error(self, message: Message, partition: Partition, open_ones: set[Partition]) -> None:
        error = message.error()
        assert error is not None
        if error.code() == KafkaError._PARTITION_EOF:
            open_ones.discard(partition)
        else:
            raise EnvironmentFault(f"topic {partition[0]}: {error.str()}", code="CDC:ErrKafkaUnreachable")
