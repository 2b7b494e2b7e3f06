"""Drives one changefeed with a StreamingQuery: a folder by a ticking query, a queue (``queue_flow``) by Spark's Kafka
connector.

``foreachBatch`` may be called by Spark at any time until ``stop`` returns; everything that commits holds one lock. An
error is kept and raised in the capture's own thread, with its type; Spark only ever sees calls that return.
"""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_jobs import execution
from spark_jobs.cdc.errors import EnvironmentFault
from spark_jobs.pipeline.delivery import Delivery, Start
from spark_jobs.pipeline.folder_feed import FolderFeed
from spark_jobs.sources import SourceSpec
from spark_jobs.sources.folder import FolderSource
from spark_jobs.wire import Assignment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Say = Callable[[str], None]


class QueryFailed(EnvironmentFault):
    """The streaming query ended by itself."""

    code = "CDC:ErrQueryFailed"


class Flow:
    """One changefeed under one assignment."""

    def __init__(
        self,
        session: "SparkSession",
        delivery: Delivery,
        assignment: Assignment,
        spark_folder: str,
        committed: Callable[[], None],
    ) -> None:
        self.delivery = delivery
        self.stage = "starting"
        self._session = session
        self._assignment = assignment
        self._spark_folder = spark_folder
        self._committed = committed
        self._lock = threading.Lock()
        self._query: StreamingQuery | None = None
        self._stopping = threading.Event()
        self._error: BaseException | None = None

    @staticmethod
    def of(
        session: "SparkSession",
        source: SourceSpec,
        delivery: Delivery,
        assignment: Assignment,
        spark_folder: str,
        committed: Callable[[], None],
    ) -> "Flow":
        """The flow for a source."""
        if isinstance(source, FolderSource):
            return FolderFlow(session, source, delivery, assignment, spark_folder, committed)
        from spark_jobs.pipeline.queue_flow import QueueFlow

        return QueueFlow(session, source, delivery, assignment, spark_folder, committed)

    def claim(self, say: Say) -> None:
        """Becomes the owner; raises ``Fenced`` if a later one was here."""
        raise NotImplementedError

    def start(self) -> None:
        """Starts the query, unless the changefeed is finished already."""
        if self.delivery.view.finished:
            return
        self._sweep()
        os.makedirs(self._spark_folder, exist_ok=True)
        self._session.sparkContext.setLocalProperty("spark.scheduler.pool", self._assignment.changefeed_id)
        self._query = self._start()

    def _sweep(self) -> None:
        """Spark's folders of owners that were killed, and one of this name."""
        above, own = os.path.split(self._spark_folder)
        for name in os.listdir(above) if os.path.isdir(above) else ():
            if _order(name) <= _order(own):
                shutil.rmtree(os.path.join(above, name), ignore_errors=True)

    def _start(self) -> "StreamingQuery":
        raise NotImplementedError

    def position(self) -> str:
        """Where reading goes on, as JSON text."""
        raise NotImplementedError

    def tick(self) -> None:
        """Called a few times a second: what has to happen though nothing was read."""

    def finished(self) -> bool:
        """Whether target_ts is reached."""
        return self.delivery.view.finished

    def raise_fault(self) -> None:
        """Raises what ended the query."""
        if self._error is not None:
            raise self._error
        query = self._query
        if query is not None and not query.isActive and not self._stopping.is_set():
            raise self._query_failed(query)

    def _query_failed(self, query: "StreamingQuery") -> BaseException:
        reason = query.exception()
        text = str(reason).strip().splitlines() if reason is not None else ["it ended without a reason"]
        return QueryFailed(f"the streaming query ended: {text[0][:400]}")

    def reassert(self) -> None:
        """Puts right what a late zombie may have put back; skipped while a batch runs."""
        if self._lock.acquire(blocking=False):
            try:
                self.delivery.guard()
                if self._error is None:  # else the last entry may not be published
                    self.delivery.reassert()
            finally:
                self._lock.release()

    def stop(self) -> None:
        """Ends the query; blocks until a running batch is done."""
        self._stopping.set()
        query, self._query = self._query, None
        if query is not None:
            query.stop()
        shutil.rmtree(self._spark_folder, ignore_errors=True)

    def _guarded(self, work: Callable[[], bool]) -> None:
        """Runs a step that may commit; keeps its error. Nothing is committed after one: what the log says may not be
        published yet, and that is the next claim's first work."""
        with self._lock:
            if self._stopping.is_set() or self._error is not None or self.delivery.view.finished:
                return
            try:
                if work():
                    self._committed()
            except BaseException as error:  # raised again by raise_fault, in the thread that reports
                self._error = error


def _order(folder: str) -> tuple[int, ...]:
    """(feed_uid, epoch) of a folder of Spark's."""
    return tuple(int(part) for part in folder.split("-"))


class FolderFlow(Flow):
    """A folder: the query only ticks (Spark's rate-micro-batch source); each tick lists and delivers what is there."""

    def __init__(
        self,
        session: "SparkSession",
        source: FolderSource,
        delivery: Delivery,
        assignment: Assignment,
        spark_folder: str,
        committed: Callable[[], None],
    ) -> None:
        super().__init__(session, delivery, assignment, spark_folder, committed)
        self._feed = FolderFeed(
            delivery,
            source,
            lambda job, splits: execution.run_splits(session, job, splits),
            session.sparkContext.defaultParallelism,
        )

    def claim(self, say: Say) -> None:
        rewound = bool(self._assignment.rewind_id)
        self.stage = "claiming the commit log"
        self.delivery.claim(lambda: Start() if rewound else self._feed.begin(self._assignment.start_position))

    def _start(self) -> "StreamingQuery":
        interval = self.delivery.task.sink.flush_interval_seconds
        ticks = self._session.readStream.format("rate-micro-batch")  # "rate" ticks once a second
        return (
            ticks.option("rowsPerBatch", 1)
            .option("numPartitions", 1)
            .load()
            .writeStream.queryName(self._assignment.changefeed_id)
            .option("checkpointLocation", self._spark_folder)
            .trigger(processingTime=f"{int(interval * 1000)} milliseconds")
            .foreachBatch(self._on_tick)
            .start()
        )

    def _on_tick(self, frame: "DataFrame", batch_id: int) -> None:
        self.stage = "reading the folder"
        self._guarded(lambda: self._feed.advance(time.time(), self._stopping.is_set, self._committed))

    def position(self) -> str:
        cursor = self.delivery.view.cursor
        where = {"file": cursor.name, "byte": cursor.offset} if cursor else {}
        return json.dumps({"files_read": len(self.delivery.view.files_read), **where})
