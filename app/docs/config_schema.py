"""What each key of ``replica_config`` does, or why it does nothing: descriptions from the tables that also make the
warnings (``replica_config.effect``) and the refusals (``replica_config.rules``).
"""

from collections.abc import Iterator
from typing import Final

import msgspec
from pydantic.fields import FieldInfo

from app.replica_config.effect import NO_USE, ONLY_WITH
from app.replica_config.go import GoModel
from app.replica_config.model import ReplicaConfig
from app.replica_config.rules import NOT_YET

# The keys that have an effect: what they do.
DOES: Final[dict[str, str]] = {
    "case_sensitive": "whether table rules tell upper from lower case",
    "enable_active_active": "tables that are written on both sides",
    "changefeed_error_stuck_duration": "how long a fault is retried before the state is failed; at least 30 minutes",
    "synced_status": "when `synced` says yes",
    "synced_status.synced_check_interval": "seconds without a row",
    "synced_status.checkpoint_interval": "seconds that the checkpoint may be behind",
    "filter": "what is delivered",
    "filter.rules": "tables, such as `shop.*` and `!shop.audit`; the last rule that matches decides",
    "filter.ignore_txn_start_ts": "transactions that are left out",
    "filter.event_filters": "kinds of events that are left out, table by table",
    "sink": "how the sink writes",
    "sink.protocol": "the format; the sink URI's protocol= wins",
    "sink.dispatchers": "topic and partition of each table, in sinks that are queues",
    "sink.column_selectors": "columns that are delivered, table by table",
    "sink.csv": "the format of csv",
    "sink.csv.delimiter": "between fields, 1 to 3 characters",
    "sink.csv.quote": "around texts; empty: none",
    "sink.csv.null": "how NULL is written",
    "sink.csv.include_commit_ts": "a field with the commit-ts",
    "sink.csv.binary_encoding_method": "base64 or hex",
    "sink.csv.output_old_value": "a row with the old values before each update",
    "sink.csv.output_handle_key": "a field that tells rows of one key",
    "sink.csv.output_field_header": "a first line with the names",
    "sink.terminator": "the end of each line",
    "sink.date_separator": "folders by commit date: none, year, month or day",
    "sink.enable_partition_separator": "folders by partition of a partitioned table",
    "sink.file_index_width": "digits of file numbers, 6 to 20; outside: 20",
    "sink.only_output_updated_columns": "canal-json: only changed columns in old",
    "sink.delete_only_output_handle_key_columns": "canal-json: deletes hold the key columns alone",
    "sink.content_compatible": "canal-json: full mysqlType, only changed columns in old",
    "sink.safe_mode": "inserts are written so that they may come twice",
    "sink.kafka_config": "settings of kafka:// sinks; the URI's parameters win",
    "sink.mysql_config": "settings of mysql:// and tidb:// sinks; the URI's parameters win",
    "sink.cloud_storage_config": "settings of storage sinks; the URI's parameters win",
    "sink.cloud_storage_config.flush_interval": "time between two batches, 100ms to 10m",
    "sink.cloud_storage_config.file_size": "bytes at which a file is cut, 1 KiB to 512 MiB",
}
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "performance_mode": ("throughput", "low-latency"),
    "consistent.level": ("none", "eventual", ""),
    "integrity.integrity_check_level": ("none", "correctness"),
    "integrity.corruption_handle_level": ("warn", "error"),
    "sink.csv.binary_encoding_method": ("base64", "hex"),
}


class Key(msgspec.Struct, frozen=True):
    """One key of the tree, with the model that holds it."""

    path: str
    model: str
    name: str
    field: FieldInfo

    @property
    def meaning(self) -> str:
        """What it does, or why it does nothing."""
        parts = self.path.split(".")
        above = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
        refused = [sentence for _, sentence in NOT_YET if sentence.partition(" ")[0] == self.path]
        for path in above:
            if path in NO_USE:
                return f"No effect: {NO_USE[path]}."
        said = DOES.get(self.path) or next((DOES[path] for path in above if path in DOES), "")
        _, _, elsewhere = next((ONLY_WITH[path] for path in above if path in ONLY_WITH), ((), (), ""))
        sentence = (said[:1].upper() + said[1:] + ".") if said else ""
        if elsewhere:
            sentence += f" Only where it has a meaning: {elsewhere}."
        if refused:
            sentence += f" Not available yet: {refused[0]}."
        return sentence.strip()


def keys(model: type[GoModel] = ReplicaConfig, at: str = "") -> Iterator[Key]:
    """Every key of the tree, objects before what they hold."""
    for name, field in model.model_fields.items():
        shown = field.alias or name
        yield Key(f"{at}{shown}", model.__name__, shown, field)
        for inner in _models(field.annotation):
            yield from keys(inner, f"{at}{shown}.")


def _models(annotation: object) -> Iterator[type[GoModel]]:
    if isinstance(annotation, type) and issubclass(annotation, GoModel):
        yield annotation
        return
    for part in getattr(annotation, "__args__", ()):
        yield from _models(part)
