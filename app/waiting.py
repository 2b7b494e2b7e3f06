"""Requests that wait until a capture lets go of a changefeed. Within this replica they are woken; what happened at
another replica, or when a lease ended, they find out by asking the database every half second.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable


class Waiters:
    """Used from one event loop only."""

    def __init__(self) -> None:
        self._waiting: dict[int, set[asyncio.Event]] = defaultdict(set)

    async def wait(self, uid: int, seconds: float) -> None:
        """Returns when ``wake`` names the changefeed, or after that time."""
        event = asyncio.Event()
        self._waiting[uid].add(event)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)
        finally:
            self._waiting[uid].discard(event)
            if not self._waiting[uid]:
                del self._waiting[uid]

    def wake(self, uids: Iterable[int]) -> None:
        for uid in uids:
            for event in self._waiting.get(uid, ()):
                event.set()
