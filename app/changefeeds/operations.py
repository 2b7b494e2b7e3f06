"""What an operator can order. Each operation: read, check outside any transaction, then one short write.

A write reads its changefeed anew under a lock and decides on that; whatever was checked before it is guarded by the
row's revision.
"""

import time
from typing import Final

import anyio.to_thread
import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection

from app import TICDC_VERSION
from app.changefeeds import updates, validation
from app.changefeeds.record import Changefeed, Job, State
from app.changefeeds.repository import ChangefeedRepository
from app.changefeeds.schemas import CreateRequest, UpdateRequest
from app.context import Context
from app.errors import (
    ApiError,
    ChangefeedAlreadyExists,
    ChangefeedNotExists,
    InvalidParam,
    NotReady,
    TargetBeforeStart,
    UpstreamNotExists,
)
from app.history.repository import Entry, HistoryRepository
from app.lifecycle import Event, Pause, Remove, Resume, decide
from app.times import tso_of_rfc3339
from app.upstreams.repository import Upstream, UpstreamRepository
from spark_jobs.folders import overlap
from spark_jobs.sinks import SinkSpec
from spark_jobs.uris import masked

_POLL_SECONDS: Final = 0.5
_UPDATED: Final = ("target_ts", "source_uri", "sink_uri", "replica_config", "checkpoint_ts", "rewind_ts")


class Name(msgspec.Struct, frozen=True):
    """Which changefeed."""

    keyspace: str
    id: str


def find(context: Context, name: Name) -> Changefeed:
    """The changefeed; ``ChangefeedNotExists`` when there is none."""
    with context.database.read() as connection:
        return _existing(context.feeds(connection), name)


def create(context: Context, name: Name, order: CreateRequest, who: str, *, dry_run: bool = False) -> Changefeed:
    """Checks everything and stores the changefeed, unless ``dry_run``."""
    now_ms = context.clock_ms()
    sink_uri, upstream_name = validation.split_upstream(order.sink_uri)
    with context.database.read() as connection:
        _require_free(context.feeds(connection), name)
        source_uri, upstream_id = _source(context, UpstreamRepository(connection, context.seal), order, upstream_name)
    start_ts = _ts(order.start_ts, order.start_time, "start")
    target_ts = _ts(order.target_ts, order.target_time, "target")
    _check_range(start_ts, target_ts, now_ms)
    source = validation.source_of(source_uri, context.settings)
    _check_range(start_ts or source.start_ts, target_ts, now_ms)
    sink, config = validation.sink_of(sink_uri, order.replica_config, context.settings)
    feed = Changefeed(
        keyspace=name.keyspace,
        name=name.id,
        upstream_id=upstream_id,
        source_uri=source_uri,
        sink_uri=sink_uri,
        replica_config=validation.text(validation.tree(config)),
        start_ts=start_ts,
        target_ts=target_ts,
        created_ms=now_ms,
        creator_version=TICDC_VERSION,
        state=State.STOPPED if order.paused else State.NORMAL,
        job=Job.STOP if order.paused else Job.NONE,
        stuck_ms=config.changefeed_error_stuck_duration // 1_000_000,
        # Above every epoch of an earlier changefeed of this name, also one of a database that was lost.
        epoch=now_ms,
        checkpoint_ts=start_ts,
        resolved_ts=start_ts,
    )
    validation.reach_source(source)
    validation.check_apart(source, sink)
    seen_uid = _require_own_folder(context, feed, sink)
    validation.reach_sink(sink, feed.wire_id)
    if dry_run:
        return feed
    feed = replace(feed, start_position=validation.resolve(source, start_ts))
    return _store(context, feed, sink, seen_uid, who)


def pause(context: Context, name: Name, who: str) -> Changefeed:
    """Orders it to stop; ``let_go`` waits until it has."""
    return _order(context, name, Pause(), "pause", who)


def resume(context: Context, name: Name, overwrite_ts: int, who: str) -> Changefeed:
    """Orders it to run again, from ``overwrite_ts`` when that is above 0."""
    validation.check_not_future(overwrite_ts, "overwrite_checkpoint_ts", context.clock_ms())
    detail = f"from checkpoint-ts {overwrite_ts}" if overwrite_ts else ""
    return _order(context, name, Resume(overwrite_ts), "rewind" if overwrite_ts else "resume", who, detail)


def remove(context: Context, name: Name, who: str) -> Changefeed | None:
    """Orders it to stop and be deleted; None when there is none. ``let_go``, then ``forget``."""
    try:
        return _order(context, name, Remove(), "remove", who)
    except ChangefeedNotExists:
        with context.database.read() as connection:
            return context.feeds(connection).by_name(name.keyspace, name.id)


def forget(context: Context, uid: int) -> None:
    """Deletes a removed changefeed that nobody runs any more."""
    with context.database.write() as connection:
        feeds = context.feeds(connection)
        feed = feeds.by_uid(uid, lock=True)
        if feed is not None and feed.state is State.REMOVED and not feed.capture_id:
            feeds.delete(feed)


def update(context: Context, name: Name, order: UpdateRequest, who: str) -> Changefeed:
    """Changes the target, the sink, the configuration or the way of reading of a stopped or failed changefeed."""
    before = find(context, name)
    target_ts = _ts(order.target_ts, order.target_time, "target")
    made = updates.updated(before, order, target_ts, context.settings, context.clock_ms())
    if made.source is not None:
        validation.reach_source(made.source)
    if made.moved_to is not None:
        validation.check_apart(validation.source_of(made.after.source_uri, context.settings), made.moved_to)
        _require_own_folder(context, made.after, made.moved_to)
        validation.reach_sink(made.moved_to, before.wire_id)
    with context.database.write() as connection:
        saved = context.feeds(connection).save(before, made.after)
        changed = [field for field in _UPDATED if getattr(before, field) != getattr(saved, field)]
        _remember(
            connection, before, saved, "update", who, context.clock_ms(), "changed: " + (", ".join(changed) or "-")
        )
    return saved


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


def _order(context: Context, name: Name, event: Event, what: str, who: str, detail: str = "") -> Changefeed:
    now_ms = context.clock_ms()
    with context.database.write() as connection:
        feeds = context.feeds(connection)
        before = _existing(feeds, name, lock=True)
        after = feeds.save(before, decide(before, event, now_ms=now_ms))
        _remember(connection, before, after, what, who, now_ms, detail)
    context.wake.set()
    return after


def _store(context: Context, feed: Changefeed, sink: SinkSpec, seen_uid: int, who: str) -> Changefeed:
    """``seen_uid``: the last of the changefeeds whose folders were compared; what was made since is compared here."""
    with context.database.write_definitions() as connection:
        feeds = context.feeds(connection)
        _require_free(feeds, Name(feed.keyspace, feed.name))
        _require_other_folder(feeds.made_after(seen_uid), feed, sink, context)
        if feed.upstream_id and UpstreamRepository(connection, context.seal).get(feed.upstream_id) is None:
            raise UpstreamNotExists(str(feed.upstream_id))
        feed = feeds.add(feed)
        entry = Entry(
            time_ms=feed.created_ms,
            who=who,
            what="create",
            from_state="",
            to_state=feed.state,
            detail=f"{masked(feed.source_uri)} → {masked(feed.sink_uri)}",
        )
        HistoryRepository(connection).add(feed, entry)
    context.wake.set()
    return feed


def _remember(
    connection: Connection, before: Changefeed, after: Changefeed, what: str, who: str, now_ms: int, detail: str
) -> None:
    entry = Entry(
        time_ms=now_ms,
        who=who,
        what=what,
        from_state=before.state,
        to_state=after.state,
        detail=detail,
        error=after.error,
    )
    HistoryRepository(connection).add(after, entry)


def _existing(feeds: ChangefeedRepository, name: Name, *, lock: bool = False) -> Changefeed:
    feed = feeds.by_name(name.keyspace, name.id, lock=lock)
    if feed is None or feed.state is State.REMOVED:
        raise ChangefeedNotExists(name.id)
    return feed


def _require_free(feeds: ChangefeedRepository, name: Name) -> None:
    if feeds.by_name(name.keyspace, name.id) is not None:
        raise ChangefeedAlreadyExists(name.id)


def _source(
    context: Context, upstreams: UpstreamRepository, order: CreateRequest, upstream_name: str
) -> tuple[str, int]:
    """The source URI and the upstream's id (0: none), in the order of the contract."""
    if order.source_uri and (order.upstream_id or upstream_name):
        raise InvalidParam("give source_uri or an upstream, not both")
    if order.source_uri:
        return order.source_uri, 0
    upstream: Upstream | None
    if order.upstream_id:
        upstream = upstreams.get(order.upstream_id)
        if upstream is None:
            raise UpstreamNotExists(str(order.upstream_id))
    elif upstream_name:
        upstream = upstreams.by_name(upstream_name)
        if upstream is None:
            raise UpstreamNotExists(repr(upstream_name))
    else:
        upstream = upstreams.default()
    if upstream is not None:
        return upstream.source_uri, upstream.id
    if context.settings.default_source_uri:
        return context.settings.default_source_uri, 0
    raise InvalidParam("no source: give source_uri or upstream_id, or set WEIR_DEFAULT_SOURCE_URI")


def _check_range(start_ts: int, target_ts: int, now_ms: int) -> None:
    validation.check_not_future(start_ts, "start_ts", now_ms)
    validation.check_target(target_ts)
    if target_ts and target_ts <= start_ts:
        raise TargetBeforeStart(f"target_ts {target_ts} must be above start_ts {start_ts}")


def _ts(ts: int, time_text: str, what: str) -> int:
    if not time_text:
        return ts
    if ts:
        raise InvalidParam(f"give {what}_ts or {what}_time, not both")
    return tso_of_rfc3339(time_text, f"{what}_time")


def _require_own_folder(context: Context, feed: Changefeed, sink: SinkSpec) -> int:
    """Two changefeeds may share a folder only when the later one says adopt=true. The last uid that was compared."""
    with context.database.read() as connection:
        others = context.feeds(connection).made_after(0)
    _require_other_folder(others, feed, sink, context)
    return max((other.uid for other in others), default=0)


def _require_other_folder(others: list[Changefeed], feed: Changefeed, sink: SinkSpec, context: Context) -> None:
    path = getattr(sink, "path", "")
    if not path or sink.adopt:
        return
    for other in others:
        if other.uid == feed.uid or other.wire_id == feed.wire_id:
            continue
        theirs = updates.path_of(other, context.settings)
        if theirs and overlap(path, theirs):
            how = "is that" if path == theirs else f"overlaps {theirs}, that"
            raise ApiError(
                f"sink_uri: the folder {path} {how} of changefeed {other.name}; choose another, or add adopt=true",
                code="CDC:ErrSinkFolderNotEmpty",
            )
