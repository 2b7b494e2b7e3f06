"""What an event makes of a changefeed: TiCDC's state machine, pure. No clock, no chance, no database.

    normal, warning          pause    → stopped          any state  pause   → stopped
    stopped, failed, finished resume  → normal           any state  remove  → removed
    normal, warning          fault    → warning, tried again after 10 s, 20 s … 10 min (±10 %)
    normal, warning          fault that retrying cannot cure, or retried for longer than
                             changefeed_error_stuck_duration      → failed
    warning                  progress past the error, or five minutes without another → normal
    normal, warning          target_ts reached                    → finished

A fence (another owner wrote a newer claim) is not an error: the changefeed is assigned anew at once, with a higher
epoch. Only when that happens again and again without progress is it treated as a fault.
A checkpoint never goes back, except by a resume with ``overwrite_ts``.
"""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from app.changefeeds.record import RESUMABLE, RUNNING, Changefeed, Job, Retry, RunningError, Signs, State
from app.errors import UpdateRefused
from spark_jobs.wire import Fault, FeedReport, Phase

FIRST_BACKOFF_MS: Final = 10_000
LARGEST_BACKOFF_MS: Final = 600_000
JITTER: Final = 0.1
HEALTHY_AFTER_MS: Final = 300_000  # longer than a source may try in silence to reach a broker
MOST_FENCES: Final = 10
UNHEARD_AFTER_MS: Final = 2000
DEAD_LETTERS_CALM_MS: Final = 600_000
MAY_APPEAR: Final = frozenset({"CDC:ErrKafkaTopicNotExists"})
FENCED: Final = "CDC:ErrFenced"
FAST_FAIL: Final = tuple(
    f"CDC:{name}"
    for name in (
        "ErrGCTTLExceeded",
        "ErrSnapshotLostByGC",
        "ErrStartTsBeforeGC",
        "ErrExpressionColumnNotFound",
        "ErrInvalidFilterExpression",
        "ErrSchemaSnapshotNotFound",
        "ErrSyncRenameTableFailed",
        "ErrChangefeedUnretryable",
        "ErrCorruptedDataMutation",
        "ErrDispatcherFailed",
        "ErrColumnSelectorFailed",
        "ErrSinkURIInvalid",
        "ErrKafkaInvalidConfig",
        "ErrMySQLInvalidConfig",
        "ErrStorageSinkInvalidConfig",
        "ErrInvalidTableRoutingRule",
        "ErrTableRoutingFailed",
        "ErrTableRouteConflict",
        "ErrTableAfterNotSplitable",
    )
)


class Pause(msgspec.Struct, frozen=True):
    """An operator's order."""


class Resume(msgspec.Struct, frozen=True):
    """An operator's order; ``overwrite_ts`` > 0 rewinds (or skips ahead) to that TSO."""

    overwrite_ts: int = 0


class Remove(msgspec.Struct, frozen=True):
    """An operator's order."""


class Assigned(msgspec.Struct, frozen=True):
    """A capture may run it from now on."""

    capture_id: str


class Move(msgspec.Struct, frozen=True):
    """Another capture should run it: that one, or "" for whoever has least to do."""

    capture_id: str = ""


class Released(msgspec.Struct, frozen=True):
    """Its capture is gone, or says that it has stopped."""


class Unheard(msgspec.Struct, frozen=True):
    """A heartbeat of its capture says nothing about it."""


class Reported(msgspec.Struct, frozen=True):
    """Its capture said so, under the current epoch. ``address``: that capture's."""

    report: FeedReport
    address: str = ""


Event = Pause | Resume | Remove | Assigned | Move | Released | Unheard | Reported


def decide(feed: Changefeed, event: Event, *, now_ms: int, chance: float = 0.5) -> Changefeed:
    """The changefeed after the event. ``chance`` in [0, 1) sets the jitter of a backoff.

    Raises ``UpdateRefused`` for an order that the state forbids.
    """
    return _RULES[type(event)](feed, event, now_ms, chance)


def _pause(feed: Changefeed, event: Pause, now_ms: int, chance: float) -> Changefeed:
    return replace(_let_go(feed, now_ms), state=State.STOPPED, job=Job.STOP, error=None, retry=Retry())


def _resume(feed: Changefeed, event: Resume, now_ms: int, chance: float) -> Changefeed:
    if feed.state not in RESUMABLE:
        allowed = ", ".join(sorted(RESUMABLE))
        raise UpdateRefused(f"changefeed {feed.name} is {feed.state}; only a changefeed in {allowed} can be resumed")
    signs = feed.signs if feed.capture_id else replace(_anew(feed, free_ms=now_ms), dead_ms=0, dead_since_ms=0)
    resumed = replace(feed, state=State.NORMAL, job=Job.RESUME, error=None, retry=Retry(), signs=signs)
    if not event.overwrite_ts:
        return resumed
    return replace(
        resumed,
        checkpoint_ts=event.overwrite_ts,
        resolved_ts=event.overwrite_ts,
        rewind_ts=event.overwrite_ts,
        rewind_id=feed.rewind_id + 1,
    )


def _remove(feed: Changefeed, event: Remove, now_ms: int, chance: float) -> Changefeed:
    return replace(_let_go(feed, now_ms), state=State.REMOVED, job=Job.REMOVE)


def _let_go(feed: Changefeed, now_ms: int) -> Changefeed:
    return replace(feed, releasing_ms=feed.releasing_ms or now_ms if feed.capture_id else 0)


def _assigned(feed: Changefeed, event: Assigned, now_ms: int, chance: float) -> Changefeed:
    return replace(
        feed,
        capture_id=event.capture_id,
        epoch=feed.epoch + 1,
        releasing_ms=0,
        assigned_ms=now_ms,
        wanted_capture="",
        signs=_anew(feed),
    )


def _anew(feed: Changefeed, *, free_ms: int = 0) -> Signs:
    """What is known of how it goes when somebody else is to run it: only what its dead letters did."""
    return Signs(free_ms=free_ms, dead_ms=feed.signs.dead_ms, dead_since_ms=feed.signs.dead_since_ms)


def _released(feed: Changefeed, event: Released, now_ms: int, chance: float) -> Changefeed:
    return replace(feed, capture_id="", releasing_ms=0, signs=_anew(feed, free_ms=now_ms))


def _move(feed: Changefeed, event: Move, now_ms: int, chance: float) -> Changefeed:
    """Its capture is told to stop it; it goes on elsewhere as soon as that is done."""
    if not feed.capture_id or feed.releasing_ms:
        return feed
    return replace(feed, releasing_ms=now_ms, wanted_capture=event.capture_id)


def _unheard(feed: Changefeed, event: Unheard, now_ms: int, chance: float) -> Changefeed:
    """A capture names all that it hosts: what it was told to stop two beats ago and does not name, it never started."""
    told_long_ago = feed.releasing_ms and abs(now_ms - feed.releasing_ms) >= UNHEARD_AFTER_MS
    return _released(feed, Released(), now_ms, chance) if told_long_ago else feed


def _reported(feed: Changefeed, event: Reported, now_ms: int, chance: float) -> Changefeed:
    report = event.report
    feed = _signed(feed, report, now_ms)
    if report.retried > feed.orders.retried:
        feed = replace(feed, orders=replace(feed.orders, retried=report.retried))
    if report.phase is Phase.STARTING:
        return feed
    feed = _recovered(_progressed(feed, report), now_ms, report.phase)
    if report.phase is Phase.RUNNING:
        return feed
    released = _released(feed, Released(), now_ms, chance)
    if feed.state not in RUNNING or report.phase is Phase.STOPPED:
        return released
    if report.phase is Phase.FINISHED:
        return _finished(released)
    fault = report.fault or Fault(code="CDC:ErrUnknown", message="no reason given", time_ms=now_ms, retryable=True)
    return _faulted(released, fault, event.address, now_ms, chance)


def _signed(feed: Changefeed, report: FeedReport, now_ms: int) -> Changefeed:
    before = feed.signs
    grows = report.counters.dead_letters > feed.counters.dead_letters and report.batch_id >= 0
    calm = now_ms - before.dead_ms >= DEAD_LETTERS_CALM_MS
    signs = replace(
        before,
        phase=report.phase.value if report.phase in (Phase.STARTING, Phase.RUNNING) else before.phase,
        stage=report.stage,
        idle=report.idle,
        waiting_for=report.waiting_for,
        since_ms=report.since_ms,
        lag_messages=report.lag_messages,
        resolved_ms=now_ms if report.resolved_ts > feed.resolved_ts or not before.resolved_ms else before.resolved_ms,
        dead_ms=now_ms if grows else before.dead_ms,
        dead_since_ms=now_ms if grows and (calm or not before.dead_since_ms) else before.dead_since_ms,
    )
    return replace(feed, signs=signs)


def _progressed(feed: Changefeed, report: FeedReport) -> Changefeed:
    if report.batch_id < 0 and not report.checkpoint_ts:
        return feed  # it ended before it knew anything
    return replace(
        feed,
        checkpoint_ts=max(feed.checkpoint_ts, report.checkpoint_ts),
        resolved_ts=max(feed.resolved_ts, report.resolved_ts, report.checkpoint_ts),
        resolved_ts_estimated=report.resolved_ts_estimated,
        batch_id=report.batch_id,
        source_position=report.source_position or feed.source_position,
        rows_total=report.rows_total,
        bytes_total=report.bytes_total,
        updated_ms=report.updated_at_ms or feed.updated_ms,
        counters=report.counters,
    )


def _recovered(feed: Changefeed, now_ms: int, phase: Phase) -> Changefeed:
    if feed.retry == Retry() or feed.state not in RUNNING:
        return feed
    moved = feed.checkpoint_ts > feed.retry.checkpoint_ts
    quiet = phase is Phase.RUNNING and now_ms - feed.assigned_ms >= HEALTHY_AFTER_MS
    if not (moved or quiet):
        return feed
    return replace(feed, state=State.NORMAL, error=None, retry=Retry())


def _finished(feed: Changefeed) -> Changefeed:
    reached = max(feed.checkpoint_ts, feed.target_ts)
    return replace(
        feed,
        state=State.FINISHED,
        job=Job.FINISH,
        error=None,
        retry=Retry(),
        checkpoint_ts=reached,
        resolved_ts=max(feed.resolved_ts, reached),
    )


def _faulted(feed: Changefeed, fault: Fault, address: str, now_ms: int, chance: float) -> Changefeed:
    if fault.code == FENCED and feed.retry.fences < MOST_FENCES:
        return replace(feed, retry=_at_error(feed, replace(feed.retry, fences=feed.retry.fences + 1)))
    error = RunningError(
        time_ms=fault.time_ms or now_ms, addr=address, code=fault.code, message=fault.message, stage=fault.stage
    )
    since_ms = feed.retry.since_ms or now_ms
    if not may_heal(fault) or is_fast_fail(fault) or now_ms - since_ms >= feed.stuck_ms:
        return replace(feed, state=State.FAILED, error=error, retry=Retry())
    retry = replace(
        feed.retry,
        attempts=feed.retry.attempts + 1,
        since_ms=since_ms,
        next_at_ms=now_ms + backoff_ms(feed.retry.attempts, chance),
    )
    return replace(feed, state=State.WARNING, error=error, retry=_at_error(feed, retry))


def _at_error(feed: Changefeed, retry: Retry) -> Retry:
    return replace(retry, checkpoint_ts=feed.checkpoint_ts)


def may_heal(fault: Fault) -> bool:
    """Whether trying again may help: as the capture says, or because what is missing may be made."""
    return fault.retryable or fault.code in MAY_APPEAR


def is_fast_fail(fault: Fault) -> bool:
    """Whether TiCDC gives up at once: by the code, or by a code that appears inside the text."""
    return fault.code in FAST_FAIL or any(code in fault.message for code in FAST_FAIL)


def backoff_ms(attempts: int, chance: float) -> int:
    """The pause before the next try, after ``attempts`` earlier ones."""
    interval = min(FIRST_BACKOFF_MS << min(attempts, 10), LARGEST_BACKOFF_MS)
    return round(interval * (1 + JITTER * (2 * chance - 1)))


_RULES: Final[dict[type, Callable[..., Changefeed]]] = {
    Pause: _pause,
    Resume: _resume,
    Remove: _remove,
    Assigned: _assigned,
    Move: _move,
    Released: _released,
    Unheard: _unheard,
    Reported: _reported,
}
