"""The state machine as tables."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.changefeeds.record import RESUMABLE, Job, Retry, RunningError, State
from app.errors import UpdateRefused
from app.lifecycle import (
    FAST_FAIL,
    HEALTHY_AFTER_MS,
    MOST_FENCES,
    UNHEARD_AFTER_MS,
    Assigned,
    Pause,
    Released,
    Remove,
    Reported,
    Resume,
    Unheard,
    backoff_ms,
    decide,
)
from spark_jobs.wire import Phase
from tests.app.feeds import NOW, STUCK_MS, a_changefeed, a_fault, a_report

ERROR = RunningError(time_ms=NOW, addr="host:1", code="CDC:ErrExternalFailure", message="no broker", stage="read")
WARNED = Retry(attempts=1, since_ms=NOW, next_at_ms=NOW + 10_000, checkpoint_ts=1000)


def reported(feed, report, now_ms=NOW, chance=0.5):
    return decide(feed, Reported(report, "host:1"), now_ms=now_ms, chance=chance)


@pytest.mark.parametrize("state", list(State))
def test_a_pause_stops_a_changefeed_of_any_state_and_clears_its_error(state):
    after = decide(a_changefeed(state=state, error=ERROR, retry=WARNED), Pause(), now_ms=NOW)
    assert (after.state, after.job, after.error, after.retry) == (State.STOPPED, Job.STOP, None, Retry())


@pytest.mark.parametrize("order", [Pause(), Remove()], ids=["pause", "remove"])
@pytest.mark.parametrize(("capture_id", "releasing_ms"), [("c1", NOW), ("", 0)], ids=["held", "free"])
def test_a_stopped_changefeed_waits_for_its_capture_to_let_go(order, capture_id, releasing_ms):
    after = decide(a_changefeed(capture_id=capture_id), order, now_ms=NOW)
    assert (after.capture_id, after.releasing_ms, after.wants_to_run) == (capture_id, releasing_ms, False)
    assert decide(after, order, now_ms=NOW + 5).releasing_ms == releasing_ms, "the first order counts"


@pytest.mark.parametrize("state", sorted(RESUMABLE))
def test_a_resume_starts_what_is_at_rest_and_forgets_its_error(state):
    after = decide(a_changefeed(state=state, capture_id="", error=ERROR, retry=WARNED), Resume(), now_ms=NOW)
    assert (after.state, after.job, after.error, after.retry) == (State.NORMAL, Job.RESUME, None, Retry())
    assert (after.checkpoint_ts, after.rewind_id) == (1000, 0)


@pytest.mark.parametrize("state", sorted(set(State) - RESUMABLE))
def test_a_resume_of_what_runs_is_refused(state):
    with pytest.raises(UpdateRefused, match=f"orders is {state}"):
        decide(a_changefeed(state=state), Resume(), now_ms=NOW)


@pytest.mark.parametrize("overwrite_ts", [5, 1000, 2000], ids=["back", "same", "ahead"])
def test_a_resume_with_a_checkpoint_sets_it_and_numbers_the_order(overwrite_ts):
    before = a_changefeed(state=State.STOPPED, rewind_id=4)
    after = decide(before, Resume(overwrite_ts), now_ms=NOW)
    assert (after.checkpoint_ts, after.resolved_ts, after.rewind_ts) == (overwrite_ts,) * 3
    assert after.rewind_id == 5


def test_a_resume_before_its_capture_let_go_waits_for_that():
    paused = decide(a_changefeed(), Pause(), now_ms=NOW)
    resumed = decide(paused, Resume(), now_ms=NOW)
    assert (resumed.state, resumed.wants_to_run) == (State.NORMAL, False)
    free = reported(resumed, a_report(Phase.STOPPED))
    assert (free.state, free.wants_to_run, free.capture_id) == (State.NORMAL, True, "")


def test_an_assignment_raises_the_epoch():
    after = decide(a_changefeed(capture_id="", epoch=7), Assigned("c2"), now_ms=NOW + 5)
    assert (after.capture_id, after.epoch, after.assigned_ms) == ("c2", 8, NOW + 5)


def test_a_release_frees_it_under_the_same_epoch():
    after = decide(a_changefeed(releasing_ms=NOW), Released(), now_ms=NOW)
    assert (after.capture_id, after.releasing_ms, after.epoch) == ("", 0, 7)


UNHEARD = {
    "told to stop long ago": (NOW - UNHEARD_AFTER_MS, ""),
    "told to stop just now": (NOW - UNHEARD_AFTER_MS + 1, "c1"),
    "not told to stop": (0, "c1"),
}


@pytest.mark.parametrize(("releasing_ms", "capture_id"), UNHEARD.values(), ids=UNHEARD.keys())
def test_what_a_capture_was_told_to_stop_and_never_mentions_it_does_not_run(releasing_ms, capture_id):
    assert decide(a_changefeed(releasing_ms=releasing_ms), Unheard(), now_ms=NOW).capture_id == capture_id


def test_progress_is_taken_over():
    after = reported(
        a_changefeed(), a_report(checkpoint_ts=2000, resolved_ts=3000, batch_id=9, rows_total=5, source_position="{}")
    )
    assert (after.checkpoint_ts, after.resolved_ts, after.batch_id, after.rows_total) == (2000, 3000, 9, 5)
    assert after.capture_id == "c1"


@pytest.mark.parametrize("phase", list(Phase))
def test_a_checkpoint_never_goes_back_by_a_report(phase):
    after = reported(a_changefeed(), a_report(phase, checkpoint_ts=500, resolved_ts=500))
    assert (after.checkpoint_ts, after.resolved_ts) == (1000, 1000)


def test_what_a_starting_capture_says_about_progress_is_not_taken():
    rewound = decide(a_changefeed(state=State.STOPPED), Resume(400), now_ms=NOW)
    assert reported(rewound, a_report(Phase.STARTING, checkpoint_ts=1000)).checkpoint_ts == 400


@pytest.mark.parametrize("state", [State.NORMAL, State.WARNING])
def test_a_fault_that_may_pass_makes_a_warning_and_a_later_try(state):
    after = reported(a_changefeed(state=state), a_report(Phase.FAILED, fault=a_fault()))
    assert (after.state, after.capture_id, after.error) == (State.WARNING, "", ERROR)
    assert after.retry == WARNED


FATAL = {
    "not retryable": a_fault("CDC:ErrDecodeFailed", retryable=False),
    "a fast-fail code": a_fault("CDC:ErrSinkURIInvalid"),
    "a fast-fail code inside the text": a_fault("CDC:ErrUnknown", message="x: [CDC:ErrGCTTLExceeded]y"),
}


@pytest.mark.parametrize("fault", FATAL.values(), ids=FATAL.keys())
def test_a_fault_that_retrying_cannot_cure_fails_at_once(fault):
    after = reported(a_changefeed(), a_report(Phase.FAILED, fault=fault))
    assert (after.state, after.error.code, after.retry) == (State.FAILED, fault.code, Retry())


@pytest.mark.parametrize("code", FAST_FAIL)
def test_every_fast_fail_code_fails_at_once(code):
    assert reported(a_changefeed(), a_report(Phase.FAILED, fault=a_fault(code))).state is State.FAILED


@pytest.mark.parametrize(
    ("after_ms", "state"), [(STUCK_MS - 1, State.WARNING), (STUCK_MS, State.FAILED)], ids=["within", "beyond"]
)
def test_retrying_ends_after_the_stuck_duration(after_ms, state):
    feed = a_changefeed(state=State.WARNING, error=ERROR, retry=WARNED)
    assert reported(feed, a_report(Phase.FAILED, fault=a_fault()), NOW + after_ms).state is state


@pytest.mark.parametrize(("attempts", "seconds"), [*enumerate([10, 20, 40, 80, 160, 320, 600, 600]), (1000, 600)])
def test_the_backoff_doubles_up_to_ten_minutes(attempts, seconds):
    assert backoff_ms(attempts, 0.5) == seconds * 1000
    assert backoff_ms(attempts, 0.0) == round(seconds * 900)
    assert backoff_ms(attempts, 1.0) == round(seconds * 1100)


HEALTHY = {
    "the checkpoint moved": (a_report(checkpoint_ts=1001), NOW),
    "five minutes without another": (a_report(), NOW + HEALTHY_AFTER_MS),
}


@pytest.mark.parametrize(("report", "now_ms"), HEALTHY.values(), ids=HEALTHY.keys())
def test_a_warning_ends_with_progress(report, now_ms):
    feed = a_changefeed(state=State.WARNING, error=ERROR, retry=WARNED)
    after = reported(feed, report, now_ms)
    assert (after.state, after.error, after.retry) == (State.NORMAL, None, Retry())


def test_a_warning_stays_while_nothing_moves():
    feed = a_changefeed(state=State.WARNING, error=ERROR, retry=WARNED)
    after = reported(feed, a_report(batch_id=4), NOW + HEALTHY_AFTER_MS - 1)
    assert (after.state, after.error, after.retry) == (State.WARNING, ERROR, WARNED)


def test_a_capture_that_ends_before_it_knows_anything_takes_nothing_away():
    feed = a_changefeed(rows_total=5, source_position="{}")
    empty = replace(a_report(Phase.FAILED, fault=a_fault()), batch_id=-1, checkpoint_ts=0, resolved_ts=0)
    after = reported(feed, empty)
    assert (after.rows_total, after.batch_id, after.checkpoint_ts, after.source_position) == (5, 3, 1000, "{}")


def test_a_new_fault_after_healthy_progress_starts_the_backoff_anew():
    feed = a_changefeed(state=State.WARNING, error=ERROR, retry=replace(WARNED, attempts=5))
    after = reported(feed, a_report(Phase.FAILED, fault=a_fault(), checkpoint_ts=2000), NOW + STUCK_MS * 2)
    assert (after.state, after.retry.attempts, after.retry.since_ms) == (State.WARNING, 1, NOW + STUCK_MS * 2)


def test_a_fence_is_no_error_and_waits_for_nothing():
    after = reported(a_changefeed(), a_report(Phase.FAILED, fault=a_fault("CDC:ErrFenced")))
    assert (after.state, after.error, after.capture_id, after.retry.next_at_ms) == (State.NORMAL, None, "", 0)


def test_being_fenced_again_and_again_becomes_a_warning():
    feed = a_changefeed()
    for _ in range(MOST_FENCES):
        feed = reported(replace(feed, capture_id="c1"), a_report(Phase.FAILED, fault=a_fault("CDC:ErrFenced")))
        assert feed.state is State.NORMAL
    feed = reported(replace(feed, capture_id="c1"), a_report(Phase.FAILED, fault=a_fault("CDC:ErrFenced")))
    assert (feed.state, feed.retry.next_at_ms) == (State.WARNING, NOW + 10_000)


def test_the_target_finishes_it_with_the_checkpoint_at_the_target():
    feed = a_changefeed(target_ts=5000)
    after = reported(feed, a_report(Phase.FINISHED, checkpoint_ts=4000))
    assert (after.state, after.job, after.checkpoint_ts) == (State.FINISHED, Job.FINISH, 5000)
    assert (after.resolved_ts, after.capture_id) == (5000, "")


@pytest.mark.parametrize("state", [State.STOPPED, State.REMOVED])
@pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.FAILED, Phase.FINISHED])
def test_what_ends_while_it_is_being_stopped_is_only_let_go(state, phase):
    feed = a_changefeed(state=state, releasing_ms=NOW)
    after = reported(feed, a_report(phase, fault=a_fault(retryable=False)))
    assert (after.state, after.capture_id, after.releasing_ms, after.error) == (state, "", 0, None)


def test_a_failure_without_a_reason_still_warns():
    assert reported(a_changefeed(), a_report(Phase.FAILED)).error.code == "CDC:ErrUnknown"


EVENTS = st.sampled_from(
    [
        Pause(),
        Remove(),
        Assigned("c2"),
        Released(),
        *(Reported(a_report(phase, fault=a_fault()), "") for phase in Phase),
        *(Reported(a_report(checkpoint_ts=ts), "") for ts in (0, 999, 1001, 5000)),
    ]
)


@given(st.lists(EVENTS, max_size=12), st.sampled_from(list(State)))
@settings(max_examples=200)
def test_nothing_but_a_rewind_moves_a_checkpoint_or_an_epoch_back(events, state):
    feeds = list(itertools.accumulate(events, lambda f, e: decide(f, e, now_ms=NOW), initial=a_changefeed(state=state)))
    for before, after in itertools.pairwise(feeds):
        assert after.checkpoint_ts >= before.checkpoint_ts
        assert after.epoch >= before.epoch
        assert after.capture_id or not after.releasing_ms
