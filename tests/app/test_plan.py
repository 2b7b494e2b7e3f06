"""Planning as a table: what is → what to do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.changefeeds.record import State
from app.plan import SETTLED_MS, Assign, CaptureView, Cut, Delete, Expire, FeedView, Move, Release, plan

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
def test_what_a_live_capture_holds_is_at_most_moved_and_new_load_is_level(feeds, captures):
    actions = plan(feeds, captures, NOW)
    live = {view.capture_id for view in captures if view.lease_until_ms > NOW}
    held = {view.uid for view in feeds if view.capture_id in live}
    assert not held & {action.uid for action in actions if not isinstance(action, Cut | Expire | Move)}
    assert {action.uid for action in actions if isinstance(action, Move)} <= held
    takers = {view.capture_id for view in captures if view.capture_id in live and not view.draining}
    assigned = [action for action in actions if isinstance(action, Assign)]
    assert all(action.capture_id in takers for action in assigned)
    load = {name: sum(view.capture_id == name for view in feeds) for name in takers}
    for action in assigned:
        assert load[action.capture_id] == min(load.values())
        load[action.capture_id] += 1


LATER = NOW + SETTLED_MS


def settled(count, capture_id, first=1, **changes):
    return [
        FeedView(uid=uid, state=State.NORMAL, epoch=5, capture_id=capture_id, **changes)
        for uid in range(first, first + count)
    ]


def at(capture_id, **changes):
    return CaptureView(capture_id=capture_id, lease_until_ms=LATER + 1, **changes)


BALANCE = {
    "a new capture takes its share, a few at a time": (
        settled(30, "a"),
        [at("a"), at("b", registered_ms=NOW)],
        [Move(uid, 5, "b") for uid in (1, 2, 3, 4)],
    ),
    "two more is worth a pause": (settled(2, "a"), [at("a"), at("b")], [Move(1, 5, "b")]),
    "one more is not": ([*settled(2, "a"), *settled(1, "b", 9)], [at("a"), at("b")], []),
    "nor is less than a fifth": ([*settled(16, "a"), *settled(14, "b", 90)], [at("a"), at("b")], []),
    "who has just come waits a moment": (settled(9, "a"), [at("a"), at("b", registered_ms=LATER - 100)], []),
    "who has just moved stays": (settled(9, "a", assigned_ms=LATER - 1000), [at("a"), at("b")], []),
    "while one is on its way no other goes": (
        [*settled(9, "a"), *settled(1, "a", 50, moving=True)],
        [at("a"), at("b")],
        [],
    ),
    "while one is free it is given first": (
        [*settled(9, "a"), *settled(1, "", 50)],
        [at("a"), at("b")],
        [Assign(50, 5, "b")],
    ),
    "what is retried is left alone": (
        [FeedView(uid=1, state=State.WARNING, epoch=5, capture_id="a"), *settled(2, "a", 2)],
        [at("a"), at("b")],
        [Move(2, 5, "b")],
    ),
    "a capture that is drained is emptied": (
        settled(2, "a"),
        [at("a", drain_ordered=True), at("b")],
        [Move(1, 5), Move(2, 5)],
    ),
    "but not into nothing": (settled(2, "a"), [at("a", drain_ordered=True)], []),
    "a capture that ends by itself is not told": (settled(2, "a"), [at("a", draining=True), at("b")], []),
    "what an operator wants elsewhere goes there": (
        settled(1, "", wanted_capture="b"),
        [at("a"), at("b")],
        [Assign(1, 5, "b")],
    ),
    "unless that one takes nothing": (
        settled(1, "", wanted_capture="b"),
        [at("a"), at("b", drain_ordered=True)],
        [Assign(1, 5, "a")],
    ),
}


@pytest.mark.parametrize(("feeds", "captures", "actions"), BALANCE.values(), ids=BALANCE.keys())
def test_captures_are_balanced_with_hysteresis(feeds, captures, actions):
    assert plan(feeds, captures, LATER) == actions


@settings(max_examples=200)
@given(st.lists(st.integers(0, 40), min_size=2, max_size=5))
def test_balancing_comes_to_an_end(loads):
    """Moves carried out at once, without the half minute between them: it settles, and nothing goes back and forth."""
    names = [f"c{number}" for number in range(len(loads))]
    feeds = dict(enumerate(name for name, load in zip(names, loads, strict=True) for _ in range(load)))
    for _ in range(sum(loads) + 1):
        views = [FeedView(uid=uid, state=State.NORMAL, epoch=1, capture_id=name) for uid, name in feeds.items()]
        actions = plan(views, [at(name) for name in names], LATER)
        if not actions:
            break
        feeds |= {action.uid: action.to for action in actions if isinstance(action, Move)}
    else:
        raise AssertionError("it goes on for ever")
    load = [list(feeds.values()).count(name) for name in names]
    assert max(load) - min(load) <= max(1, sum(load) / len(load) / 5)
