"""A topic of a test's own, its source, and what an enumerator would deliver."""

import uuid
from collections.abc import Sequence

from confluent_kafka import Producer

from spark_jobs.sources import parse_source
from spark_jobs.sources.base import Position, Strand
from spark_jobs.sources.kafka import KafkaSource
from spark_jobs.sources.kafka.admin import Broker
from spark_jobs.sources.kafka.client import settings_of
from spark_jobs.sources.kafka.enumerator import KafkaEnumerator
from spark_jobs.sources.kafka.split import KafkaSplit
from tests.rig.waiting import wait_for
from tests.servers.kafka import Kafka


class Topic:
    """One topic. ``source`` takes more parameters of the URI."""

    def __init__(self, kafka: Kafka, partitions: int = 1, name: str = "", **config: str) -> None:
        self.kafka = kafka
        self.name = name or f"t{uuid.uuid4().hex[:8]}"
        kafka.create_topic(self.name, partitions, **config)

    def source(self, options: str = "") -> KafkaSource:
        return kafka_source(f"kafka://{self.kafka.bootstrap}/{self.name}?protocol=canal-json{options}")

    def enumerator(self, options: str = "") -> KafkaEnumerator:
        return KafkaEnumerator(self.source(options), None)

    def put(self, *values: bytes, partition: int = 0, timestamp_ms: int = 0) -> None:
        self.kafka.produce(self.name, values, partition=partition, timestamp_ms=timestamp_ms)

    def split(self, start: int, end: int, partition: int = 0, options: str = "") -> KafkaSplit:
        source = self.source(options)
        moves = source.on_lost_position == "earliest"
        strand = Strand(self.name, partition)
        return KafkaSplit(strand=strand, start=start, end=end, size=0, settings=settings_of(source), moves=moves)

    def make_anew(self, partitions: int = 1) -> None:
        """Deletes the topic and creates another one of its name."""
        self.kafka.delete_topic(self.name)
        self.kafka.create_topic(self.name, partitions)

    def transactions(self, *transactions: tuple[Sequence[bytes], bool]) -> None:
        """The topic's first transactions: messages, and whether they are committed. Returns when their marks, which the
        broker writes a moment after its answer, are at the end of the log."""
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "transactional.id": self.name})
        producer.init_transactions()
        for values, commits in transactions:
            producer.begin_transaction()
            for value in values:
                producer.produce(self.name, value)
            producer.flush()
            (producer.commit_transaction if commits else producer.abort_transaction)()
        end = {Strand(self.name, 0): sum(len(values) + 1 for values, _ in transactions)}
        broker = Broker(self.source())
        wait_for(lambda: broker.ends(end) == end, "the marks of the transactions")

    def position(self, *offsets: int) -> Position:
        """The position at these offsets, by partition."""
        return {"offsets": {self.name: {str(number): offset for number, offset in enumerate(offsets)}}}


def kafka_source(uri: str) -> KafkaSource:
    source = parse_source(uri)
    assert isinstance(source, KafkaSource)
    return source


def read(split: KafkaSplit) -> list[tuple[int, bytes | None]]:
    """Offsets and messages of a split."""
    return [pair for block in split.blocks() for pair in zip(block.offsets, block.values, strict=True)]
