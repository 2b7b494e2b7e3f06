"""The tree of ``replica_config``. Durations are nanoseconds. A request is laid over the defaults, object by object;
lists are replaced."""

from app.replica_config.go import Bool, Float, GoModel, Int, Nanoseconds, Uint
from app.replica_config.sink import Sink

_SECOND = 1_000_000_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE


class EventFilter(GoModel):
    matcher: list[str] = []
    ignore_event: list[str] = []
    ignore_sql: list[str] = []
    ignore_insert_value_expr: str = ""
    ignore_update_new_value_expr: str = ""
    ignore_update_old_value_expr: str = ""
    ignore_delete_value_expr: str = ""
    ignore_update_only_columns: list[str] | None = None


class Filter(GoModel):
    rules: list[str] = ["*.*"]
    ignore_txn_start_ts: list[Uint] = []
    event_filters: list[EventFilter] = []


class Mounter(GoModel):
    worker_num: Int = 16


class MemoryUsage(GoModel):
    """``event_cache_percentage``: of TiCDC before 8.0."""

    memory_quota_percentage: Uint = 50
    event_cache_percentage: Uint | None = None


class Consistent(GoModel):
    level: str = "none"
    max_log_size: Int = 64
    flush_interval: Int = 2000
    meta_flush_interval: Int = 200
    encoding_worker_num: Int = 16
    flush_worker_num: Int = 8
    storage: str = ""
    use_file_backend: Bool = False
    compression: str = ""
    flush_concurrency: Int | None = None
    memory_usage: MemoryUsage = MemoryUsage()
    event_collector_batch_count: Int | None = None


class Scheduler(GoModel):
    enable_table_across_nodes: Bool = False
    region_threshold: Int = 10000
    write_key_threshold: Int = 0
    region_count_per_span: Int = 100
    region_count_refresh_interval: Int = 5 * _MINUTE
    scheduling_task_count_per_node: Int = 20
    enable_splittable_check: Bool = False
    force_split: Bool = False
    balance_score_threshold: Int = 20
    min_traffic_percentage: Float = 0.8
    max_traffic_percentage: Float = 1.25


class Integrity(GoModel):
    integrity_check_level: str = "none"
    corruption_handle_level: str = "warn"


class SyncedStatus(GoModel):
    """Seconds."""

    synced_check_interval: Int = 300
    checkpoint_interval: Int = 15


class ReplicaConfig(GoModel):
    """``enable_old_value``: of TiCDC before 7.2; old values always come."""

    performance_mode: str = "throughput"
    memory_quota: Uint = 1 << 30
    event_collector_batch_count: Int | None = None
    event_collector_batch_bytes: Int | None = None
    case_sensitive: Bool = False
    force_replicate: Bool = False
    ignore_ineligible_table: Bool = False
    check_gc_safe_point: Bool = True
    enable_sync_point: Bool = False
    enable_table_monitor: Bool = False
    bdr_mode: Bool = False
    sync_point_interval: Nanoseconds = 10 * _MINUTE
    sync_point_retention: Nanoseconds = 24 * _HOUR
    enable_active_active: Bool = False
    active_active_progress_interval: Nanoseconds = 30 * _MINUTE
    active_active_sync_stats_interval: Nanoseconds = _MINUTE
    changefeed_error_stuck_duration: Nanoseconds = 30 * _MINUTE
    synced_status: SyncedStatus = SyncedStatus()
    sql_mode: str = ""
    enable_old_value: Bool | None = None
    filter: Filter = Filter()
    mounter: Mounter = Mounter()
    sink: Sink = Sink()
    consistent: Consistent = Consistent()
    scheduler: Scheduler = Scheduler()
    integrity: Integrity = Integrity()
