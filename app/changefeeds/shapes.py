"""Replies about changefeeds: TiCDC's names and shapes, and Weir's additions (contract, point 2).

``*_ts`` are TSOs, whole JSON numbers up to 2^64-1. ``checkpoint_time`` has no zone (it is UTC) and three digits;
``create_time`` and an error's ``time`` are RFC 3339. A time that is not known is null; in TiCDC's own objects it is
left out, because Go reads no null there.
"""

from typing import Literal

from pydantic import BaseModel, Field, JsonValue

from app.replica_config import ReplicaConfig

StateName = Literal["normal", "warning", "failed", "stopped", "finished", "removed"]


class TaskStatus(BaseModel):
    """Which capture runs it, and tables by number: none have numbers here."""

    capture_id: str
    table_ids: list[int] = []


class ErrorReply(BaseModel):
    """Why the changefeed is in that state."""

    time: str
    addr: str
    code: str
    message: str


class NoticeReply(BaseModel):
    """Something in a request that was clamped, adjusted or has no effect here."""

    key: str = Field(description="of the body, dotted; of a URI: sink_uri.PARAMETER")
    message: str


class WarningsReply(BaseModel):
    """What there is to say about the request."""

    warnings: list[NoticeReply]


class ChangeReply(BaseModel):
    """One thing that an update changed. Secrets are masked; null: there was, or is, nothing."""

    key: str
    before: JsonValue
    after: JsonValue


class ConditionReply(BaseModel):
    """Something that is not well at this moment. It goes by itself when its cause goes."""

    code: str
    message: str
    stage: str = Field(description="source, decode, hold-back, sink, no capture; empty: not told")
    since: str | None
    next_retry: str | None = Field(description="when it is tried again; null: nothing is being retried")
    attempts: int


class ChangefeedItem(BaseModel):
    """One changefeed in a list. ``checkpoint_time`` is left out while there is no checkpoint: Go reads no null
    there."""

    upstream_id: int
    keyspace: str
    namespace: str
    id: str
    state: StateName
    checkpoint_tso: int
    checkpoint_time: str | None = None
    error: ErrorReply | None
    description: str
    labels: dict[str, str]
    lag_seconds: float | None


class ChangefeedList(BaseModel):
    total: int
    items: list[ChangefeedItem]


class ChangefeedInfo(BaseModel):
    """A changefeed in full. Fields without a value are left out."""

    upstream_id: int | None = None
    id: str
    keyspace: str
    namespace: str
    description: str | None = None
    labels: dict[str, str] | None = None
    source_uri: str
    sink_uri: str
    create_time: str
    start_ts: int | None = None
    target_ts: int | None = None
    admin_job_type: int | None = None
    config: ReplicaConfig
    state: StateName
    error: ErrorReply | None = None
    conditions: list[ConditionReply] | None = None
    creator_version: str | None = None
    resolved_ts: int
    checkpoint_ts: int
    checkpoint_time: str | None = None
    source_position: str
    lag_seconds: float | None = None
    idle: bool | None = None
    capture_id: str | None = None
    task_status: list[TaskStatus] | None = None
    epoch: int


class ChangefeedReply(ChangefeedInfo):
    """The changefeed as it is now, or would be (dry_run), and what there is to say about the request."""

    warnings: list[NoticeReply]
    changes: list[ChangeReply] | None = None


class ChangefeedStatus(BaseModel):
    """``conditions``: everything that is not well, the most important first."""

    state: StateName
    resolved_ts: int
    checkpoint_ts: int
    last_error: ErrorReply | None = None
    last_warning: ErrorReply | None = None
    conditions: list[ConditionReply]
    idle: bool
    stage: str = Field(description="what the pipeline does now: source, decode, hold-back, sink; empty: not told")


class CheckpointReply(BaseModel):
    """``resolved_ts_estimated``: the source has no watermarks, so rows below resolved_ts may still come."""

    checkpoint_ts: int
    checkpoint_time: str | None
    resolved_ts: int
    resolved_ts_estimated: bool
    lag_seconds: float | None
    batch_id: int
    epoch: int
    source_position: str
    rows_total: int
    bytes_total: int
    updated_at: str | None


class TableReply(BaseModel):
    """What has been delivered of one table."""

    schema_: str = Field(alias="schema")
    table: str
    version: int
    rows: int
    bytes: int
    last_commit_ts: int
    last_commit_time: str | None


class ProgressReply(BaseModel):
    """``held_rows``: waiting for a watermark now. The other counts are totals since the changefeed began."""

    tables: list[TableReply]
    repeats_dropped: int
    late_rows: int
    dead_letters: int
    held_rows: int
    ddl_unparsed: int
    lag_messages: dict[str, int] = Field(description="messages not read yet, by topic/partition")


class LogItem(BaseModel):
    """``kind``: batch, ddl, retry or log."""

    time: str | None
    level: str
    kind: str
    text: str


class LogsReply(BaseModel):
    """The last lines, the oldest first: the text alone, and with time, level and kind."""

    lines: list[str]
    items: list[LogItem]


class StatementItem(BaseModel):
    """``outcome``: delivered, filtered, skipped, unparsed."""

    time: str | None
    commit_ts: int
    commit_time: str | None
    schema_: str = Field(alias="schema")
    table: str
    kind: str
    query: str
    outcome: str
    position: str


class StatementsReply(BaseModel):
    """The oldest first."""

    total: int
    items: list[StatementItem]


class HistoryItem(BaseModel):
    time: str
    who: str
    what: str
    from_state: str
    to_state: str
    detail: str
    error: ErrorReply | None


class HistoryReply(BaseModel):
    """The oldest first."""

    total: int
    items: list[HistoryItem]


class SyncedReply(BaseModel):
    """The four times are dates without a zone, in spite of their names; one that is not known is left out."""

    synced: bool
    sink_checkpoint_ts: str | None = None
    puller_resolved_ts: str | None = None
    last_synced_ts: str | None = None
    now_ts: str
    info: str


class TableName(BaseModel):
    """``table_id`` is always 0: tables have no numbers in a stream."""

    database_name: str
    table_name: str
    table_id: int = 0
    is_partition: bool = False


class Tables(BaseModel):
    """Empty lists are left out. ``all_tables``: those that were seen; ``eligible_tables``: those that are selected."""

    ineligible_tables: list[TableName] | None = None
    eligible_tables: list[TableName] | None = None
    all_tables: list[TableName] | None = None


class NodeItem(BaseModel):
    node_id: str
    table_ids: list[int] = []


class NodeTables(BaseModel):
    """A changefeed has all its tables on one capture."""

    total: int
    items: list[NodeItem]


class Count(BaseModel):
    count: int


class DeadLetterItem(BaseModel):
    """A message that could not be decoded, and where it stood. ``retry``: empty, ordered or done."""

    id: str
    stream: str
    partition: int
    offset: int
    reason: str
    bytes: int
    retry: Literal["", "ordered", "done"]


class DeadLetterList(BaseModel):
    """``total`` counts all of them, whatever ``limit``."""

    total: int
    items: list[DeadLetterItem]


class DeadLetterReply(DeadLetterItem):
    """``message_text`` is null where the bytes are no UTF-8."""

    message_base64: str
    message_text: str | None


class RetryReply(BaseModel):
    retry_id: int


class SkipItem(BaseModel):
    stream: str
    partition: int
    offset: int
    commit_ts: int


class SkipList(BaseModel):
    """What is not to be delivered."""

    total: int
    items: list[SkipItem]
