"""How a changefeed comes to be: read, check outside any transaction, then one short write."""

from msgspec.structs import replace

from app import TICDC_VERSION
from app.changefeeds import notices, validation
from app.changefeeds.folders_taken import require_other_folder, require_own_folder
from app.changefeeds.operations import Done, Name, remember, ts_of
from app.changefeeds.record import Changefeed, Job, Signs, State
from app.changefeeds.repository import ChangefeedRepository
from app.changefeeds.schemas import CreateRequest
from app.context import Context
from app.errors import ChangefeedAlreadyExists, InvalidParam, TargetBeforeStart, UpstreamNotExists
from app.replica_config.effect import Notice
from app.upstreams.repository import Upstream, UpstreamRepository
from spark_jobs.sinks import SinkSpec
from spark_jobs.uris import masked


def create(context: Context, name: Name, order: CreateRequest, who: str, *, dry_run: bool = False) -> Done:
    """Checks everything and stores the changefeed, unless ``dry_run``."""
    now_ms = context.clock_ms()
    sink_uri, upstream_name = validation.split_upstream(order.sink_uri)
    with context.database.read() as connection:
        _require_free(context.feeds(connection), name)
        source_uri, upstream_id = source_of(
            context, UpstreamRepository(connection, context.seal), order.source_uri, order.upstream_id, upstream_name
        )
    start_ts = ts_of(order.start_ts, order.start_time, "start", now_ms)
    target_ts = ts_of(order.target_ts, order.target_time, "target", now_ms)
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
        description=order.description,
        labels=order.labels,
        signs=Signs(free_ms=now_ms),
    )
    warnings = notices.of_pd(order) + _of_names(order, name)
    warnings += [
        Notice(field, f"{ts} is a TSO of the year {1970 + (ts >> 18) // 31_556_952_000}; is that meant?")
        for field, ts in (("start_ts", start_ts), ("target_ts", target_ts))
        if validation.is_early(ts)
    ]
    warnings += notices.notices(source_uri, sink_uri, validation.tree(order.replica_config), start_ts=start_ts)
    validation.reach_source(source)
    validation.check_apart(source, sink)
    seen_uid = require_own_folder(context, feed, sink)
    validation.reach_sink(sink, feed.wire_id)
    if dry_run:
        return Done(feed, warnings)
    feed = replace(feed, start_position=validation.resolve(source, start_ts))
    return Done(_store(context, feed, sink, seen_uid, who), warnings)


def _of_names(order: CreateRequest, name: Name) -> list[Notice]:
    given = [("keyspace", order.keyspace), ("namespace", order.namespace)]
    return [
        Notice(key, f"{value!r} has no effect: the query's {name.keyspace!r} wins")
        for key, value in given
        if value and value != name.keyspace
    ]


def _store(context: Context, feed: Changefeed, sink: SinkSpec, seen_uid: int, who: str) -> Changefeed:
    """``seen_uid``: the last of the changefeeds whose folders were compared; what was made since is compared here."""
    with context.database.write_definitions() as connection:
        feeds = context.feeds(connection)
        _require_free(feeds, Name(feed.keyspace, feed.name))
        require_other_folder(feeds.made_after(seen_uid), feed, sink, context)
        if feed.upstream_id and UpstreamRepository(connection, context.seal).get(feed.upstream_id) is None:
            raise UpstreamNotExists(str(feed.upstream_id))
        feed = feeds.add(feed)
        detail = f"{masked(feed.source_uri)} → {masked(feed.sink_uri)}"
        remember(connection, None, feed, "create", who, feed.created_ms, detail)
    context.wake.set()
    return feed


def _require_free(feeds: ChangefeedRepository, name: Name) -> None:
    if feeds.by_name(name.keyspace, name.id) is not None:
        raise ChangefeedAlreadyExists(name.id)


def source_of(
    context: Context, upstreams: UpstreamRepository, source_uri: str, upstream_id: int, upstream_name: str
) -> tuple[str, int]:
    """The source URI and the upstream's id (0: none), in the order of the contract."""
    if source_uri and (upstream_id or upstream_name):
        raise InvalidParam("give source_uri or an upstream, not both")
    if source_uri:
        return source_uri, 0
    upstream: Upstream | None
    if upstream_id:
        upstream = upstreams.get(upstream_id)
        if upstream is None:
            raise UpstreamNotExists(str(upstream_id))
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
