"""Which capture should run what: pure. Read by the owner's loop, which executes the actions.

- A capture whose lease has ended is forgotten, and with it every assignment to it.
- A changefeed that should run and has nobody goes to the live capture with the fewest changefeeds (equal: the smallest
  id), or to the one that an operator wants, under the next epoch, once its backoff is over. A draining capture takes
  nothing new; one that an operator drains is emptied, as long as there is another.
- Captures are balanced with hysteresis: only when all is calm (nothing is free or on its way), the difference is worth
  it, and only changefeeds that have been where they are for half a minute, a few at a time.
- A clock that was set back leaves leases and backoffs that would last too long: a lease is cut to its length (a live
  capture renews it), a backoff counts as over.
- A removed changefeed that nobody runs any more is deleted.

Every action names the epoch that it was decided on; whoever executes it does nothing when that has changed.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from app.changefeeds.record import RUNNING, State
from app.lifecycle import LARGEST_BACKOFF_MS

MOST_AHEAD_MS: Final = 60_000
"""Leases are shorter than this, and so is the difference between the clocks of two replicas."""


SETTLED_MS: Final = 30_000
MOST_MOVES: Final = 4
WORTH_IT: Final = 5
"""A difference of less than a fifth of the mean is left as it is."""


class FeedView(msgspec.Struct, frozen=True, kw_only=True):
    """What planning needs to know of a changefeed."""

    uid: int
    state: State
    epoch: int
    capture_id: str = ""
    next_at_ms: int = 0
    assigned_ms: int = 0
    moving: bool = False
    wanted_capture: str = ""


class CaptureView(msgspec.Struct, frozen=True, kw_only=True):
    """What planning needs to know of a capture."""

    capture_id: str
    lease_until_ms: int
    draining: bool = False
    drain_ordered: bool = False
    registered_ms: int = 0

    @property
    def takes_work(self) -> bool:
        return not (self.draining or self.drain_ordered)


class Expire(msgspec.Struct, frozen=True):
    """Forget a capture whose lease ended."""

    capture_id: str
    lease_until_ms: int


class Cut(msgspec.Struct, frozen=True):
    """Let a lease end as if it had been given now, unless it has been renewed since it was read."""

    capture_id: str
    lease_until_ms: int


class Release(msgspec.Struct, frozen=True):
    """Take a changefeed from a capture that is no more."""

    uid: int
    epoch: int


class Assign(msgspec.Struct, frozen=True):
    """Give a changefeed to a capture, under ``epoch + 1``."""

    uid: int
    epoch: int
    capture_id: str


class Move(msgspec.Struct, frozen=True):
    """Take a changefeed from a live capture, for ``to`` or ("") for whoever has least to do."""

    uid: int
    epoch: int
    to: str = ""


class Delete(msgspec.Struct, frozen=True):
    """Delete the row of a removed changefeed."""

    uid: int
    epoch: int


Action = Cut | Expire | Release | Assign | Move | Delete


def plan(feeds: Iterable[FeedView], captures: Iterable[CaptureView], now_ms: int) -> list[Action]:
    """The actions that bring what is nearer to what should be, in the order to execute them."""
    feeds, captures = list(feeds), list(captures)
    live = {capture.capture_id: capture for capture in captures if capture.lease_until_ms > now_ms}
    cut: list[Action] = [Cut(c.capture_id, c.lease_until_ms) for c in captures if is_too_long(c.lease_until_ms, now_ms)]
    expired: list[Action] = [Expire(c.capture_id, c.lease_until_ms) for c in captures if c.capture_id not in live]
    lost = [feed for feed in feeds if feed.capture_id and feed.capture_id not in live]
    released: list[Action] = [Release(feed.uid, feed.epoch) for feed in lost]
    free = [feed for feed in feeds if feed.capture_id not in live]
    deleted: list[Action] = [Delete(feed.uid, feed.epoch) for feed in free if feed.state is State.REMOVED]
    due = [feed for feed in free if feed.state in RUNNING and _is_over(feed.next_at_ms, now_ms)]
    load = Counter({name: 0 for name, capture in live.items() if capture.takes_work})
    load.update(feed.capture_id for feed in feeds if feed.capture_id in load)
    held = [feed for feed in feeds if feed.capture_id in live and feed.state in RUNNING]
    moved = _emptied(held, live, load)
    if not (moved or lost or due or any(feed.moving for feed in held)):
        moved = _balanced(held, live, load, now_ms)
    return cut + expired + released + deleted + moved + _assign(due, load)


def is_too_long(lease_until_ms: int, now_ms: int) -> bool:
    """Whether a lease can only have been given by a clock that has been set back since."""
    return lease_until_ms > now_ms + MOST_AHEAD_MS


def _is_over(next_at_ms: int, now_ms: int) -> bool:
    return next_at_ms <= now_ms or next_at_ms > now_ms + 2 * LARGEST_BACKOFF_MS


def _emptied(held: list[FeedView], live: dict[str, CaptureView], load: Counter[str]) -> list[Action]:
    """Everything leaves a capture that an operator drains, if there is one to go to."""
    leaving = (feed for feed in held if live[feed.capture_id].drain_ordered and not feed.moving)
    return [Move(feed.uid, feed.epoch) for feed in leaving] if load else []


def _balanced(held: list[FeedView], live: dict[str, CaptureView], load: Counter[str], now_ms: int) -> list[Action]:
    """From the capture with the most to the one with the least, until the difference is not worth the pause."""
    if len(load) < 2:
        return []
    most = max(load, key=lambda name: (load[name], name))
    least = min(load, key=lambda name: (load[name], name))
    difference = load[most] - load[least]
    mean = sum(load.values()) / len(load)
    if difference < max(2, mean / WORTH_IT) or now_ms - live[least].registered_ms < SETTLED_MS // 6:
        return []
    calm = [
        feed
        for feed in held
        if feed.capture_id == most and feed.state is State.NORMAL and now_ms - feed.assigned_ms >= SETTLED_MS
    ]
    count = min(difference // 2, MOST_MOVES)
    return [Move(feed.uid, feed.epoch, least) for feed in calm[:count]]


def _assign(due: list[FeedView], load: Counter[str]) -> list[Action]:
    actions: list[Action] = []
    for feed in due if load else []:
        wanted = feed.wanted_capture
        capture_id = wanted if wanted in load else min(load, key=lambda name: (load[name], name))
        load[capture_id] += 1
        actions.append(Assign(feed.uid, feed.epoch, capture_id))
    return actions
