"""Drives one changefeed of a queue: Spark's Kafka connector paces it, from the offsets of the commit log.

What Spark gives as one micro-batch is delivered in one go, or in several when its messages are large.
"""

import math
import os
import shutil
import time
from typing import TYPE_CHECKING, Final

from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.host import execution
from spark_jobs.host.session import has_kafka
from spark_jobs.pipeline.delivery import Delivery, Start
from spark_jobs.pipeline.flow import Flow, Say
from spark_jobs.pipeline.queue_feed import Batch, QueueFeed, SmallBatch
from spark_jobs.sources import kafka_admin
from spark_jobs.sources.kafka import KafkaSource
from spark_jobs.sources.kafka_stream import messages_between, stream
from spark_jobs.sources.kafka_tail import KafkaTail, Range
from spark_jobs.wire import Assignment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SMALL_BATCH_MESSAGES: Final = 20_000
WEIGHED_MESSAGES: Final = 2_000
"""A batch of fewer messages is taken as it is."""
LONGEST_POLL_SECONDS: Final = 1.0
_LOST: Final = "the broker has deleted messages, or the topic, while they were to be read"
_GONE: Final = {
    "OffsetOutOfRange": _LOST,
    "failOnDataLoss": _LOST,
    "data may have been lost": _LOST,
    "UnknownTopicOrPartition": "a topic, or a partition of it, has disappeared",
}
"""What Spark's connector says, and what it means."""


class QueryFailed(EnvironmentFault):
    """The streaming query ended by itself."""

    code = "CDC:ErrQueryFailed"


class QueueFlow(Flow):
    """A queue: Spark's Kafka connector, from the offsets of the commit log."""

    def __init__(
        self,
        session: "SparkSession",
        source: KafkaSource,
        delivery: Delivery,
        assignment: Assignment,
        spark_folder: str,
        committed: "Callable[[], None]",
    ) -> None:
        super().__init__(session, delivery, assignment, committed)
        self._source = source
        self._spark_folder = spark_folder
        self._query: StreamingQuery | None = None
        self._feed = QueueFeed(delivery, source, time.time(), self._is_end)
        self._offsets: kafka_admin.Offsets = {}
        self._tail: KafkaTail | None = None

    def claim(self, say: Say) -> None:
        if not has_kafka():
            raise ConfigError("the jars of Spark's Kafka connector are not installed; run `make setup`")
        assignment = self._assignment
        rewound = bool(assignment.rewind_id)
        self.stage = "asking the broker"

        def begin() -> Start:
            text = assignment.start_position
            if rewound or not text:
                text = kafka_admin.resolve_start(self._source, assignment.rewind_ts or assignment.start_ts)
            return self._feed.begin(kafka_admin.load(text))

        self.delivery.claim(begin)
        settled = kafka_admin.settle(self._source, self.delivery.view.offsets)
        self._offsets, self._feed.at_end = settled.offsets, settled.at_end
        for sentence in settled.moved:
            say(f"position lost: {sentence}")

    def _start(self) -> None:
        self._sweep()
        os.makedirs(self._spark_folder, exist_ok=True)
        self._in_pool()
        interval = self.delivery.task.sink.flush_interval_seconds
        self._query = (
            stream(self._session, self._source, self._offsets, interval)
            .writeStream.queryName(self._assignment.changefeed_id)
            .option("checkpointLocation", self._spark_folder)
            .trigger(processingTime=f"{int(min(interval, LONGEST_POLL_SECONDS) * 1000)} milliseconds")
            .foreachBatch(self._on_batch)
            .start()
        )

    def _sweep(self) -> None:
        """Spark's folders of owners that were killed, and one of this name."""
        above, own = os.path.split(self._spark_folder)
        for name in os.listdir(above) if os.path.isdir(above) else ():
            if _order(name) <= _order(own):
                shutil.rmtree(os.path.join(above, name), ignore_errors=True)

    def _on_batch(self, frame: "DataFrame", batch_id: int) -> None:
        """Called by Spark until ``stop`` returns."""
        self._guarded(lambda: self._deliver(frame, batch_id))

    def _deliver(self, frame: "DataFrame", batch_id: int) -> bool:
        self.stage = "reading the topic"
        ends = self._ends(batch_id)
        count = self._count(ends)
        at_end = self._is_at_end(ends, count)
        parts = self._parts(ends, count)
        changed = False
        for part in parts:
            messages = frame if len(parts) == 1 else messages_between(self._session, self._source, self._offsets, part)
            changed = self._feed.advance(
                self._batch(messages, part, at_end=at_end and part is parts[-1]), time.time(), batch_id
            )
            self._offsets = {topic: {**self._offsets.get(topic, {}), **numbers} for topic, numbers in part.items()}
            if self._stopping.is_set() or self.delivery.view.finished:
                break
            if changed and part is not parts[-1]:
                self._committed()
        return changed

    def _count(self, ends: kafka_admin.Offsets) -> int:
        return sum(end - self._first(topic, n) for topic, numbers in ends.items() for n, end in numbers.items())

    def _first(self, topic: str, number: int) -> int:
        return self._offsets.get(topic, {}).get(number, 0)

    def _batch(self, frame: "DataFrame", ends: kafka_admin.Offsets, *, at_end: bool) -> Batch:
        if self._count(ends) > SMALL_BATCH_MESSAGES:
            return execution.LargeBatch(self._session, frame, self._open_tail(), self._offsets, ends, at_end=at_end)
        table = frame.select("topic", "partition", "offset", "value").toArrow()
        return SmallBatch(execution.by_partition(table), ends, at_end=at_end)

    def _parts(self, ends: kafka_admin.Offsets, count: int) -> list[kafka_admin.Offsets]:
        """Where to commit on the way, so that about ``max-bytes-per-batch`` are read at a time: Spark limits messages
        only, so the next few of each partition are weighed."""
        if count < WEIGHED_MESSAGES:
            return [ends]
        ranges = {(t, n): Range(self._first(t, n), end) for t, numbers in ends.items() for n, end in numbers.items()}
        size = count * self._open_tail().message_bytes(ranges)
        parts = min(max(math.ceil(size / self._source.max_bytes), 1), count)
        return [self._on_the_way(ends, part, parts) for part in range(1, parts + 1)]

    def _on_the_way(self, ends: kafka_admin.Offsets, part: int, parts: int) -> kafka_admin.Offsets:
        """``part`` of ``parts`` equal steps from here to ``ends``, in every partition."""
        firsts = {topic: {n: self._first(topic, n) for n in numbers} for topic, numbers in ends.items()}
        return {
            topic: {n: first + (ends[topic][n] - first) * part // parts for n, first in numbers.items()}
            for topic, numbers in firsts.items()
        }

    def _is_at_end(self, ends: kafka_admin.Offsets, count: int) -> bool:
        """Whether the batch reaches the end of every partition: Spark shares its limit among them and rounds down, so a
        batch just below the limit may not."""
        if count <= self._source.max_rows - sum(map(len, ends.values())):
            return True
        return self._is_end(ends)

    def _is_end(self, ends: "Mapping[str, Mapping[int, int]]") -> bool:
        """Whether the broker has nothing behind these offsets."""
        last = kafka_admin.ends(self._source)[1]
        return all(
            max(ends.get(topic, {}).get(n, 0), self._first(topic, n)) >= end
            for topic, numbers in last.items()
            for n, end in numbers.items()
        )

    def _ends(self, batch_id: int) -> kafka_admin.Offsets:
        """The next offsets after this micro-batch, as Spark's checkpoint has them."""
        with open(os.path.join(self._spark_folder, "offsets", str(batch_id))) as file:
            lines = file.read().splitlines()
        return kafka_admin.load(lines[2])

    def _open_tail(self) -> KafkaTail:
        if self._tail is None:
            self._tail = KafkaTail(self._source)
        return self._tail

    def stop(self) -> None:
        super().stop()
        query, self._query = self._query, None
        if query is not None:
            query.stop()
        shutil.rmtree(self._spark_folder, ignore_errors=True)
        tail, self._tail = self._tail, None
        if tail is not None:
            tail.close()

    def tick(self) -> None:
        now = time.time()
        if self._feed.wants_time(now) and self._lock.acquire(blocking=False):
            self._lock.release()
            self._guarded(lambda: self._feed.advance(None, now))

    def position(self) -> str:
        return kafka_admin.dump(self.delivery.view.offsets)

    def raise_fault(self) -> None:
        super().raise_fault()
        query = self._query
        if query is not None and not query.isActive and not self._stopping.is_set():
            raise self._query_failed(query)

    def _query_failed(self, query: "StreamingQuery") -> BaseException:
        """What the broker does not have any more is looked at again, and judged, when reading starts anew."""
        text = str(query.exception() or "").strip()
        for sign, sentence in _GONE.items():
            if sign in text:
                return EnvironmentFault(f"{sentence}: {self._source.masked()}", code=kafka_admin.PositionLost.code)
        first = text.splitlines()[0] if text else "it ended without a reason"
        return QueryFailed(f"the streaming query ended: {first[:400]}")


def _order(folder: str) -> tuple[int, ...]:
    """(feed_uid, epoch) of a folder of Spark's."""
    return tuple(int(part) for part in folder.split("-"))
