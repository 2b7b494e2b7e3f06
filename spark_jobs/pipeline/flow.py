"""Drives one changefeed under one assignment: a folder by a thread (``folder_flow``), a queue by Spark's Kafka
connector (``queue_flow``).

Everything that commits holds one lock. An error is kept and raised in the capture's own thread, with its type.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_jobs.pipeline.delivery import Delivery
from spark_jobs.sources import SourceSpec
from spark_jobs.sources.folder import FolderSource
from spark_jobs.wire import Assignment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]


class Flow:
    """One changefeed under one assignment."""

    def __init__(
        self,
        session: "SparkSession",
        delivery: Delivery,
        assignment: Assignment,
        committed: Callable[[], None],
    ) -> None:
        self.delivery = delivery
        self.stage = "starting"
        self._session = session
        self._assignment = assignment
        self._committed = committed
        self._lock = threading.Lock()
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
        """The flow for a source. ``spark_folder``: where Spark may keep its checkpoint."""
        if isinstance(source, FolderSource):
            from spark_jobs.pipeline.folder_flow import FolderFlow

            return FolderFlow(session, source, delivery, assignment, committed)
        from spark_jobs.pipeline.queue_flow import QueueFlow

        return QueueFlow(session, source, delivery, assignment, spark_folder, committed)

    def claim(self, say: Say) -> None:
        """Becomes the owner; raises ``Fenced`` if a later one was here."""
        raise NotImplementedError

    def start(self) -> None:
        """Begins to deliver, unless the changefeed is finished already."""
        if not self.delivery.view.finished:
            self._start()

    def _start(self) -> None:
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
        """Raises what ended the delivery."""
        if self._error is not None:
            raise self._error

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
        """Ends the delivery; blocks until a running batch is done."""
        self._stopping.set()

    def _in_pool(self) -> None:
        """Spark jobs of the calling thread share the workers fairly with those of other changefeeds."""
        self._session.sparkContext.setLocalProperty("spark.scheduler.pool", self._assignment.changefeed_id)

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
