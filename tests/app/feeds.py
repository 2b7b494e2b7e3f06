"""Changefeeds and reports as values, for the pure tests."""

from msgspec.structs import replace

from app.changefeeds.record import Changefeed, State
from spark_jobs.wire import Fault, FeedReport, Phase

NOW = 1_763_694_000_000
STUCK_MS = 1_800_000


def a_changefeed(**changes) -> Changefeed:
    feed = Changefeed(
        uid=1,
        keyspace="default",
        name="orders",
        source_uri="file:///in?protocol=canal-json",
        sink_uri="file:///out?protocol=csv",
        replica_config="{}",
        created_ms=NOW,
        stuck_ms=STUCK_MS,
        state=State.NORMAL,
        epoch=7,
        capture_id="c1",
        assigned_ms=NOW,
        checkpoint_ts=1000,
        resolved_ts=1000,
        batch_id=3,
    )
    return replace(feed, **changes)


def a_report(phase: Phase = Phase.RUNNING, **changes) -> FeedReport:
    report = FeedReport(changefeed_id="orders", epoch=7, phase=phase, checkpoint_ts=1000, resolved_ts=1000, batch_id=3)
    return replace(report, **changes)


def a_fault(code: str = "CDC:ErrExternalFailure", *, message: str = "no broker", retryable: bool = True) -> Fault:
    return Fault(code=code, message=message, time_ms=NOW, retryable=retryable, stage="read")
