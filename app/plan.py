"""Which capture should run what: pure. Read by the owner's loop, which executes the actions.

- A capture whose lease has ended is forgotten, and with it every assignment to it.
- A changefeed that should run and has nobody goes to the live capture with the fewest changefeeds (equal: the smallest
  id), under the next epoch, once its backoff is over. A draining capture takes nothing new.
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


class FeedView(msgspec.Struct, frozen=True, kw_only=True):
    """What planning needs to know of a changefeed."""

    uid: int
    state: State
    epoch: int
    capture_id: str = ""
    next_at_ms: int = 0


class CaptureView(msgspec.Struct, frozen=True, kw_only=True):
    """What planning needs to know of a capture."""

    capture_id: str
    lease_until_ms: int
    draining: bool = False


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


class Delete(msgspec.Struct, frozen=True):
    """Delete the row of a removed changefeed."""

    uid: int
    epoch: int


Action = Cut | Expire | Release | Assign | Delete


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
    load = Counter({name: 0 for name, capture in live.items() if not capture.draining})
    load.update(feed.capture_id for feed in feeds if feed.capture_id in load)
    return cut + expired + released + deleted + _assign(due, load)


def is_too_long(lease_until_ms: int, now_ms: int) -> bool:
    """Whether a lease can only have been given by a clock that has been set back since."""
    return lease_until_ms > now_ms + MOST_AHEAD_MS


def _is_over(next_at_ms: int, now_ms: int) -> bool:
    return next_at_ms <= now_ms or next_at_ms > now_ms + 2 * LARGEST_BACKOFF_MS


def _assign(due: list[FeedView], load: Counter[str]) -> list[Action]:
    actions: list[Action] = []
    for feed in due if load else []:
        capture_id = min(load, key=lambda name: (load[name], name))
        load[capture_id] += 1
        actions.append(Assign(feed.uid, feed.epoch, capture_id))
    return actions
