"""A changefeed as the replies show it: secrets masked, errors only where the state has one."""

import msgspec

from app import times
from app.changefeeds.record import JOB_NUMBERS, Changefeed, RunningError, State
from app.changefeeds.schemas import (
    ChangefeedInfo,
    ChangefeedItem,
    ChangefeedStatus,
    CheckpointReply,
    ErrorReply,
    HistoryItem,
    ProgressReply,
    SyncedReply,
    TableReply,
)
from app.history.repository import Entry
from app.masking import masked_tree
from app.replica_config import ReplicaConfig
from spark_jobs.cdc import tso
from spark_jobs.uris import masked
from spark_jobs.wire import TableProgress

_SHOWS_ERROR = frozenset({State.WARNING, State.FAILED})


def error(found: RunningError | None) -> ErrorReply | None:
    """The error, with TiCDC's bracketed code in its text."""
    if found is None:
        return None
    text = found.message if found.code in found.message else f"[{found.code}]{found.message}"
    return ErrorReply(time=times.rfc3339(found.time_ms), addr=found.addr, code=found.code, message=text)


def item(feed: Changefeed) -> ChangefeedItem:
    return ChangefeedItem(
        upstream_id=feed.upstream_id,
        keyspace=feed.keyspace,
        namespace=feed.keyspace,
        id=feed.name,
        state=feed.state,
        checkpoint_tso=feed.checkpoint_ts,
        checkpoint_time=times.json_time_of(feed.checkpoint_ts),
        error=error(feed.error) if feed.state in _SHOWS_ERROR else None,
    )


def info(feed: Changefeed, now_ms: int) -> ChangefeedInfo:
    return ChangefeedInfo(
        upstream_id=feed.upstream_id or None,
        id=feed.name,
        keyspace=feed.keyspace,
        namespace=feed.keyspace,
        source_uri=masked(feed.source_uri),
        sink_uri=masked(feed.sink_uri),
        create_time=times.rfc3339(feed.created_ms),
        start_ts=feed.start_ts or None,
        target_ts=feed.target_ts or None,
        admin_job_type=JOB_NUMBERS[feed.job] or None,
        config=ReplicaConfig.model_validate(masked_tree(msgspec.json.decode(feed.replica_config))),
        state=feed.state,
        error=error(feed.error) if feed.state in _SHOWS_ERROR else None,
        creator_version=feed.creator_version or None,
        resolved_ts=feed.resolved_ts,
        checkpoint_ts=feed.checkpoint_ts,
        checkpoint_time=times.json_time_of(feed.checkpoint_ts),
        source_position=feed.source_position or feed.start_position,
        lag_seconds=times.lag_seconds(feed.checkpoint_ts, now_ms),
        capture_id=feed.capture_id or None,
        epoch=feed.epoch,
    )


def status(feed: Changefeed, now_ms: int) -> ChangefeedStatus:
    """An error is shown while the checkpoint has not gone past its time (one in the future tells nothing of that)."""
    passed = feed.error and feed.error.time_ms <= tso.physical_ms(feed.checkpoint_ts) <= now_ms
    shown = None if passed else feed.error
    return ChangefeedStatus(
        state=feed.state,
        resolved_ts=feed.resolved_ts,
        checkpoint_ts=feed.checkpoint_ts,
        last_error=error(shown) if feed.state is State.FAILED else None,
        last_warning=error(shown) if feed.state is State.WARNING else None,
    )


def checkpoint(feed: Changefeed, now_ms: int) -> CheckpointReply:
    return CheckpointReply(
        checkpoint_ts=feed.checkpoint_ts,
        checkpoint_time=times.json_time_of(feed.checkpoint_ts),
        resolved_ts=feed.resolved_ts,
        resolved_ts_estimated=feed.resolved_ts_estimated,
        lag_seconds=times.lag_seconds(feed.checkpoint_ts, now_ms),
        batch_id=feed.batch_id,
        epoch=feed.epoch,
        source_position=feed.source_position or feed.start_position,
        rows_total=feed.rows_total,
        bytes_total=feed.bytes_total,
        updated_at=times.rfc3339(feed.updated_ms) if feed.updated_ms else None,
    )


def progress(feed: Changefeed, tables: list[TableProgress]) -> ProgressReply:
    shown = [
        TableReply(**msgspec.structs.asdict(table), last_commit_time=times.json_time_of(table.last_commit_ts))
        for table in tables
    ]
    return ProgressReply(tables=shown, **msgspec.structs.asdict(feed.counters))


def history_item(entry: Entry) -> HistoryItem:
    return HistoryItem(
        time=times.rfc3339(entry.time_ms),
        who=entry.who,
        what=entry.what,
        from_state=entry.from_state,
        to_state=entry.to_state,
        detail=entry.detail,
        error=error(entry.error),
    )


def synced(feed: Changefeed, tables: list[TableProgress], now_ms: int) -> SyncedReply:
    """TiCDC's rule: nothing new for a while, and the checkpoint close to now."""
    wait = ReplicaConfig.model_validate_json(feed.replica_config).synced_status
    check_ms, checkpoint_ms = wait.synced_check_interval * 1000, wait.checkpoint_interval * 1000
    if not check_ms or not checkpoint_ms:
        check_ms, checkpoint_ms = 300_000, 15_000
    last_ts = max((table.last_commit_ts for table in tables), default=0)
    quiet = now_ms - tso.physical_ms(last_ts) > check_ms
    close = now_ms - tso.physical_ms(feed.checkpoint_ts) < checkpoint_ms
    gap_ms = tso.physical_ms(feed.resolved_ts) - tso.physical_ms(feed.checkpoint_ts)
    return SyncedReply(
        synced=quiet and close,
        sink_checkpoint_ts=times.json_time_of(feed.checkpoint_ts),
        puller_resolved_ts=times.json_time_of(feed.resolved_ts),
        last_synced_ts=times.json_time_of(last_ts),
        now_ts=times.json_time(now_ms),
        info=_synced_info(quiet, close, gap_ms < checkpoint_ms),
    )


def _synced_info(quiet: bool, close: bool, caught_up: bool) -> str:
    if quiet and close:
        return "Data syncing is finished"
    if quiet and caught_up:
        return "Nothing new has come for a while; check that the source still sends"
    return "Data syncing is not finished, please wait"
