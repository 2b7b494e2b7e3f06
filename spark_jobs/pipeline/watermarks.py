"""Resolved-ts: what has been received whole. Pure.

With watermarks (contract §5) it is their minimum over all partitions of all topics; rows above it wait. Without, it is
an estimate: the greatest commit-ts read when all partitions are read to their end, else the least of (last − 1).
"""

from collections.abc import Collection
from typing import Literal

import msgspec

from spark_jobs.pipeline.job import PartitionReading

Policy = Literal["auto", "require", "ignore"]


class Horizon(msgspec.Struct, frozen=True):
    """``ts``: rows above it are held, None: nothing is held. ``given_up``: the time to wait for watermarks is over.
    ``waiting``: it is not over, and time alone will change the horizon."""

    ts: int | None
    given_up: bool = False
    waiting: bool = False


def horizon(
    policy: Policy, partitions: Collection[PartitionReading], *, resolved_ts: int, given_up: bool, timed_out: bool
) -> Horizon:
    """Up to where rows may be delivered. ``resolved_ts``: as of the last batch; the horizon never falls below it."""
    if policy == "ignore" or (given_up and policy == "auto"):
        return Horizon(None, given_up=given_up)
    extended = {item.stream for item in partitions if item.extension or item.watermark_ts}
    if policy == "auto" and not extended:
        return Horizon(None)
    with_watermarks = {item.stream for item in partitions if item.watermark_ts}
    counted = partitions
    if policy == "auto" and timed_out:
        if not with_watermarks:
            return Horizon(None, given_up=True)
        counted = [item for item in partitions if item.stream in with_watermarks]
    least = min((item.watermark_ts for item in counted), default=0)
    waiting = policy == "auto" and not timed_out and any(item.stream not in with_watermarks for item in partitions)
    return Horizon(max(least, resolved_ts), waiting=waiting)


def estimated(partitions: Collection[PartitionReading], *, at_end: bool) -> int:
    """Resolved-ts without watermarks."""
    read = [item.last_ts for item in partitions if item.last_ts]
    if not read:
        return 0
    return max(read) if at_end else max(min(read) - 1, 0)
