"""Finds, in a queue without usable timestamps, where the messages after a commit-ts begin.

Drainer's topics carry no record times (message format v0), so the place is searched by reading single messages.

Rules

1. The answer is the first offset whose commit-ts is *greater* than the target. ``oldest`` is the first offset that the
   queue still has, ``newest`` the one that the next message will get (the high watermark).
2. A target before the first message: the first message, and what stood before it may have been deleted (``cut_off``).
   A target at or after the last one: ``newest``, and the reader waits there. An empty queue: ``newest``, at once.
3. Offsets may have gaps. A probe answers for the next message that exists; the answer may then lie in a gap, which
   does no harm.
4. After a restart Drainer repeats itself (10 20 30 20 30 40), so the list is not sorted. The search lands in either
   copy: the message there is greater than the target and the one before it is not, and every copy goes on without a
   hole, so nothing is lost. The reader drops what is not above the target, and may see repeats above it.

No I/O here: the caller probes. When a probe fails because the queue deleted its head meanwhile, ask for the offsets
again and search anew.
"""

from collections.abc import Callable

import msgspec

Probe = Callable[[int], int | None]
"""commit-ts of the first message at or after an offset; None if there is none."""


class Place(msgspec.Struct, frozen=True):
    """Where to begin. ``cut_off``: messages after the target may have been deleted before anyone read them."""

    offset: int
    cut_off: bool = False


def first_after(target_ts: int, oldest: int, newest: int, probe: Probe) -> Place:
    """The first message whose commit-ts is greater than ``target_ts``, with about log2(newest - oldest) + 2 probes."""
    if oldest >= newest:
        return Place(newest)
    first_ts = probe(oldest)
    if first_ts is None:
        return Place(newest)
    if target_ts < first_ts:
        return Place(oldest, cut_off=oldest > 0)
    if target_ts == first_ts:
        return Place(oldest + 1)
    return Place(_bisect(target_ts, oldest, newest - 1, probe))


def _bisect(target_ts: int, low: int, high: int, probe: Probe) -> int:
    """The message at ``low`` is at or below the target."""
    while low < high:
        middle = (low + high) // 2
        if _reached(target_ts, probe(middle)):
            high = middle
        else:
            low = middle + 1
    return high if _reached(target_ts, probe(high)) else high + 1


def _reached(target_ts: int, commit_ts: int | None) -> bool:
    """Whether the answer is here or before: the message is after the target, or there is none from here on."""
    return commit_ts is None or commit_ts > target_ts
