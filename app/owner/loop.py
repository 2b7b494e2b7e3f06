"""The owner's loop: whoever holds the lease reads what is, asks ``plan``, and executes.

Each action is one short transaction that does nothing when the changefeed has another epoch than the one it was planned
on. Waking up: when something happened, and every half second.
"""

import threading
from collections.abc import Callable
from typing import Final

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from app.captures.beat import LEASE_MS as CAPTURE_LEASE_MS
from app.captures.repository import CaptureRepository
from app.changefeeds.record import Changefeed
from app.changefeeds.removal import forget
from app.context import Context
from app.database import reason_of
from app.errors import Conflict
from app.history.repository import Entry, HistoryRepository
from app.leftovers.cleaning import clean_old
from app.lifecycle import Assigned, Released, decide
from app.lifecycle import Move as MoveEvent
from app.owner.lease import LEASE_MS, LeaseRepository
from app.plan import Action, Assign, Cut, Delete, Expire, Move, Release, plan

TICK_SECONDS: Final = 0.5
_CLEAN_MS: Final = 3_600_000
_RENEW_MS: Final = LEASE_MS // 4
log = structlog.get_logger("weir.owner")


class Owner:
    """Runs in a thread of its own. ``on_owning`` is called once, when this replica first owns."""

    def __init__(self, context: Context, on_owning: Callable[[], None] = lambda: None) -> None:
        self._context = context
        self._on_owning = on_owning
        self._stopping = threading.Event()
        self._owned_until_ms = 0
        self._has_owned = False
        self._cleaned_ms = 0
        self._thread = threading.Thread(target=self._run, name="owner", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the loop and gives the lease up."""
        self._stopping.set()
        self._context.wake.set()
        self._thread.join()
        try:
            with self._context.database.write() as connection:
                LeaseRepository(connection).resign(self._context.node_id)
        except DBAPIError as error:
            log.warning("lease_not_resigned", error=type(error).__name__)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.tick()
            except (DBAPIError, NoConnectionFree) as error:
                log.warning("database_error", error=type(error).__name__, reason=reason_of(error))
            except Exception:
                log.exception("bug")
            self._context.wake.wait(TICK_SECONDS)
            self._context.wake.clear()

    def tick(self) -> bool:
        """One round; False when another replica owns."""
        now_ms = self._context.clock_ms()
        if not self._owns(now_ms):
            return False
        if not self._has_owned:
            self._has_owned = True
            log.info("owning", node=self._context.node_id)
            self._on_owning()
        with self._context.database.read() as connection:
            feeds = self._context.feeds(connection).views()
            captures = CaptureRepository(connection).views()
        for action in plan(feeds, captures, now_ms):
            self._execute(action, now_ms)
        if not self._cleaned_ms <= now_ms < self._cleaned_ms + _CLEAN_MS:
            self._cleaned_ms = now_ms
            clean_old(self._context)
        return True

    def _owns(self, now_ms: int) -> bool:
        renewed_ms = self._owned_until_ms - LEASE_MS
        if renewed_ms <= now_ms < renewed_ms + _RENEW_MS:
            return True
        with self._context.database.write() as connection:
            held = LeaseRepository(connection).acquire(self._context.node_id, self._context.settings.listen, now_ms)
        self._owned_until_ms = now_ms + LEASE_MS if held else 0
        return held

    def _execute(self, action: Action, now_ms: int) -> None:
        try:
            with self._context.database.write() as connection:
                if isinstance(action, Cut):
                    CaptureRepository(connection).cut(
                        action.capture_id, action.lease_until_ms, now_ms + CAPTURE_LEASE_MS
                    )
                elif isinstance(action, Expire):
                    if CaptureRepository(connection).expire(action.capture_id, action.lease_until_ms):
                        log.warning("capture_lost", capture=action.capture_id)
                else:
                    self._change(connection, action, now_ms)
        except Conflict:
            log.info("planned_too_late", action=type(action).__name__)

    def _change(self, connection: Connection, action: Release | Assign | Move | Delete, now_ms: int) -> None:
        feeds = self._context.feeds(connection)
        feed = feeds.by_uid(action.uid, lock=True)
        if feed is None or feed.epoch != action.epoch:
            return
        if isinstance(action, Delete):
            forget(self._context, connection, feed, now_ms)
        elif isinstance(action, Release):
            if feed.capture_id and CaptureRepository(connection).get(feed.capture_id) is None:
                feeds.save(feed, decide(feed, Released(), now_ms=now_ms))
                _remember(connection, feed, "release", f"capture {feed.capture_id} is lost", now_ms)
        elif isinstance(action, Move):
            if feed.wants_to_run and feed.capture_id:
                feeds.save(feed, decide(feed, MoveEvent(action.to), now_ms=now_ms))
                detail = f"from capture {feed.capture_id}" + (f" to {action.to}" if action.to else "")
                _remember(connection, feed, "move", detail, now_ms)
        elif feed.wants_to_run and not feed.capture_id:
            after = feeds.save(feed, decide(feed, Assigned(action.capture_id), now_ms=now_ms))
            _remember(connection, feed, "assign", f"to capture {action.capture_id}, epoch {after.epoch}", now_ms)


def _remember(connection: Connection, feed: Changefeed, what: str, detail: str, now_ms: int) -> None:
    entry = Entry(time_ms=now_ms, who="weir", what=what, from_state=feed.state, to_state=feed.state, detail=detail)
    HistoryRepository(connection).add(feed, entry)
