"""Up to where rows may be delivered, and what has been received whole. Pure.

With watermarks (contract §5) resolved-ts is their minimum over all strands; rows above it wait. Without, it is an
estimate: the greatest commit-ts read when all strands are read to their end, else the least of (last − 1).
"""

from collections.abc import Callable, Collection

import msgspec

from spark_jobs.pipeline.job import StrandReading


class Horizon(msgspec.Struct, frozen=True):
    """``ts``: rows above it are held, None: nothing is held. ``given_up``: the time to wait for watermarks is over.
    ``waiting``: it is not over, and time alone will change the horizon. ``last``: the strand that holds it back."""

    ts: int | None
    given_up: bool = False
    waiting: bool = False
    last: StrandReading | None = None


def horizon(
    policy: str, strands: Collection[StrandReading], *, resolved_ts: int, expired: Callable[[StrandReading], bool]
) -> Horizon:
    """``resolved_ts``: as of the last batch; the horizon never falls below it. ``expired``: whether a strand has shown
    no watermark for so long that it is not waited for; one whose topic has watermarks is, once it has rows."""
    if policy == "ignore":
        return Horizon(None)
    with_watermarks = {item.stream for item in strands if item.watermark_ts}
    if policy == "auto" and not with_watermarks and not any(item.timed for item in strands):
        return Horizon(None)
    counted: list[StrandReading] = []
    waiting = False
    for item in strands:
        if item.watermark_ts or policy == "require" or (item.timed and item.stream in with_watermarks):
            counted.append(item)
        elif not expired(item):
            counted.append(item)
            waiting = True
    if not with_watermarks and not counted:
        return Horizon(None, given_up=True)
    last = min(counted, key=lambda item: item.watermark_ts, default=None)
    return Horizon(max(last.watermark_ts if last is not None else 0, resolved_ts), waiting=waiting, last=last)


def estimated(strands: Collection[StrandReading], *, at_end: bool) -> int:
    """Resolved-ts without watermarks."""
    read = [item.last_ts for item in strands if item.last_ts]
    if not read:
        return 0
    return max(read) if at_end else max(min(read) - 1, 0)
