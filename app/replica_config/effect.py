"""Which keys of ``replica_config`` have no effect here, and why: tables. Pure.

A key counts only where it differs from TiCDC's default (of either generation): `cdc cli` always sends the whole tree.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from app.masking import Json
from app.replica_config.model import ReplicaConfig

MIN_WIDTH, MAX_WIDTH, TICDC_WIDTH = 6, 20, 20
STORAGE: Final = frozenset({"file", "s3", "gcs", "gs", "azure", "azblob", "noop"})
QUEUES: Final = frozenset({"kafka", "kafka+ssl"})
DATABASES: Final = frozenset({"mysql", "mysql+ssl", "tidb", "tidb+ssl"})
EVERY: Final = frozenset[str]()
_MEMORY: Final = (
    "Spark decides about memory and batches here; the source URI has max-rows-per-batch and max-bytes-per-batch"
)
_SCHEDULER: Final = "there are no TiKV regions and no split tables here"
_BOOTSTRAP: Final = "it belongs to TiCDC's simple protocol, which is none of Weir's"
_DEBEZIUM: Final = "debezium is none of Weir's protocols"
_REDO: Final = "there is no redo log: the sink itself is exactly-once or repeatable"
_CSV: Final = "it belongs to protocol=csv"
_CANAL_JSON: Final = "it belongs to protocol=canal-json"


class Notice(msgspec.Struct, frozen=True):
    """One thing that was clamped, adjusted or has no effect. ``key``: of the body, dotted, or
    ``sink_uri.PARAMETER``."""

    key: str
    message: str


# A key, or everything below it: why it never has an effect.
NO_USE: Final[dict[str, str]] = {
    "performance_mode": _MEMORY,
    "memory_quota": _MEMORY,
    "event_collector_batch_count": _MEMORY,
    "event_collector_batch_bytes": _MEMORY,
    "force_replicate": "tables without a key are carried anyway",
    "ignore_ineligible_table": "no table is refused: tables without a key are carried anyway",
    "check_gc_safe_point": "there is no GC safe point: how far back a source reaches is asked of the source",
    "enable_sync_point": "sync points are for mysql and tidb sinks",
    "enable_table_monitor": "progress by table is always there: GET …/progress",
    "bdr_mode": "Weir does not write back to the database that it reads",
    "sync_point_interval": "it belongs to enable_sync_point",
    "sync_point_retention": "it belongs to enable_sync_point",
    "active_active_progress_interval": "it belongs to enable_active_active",
    "active_active_sync_stats_interval": "it belongs to enable_active_active",
    "sql_mode": "TiCDC itself does not use it any more",
    "enable_old_value": "old values always come",
    "mounter": "there is no mounter: Spark decodes",
    "integrity": "messages carry no TiKV checksums",
    "consistent": _REDO,
    "scheduler": _SCHEDULER,
    "filter.ignore_txn_start_ts": "no message of any source says when its transaction began",
    "sink.schema_registry": "Avro is none of Weir's protocols",
    "sink.transaction_atomicity": "a transaction's rows stay together as the source's messages hold them",
    "sink.encoder_concurrency": "Spark's cores encode",
    "sink.enable_kafka_sink_v2": "TiCDC itself does not use it any more",
    "sink.advance_timeout_in_sec": "a stuck sink is told after 30 s",
    "sink.send_bootstrap_interval_in_sec": _BOOTSTRAP,
    "sink.send_bootstrap_in_msg_count": _BOOTSTRAP,
    "sink.send_bootstrap_to_all_partition": _BOOTSTRAP,
    "sink.send_all_bootstrap_at_start": _BOOTSTRAP,
    "sink.debezium_disable_schema": _DEBEZIUM,
    "sink.debezium": _DEBEZIUM,
    "sink.open": "open-protocol is none of Weir's protocols",
    "sink.pulsar_config": "Pulsar is none of Weir's sinks",
    "sink.cloud_storage_config.worker_count": "Spark decides about parallelism",
    "sink.cloud_storage_config.flush_concurrency": "Spark decides about parallelism",
    "sink.cloud_storage_config.output_column_id": "the stream holds no column ids",
    "sink.cloud_storage_config.file_expiration_days": "Weir does not delete output files",
    "sink.cloud_storage_config.file_cleanup_cron_spec": "Weir does not delete output files",
    "sink.cloud_storage_config.output_raw_change_event": "each message of the source comes out once, as it is",
    "sink.cloud_storage_config.spool_disk_quota": "nothing is spooled",
    "sink.cloud_storage_config.spool_base_dir": "nothing is spooled",
    "sink.cloud_storage_config.use_table_id_as_path": "the stream holds no table ids",
}
# A key, or everything below it: the sinks' schemes (EVERY: any) and protocols where it has one, and what to say
# elsewhere.
ONLY_WITH: Final[dict[str, tuple[frozenset[str], frozenset[str], str]]] = {
    "sink.dispatchers": (QUEUES, EVERY, "partition and topic are for sinks that are queues"),
    "sink.kafka_config": (QUEUES, EVERY, "it belongs to kafka:// sinks"),
    "sink.mysql_config": (DATABASES, EVERY, "it belongs to mysql:// and tidb:// sinks"),
    "sink.cloud_storage_config": (STORAGE, EVERY, "it belongs to storage sinks"),
    "sink.terminator": (STORAGE, EVERY, "it belongs to storage sinks"),
    "sink.date_separator": (STORAGE, EVERY, "it belongs to storage sinks"),
    "sink.enable_partition_separator": (STORAGE, EVERY, "it belongs to storage sinks"),
    "sink.file_index_width": (STORAGE, EVERY, "it belongs to storage sinks"),
    "sink.csv": (EVERY, frozenset({"csv"}), _CSV),
    "sink.content_compatible": (EVERY, frozenset({"canal-json"}), _CANAL_JSON),
    "sink.only_output_updated_columns": (EVERY, frozenset({"canal-json"}), _CANAL_JSON),
    "sink.safe_mode": (DATABASES, EVERY, "it belongs to mysql:// and tidb:// sinks"),
}
# Where TiCDC's generations, or Weir and TiCDC, have other defaults.
_ALSO_DEFAULT: Final[dict[str, tuple[Json, ...]]] = {
    "scheduler.region_threshold": (100000,),
    "consistent.flush_concurrency": (1,),
    "sink.file_index_width": (TICDC_WIDTH,),
    "sink.transaction_atomicity": ("none",),
    "sink.safe_mode": (False,),
    "memory_quota": (0,),
    "sink.advance_timeout_in_sec": (0,),
}
_UNSET: Final[tuple[Json, ...]] = (None, "", 0, False, [], {})


def differing(
    tree: dict[str, Json], defaults: dict[str, Json] | None = None, at: str = ""
) -> Iterator[tuple[str, Json]]:
    """Every leaf of a configuration that is not TiCDC's default: its dotted path and value."""
    if defaults is None:
        defaults = ReplicaConfig().model_dump(mode="json", by_alias=True, exclude_none=True)
    for key, value in tree.items():
        path, default = f"{at}{key}", defaults.get(key)
        if isinstance(value, dict):
            yield from differing(value, default if isinstance(default, dict) else {}, f"{path}.")
        elif not _is_default(path, value, default):
            yield path, value


def _is_default(path: str, value: Json, default: Json) -> bool:
    if value == default or value in _ALSO_DEFAULT.get(path, ()):
        return True
    return default is None and value in _UNSET


def without_effect(tree: dict[str, Json], scheme: str, protocol: str) -> list[Notice]:
    """A notice for each key of a configuration as it was given that has no effect with this sink, and why."""
    given = dict(differing(tree))
    found = [
        Notice(f"replica_config.{path}", reason) for path in given if (reason := reason_of(path, scheme, protocol))
    ]
    return found + list(_adjusted(given, tree))


def reason_of(path: str, scheme: str, protocol: str) -> str:
    """Why the key has no effect with this sink; "" when it has one."""
    parts = path.split(".")
    above = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    for name in above:
        if name in NO_USE:
            return f"has no effect: {NO_USE[name]}"
        schemes, protocols, reason = ONLY_WITH.get(name, (EVERY, EVERY, ""))
        if (schemes and scheme not in schemes) or (protocols and protocol not in protocols):
            return f"has no effect: {reason}"
    return ""


def _adjusted(given: dict[str, Json], tree: dict[str, Json]) -> Iterator[Notice]:
    """What ``rules.check`` silently replaces, as TiCDC does."""
    width = given.get("sink.file_index_width")
    if isinstance(width, int) and not MIN_WIDTH <= width <= MAX_WIDTH:
        yield Notice(
            "replica_config.sink.file_index_width",
            f"{width} is outside {MIN_WIDTH}..{MAX_WIDTH}; {TICDC_WIDTH} is used, as TiCDC does",
        )
    rules = tree.get("filter")
    if isinstance(rules, dict) and rules.get("rules") == []:
        yield Notice("replica_config.filter.rules", 'is empty, which means ["*.*"]: every table is delivered')
