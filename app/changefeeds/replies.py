"""A changefeed as the replies show it: secrets masked, errors only where the state has one."""

from typing import Any

import msgspec

from app import times
from app.changefeeds.conditions import Condition, Moment, conditions, lag_seconds, shown_error, shown_state
from app.changefeeds.operations import Done
from app.changefeeds.record import JOB_NUMBERS, Changefeed, RunningError, State
from app.changefeeds.shapes import (
    ChangefeedInfo,
    ChangefeedItem,
    ChangefeedReply,
    ChangefeedStatus,
    ChangeReply,
    CheckpointReply,
    ConditionReply,
    ErrorReply,
    HistoryItem,
    LogItem,
    NoticeReply,
    ProgressReply,
    StatementItem,
    SyncedReply,
    TableReply,
    TaskStatus,
    WarningsReply,
)
from app.history.repository import Entry
from app.masking import masked_text, masked_tree
from app.replica_config import ReplicaConfig
from spark_jobs.cdc import tso
from spark_jobs.uris import masked
from spark_jobs.wire import DdlEvent, LogLine, TableProgress

_SHOWS_ERROR = frozenset({State.WARNING, State.FAILED})


def error(found: RunningError | None) -> ErrorReply | None:
    """The error, with TiCDC's bracketed code in its text."""
    if found is None:
        return None
    text = found.message if found.code in found.message else f"[{found.code}]{found.message}"
    return ErrorReply(time=times.rfc3339(found.time_ms), addr=found.addr, code=found.code, message=text)


def item(feed: Changefeed, moment: Moment) -> ChangefeedItem:
    state = shown_state(feed, moment)
    known = {"checkpoint_time": times.json_time_of(feed.checkpoint_ts)} if feed.checkpoint_ts else {}
    return ChangefeedItem(
        upstream_id=feed.upstream_id,
        keyspace=feed.keyspace,
        namespace=feed.keyspace,
        id=feed.name,
        state=state.value,
        checkpoint_tso=feed.checkpoint_ts,
        error=error(shown_error(feed, moment)) if state in _SHOWS_ERROR else None,
        description=feed.description,
        labels=feed.labels,
        lag_seconds=lag_seconds(feed, feed.checkpoint_ts, moment.now_ms),
        **known,
    )


def info(feed: Changefeed, moment: Moment) -> ChangefeedInfo:
    return ChangefeedInfo(**_info(feed, moment))


def changed(done: Done, moment: Moment) -> ChangefeedReply:
    """The reply of a POST, PUT or PATCH."""
    shown = None if done.changes is None else [ChangeReply(**msgspec.structs.asdict(item)) for item in done.changes]
    return ChangefeedReply(**_info(done.feed, moment), warnings=warnings(done).warnings, changes=shown)


def warnings(done: Done) -> WarningsReply:
    """What there is to say about a request."""
    found = [NoticeReply(key=notice.key, message=masked_text(notice.message)) for notice in done.warnings]
    return WarningsReply(warnings=found)


def _info(feed: Changefeed, moment: Moment) -> dict[str, Any]:
    state = shown_state(feed, moment)
    found = conditions(feed, moment)
    return {
        "upstream_id": feed.upstream_id or None,
        "id": feed.name,
        "keyspace": feed.keyspace,
        "namespace": feed.keyspace,
        "description": feed.description or None,
        "labels": feed.labels or None,
        "source_uri": masked(feed.source_uri),
        "sink_uri": masked(feed.sink_uri),
        "create_time": times.rfc3339(feed.created_ms),
        "start_ts": feed.start_ts or None,
        "target_ts": feed.target_ts or None,
        "admin_job_type": JOB_NUMBERS[feed.job] or None,
        "config": ReplicaConfig.model_validate(masked_tree(msgspec.json.decode(feed.replica_config))),
        "state": state.value,
        "error": error(shown_error(feed, moment)) if state in _SHOWS_ERROR else None,
        "conditions": [_condition(one) for one in found] or None,
        "creator_version": feed.creator_version or None,
        "resolved_ts": feed.resolved_ts,
        "checkpoint_ts": feed.checkpoint_ts,
        "checkpoint_time": times.known_time_of(feed.checkpoint_ts),
        "source_position": feed.source_position or feed.start_position,
        "lag_seconds": lag_seconds(feed, feed.checkpoint_ts, moment.now_ms),
        "idle": feed.signs.idle or None,
        "capture_id": feed.capture_id or None,
        "task_status": [TaskStatus(capture_id=feed.capture_id)] if feed.capture_id else None,
        "epoch": feed.epoch,
    }


def _condition(found: Condition) -> ConditionReply:
    return ConditionReply(
        code=found.code,
        message=found.message,
        stage=found.stage,
        since=times.known_rfc3339(found.since_ms),
        next_retry=times.known_rfc3339(found.next_ms),
        attempts=found.attempts,
    )


def status(feed: Changefeed, moment: Moment) -> ChangefeedStatus:
    """A stored error is shown as TiCDC's while the checkpoint has not gone past its time (one in the future tells
    nothing of that); what is not well now is shown in any case."""
    state = shown_state(feed, moment)
    stored = feed.error
    passed = stored and stored.time_ms <= tso.physical_ms(feed.checkpoint_ts) <= moment.now_ms
    shown = None if passed else shown_error(feed, moment)
    return ChangefeedStatus(
        state=state.value,
        resolved_ts=feed.resolved_ts,
        checkpoint_ts=feed.checkpoint_ts,
        last_error=error(shown) if state is State.FAILED else None,
        last_warning=error(shown) if state is State.WARNING else None,
        conditions=[_condition(one) for one in conditions(feed, moment)],
        idle=feed.signs.idle,
        stage=feed.signs.stage,
    )


def checkpoint(feed: Changefeed, moment: Moment) -> CheckpointReply:
    return CheckpointReply(
        checkpoint_ts=feed.checkpoint_ts,
        checkpoint_time=times.known_time_of(feed.checkpoint_ts),
        resolved_ts=feed.resolved_ts,
        resolved_ts_estimated=feed.resolved_ts_estimated,
        lag_seconds=lag_seconds(feed, feed.checkpoint_ts, moment.now_ms),
        batch_id=feed.batch_id,
        epoch=feed.epoch,
        source_position=feed.source_position or feed.start_position,
        rows_total=feed.rows_total,
        bytes_total=feed.bytes_total,
        updated_at=times.known_rfc3339(feed.updated_ms),
    )


def progress(feed: Changefeed, tables: list[TableProgress]) -> ProgressReply:
    shown = [
        TableReply(**msgspec.structs.asdict(table), last_commit_time=times.known_time_of(table.last_commit_ts))
        for table in tables
    ]
    lag = feed.signs.lag_messages
    return ProgressReply(tables=shown, lag_messages=lag, **msgspec.structs.asdict(feed.counters))


def log_item(line: LogLine) -> LogItem:
    return LogItem(time=times.known_rfc3339(line.time_ms), level=line.level, kind=line.kind, text=line.text)


def statement(event: DdlEvent) -> StatementItem:
    shown: dict[str, Any] = {name: getattr(event, name) for name in DdlEvent.__struct_fields__ if name != "time_ms"}
    shown["time"] = times.known_rfc3339(event.time_ms)
    shown["commit_time"] = times.known_time_of(event.commit_ts)
    return StatementItem(**shown)


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
    close = feed.signs.idle or now_ms - tso.physical_ms(feed.checkpoint_ts) < checkpoint_ms
    gap_ms = tso.physical_ms(feed.resolved_ts) - tso.physical_ms(feed.checkpoint_ts)
    return SyncedReply(
        synced=quiet and close,
        sink_checkpoint_ts=times.known_time_of(feed.checkpoint_ts),
        puller_resolved_ts=times.known_time_of(feed.resolved_ts),
        last_synced_ts=times.known_time_of(last_ts),
        now_ts=times.json_time(now_ms),
        info=_synced_info(quiet, close, gap_ms < checkpoint_ms),
    )


def _synced_info(quiet: bool, close: bool, caught_up: bool) -> str:
    if quiet and close:
        return "Data syncing is finished"
    if quiet and caught_up:
        return "Nothing new has come for a while; check that the source still sends"
    return "Data syncing is not finished, please wait"
