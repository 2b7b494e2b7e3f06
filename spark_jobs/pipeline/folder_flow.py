"""Drives one changefeed of a folder: a thread lists it once a ``flush-interval`` and delivers what is there, itself
when it is little, as Spark jobs when it is much."""

import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_jobs.host import execution
from spark_jobs.pipeline.delivery import Delivery, Start
from spark_jobs.pipeline.flow import Flow, Say
from spark_jobs.pipeline.folder_feed import FolderFeed
from spark_jobs.sources.folder import FolderSource
from spark_jobs.wire import Assignment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FolderFlow(Flow):
    """A folder: what was read stands in the commit log alone."""

    def __init__(
        self,
        session: "SparkSession",
        source: FolderSource,
        delivery: Delivery,
        assignment: Assignment,
        committed: Callable[[], None],
    ) -> None:
        super().__init__(session, delivery, assignment, committed)
        self._feed = FolderFeed(
            delivery,
            source,
            lambda job, splits: execution.run_splits(session, job, splits),
            session.sparkContext.defaultParallelism,
        )
        self._thread = threading.Thread(target=self._run, name=f"folder-{assignment.changefeed_id}", daemon=True)

    def claim(self, say: Say) -> None:
        rewound = bool(self._assignment.rewind_id)
        self.stage = "claiming the commit log"
        self.delivery.claim(lambda: Start() if rewound else self._feed.begin(self._assignment.start_position))

    def _start(self) -> None:
        self.stage = "reading the folder"
        self._thread.start()

    def _run(self) -> None:
        interval = self.delivery.task.sink.flush_interval_seconds
        self._in_pool()
        while not self._stopping.is_set():
            began = time.monotonic()
            self._guarded(lambda: self._feed.advance(time.time(), self._stopping.is_set, self._committed))
            self._stopping.wait(max(0.0, interval - (time.monotonic() - began)))

    def stop(self) -> None:
        super().stop()
        if self._thread.is_alive():
            self._thread.join()

    def position(self) -> str:
        cursor = self.delivery.view.cursor
        where = {"file": cursor.name, "byte": cursor.offset} if cursor else {}
        return json.dumps({"files_read": len(self.delivery.view.files_read), **where})
