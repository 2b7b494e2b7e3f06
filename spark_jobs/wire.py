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
CAN_SKIP = "skip"
CAN_RETRY = "dead-letter-retry"


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """A capture introduces itself. ``capture_id`` is its own choice, new for each process. ``abilities``: which orders
    of an ``Assignment`` it carries out (``CAN_SKIP``, ``CAN_RETRY``)."""

    capture_id: str
    address: str
    pid: int
    version: str
    spark_master: str = ""
    spark_version: str = ""
    spark_application_id: str = ""
    spark_ui_url: str = ""
    abilities: list[str] = []


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


class DdlEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A statement that was delivered, or not. ``outcome``: ``delivered``, ``filtered``, ``skipped``, ``unparsed``.

    ``commit_ts``: where in the stream; ``time_ms``: when it was delivered; ``position``: JSON text, where it was read.
    """

    commit_ts: int
    schema: str
    table: str
    query: str
    kind: str = ""
    outcome: str = "delivered"
    time_ms: int = 0
    position: str = ""


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a changefeed's log. ``level``: debug, info, warning, error. ``kind``: batch, ddl, retry or log."""

    text: str
    level: str = "info"
    kind: str = "log"
    time_ms: int = 0


class Skip(msgspec.Struct, frozen=True, kw_only=True):
    """One message that is not to be delivered, at the place that an error named (a topic or a file, and an offset), or,
    with ``commit_ts``, one DDL statement. A place that is not met does nothing."""

    stream: str = ""
    partition: int = 0
    offset: int = -1
    commit_ts: int = 0


class DeadLetterRetry(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters to be decoded and delivered again: those of file ``file`` in the changefeed's ``_dead_letter``
    folder, all of them or one ``line`` (from 0). ``retry_id`` tells one order from the next: the commit log remembers
    the greatest that is done, so that each order is carried out once."""

    retry_id: int
    file: str
    line: int = -1


class FeedReport(msgspec.Struct, frozen=True, kw_only=True):
    """One changefeed's state in a heartbeat. ``source_position`` is JSON text. ``logs``: lines new since the last beat.

    ``tables`` is None when nothing changed since the last beat that was answered.

    ``stage``: where it is now: ``source`` (waiting for the source to answer), ``decode``, ``hold-back`` (rows wait for
    watermarks), ``sink``; "" not told. ``idle``: everything that the source has is delivered. ``waiting_for``: what it
    waits for, in words ("a watermark of orders/3"). ``since_ms``: since when nothing has moved in this stage.
    ``lag_messages``: messages not read yet, by ``topic/partition``. ``lines``: as ``logs``, with level and kind.
    ``ddl``: statements since the last beat that was answered. ``retried``: the greatest ``retry_id`` that is done.
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
    stage: str = ""
    idle: bool = False
    waiting_for: str = ""
    since_ms: int = 0
    lag_messages: dict[str, int] = {}
    lines: list[LogLine] = []
    ddl: list[DdlEvent] = []
    retried: int = 0


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
    ``rewind_id`` tells one order to rewind from the next. ``uris`` come with their secrets. ``skips``: messages and
    statements that are not to be delivered; ``retries``: dead letters to deliver.
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
    skips: list[Skip] = []
    retries: list[DeadLetterRetry] = []


class HeartbeatReply(msgspec.Struct, frozen=True, kw_only=True):
    """``known`` is False when the control plane does not know the capture any more: register again."""

    known: bool
    lease_seconds: float
    assignments: list[Assignment] = []
