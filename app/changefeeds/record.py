"""A changefeed as the control plane knows it: a frozen value. No database, no HTTP."""

from enum import StrEnum
from typing import Final

import msgspec

from spark_jobs.wire import Counters, DeadLetterRetry, Skip

DEFAULT_KEYSPACE: Final = "default"


class State(StrEnum):
    """TiCDC's states. ``removed`` is only seen while a capture has not let go yet."""

    NORMAL = "normal"
    WARNING = "warning"
    FAILED = "failed"
    STOPPED = "stopped"
    FINISHED = "finished"
    REMOVED = "removed"


# The numbers that `ticdc_owner_status` shows.
STATE_NUMBERS: Final = {
    State.NORMAL: 0,
    State.FAILED: 2,
    State.STOPPED: 3,
    State.FINISHED: 4,
    State.REMOVED: 5,
    State.WARNING: 6,
}
RUNNING: Final = frozenset({State.NORMAL, State.WARNING})
UPDATABLE: Final = frozenset({State.STOPPED, State.FAILED})
RESUMABLE: Final = frozenset({State.STOPPED, State.FAILED, State.FINISHED})


class Job(StrEnum):
    """The last order of an operator; TiCDC shows its number as ``admin_job_type``."""

    NONE = "none"
    STOP = "stop"
    RESUME = "resume"
    REMOVE = "remove"
    FINISH = "finish"


JOB_NUMBERS: Final = {job: number for number, job in enumerate(Job)}


class RunningError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a changefeed is in ``warning`` or ``failed``. ``addr``: the capture's address."""

    time_ms: int
    addr: str
    code: str
    message: str
    stage: str = ""


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the backoff. All zero: nothing went wrong since the last healthy progress.

    ``attempts`` since ``since_ms``; not to be started before ``next_at_ms``. ``checkpoint_ts`` stood there at the
    error: going past it is progress. ``fences``: times in a row that another owner was met.
    """

    attempts: int = 0
    since_ms: int = 0
    next_at_ms: int = 0
    checkpoint_ts: int = 0
    fences: int = 0


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator ordered beside running it. Kept for good: whoever reads those positions again obeys again.

    ``retried``: the greatest ``retry_id`` that a capture has carried out.
    """

    skips: list[Skip] = []
    retries: list[DeadLetterRetry] = []
    retried: int = 0


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """What its capture says about how it goes, and since when. ``*_ms`` 0: unknown, or not so.

    ``phase``: "" (nothing heard under this epoch), starting, running. ``stage``, ``idle``, ``waiting_for``,
    ``since_ms``, ``lag_messages``: as in a ``FeedReport``. ``free_ms``: since when nobody runs it; ``resolved_ms``:
    when resolved-ts moved last; ``dead_ms``: when the dead letters grew last, ``dead_since_ms``: since when they grow.
    """

    phase: str = ""
    stage: str = ""
    idle: bool = False
    waiting_for: str = ""
    since_ms: int = 0
    lag_messages: dict[str, int] = {}
    free_ms: int = 0
    resolved_ms: int = 0
    dead_ms: int = 0
    dead_since_ms: int = 0


class Changefeed(msgspec.Struct, frozen=True, kw_only=True):
    """One row of ``changefeeds``. ``uid`` tells a removed changefeed from a later one of the same name.

    ``capture_id`` is who may run it under ``epoch``, "" for nobody; ``releasing_ms``: since when that capture is told
    to stop, 0 if it is not; ``wanted_capture``: who should run it next, "" for anybody. URIs and ``replica_config``
    (JSON text) are in the clear here, sealed in the database.
    """

    uid: int = 0
    revision: int = 0
    keyspace: str
    name: str
    upstream_id: int = 0
    source_uri: str
    sink_uri: str
    replica_config: str
    start_ts: int = 0
    target_ts: int = 0
    start_position: str = ""
    created_ms: int
    creator_version: str = ""
    state: State = State.NORMAL
    job: Job = Job.NONE
    error: RunningError | None = None
    retry: Retry = Retry()
    stuck_ms: int
    epoch: int = 0
    capture_id: str = ""
    releasing_ms: int = 0
    assigned_ms: int = 0
    rewind_ts: int = 0
    rewind_id: int = 0
    checkpoint_ts: int = 0
    resolved_ts: int = 0
    resolved_ts_estimated: bool = False
    batch_id: int = -1
    source_position: str = ""
    rows_total: int = 0
    bytes_total: int = 0
    updated_ms: int = 0
    counters: Counters = Counters()
    description: str = ""
    labels: dict[str, str] = {}
    signs: Signs = Signs()
    wanted_capture: str = ""
    orders: Orders = Orders()

    @property
    def wire_id(self) -> str:
        """The name that captures and sink folders know it by: unique over keyspaces (an id has no dot)."""
        return self.name if self.keyspace == DEFAULT_KEYSPACE else f"{self.keyspace}.{self.name}"

    @property
    def wants_to_run(self) -> bool:
        return self.state in RUNNING and not self.releasing_ms
