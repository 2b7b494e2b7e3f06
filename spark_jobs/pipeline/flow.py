"""One changefeed under one assignment: the source's enumerator feeds the intake, a batch at a time.

Everything that commits holds one lock. An error is kept and raised in the capture's own thread, with its type.
"""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_jobs.pipeline.activity import Activity
from spark_jobs.pipeline.delivery import OWNER, Delivery
from spark_jobs.pipeline.intake import Intake, Run
from spark_jobs.sources.base import Batch, Pace, Position

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Flow:
    """``folder``: scratch of this assignment alone. ``start``/``start_ts``: where a new life begins; ``rewind_ts``:
    where an operator's rewind does. ``committed`` is called after each commit, ``say`` with sentences for the log."""

    def __init__(
        self,
        session: "SparkSession | None",
        delivery: Delivery,
        run: Run,
        workers: int,
        *,
        folder: str,
        start: str,
        start_ts: int,
        rewind_ts: int,
        committed: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self.delivery = delivery
        self.stage = "starting"
        config = delivery.config
        self._enumerator = config.source.enumerator(session)
        self._intake = Intake(
            delivery, run, workers, is_end=self._enumerator.at_end, identity=self._enumerator.identity
        )
        self._pace = Pace(
            name=config.changefeed_id,
            interval_seconds=config.sink.flush_interval_seconds,
            workers=workers,
            folder=os.path.join(folder, f"{config.feed_uid}-{config.epoch}"),
        )
        self._start = start
        self._start_ts = start_ts
        self._rewind_ts = rewind_ts
        self._committed = committed
        self._say = say
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._position: Position = {}

    def claim(self) -> None:
        """Becomes the owner; raises ``Fenced`` if a later one was here, ``PositionLost`` if reading cannot go on."""
        self.stage = "claiming the commit log"
        self.delivery.claim(self._begin)
        self.stage = "asking the source"
        view = self.delivery.view
        self._position, moved = self._enumerator.resume(view.position, view.identity)
        self._intake.begin(at_end=self._enumerator.at_end(self._position))
        for sentence in moved:
            self._say(f"position lost: {sentence}")

    def _begin(self) -> Position:
        self.stage = "asking the source"
        if self._rewind_ts:
            return self._enumerator.begin("", self._rewind_ts)
        return self._enumerator.begin(self._start, self._start_ts)

    def start(self) -> None:
        """Begins to deliver, unless the changefeed is finished already."""
        if not self.delivery.view.finished:
            self._sweep()
            self.stage = "reading the source"
            self._enumerator.run(self._position, self._pace, self._deliver)

    def _sweep(self) -> None:
        """Scratch of owners that were killed, and what has this one's name."""
        above, own = os.path.split(self._pace.folder)
        for name in os.listdir(above) if os.path.isdir(above) else ():
            if OWNER.fullmatch(name) and _order(name) <= _order(own):
                shutil.rmtree(os.path.join(above, name), ignore_errors=True)

    def _deliver(self, batch: Batch) -> bool:
        self._guarded(lambda: self._intake.advance(batch, time.time()))
        return not (self._stopping.is_set() or self._error is not None or self.delivery.view.finished)

    def tick(self) -> None:
        """Called a few times a second: what has to happen though nothing was read."""
        now = time.time()
        if self._intake.wants_time(now) and self._lock.acquire(blocking=False):
            self._lock.release()
            self._guarded(lambda: self._intake.advance(None, now))

    def activity(self) -> Activity:
        """Where it is now; asked from other threads."""
        return self._intake.activity()

    def finished(self) -> bool:
        """Whether target_ts is reached."""
        return self.delivery.view.finished

    def raise_fault(self) -> None:
        """Raises what ended the delivery."""
        if self._error is not None:
            raise self._error
        if not self._stopping.is_set():
            self._enumerator.check()

    def upkeep(self) -> None:
        """Puts right what a late zombie may have put back; skipped while a batch runs."""
        if self._lock.acquire(blocking=False):
            try:
                if self._error is None:  # else the last entry may not be published
                    self.delivery.upkeep()
            finally:
                self._lock.release()

    def stop(self) -> None:
        """Ends the delivery; blocks until a running batch is done and nothing of it goes on."""
        self._stopping.set()
        self._enumerator.stop()
        with self._lock:
            self.delivery.committer.close()

    def position(self) -> str:
        """Where reading goes on, as JSON text."""
        return json.dumps(self._enumerator.shown(self.delivery.view.position))

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
    """(feed_uid, epoch) of a folder of an owner's."""
    return tuple(int(part) for part in folder.split("-"))
