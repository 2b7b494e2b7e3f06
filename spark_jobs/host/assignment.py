"""One changefeed hosted by a capture: from assignment to claim, streaming query, reports, stop.

The streaming query paces and feeds; what is delivered is decided by the commit log alone. So Spark's checkpoint lives
and dies with the assignment: each epoch has a folder of its own, and begins where the log says.
"""

import collections
import os
import threading
import time
import traceback
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from spark_jobs import failpoints
from spark_jobs.cdc.errors import ConfigError, DataError, EnvironmentFault, WeirError
from spark_jobs.cdc.filters.selection import selection_of
from spark_jobs.commitlog.log import Fenced
from spark_jobs.host.execution import Execution
from spark_jobs.host.lease import Lease
from spark_jobs.pipeline.activity import Activity
from spark_jobs.pipeline.delivery import Delivery, FeedConfig
from spark_jobs.pipeline.flow import Flow
from spark_jobs.sinks import parse_sink
from spark_jobs.sinks.base import TableCount
from spark_jobs.sources import parse_source
from spark_jobs.uris import masked
from spark_jobs.wire import Assignment, Counters, Fault, FeedReport, Phase, TableProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_LINES: Final = 500
UPKEEP_SECONDS: Final = 5.0
NOTHING: Final = TableCount("", "")
NOT_RUNNING: Final = Activity("", 0)
log = structlog.get_logger("weir.feed")


class HostedFeed:
    """Runs one assignment. ``start`` returns at once; ``report`` never blocks."""

    def __init__(self, assignment: Assignment, session: "SparkSession", capture_id: str, lease: Lease) -> None:
        self.assignment = assignment
        self._session = session
        self._capture_id = capture_id
        self._lease = lease
        self._lock = threading.Lock()
        self._phase = Phase.STARTING
        self._fault: Fault | None = None
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._lines: collections.deque[str] = collections.deque(maxlen=LOG_LINES)
        self._delivery: Delivery | None = None
        self._flow: Flow | None = None
        self._progress: FeedReport | None = None
        self._reported_rows = -1
        self._updated_ms = 0
        self._stage = "starting"
        self._thread = threading.Thread(target=self._run, name=f"feed-{assignment.changefeed_id}", daemon=True)

    @property
    def key(self) -> tuple[str, int]:
        return self.assignment.changefeed_id, self.assignment.epoch

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Stops after the running batch; returns at once."""
        self._stopping.set()

    @property
    def ended(self) -> bool:
        """Whether nothing of this assignment runs any more."""
        return self._ended.is_set()

    def _run(self) -> None:
        try:
            self._stage = "claiming the commit log"
            flow = self._open()
            self._stage = "starting the query"
            flow.start()
            self._say(f"running from {flow.position()}")
            self._set(Phase.RUNNING)
            self._watch(flow)
        except BaseException as error:  # whatever it is, it is reported, after everything of it has stopped
            stage = self._flow.stage if self._flow else self._stage
            self._close()
            self._fail(error, stage)
        finally:
            self._close()
            self._ended.set()

    def _open(self) -> Flow:
        assignment = self.assignment
        replica = msgspec.json.decode(assignment.replica_config)
        config = FeedConfig(
            changefeed_id=assignment.changefeed_id,
            capture_id=self._capture_id,
            epoch=assignment.epoch,
            feed_uid=assignment.feed_uid,
            rewind_id=assignment.rewind_id,
            floor_ts=assignment.rewind_ts or assignment.start_ts,
            target_ts=assignment.target_ts,
            source=parse_source(assignment.source_uri, file_roots=file_roots()),
            sink=parse_sink(assignment.sink_uri, replica, file_roots=file_roots()),
            selection=selection_of(replica),
            time_zone=assignment.time_zone,
            folder=self._folder(),
            plain=os.environ.get("WEIR_PLAIN", "") == "1",
        )
        self._delivery = Delivery(config, self._lease.check)
        execution = Execution(self._session, assignment.changefeed_id)
        self._flow = Flow(
            self._session,
            self._delivery,
            execution,
            execution.workers,
            folder=os.path.join(self._folder(), "spark"),
            start=assignment.start_position,
            start_ts=assignment.start_ts,
            rewind_ts=assignment.rewind_ts if assignment.rewind_id else 0,
            committed=self._committed,
            say=self._say,
        )
        self._flow.claim()
        self._committed()
        return self._flow

    def _folder(self) -> str:
        root = self.assignment.checkpoint_root
        if "://" in root and not root.startswith("file://"):
            raise ConfigError(
                f"WEIR_CHECKPOINT_ROOT {masked(root)}: only folders that every node mounts can be used in this version"
            )
        return os.path.join(root.removeprefix("file://"), self.assignment.changefeed_id)

    def _watch(self, flow: Flow) -> None:
        next_upkeep = time.monotonic() + UPKEEP_SECONDS
        while not self._stopping.is_set():
            self._stage = "running"
            if flow.finished():
                self._say("finished: target_ts is reached")
                flow.stop()
                self._set(Phase.FINISHED)
                return
            flow.raise_fault()
            flow.tick()
            if time.monotonic() >= next_upkeep:
                flow.upkeep()
                next_upkeep = time.monotonic() + UPKEEP_SECONDS
            self._stopping.wait(0.2)
        self._stage = "stopping"
        flow.stop()
        self._set(Phase.STOPPED)
        self._say("stopped")

    def _close(self) -> None:
        try:
            if self._flow is not None:
                self._flow.stop()
        except Exception as error:  # Spark may be gone; what counts is said already
            log.warning("the query did not stop", changefeed=self.assignment.changefeed_id, error=str(error))

    def _fail(self, error: BaseException, stage: str) -> None:
        fault = fault_of(error, stage)
        self._say(f"{fault.code} while {fault.stage}: {fault.message}")
        if not isinstance(error, WeirError):
            log.error("changefeed failed", changefeed=self.assignment.changefeed_id, trace=traceback.format_exc())
        with self._lock:
            self._fault = fault
        self._set(Phase.FAILED)

    def _set(self, phase: Phase) -> None:
        with self._lock:
            self._phase = phase

    def _say(self, text: str) -> None:
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} epoch {self.assignment.epoch}: {text}"
        log.info(text, changefeed=self.assignment.changefeed_id, epoch=self.assignment.epoch)
        with self._lock:
            self._lines.append(line)

    def _committed(self) -> None:
        """Called after each commit, by the thread that made it: a picture of what is committed now."""
        delivery = self._delivery
        assert delivery is not None
        view = delivery.view
        totals = view.totals
        tables = [
            TableProgress(
                schema=item.schema,
                table=item.table,
                version=item.version,
                rows=count.rows,
                bytes=count.bytes,
                last_commit_ts=count.last_ts,
            )
            for key, item in view.tables.items()
            if item.version and (count := view.counts.get(key, NOTHING))
        ]
        report = FeedReport(
            changefeed_id=self.assignment.changefeed_id,
            epoch=self.assignment.epoch,
            phase=Phase.RUNNING,
            checkpoint_ts=view.checkpoint_ts,
            resolved_ts=view.resolved_ts,
            resolved_ts_estimated=view.estimated,
            batch_id=view.number,
            source_position=self._flow.position() if self._flow else "",
            rows_total=totals.rows,
            bytes_total=totals.bytes,
            updated_at_ms=int(time.time() * 1000),
            counters=Counters(
                repeats_dropped=totals.repeats_dropped,
                late_rows=totals.late_rows,
                dead_letters=totals.dead_letters,
                held_rows=totals.held_rows,
                ddl_unparsed=totals.ddl_unparsed,
            ),
            tables=tables,
        )
        with self._lock:
            self._progress = report

    def report(self) -> FeedReport:
        """For a heartbeat; ``reported`` says later that it was answered."""
        with self._lock:
            base = self._progress or FeedReport(
                changefeed_id=self.assignment.changefeed_id, epoch=self.assignment.epoch, phase=self._phase
            )
            changed = base.updated_at_ms != self._updated_ms
            flow = self._flow if self._phase is Phase.RUNNING else None
            now = flow.activity() if flow is not None else NOT_RUNNING
            return msgspec.structs.replace(
                base,
                phase=self._phase,
                fault=self._fault,
                tables=base.tables if changed else None,
                logs=list(self._lines),
                stage=now.stage,
                since_ms=now.since_ms,
                idle=now.idle,
                waiting_for=now.waiting_for,
            )

    def reported(self, report: FeedReport) -> None:
        """The heartbeat with ``report`` was answered: its log lines and tables need not be said again."""
        with self._lock:
            self._updated_ms = report.updated_at_ms
            for _ in report.logs:
                if self._lines:
                    self._lines.popleft()


def file_roots() -> tuple[str, ...] | None:
    """The folders that file:// may use, as the control plane handed them down; None: any."""
    text = os.environ.get("WEIR_FILE_ROOTS", "")
    return tuple(text.split(os.pathsep)) if text else None


def fault_of(error: BaseException, stage: str) -> Fault:
    """An error as the control plane stores it."""
    now_ms = int(time.time() * 1000)
    if isinstance(error, WeirError):
        retryable = isinstance(error, EnvironmentFault | Fenced) or not isinstance(error, ConfigError | DataError)
        return Fault(code=error.code, message=str(error), time_ms=now_ms, retryable=retryable, stage=stage)
    if isinstance(error, failpoints.InjectedFault):
        return Fault(code="CDC:ErrInjected", message=str(error), time_ms=now_ms, retryable=True, stage=stage)
    text = f"{type(error).__name__}: {error}".splitlines()[0][:500]
    return Fault(
        code="CDC:ErrInternal",
        message=f"[CDC:ErrInternal]{text} (the capture's log has the trace)",
        time_ms=now_ms,
        retryable=True,
        stage=stage,
    )
