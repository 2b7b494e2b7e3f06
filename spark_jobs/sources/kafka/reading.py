"""Reads ranges of offsets with an open client, each to its end.

Rules

1. A range ends where its last offset was seen, a later one, or the end of the log at or behind the range's end: the
   last offsets may be marks of transactions, messages of aborted ones, or compacted away.
2. A log that ends before the range does was cut off; the broker is asked before that is believed.
3. An offset that the broker does not have is a lost position. A partition that is not there is looked for again, since
   a client may be older than the partition; then reading has to begin anew, where all topics are judged together.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from spark_jobs.sources.base import Strand
from spark_jobs.sources.kafka.client import Client, KafkaPositionLost, KafkaPositionMoved, refused, words

TIMEOUT_SECONDS: Final = 30.0
LARGEST_TAKE: Final = 5000
_LOOK_SECONDS: Final = 0.5
_ABSENT: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)


class Range(msgspec.Struct, frozen=True):
    """Offsets of a partition: ``start`` (inclusive) to ``end`` (exclusive)."""

    start: int
    end: int


def messages(client: Client, ranges: Mapping[Strand, Range]) -> Iterator[tuple[Strand, Message]]:
    """The messages of all ranges, of each in its order; raises as ``Reading.take`` does."""
    reading = Reading(client, ranges)
    while reading.is_open:
        for message in reading.take(LARGEST_TAKE):
            strand = Strand(str(message.topic()), message.partition() or 0)
            if (message.offset() or 0) < ranges[strand].end:
                yield strand, message
            reading.reached(strand, (message.offset() or 0) + 1)


class Reading:
    """Some ranges being read. ``is_open`` until each is read to its end."""

    def __init__(self, client: Client, ranges: Mapping[Strand, Range]) -> None:
        self._client = client
        self._ranges = {strand: part for strand, part in ranges.items() if part.end > part.start}
        self._next = {strand: part.start for strand, part in self._ranges.items()}
        self._open = set(self._ranges)
        self._looked_again = False
        self._assign(self._open)

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def reached(self, strand: Strand, offset: int) -> None:
        """Whoever takes messages says how far they go."""
        self._next[strand] = offset
        if offset >= self._ranges[strand].end:
            self._open.discard(strand)

    def take(self, most: int) -> list[Message]:
        """Some messages, at least one unless the ranges are read; they may go beyond a range's end.

        Raises ``EnvironmentFault`` when the broker does not answer, ``PositionLost`` when it has not what is asked for.
        """
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while self._open:
            taken = self._consume(most)
            silent = not taken
            if any(message.error() is not None for message in taken):
                taken = self._without_events(taken)
            if taken:
                return taken
            if silent:
                self._look_whether_it_is_there()
            if time.monotonic() > deadline:
                raise self._client.unreachable(f"nothing came in {TIMEOUT_SECONDS:g} s")
        return []

    def _consume(self, most: int) -> list[Message]:
        consumer = self._client.consumer
        try:
            taken = consumer.consume(most, 0)
            if taken:
                return taken
            message = consumer.poll(_LOOK_SECONDS)
        except KafkaException as error:
            raise self._client.unreachable(words(error)) from None
        return [message] if message is not None else []

    def _without_events(self, taken: list[Message]) -> list[Message]:
        """The messages alone; none when they will come again, since the ranges were assigned anew."""
        before = self._looked_again
        alone = [message for message in taken if not self._is_event(message)]
        return alone if self._looked_again == before else []

    def _is_event(self, message: Message) -> bool:
        """Whether it is no message but something that happened; acts on it."""
        error = message.error()
        if error is None:
            return False
        strand = Strand(str(message.topic()), message.partition() or 0)
        if strand in self._open:
            self._happened(strand, error, message.offset())
        return True

    def _happened(self, strand: Strand, error: KafkaError, offset: int | None) -> None:
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            self._at_end_of_log(strand, offset or 0)
        elif code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise self._lost(strand)
        elif code in _ABSENT:
            self._absent(strand)
        else:
            raise refused(self._client.brokers, f"{strand.stream}/{strand.partition}: {error.str()}")

    def _at_end_of_log(self, strand: Strand, offset: int) -> None:
        if offset >= self._ranges[strand].end:
            self._open.discard(strand)
        elif self._bounds(strand)[1] < self._ranges[strand].end:
            raise self._lost(strand)

    def _look_whether_it_is_there(self) -> None:
        """When nothing came for a while: of a topic that is not there librdkafka waits to see it come."""
        for stream in {strand.stream for strand in self._open}:
            found = self._client.consumer.list_topics(stream, timeout=TIMEOUT_SECONDS).topics[stream].partitions
            for strand in sorted(self._open):
                if strand.stream == stream and strand.partition not in found:
                    self._absent(strand)

    def _absent(self, strand: Strand) -> None:
        if self._looked_again:
            place = f"partition {strand.stream}/{strand.partition}"
            raise KafkaPositionMoved(f"{place}, which was to be read from {self._next[strand]}, is not there any more")
        self._looked_again = True
        self._client.consumer.list_topics(strand.stream, timeout=TIMEOUT_SECONDS)
        self._client.consumer.unassign()
        self._assign(self._open)

    def _assign(self, strands: set[Strand]) -> None:
        self._client.consumer.assign([TopicPartition(*strand, self._next[strand]) for strand in sorted(strands)])

    def _bounds(self, strand: Strand) -> tuple[int, int]:
        found = self._client.consumer.get_watermark_offsets(TopicPartition(*strand), timeout=TIMEOUT_SECONDS)
        if found is None:
            raise self._client.unreachable("it does not say where the log ends")
        return found

    def _lost(self, strand: Strand) -> KafkaPositionLost:
        low, high = self._bounds(strand)
        place = f"offset {self._next[strand]} of {strand.stream}/{strand.partition}"
        return KafkaPositionLost(
            f"{place}, read up to {self._ranges[strand].end}, is gone (the broker has {low} to {high}); rows between "
            "may be lost; set on-lost-position=earliest in the source URI to go on"
        )
