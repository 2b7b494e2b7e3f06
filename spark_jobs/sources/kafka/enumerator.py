"""The half of a Kafka source that lives in the driver.

Rules

1. Where to read is our position; the streaming query says only how far. A partition that the position does not name is
   new and read from its beginning.
2. Spark is given topics, never a pattern: topics that a pattern finds later are seen by ``check``, which starts the
   query anew over all of them. Partitions that a topic gets are found by Spark.
3. What is gone while the query runs ends it with a fault; ``resume`` judges it, with the broker's words.
4. A topic can be made anew while it is read, under the same name and with as many messages. So ``identity`` asks the
   broker again for each batch (about a millisecond); between batches it answers from memory for ``FRESH_SECONDS``.
5. ``Batch.strands`` are listed when they are first looked at (``plan.Listing``).
"""

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.cdc.errors import ConfigError, EnvironmentFault, InternalError
from spark_jobs.sources.base import Batch, Deliver, Pace, Position, Strand
from spark_jobs.sources.common import WHAT
from spark_jobs.sources.kafka import start as starts
from spark_jobs.sources.kafka.admin import NO_TOPIC, Broker, strands_of
from spark_jobs.sources.kafka.client import KafkaPositionMoved
from spark_jobs.sources.kafka.pacing import Pacing
from spark_jobs.sources.kafka.plan import Plan
from spark_jobs.sources.kafka.positions import Offsets, identity_of, load, offsets_of, position_of, settle
from spark_jobs.sources.kafka.uri import KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FRESH_SECONDS: Final = 2.0
"""How old an answer about the cluster, or a pattern's topics, may be."""
_LOOK_SECONDS: Final = 0.05


class KafkaEnumerator:
    """Plans and paces a Kafka source. ``run`` once; the rest may be called by any thread."""

    def __init__(self, source: KafkaSource, session: "SparkSession | None") -> None:
        self._source = source
        self._session = session
        self._broker = Broker(source)
        self._offsets: Offsets = {}
        self._gone: tuple[str, ...] = ()
        self._delivering = threading.Lock()
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._pacing: Pacing | None = None
        self._runs = 0
        self._pace: Pace | None = None
        self._topics: frozenset[str] = frozenset()
        self._found: frozenset[str] = frozenset()
        self._looked_at = 0.0
        self._looking: threading.Thread | None = None
        self._cluster = ("", float("-inf"))
        self._identity: tuple[dict[str, str], float] = ({}, float("-inf"))

    def begin(self, start: str, start_ts: int) -> Position:
        """The position of a new life or a rewind; ``resume`` tells whether the broker still has it."""
        return position_of(load(start) if start else starts.offsets(self._source, self._broker, start_ts))

    def resume(self, position: Position, identity: Mapping[str, str]) -> tuple[Position, list[str]]:
        """The position to go on from, and sentences about what was moved; ``PositionLost``."""
        settled = settle(self._source, self._broker, position, identity)
        if not settled.offsets:
            raise ConfigError(f"{WHAT}: no topic matches {self._source.topic_pattern!r}", code=NO_TOPIC)
        self._gone = settled.gone
        return position_of(settled.offsets), settled.said

    def identity(self) -> dict[str, str]:
        """Cluster id and topic ids as they are now (rule 4); what the broker does not have is left out."""
        found, asked = self._identity
        now = time.monotonic()
        if now - asked > FRESH_SECONDS:
            if now - self._cluster[1] > FRESH_SECONDS:
                self._cluster = self._broker.cluster_id(), now
            found = identity_of(self._cluster[0], self._broker.topics())
            self._identity = found, now
        return dict(found)

    def at_end(self, position: Position) -> bool:
        """Whether nothing is there behind this position now."""
        return self._is_end(offsets_of(position))

    def _is_end(self, offsets: Offsets) -> bool:
        return all(offsets.get(strand, 0) >= end for strand, end in self._broker.ends(self._strands()).items())

    def _strands(self) -> Sequence[Strand]:
        return strands_of(self._broker.topics())

    def shown(self, position: Position) -> dict[str, Any]:
        """Next offsets, ``{topic: {partition: offset}}``."""
        return dict(position.get("offsets", {}))

    def run(self, position: Position, pace: Pace, deliver: Deliver) -> None:
        """Starts the streaming query."""
        if self._session is None:
            raise InternalError("a Kafka source cannot run without a Spark session")
        self._pace, self._deliver = pace, deliver
        self._offsets = offsets_of(position)
        self._start(self._session, pace)

    def _start(self, session: "SparkSession", pace: Pace) -> None:
        topics = self._broker.topics()
        self._topics = self._found = frozenset(topics)
        self._looked_at = time.monotonic()
        run = self._runs = self._runs + 1
        self._know(strands_of(topics))
        self._pacing = Pacing(
            session,
            self._source,
            list(topics),
            {strand: self._offsets[strand] for strand in strands_of(topics)},
            pace,
            os.path.join(pace.folder, str(run)),
            lambda number, ends: self._on_batch(run, number, ends),
        )

    def _know(self, strands: Sequence[Strand]) -> None:
        """New partitions are read from their beginning."""
        new = [strand for strand in strands if strand not in self._offsets]
        self._offsets = {**self._offsets, **self._broker.firsts(new)}

    def _on_batch(self, run: int, number: int, ends: Offsets) -> None:
        """Called by Spark. Whoever stops a query waits for this to return, so it waits for nobody that does."""
        while not self._delivering.acquire(timeout=_LOOK_SECONDS):
            if self._over.is_set() or run != self._runs:
                return
        try:
            if not self._over.is_set() and run == self._runs and not self._deliver_all(number, ends):
                self._over.set()
        except BaseException as error:  # raised again by check
            self._error = error
            self._over.set()
        finally:
            self._delivering.release()

    def _deliver_all(self, number: int, ends: Offsets) -> bool:
        """Delivers up to ``ends``; False when nothing more may be delivered."""
        self._know(list(ends))
        new = {strand: end for strand, end in ends.items() if end > self._offsets[strand]}
        plan = Plan(self._source, {strand: self._offsets[strand] for strand in new}, new, number)
        if not plan.count:
            return True
        for reached, batch in plan.batches(self._strands, at_end=self._is_at_end(plan.count, ends)):
            if self._over.is_set():
                return False
            self._identity = self._identity[0], float("-inf")
            if not self._deliver(self._with_gone(batch)):
                return False
            self._gone = ()
            self._offsets = {**self._offsets, **reached}
        return True

    def _with_gone(self, batch: Batch) -> Batch:
        """The first patch takes topics that are gone out of the position."""
        batch.patch["offsets"].update(dict.fromkeys(self._gone))
        return batch

    def _is_at_end(self, count: int, ends: Offsets) -> bool:
        """Whether the batch reaches the end of every partition: Spark shares its limit among them and rounds down, so a
        batch just below the limit may not."""
        if count <= self._source.max_rows - len(ends):
            return True
        return self._is_end({**self._offsets, **ends})

    def check(self) -> None:
        """Raises what ended the reading; starts the query anew when the pattern finds new topics."""
        if self._error is not None:
            raise self._error
        if self._pacing is not None and not self._over.is_set():
            self._pacing.check()
            self._look_for_topics()

    def _look_for_topics(self) -> None:
        """In a thread of its own, since brokers may take their time; the query says it when they are gone."""
        now = time.monotonic()
        if not self._source.topics and now - self._looked_at >= FRESH_SECONDS and not self._is_looking():
            self._looked_at = now
            self._looking = threading.Thread(target=self._find_topics, daemon=True)
            self._looking.start()
        gone, new = self._topics - self._found, self._found - self._topics
        if gone:
            raise KafkaPositionMoved(f"topic {min(gone)} has disappeared: {self._source.masked()}")
        if new and self._delivering.acquire(blocking=False):
            try:
                self._restart()
            finally:
                self._delivering.release()

    def _is_looking(self) -> bool:
        return self._looking is not None and self._looking.is_alive()

    def _find_topics(self) -> None:
        with contextlib.suppress(EnvironmentFault):
            self._found = frozenset(self._broker.topics())

    def _restart(self) -> None:
        """With nothing being delivered: a batch that comes meanwhile belongs to a run that is over."""
        if self._session is None or self._pace is None or self._pacing is None:
            return
        self._runs += 1
        self._pacing.stop()
        self._start(self._session, self._pace)

    def stop(self) -> None:
        """Returns when nothing is delivered any more; removes the query's folder."""
        self._over.set()
        pacing, self._pacing = self._pacing, None
        if pacing is not None:
            pacing.stop()
        with self._delivering:  # what Spark called may still be at work
            if self._pace is not None:
                shutil.rmtree(self._pace.folder, ignore_errors=True)
