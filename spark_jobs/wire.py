"""What the control plane and the captures say to each other, as JSON over HTTP.

    POST /internal/v1/captures             Registration → RegistrationReply
    POST /internal/v1/captures/{id}/beat   Heartbeat    → HeartbeatReply
    DELETE /internal/v1/captures/{id}      a capture that ends in good order

Every call carries ``Authorization: Bearer <WEIR_CAPTURE_TOKEN>`` when one is set. The reply to a heartbeat is the whole
list of what this capture should run: it starts what is new, stops what is not listed or has another epoch, and reports
``stopped`` once for each that it stopped. A lease not renewed in time ends: the capture stops everything by itself and
registers anew. This module is imported by both halves and knows neither.
"""

from enum import StrEnum

import msgspec

INTERNAL_PREFIX = "/internal/v1/captures"


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """A capture introduces itself. ``capture_id`` is its own choice, new for each process."""

    capture_id: str
    address: str
    pid: int
    version: str
    spark_master: str = ""
    spark_version: str = ""
    spark_application_id: str = ""
    spark_ui_url: str = ""


class RegistrationReply(msgspec.Struct, frozen=True, kw_only=True):
    """``lease_seconds`` counts from the moment the capture *sent* the call that this answers."""

    lease_seconds: float
    heartbeat_seconds: float


class Phase(StrEnum):
    """What a capture says about a changefeed that it hosts."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"
    FINISHED = "finished"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Why a changefeed stopped. ``stage`` names the step; ``retryable``: trying again may help."""

    code: str
    message: str
    time_ms: int
    retryable: bool
    stage: str = ""


class TableProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Delivered so far, per table; counts are totals since the changefeed began."""

    schema: str
    table: str
    version: int
    rows: int
    bytes: int
    last_commit_ts: int


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Totals since the changefeed began; ``held_rows`` is what waits now for a watermark."""

    repeats_dropped: int = 0
    late_rows: int = 0
    dead_letters: int = 0
    held_rows: int = 0
    ddl_unparsed: int = 0


class FeedReport(msgspec.Struct, frozen=True, kw_only=True):
    """One changefeed's state in a heartbeat. ``source_position`` is JSON text. ``logs``: lines new since the last beat.

    ``tables`` is None when nothing changed since the last beat that was answered.
    """

    changefeed_id: str
    epoch: int
    phase: Phase
    checkpoint_ts: int = 0
    resolved_ts: int = 0
    resolved_ts_estimated: bool = False
    batch_id: int = -1
    source_position: str = ""
    rows_total: int = 0
    bytes_total: int = 0
    updated_at_ms: int = 0
    counters: Counters = Counters()
    tables: list[TableProgress] | None = None
    fault: Fault | None = None
    logs: list[str] = []


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """About once a second. ``draining``: the capture is about to end and takes nothing new."""

    capture_id: str
    feeds: list[FeedReport]
    draining: bool = False


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A changefeed that this capture should run under this epoch.

    ``epoch`` grows with every assignment; ``feed_uid`` (milliseconds of its creation) tells one life of the id from the
    next. ``replica_config`` is the whole effective tree as JSON. ``start_position``:
    what the source's ``start`` resolved to when the changefeed was created (JSON text, "" to resolve now).
    ``rewind_ts``: deliver again everything above this TSO (an operator's overwrite_checkpoint_ts), 0 = no;
    ``rewind_id`` tells one order to rewind from the next. ``uris`` come with their secrets.
    """

    changefeed_id: str
    epoch: int
    feed_uid: int = 0
    source_uri: str
    sink_uri: str
    replica_config: msgspec.Raw = msgspec.Raw(b"{}")
    start_ts: int = 0
    target_ts: int = 0
    start_position: str = ""
    rewind_ts: int = 0
    rewind_id: int = 0
    checkpoint_root: str = ""
    time_zone: str = "UTC"


class HeartbeatReply(msgspec.Struct, frozen=True, kw_only=True):
    """``known`` is False when the control plane does not know the capture any more: register again."""

    known: bool
    lease_seconds: float
    assignments: list[Assignment] = []
