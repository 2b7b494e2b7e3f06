"""What makes a ``replica_config`` invalid, as a list of rules, and the values that TiCDC silently replaces.

What Weir cannot honour yet and would change the data if ignored (redo logs, active-active) is refused.
"""

from collections.abc import Callable
from typing import Final

from app.errors import InvalidReplicaConfig
from app.replica_config.model import ReplicaConfig
from spark_jobs.cdc.filters.selection import Selection, selection_of

_SECOND: Final = 1_000_000_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
DATABASES: Final = frozenset({"mysql", "mysql+ssl", "tidb", "tidb+ssl"})

# (what must hold, the sentence when it does not); the second argument is the sink's scheme.
_RULES: Final[tuple[tuple[Callable[[ReplicaConfig, str], bool], str], ...]] = (
    (
        lambda c, _: c.performance_mode in ("throughput", "low-latency"),
        "performance_mode is neither throughput nor low-latency",
    ),
    (
        lambda c, _: c.changefeed_error_stuck_duration >= 30 * _MINUTE,
        "changefeed_error_stuck_duration is below its smallest value, 30m",
    ),
    (
        lambda c, scheme: not c.enable_sync_point or scheme in DATABASES,
        "enable_sync_point is only for mysql and tidb sinks",
    ),
    (
        lambda c, _: not c.enable_sync_point or c.sync_point_interval >= 30 * _SECOND,
        "sync_point_interval is below its smallest value, 30s",
    ),
    (
        lambda c, _: not c.enable_sync_point or c.sync_point_retention >= _HOUR,
        "sync_point_retention is below its smallest value, 1h",
    ),
    (
        lambda c, _: c.event_collector_batch_count is None or 0 <= c.event_collector_batch_count <= 8192,
        "event_collector_batch_count is not in 0..8192",
    ),
    (
        lambda c, _: c.event_collector_batch_bytes is None or c.event_collector_batch_bytes >= 0,
        "event_collector_batch_bytes is negative",
    ),
    (lambda c, _: c.active_active_progress_interval > 0, "active_active_progress_interval must be above 0"),
    (lambda c, _: c.active_active_sync_stats_interval >= 0, "active_active_sync_stats_interval is negative"),
    (lambda c, _: c.sink.encoder_concurrency >= 0, "sink.encoder_concurrency is negative"),
    (
        lambda c, _: not (c.sink.delete_only_output_handle_key_columns and c.force_replicate),
        "sink.delete_only_output_handle_key_columns cannot be used with force_replicate",
    ),
    (
        lambda c, _: c.integrity.integrity_check_level in ("none", "correctness"),
        "integrity.integrity_check_level is neither none nor correctness",
    ),
    (
        lambda c, _: c.integrity.corruption_handle_level in ("warn", "error"),
        "integrity.corruption_handle_level is neither warn nor error",
    ),
    (lambda c, _: c.consistent.level in ("none", "eventual", ""), "consistent.level is neither none nor eventual"),
    (
        lambda c, _: c.synced_status.synced_check_interval >= 0 and c.synced_status.checkpoint_interval >= 0,
        "synced_status has a negative interval",
    ),
)

NOT_YET: Final[tuple[tuple[Callable[[ReplicaConfig], bool], str], ...]] = (
    (lambda c: c.consistent.level == "eventual", "consistent.level eventual (redo logs)"),
    (lambda c: c.enable_active_active, "enable_active_active"),
)


def check(config: ReplicaConfig, sink_scheme: str) -> ReplicaConfig:
    """The configuration with TiCDC's silent replacements made; ``ApiError`` for the first rule that does not hold."""
    for holds, sentence in _RULES:
        if not holds(config, sink_scheme):
            raise InvalidReplicaConfig(f"replica_config: {sentence}")
    for used, what in NOT_YET:
        if used(config):
            raise InvalidReplicaConfig(f"replica_config: {what} is not available yet; leave it out")
    return _replaced(config)


def check_selection(config: ReplicaConfig) -> None:
    """``ConfigError`` with TiCDC's code for a rule that is wrong in itself: filters, selectors, names of targets."""
    Selection(selection_of(config.model_dump(mode="json", by_alias=True, exclude_none=True)))


def _replaced(config: ReplicaConfig) -> ReplicaConfig:
    width = config.sink.file_index_width
    sink = config.sink.model_copy(
        update={
            "file_index_width": width if 6 <= width <= 20 else 20,
            "advance_timeout_in_sec": config.sink.advance_timeout_in_sec or 150,
        }
    )
    rules = config.filter.rules or ["*.*"]
    return config.model_copy(
        update={
            "memory_quota": config.memory_quota or 1 << 30,
            "filter": config.filter.model_copy(update={"rules": rules}),
            "sink": sink,
        }
    )
