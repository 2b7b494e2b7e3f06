"""Planning as a table: what is → what to do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.changefeeds.record import State
from app.plan import Assign, CaptureView, Cut, Delete, Expire, FeedView, Release, plan

NOW = 100_000
HOUR = 3_600_000


def feed(uid, capture_id="", state=State.NORMAL, epoch=5, next_at_ms=0):
    return FeedView(uid=uid, state=state, epoch=epoch, capture_id=capture_id, next_at_ms=next_at_ms)


def capture(capture_id, lease_until_ms=NOW + 1, draining=False):
    return CaptureView(capture_id=capture_id, lease_until_ms=lease_until_ms, draining=draining)


CASES = {
    "nothing to do": ([feed(1, "a")], [capture("a")], []),
    "nobody to give it to": ([feed(1)], [], []),
    "a new changefeed goes to the only capture": ([feed(1)], [capture("a")], [Assign(1, 5, "a")]),
    "to the capture with the fewest": (
        [feed(1, "a"), feed(2, "a"), feed(3, "b"), feed(4)],
        [capture("a"), capture("b")],
        [Assign(4, 5, "b")],
    ),
    "several are spread": (
        [feed(1), feed(2), feed(3)],
        [capture("a"), capture("b")],
        [Assign(1, 5, "a"), Assign(2, 5, "b"), Assign(3, 5, "a")],
    ),
    "a draining capture takes nothing new and keeps what it has": (
        [feed(1, "a"), feed(2)],
        [capture("a", draining=True), capture("b")],
        [Assign(2, 5, "b")],
    ),
    "only draining captures": ([feed(1)], [capture("a", draining=True)], []),
    "a lost capture's changefeed goes elsewhere at once": (
        [feed(1, "a", epoch=9)],
        [capture("a", NOW), capture("b")],
        [Expire("a", NOW), Release(1, 9), Assign(1, 9, "b")],
    ),
    "a capture that is not there at all": (
        [feed(1, "gone")],
        [capture("b")],
        [Release(1, 5), Assign(1, 5, "b")],
    ),
    "a lost capture and no other": ([feed(1, "a")], [capture("a", NOW - 1)], [Expire("a", NOW - 1), Release(1, 5)]),
    "the backoff is not over": ([feed(1, state=State.WARNING, next_at_ms=NOW + 1)], [capture("a")], []),
    "the backoff is over": (
        [feed(1, state=State.WARNING, next_at_ms=NOW)],
        [capture("a")],
        [Assign(1, 5, "a")],
    ),
    "the clock was set back: no backoff is that long": (
        [feed(1, state=State.WARNING, next_at_ms=NOW + HOUR)],
        [capture("a")],
        [Assign(1, 5, "a")],
    ),
    "the clock was set back: nor is a lease, but its capture may live": (
        [feed(1, "a")],
        [capture("a", NOW + HOUR)],
        [Cut("a", NOW + HOUR)],
    ),
    "what is at rest stays so": (
        [feed(1, state=State.STOPPED), feed(2, state=State.FAILED), feed(3, state=State.FINISHED)],
        [capture("a")],
        [],
    ),
    "a removed one that nobody runs is deleted": ([feed(1, state=State.REMOVED)], [capture("a")], [Delete(1, 5)]),
    "a removed one that is still held waits": ([feed(1, "a", state=State.REMOVED)], [capture("a")], []),
    "a removed one on a lost capture": (
        [feed(1, "a", state=State.REMOVED)],
        [capture("a", NOW - 1)],
        [Expire("a", NOW - 1), Release(1, 5), Delete(1, 5)],
    ),
    "a stopping one on a lost capture": (
        [feed(1, "a", state=State.STOPPED)],
        [capture("a", NOW - 1)],
        [Expire("a", NOW - 1), Release(1, 5)],
    ),
}


@pytest.mark.parametrize(("feeds", "captures", "actions"), CASES.values(), ids=CASES.keys())
def test_plan(feeds, captures, actions):
    assert plan(feeds, captures, NOW) == actions


FEEDS = st.lists(
    st.builds(
        FeedView,
        uid=st.integers(1, 30),
        state=st.sampled_from(list(State)),
        epoch=st.integers(0, 3),
        capture_id=st.sampled_from(["", "a", "b", "c"]),
        next_at_ms=st.sampled_from([0, NOW, NOW + 1]),
    ),
    unique_by=lambda view: view.uid,
)
CAPTURES = st.lists(
    st.builds(
        CaptureView,
        capture_id=st.sampled_from(["a", "b", "c"]),
        lease_until_ms=st.sampled_from([NOW - 1, NOW, NOW + 1]),
        draining=st.booleans(),
    ),
    unique_by=lambda view: view.capture_id,
)


@given(FEEDS, CAPTURES)
@settings(max_examples=200)
def test_nothing_that_a_live_capture_holds_is_touched_and_new_load_is_level(feeds, captures):
    actions = plan(feeds, captures, NOW)
    live = {view.capture_id for view in captures if view.lease_until_ms > NOW}
    held = {view.uid for view in feeds if view.capture_id in live}
    assert not held & {action.uid for action in actions if not isinstance(action, Cut | Expire)}
    takers = {view.capture_id for view in captures if view.capture_id in live and not view.draining}
    assigned = [action for action in actions if isinstance(action, Assign)]
    assert all(action.capture_id in takers for action in assigned)
    load = {name: sum(view.capture_id == name for view in feeds) for name in takers}
    for action in assigned:
        assert load[action.capture_id] == min(load.values())
        load[action.capture_id] += 1
