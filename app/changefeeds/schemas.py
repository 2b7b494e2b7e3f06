"""Requests and replies about changefeeds: TiCDC's names and shapes, and Weir's additions (contract, point 2).

``*_ts`` are TSOs, whole JSON numbers up to 2^64-1. ``checkpoint_time`` has no zone (it is UTC) and three digits;
``create_time`` and an error's ``time`` are RFC 3339.
"""

from typing import Annotated

from pydantic import BaseModel, Field, WithJsonSchema

from app.replica_config import ReplicaConfig
from app.replica_config.go import Bool, GoModel, Uint

Id = Annotated[
    int,
    Field(strict=True, ge=0, le=(1 << 63) - 1),
    WithJsonSchema({"type": "integer", "format": "int64", "minimum": 0}),
]


class CreateRequest(GoModel):
    """``source_uri``, or ``upstream_id``, or neither for the default upstream. ``start_ts`` 0: the source decides."""

    keyspace: str = ""
    namespace: str = ""
    changefeed_id: str = ""
    source_uri: str = ""
    upstream_id: Id = 0
    sink_uri: str = ""
    start_ts: Uint = 0
    start_time: str = Field(default="", description="RFC 3339, instead of start_ts")
    target_ts: Uint = 0
    target_time: str = Field(default="", description="RFC 3339, instead of target_ts")
    replica_config: ReplicaConfig = ReplicaConfig()
    paused: Bool = Field(default=False, description="create it in state stopped")


class UpdateRequest(GoModel):
    """What is left out, or empty, stays. ``replica_config`` is laid over the defaults; a masked value means "keep"."""

    source_uri: str = ""
    sink_uri: str = ""
    start_ts: Uint = 0
    start_time: str = ""
    target_ts: Uint = 0
    target_time: str = ""
    replica_config: ReplicaConfig | None = None


class ResumeRequest(GoModel):
    """``overwrite_checkpoint_ts`` > 0: deliver again everything above that TSO."""

    overwrite_checkpoint_ts: Uint = 0


class VerifyTableRequest(GoModel):
    replica_config: ReplicaConfig = ReplicaConfig()
    start_ts: Uint = 0
    sink_uri: str = ""


class ErrorReply(BaseModel):
    """Why the changefeed is in that state."""

    time: str
    addr: str
    code: str
    message: str


class ChangefeedItem(BaseModel):
    """One changefeed in a list."""

    upstream_id: int
    keyspace: str
    namespace: str
    id: str
    state: str
    checkpoint_tso: int
    checkpoint_time: str
    error: ErrorReply | None


class ChangefeedList(BaseModel):
    total: int
    items: list[ChangefeedItem]


class ChangefeedInfo(BaseModel):
    """A changefeed in full. Fields without a value are left out."""

    upstream_id: int | None = None
    id: str
    keyspace: str
    namespace: str
    source_uri: str
    sink_uri: str
    create_time: str
    start_ts: int | None = None
    target_ts: int | None = None
    admin_job_type: int | None = None
    config: ReplicaConfig
    state: str
    error: ErrorReply | None = None
    creator_version: str | None = None
    resolved_ts: int
    checkpoint_ts: int
    checkpoint_time: str
    source_position: str
    lag_seconds: float | None = None
    capture_id: str | None = None
    epoch: int


class ChangefeedStatus(BaseModel):
    state: str
    resolved_ts: int
    checkpoint_ts: int
    last_error: ErrorReply | None = None
    last_warning: ErrorReply | None = None


class CheckpointReply(BaseModel):
    """``resolved_ts_estimated``: the source has no watermarks, so rows below resolved_ts may still come."""

    checkpoint_ts: int
    checkpoint_time: str
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
    last_commit_time: str


class ProgressReply(BaseModel):
    """``held_rows``: waiting for a watermark now. The other counts are totals since the changefeed began."""

    tables: list[TableReply]
    repeats_dropped: int
    late_rows: int
    dead_letters: int
    held_rows: int
    ddl_unparsed: int


class LogsReply(BaseModel):
    """The last lines, the oldest first."""

    lines: list[str]


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
    """The four times are dates without a zone, in spite of their names."""

    synced: bool
    sink_checkpoint_ts: str
    puller_resolved_ts: str
    last_synced_ts: str
    now_ts: str
    info: str


class TableName(BaseModel):
    database_name: str
    table_name: str
    table_id: int
    is_partition: bool


class Tables(BaseModel):
    """Empty lists are left out. Weir learns of tables from the stream, so all are left out here."""

    ineligible_tables: list[TableName] | None = None
    eligible_tables: list[TableName] | None = None
    all_tables: list[TableName] | None = None
