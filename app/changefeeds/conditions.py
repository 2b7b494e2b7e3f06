"""What is not well with a changefeed at this moment: pure, from what is stored, so that it heals by itself.

``normal`` means moving or idle. A changefeed whose stored state is normal, and of which something is to be said here,
is shown as ``warning``.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from app.changefeeds.record import RUNNING, Changefeed, RunningError, State
from app.lifecycle import DEAD_LETTERS_CALM_MS

UNASSIGNED_MS: Final = 15_000
"""A capture needs about ten seconds to start."""
STUCK_MS: Final = 20_000
WATERMARK_MS: Final = 30_000
_STAGES: Final = {
    "source": "reading the source",
    "decode": "decoding",
    "hold-back": "rows wait for watermarks",
    "sink": "writing into the sink",
}


class Moment(msgspec.Struct, frozen=True):
    """Now, and how many captures are there to run something: all live ones, and those that take new work."""

    now_ms: int
    captures: int = 1
    takers: int = 1


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """``since_ms``: since when; ``next_ms``: of the next try, 0 if there is none; ``stage``: the step of the
    pipeline."""

    code: str
    message: str
    since_ms: int
    stage: str = ""
    next_ms: int = 0
    attempts: int = 0


def conditions(feed: Changefeed, moment: Moment) -> list[Condition]:
    """The most important first; none when all is well, or when it is not meant to run."""
    if feed.state is State.FAILED and feed.error:
        return [_of_error(feed, feed.error)]
    if feed.state not in RUNNING:
        return []
    return [found for look in _LOOKS for found in look(feed, moment)]


def shown_state(feed: Changefeed, moment: Moment) -> State:
    """The state that the API tells."""
    return State.WARNING if feed.state is State.NORMAL and conditions(feed, moment) else feed.state


def shown_error(feed: Changefeed, moment: Moment) -> RunningError | None:
    """The stored error, or the first of the conditions in its form."""
    if feed.state is State.FAILED or feed.error:
        return feed.error
    for found in conditions(feed, moment):
        return RunningError(time_ms=found.since_ms, addr="", code=found.code, message=found.message, stage=found.stage)
    return None


def lag_seconds(feed: Changefeed, ts: int, now_ms: int) -> float | None:
    """How far ``ts`` is behind: 0 when the source has nothing more; None when nothing was read yet."""
    if feed.signs.idle and feed.state in RUNNING:
        return 0.0
    return max(now_ms - (ts >> 18), 0) / 1000 if ts else None


def _of_error(feed: Changefeed, error: RunningError) -> Condition:
    return Condition(
        code=error.code,
        message=error.message,
        since_ms=feed.retry.since_ms or error.time_ms,
        stage=error.stage,
        next_ms=feed.retry.next_at_ms,
        attempts=feed.retry.attempts,
    )


def _fault(feed: Changefeed, moment: Moment) -> Iterator[Condition]:
    if feed.error is not None:
        yield _of_error(feed, feed.error)


def _nobody(feed: Changefeed, moment: Moment) -> Iterator[Condition]:
    since_ms = max(feed.signs.free_ms or feed.created_ms, feed.retry.next_at_ms)
    if feed.capture_id or moment.now_ms - since_ms < UNASSIGNED_MS:
        return
    if not moment.captures:
        why = "no capture is registered, so nothing runs; look at GET /api/v2/captures and at the captures' logs"
    elif not moment.takers:
        why = "every capture is draining, so nobody takes it; start another capture"
    else:
        why = "no capture has been given it; does a replica hold the owner lease? (GET /readyz)"
    yield Condition(code="CDC:ErrNoCapture", message=why, since_ms=since_ms, stage="no capture")


def _not_started(feed: Changefeed, moment: Moment) -> Iterator[Condition]:
    if feed.capture_id and feed.signs.phase != "running" and moment.now_ms - feed.assigned_ms >= STUCK_MS:
        what = "is still starting it" if feed.signs.phase else "has not said anything about it"
        yield Condition(
            code="CDC:ErrChangefeedNotStarted",
            message=f"capture {feed.capture_id} {what}; its log says more",
            since_ms=feed.assigned_ms,
            stage="no capture" if not feed.signs.phase else "source",
        )


def _stuck(feed: Changefeed, moment: Moment) -> Iterator[Condition]:
    signs = feed.signs
    if not feed.capture_id or signs.phase != "running":
        return
    if signs.stage and signs.since_ms and not signs.idle:
        if moment.now_ms - signs.since_ms >= STUCK_MS:
            code = "CDC:ErrWaitingForWatermark" if signs.stage == "hold-back" else "CDC:ErrChangefeedStuck"
            where = _STAGES.get(signs.stage, signs.stage)
            message = f"nothing has moved in stage {signs.stage} ({where})"
            message += f": waiting for {signs.waiting_for}" if signs.waiting_for else ""
            yield Condition(code=code, message=message, since_ms=signs.since_ms, stage=signs.stage)
    elif feed.counters.held_rows and signs.resolved_ms and moment.now_ms - signs.resolved_ms >= WATERMARK_MS:
        message = f"{feed.counters.held_rows} rows wait for a watermark, and resolved-ts does not move"
        message += "; does every partition of the topic still get watermarks?"
        yield Condition(
            code="CDC:ErrWaitingForWatermark", message=message, since_ms=signs.resolved_ms, stage="hold-back"
        )


def _dead_letters(feed: Changefeed, moment: Moment) -> Iterator[Condition]:
    if feed.signs.dead_ms and moment.now_ms - feed.signs.dead_ms < DEAD_LETTERS_CALM_MS:
        count = feed.counters.dead_letters
        message = f"messages that cannot be decoded keep coming: {count} until now; see GET …/dead_letters"
        since_ms = feed.signs.dead_since_ms or feed.signs.dead_ms
        yield Condition(code="CDC:ErrDeadLettersGrowing", message=message, since_ms=since_ms, stage="decode")


def _fences(feed: Changefeed, moment: Moment) -> Iterator[Condition]:
    if feed.retry.fences >= 3:
        message = (
            f"another owner of its commit log was met {feed.retry.fences} times in a row; is it run elsewhere too?"
        )
        yield Condition(
            code="CDC:ErrFenced", message=message, since_ms=feed.assigned_ms, stage="sink", attempts=feed.retry.fences
        )


_LOOKS: Final[tuple[Callable[[Changefeed, Moment], Iterator[Condition]], ...]] = (
    _fault,
    _nobody,
    _not_started,
    _stuck,
    _fences,
    _dead_letters,
)
