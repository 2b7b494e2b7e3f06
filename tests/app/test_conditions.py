"""What is not well with a changefeed: pure, from what is stored; nothing has to be told to heal."""

import pytest
from msgspec.structs import replace

from app.changefeeds.conditions import Moment, conditions, lag_seconds, shown_error, shown_state
from app.changefeeds.record import Retry, RunningError, Signs, State
from app.lifecycle import Assigned, Released, Reported, decide
from spark_jobs.cdc import tso
from spark_jobs.wire import Counters, Phase
from tests.app.feeds import NOW, a_changefeed, a_fault, a_report

SECOND = 1000


def running(**signs):
    return a_changefeed(signs=replace(Signs(phase="running", resolved_ms=NOW), **signs))


def after(seconds, captures=1, takers=1):
    return Moment(NOW + seconds * SECOND, captures, takers)


def codes(feed, moment):
    return [found.code.removeprefix("CDC:") for found in conditions(feed, moment)]


NOBODY = a_changefeed(capture_id="", signs=Signs(free_ms=NOW))
CASES = {
    "moving": (running(stage="decode", since_ms=NOW + 29 * SECOND), after(30), []),
    "idle for an hour": (running(stage="source", idle=True, since_ms=NOW), after(3600), []),
    "an older capture that tells no stage": (running(), after(3600), []),
    "a source that does not answer": (running(stage="source", since_ms=NOW), after(25), ["ErrChangefeedStuck"]),
    "a decoder that does not end": (running(stage="decode", since_ms=NOW), after(25), ["ErrChangefeedStuck"]),
    "no watermark": (running(stage="hold-back", since_ms=NOW), after(25), ["ErrWaitingForWatermark"]),
    "a sink that does not answer": (running(stage="sink", since_ms=NOW), after(25), ["ErrChangefeedStuck"]),
    "just created": (NOBODY, after(5, 0, 0), []),
    "no capture": (NOBODY, after(20, 0, 0), ["ErrNoCapture"]),
    "only draining ones": (NOBODY, after(20, 1, 0), ["ErrNoCapture"]),
    "captures, but no owner": (NOBODY, after(20, 1, 1), ["ErrNoCapture"]),
    "waiting for its next try": (
        replace(NOBODY, retry=Retry(next_at_ms=NOW + 600 * SECOND)),
        after(300),
        [],
    ),
    "given and not heard of": (a_changefeed(), after(25), ["ErrChangefeedNotStarted"]),
    "starting for long": (a_changefeed(signs=Signs(phase="starting")), after(25), ["ErrChangefeedNotStarted"]),
    "rows held, and no watermark moves": (
        replace(running(), counters=Counters(held_rows=7)),
        after(35),
        ["ErrWaitingForWatermark"],
    ),
    "rows held for a moment": (replace(running(), counters=Counters(held_rows=7)), after(5), []),
    "dead letters a minute ago": (running(dead_ms=NOW, dead_since_ms=NOW), after(60), ["ErrDeadLettersGrowing"]),
    "dead letters an hour ago": (running(dead_ms=NOW, dead_since_ms=NOW), after(3600), []),
    "another owner, again and again": (replace(running(), retry=Retry(fences=3)), after(1), ["ErrFenced"]),
    "paused, and nobody runs it": (replace(NOBODY, state=State.STOPPED), after(600, 0, 0), []),
    "finished": (replace(NOBODY, state=State.FINISHED), after(600, 0, 0), []),
}


@pytest.mark.parametrize(("feed", "moment", "wanted"), CASES.values(), ids=CASES.keys())
def test_what_is_not_well_is_named(feed, moment, wanted):
    assert codes(feed, moment) == wanted
    if feed.state is State.NORMAL:
        assert shown_state(feed, moment) == (State.WARNING if wanted else State.NORMAL)


def test_a_stuck_stage_is_named_with_what_it_waits_for_and_since_when():
    (found,) = conditions(running(stage="hold-back", since_ms=NOW, waiting_for="a watermark of orders/3"), after(25))
    assert (found.stage, found.since_ms) == ("hold-back", NOW)
    assert "waiting for a watermark of orders/3" in found.message
    error = shown_error(running(stage="sink", since_ms=NOW), after(25))
    assert error is not None
    assert error.code == "CDC:ErrChangefeedStuck"


def test_a_fault_tells_its_next_try_and_how_many_there_were():
    error = RunningError(time_ms=NOW, addr="h:1", code="CDC:ErrX", message="it broke", stage="sink")
    retry = Retry(attempts=3, since_ms=NOW - 5, next_at_ms=NOW + 40 * SECOND)
    feed = a_changefeed(state=State.WARNING, error=error, retry=retry, capture_id="")
    (found,) = conditions(feed, after(1))
    assert (found.code, found.attempts, found.since_ms, found.next_ms, found.stage) == (
        "CDC:ErrX",
        3,
        NOW - 5,
        NOW + 40 * SECOND,
        "sink",
    )


def test_reports_are_kept_and_a_new_owner_begins_anew():
    feed = decide(a_changefeed(capture_id=""), Assigned("c2"), now_ms=NOW)
    assert (feed.signs.phase, feed.signs.free_ms) == ("", 0)
    report = a_report(Phase.RUNNING, stage="source", idle=True, since_ms=NOW, lag_messages={"orders/0": 3})
    feed = decide(feed, Reported(report), now_ms=NOW + 9)
    assert (feed.signs.phase, feed.signs.idle, feed.signs.lag_messages) == ("running", True, {"orders/0": 3})
    feed = decide(feed, Released(), now_ms=NOW + 10)
    assert feed.signs == Signs(free_ms=NOW + 10)


def test_dead_letters_are_dated_from_the_first_of_a_run():
    def report(count):
        return Reported(a_report(counters=Counters(dead_letters=count)))

    feed = decide(a_changefeed(), report(2), now_ms=NOW)
    feed = decide(feed, report(2), now_ms=NOW + 50)
    assert (feed.signs.dead_ms, feed.signs.dead_since_ms) == (NOW, NOW)
    feed = decide(feed, report(3), now_ms=NOW + 90)
    assert (feed.signs.dead_ms, feed.signs.dead_since_ms) == (NOW + 90, NOW)
    feed = decide(feed, report(4), now_ms=NOW + 3600 * SECOND)
    assert feed.signs.dead_since_ms == NOW + 3600 * SECOND


def test_a_missing_topic_is_waited_for():
    fault = a_fault("CDC:ErrKafkaTopicNotExists", retryable=False)
    feed = decide(a_changefeed(), Reported(a_report(Phase.FAILED, fault=fault)), now_ms=NOW)
    assert feed.state is State.WARNING
    assert feed.retry.next_at_ms > NOW


LAGS = {
    "moving": ({}, tso.compose(NOW - 5000), 5.0),
    "idle": ({"idle": True}, tso.compose(NOW - 5000), 0.0),
    "idle from the beginning": ({"idle": True}, 0, 0.0),
    "nothing read yet": ({}, 0, None),
}


@pytest.mark.parametrize(("signs", "ts", "seconds"), LAGS.values(), ids=LAGS.keys())
def test_the_lag_of_an_idle_source_is_0_and_an_unknown_one_unknown(signs, ts, seconds):
    assert lag_seconds(running(**signs), ts, NOW) == seconds
