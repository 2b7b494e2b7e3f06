"""What an operator can order. Each operation: read, check outside any transaction, then one short write.

A write reads its changefeed anew under a lock and decides on that; whatever was checked before it is guarded by the
row's revision.
"""

import time
from typing import Final

import anyio.to_thread
import msgspec
from sqlalchemy import Connection

from app.changefeeds import removal, validation
from app.changefeeds.changes import Change
from app.changefeeds.record import Changefeed, State
from app.changefeeds.repository import ChangefeedRepository
from app.context import Context
from app.errors import ChangefeedNotExists, InvalidParam, NotReady
from app.history.repository import Entry, HistoryRepository
from app.lifecycle import Event, Pause, Remove, Resume, decide
from app.replica_config.effect import Notice
from app.times import tso_of_rfc3339

_POLL_SECONDS: Final = 0.5


class Done(msgspec.Struct, frozen=True):
    """The changefeed after an operation, what there is to say about the request, and, of an update, what it changed."""

    feed: Changefeed
    warnings: list[Notice] = []
    changes: list[Change] | None = None


class Name(msgspec.Struct, frozen=True):
    """Which changefeed."""

    keyspace: str
    id: str


def find(context: Context, name: Name) -> Changefeed:
    """The changefeed; ``ChangefeedNotExists`` when there is none."""
    with context.database.read() as connection:
        return existing(context.feeds(connection), name)


def pause(context: Context, name: Name, who: str) -> Changefeed:
    """Orders it to stop; ``let_go`` waits until it has."""
    return order(context, name, Pause(), "pause", who)


def resume(context: Context, name: Name, overwrite_ts: int, who: str) -> Done:
    """Orders it to run again, from ``overwrite_ts`` when that is above 0."""
    now_ms = context.clock_ms()
    before = find(context, name)
    warnings = _check_overwrite(before, overwrite_ts, now_ms) if overwrite_ts else []
    detail = f"from checkpoint-ts {overwrite_ts}" if overwrite_ts else ""
    after = order(context, name, Resume(overwrite_ts), "rewind" if overwrite_ts else "resume", who, detail)
    return Done(after, warnings)


def _check_overwrite(feed: Changefeed, overwrite_ts: int, now_ms: int) -> list[Notice]:
    """``InvalidParam`` for a point outside the stream; a warning where something is passed over."""
    field = "overwrite_checkpoint_ts"
    validation.check_meant(overwrite_ts, field, now_ms)
    validation.check_not_future(overwrite_ts, field, now_ms)
    if overwrite_ts < feed.start_ts:
        raise InvalidParam(
            f"{field} {overwrite_ts} is before the changefeed's start_ts {feed.start_ts}, outside its stream; remove"
            " the changefeed and create it anew to begin earlier"
        )
    if feed.target_ts and overwrite_ts >= feed.target_ts:
        raise InvalidParam(
            f"{field} {overwrite_ts} is not below target_ts {feed.target_ts}: nothing would be left to do"
        )
    if overwrite_ts > feed.checkpoint_ts:
        return [Notice(field, f"is above the checkpoint {feed.checkpoint_ts}: what lies between is not delivered")]
    return []


def remove(context: Context, name: Name, who: str) -> Changefeed | None:
    """Orders it to stop and be deleted; None when there is none. ``let_go``, then ``forget``."""
    try:
        return order(context, name, Remove(), "remove", who)
    except ChangefeedNotExists:
        with context.database.read() as connection:
            return context.feeds(connection).by_name(name.keyspace, name.id)


def forget(context: Context, uid: int) -> None:
    """Deletes a removed changefeed that nobody runs any more."""
    with context.database.write() as connection:
        feed = context.feeds(connection).by_uid(uid, lock=True)
        removal.forget(context, connection, feed, context.clock_ms())


async def let_go(context: Context, feed: Changefeed) -> None:
    """Waits until the capture that ran it has stopped it or lost its lease; ``NotReady`` when that takes too long.

    Waits outside the threads that serve requests: heartbeats must get through meanwhile.
    """
    deadline = time.monotonic() + context.stop_seconds
    while await anyio.to_thread.run_sync(_is_held, context, feed):
        if time.monotonic() > deadline:
            raise NotReady(
                f"changefeed {feed.name} is {feed.state}, but capture {feed.capture_id} has not let go of it within"
                f" {context.stop_seconds:g} s; ask again later",
                code="CDC:ErrChangeFeedDeletionUnfinished" if feed.state is State.REMOVED else None,
            )
        await context.waiters.wait(feed.uid, _POLL_SECONDS)


def _is_held(context: Context, feed: Changefeed) -> bool:
    if not feed.capture_id:
        return False
    with context.database.read() as connection:
        return context.feeds(connection).holder(feed.uid) == (feed.capture_id, feed.epoch)


def order(context: Context, name: Name, event: Event, what: str, who: str, detail: str = "") -> Changefeed:
    """Lets the lifecycle decide about the order, and stores it with a line of history."""
    now_ms = context.clock_ms()
    with context.database.write() as connection:
        feeds = context.feeds(connection)
        before = existing(feeds, name, lock=True)
        after = feeds.save(before, decide(before, event, now_ms=now_ms))
        remember(connection, before, after, what, who, now_ms, detail)
    context.wake.set()
    return after


def remember(
    connection: Connection, before: Changefeed | None, after: Changefeed, what: str, who: str, now_ms: int, detail: str
) -> None:
    """Puts one line into the history."""
    entry = Entry(
        time_ms=now_ms,
        who=who,
        what=what,
        from_state=before.state if before else "",
        to_state=after.state,
        detail=detail,
        error=after.error,
    )
    HistoryRepository(connection).add(after, entry)


def existing(feeds: ChangefeedRepository, name: Name, *, lock: bool = False) -> Changefeed:
    """The changefeed within a transaction; ``ChangefeedNotExists`` when there is none."""
    feed = feeds.by_name(name.keyspace, name.id, lock=lock)
    if feed is None or feed.state is State.REMOVED:
        raise ChangefeedNotExists(name.id)
    return feed


def ts_of(ts: int, time_text: str, what: str, now_ms: int) -> int:
    """``start_ts`` or ``start_time``, as a TSO that can be meant; 0 when neither is given."""
    if time_text:
        if ts:
            raise InvalidParam(f"give {what}_ts or {what}_time, not both")
        ts = tso_of_rfc3339(time_text, f"{what}_time")
    if what == "target":
        validation.check_target(ts)
    validation.check_meant(ts, f"{what}_ts", now_ms)
    return ts
