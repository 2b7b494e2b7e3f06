"""The tables at the head of ``migrations/``, in types that SQLite, PostgreSQL and MySQL all keep exactly."""

from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.dialects.mysql import LONGBLOB, LONGTEXT, VARCHAR

from app.changefeeds.record import Orders, Retry, RunningError, Signs
from spark_jobs.wire import Counters, DdlEvent

metadata: Final = MetaData()

# SQLite numbers rows by itself only in a column of exactly the type INTEGER.
ROW_ID: Final = BigInteger().with_variant(Integer(), "sqlite")
LONG_TEXT: Final = Text().with_variant(LONGTEXT(), "mysql", "mariadb")
LONG_BYTES: Final = LargeBinary().with_variant(LONGBLOB(), "mysql", "mariadb")


def name_type(length: int) -> String:
    """A name: compared byte by byte everywhere (MySQL would otherwise fold case)."""
    return String(length).with_variant(VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb")


class StructText(TypeDecorator[Any]):
    """A msgspec struct, or what ``kind`` says, kept as JSON text."""

    impl = LONG_TEXT
    cache_ok = True

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else msgspec.json.decode(value, type=self.kind)


facts = Table(
    "facts",
    metadata,
    Column("name", name_type(64), primary_key=True),
    Column("value", LONG_TEXT, nullable=False),
)

upstreams = Table(
    "upstreams",
    metadata,
    Column("id", ROW_ID, primary_key=True, autoincrement=True),
    Column("name", name_type(128), nullable=False, unique=True),
    Column("source_uri", LONG_TEXT, nullable=False),
    Column("is_default", Boolean, nullable=False),
)

changefeeds = Table(
    "changefeeds",
    metadata,
    Column("uid", ROW_ID, primary_key=True, autoincrement=True),
    Column("revision", BigInteger, nullable=False),
    Column("keyspace", name_type(64), nullable=False),
    Column("name", name_type(128), nullable=False),
    Column("upstream_id", BigInteger, nullable=False),
    Column("source_uri", LONG_TEXT, nullable=False),
    Column("sink_uri", LONG_TEXT, nullable=False),
    Column("replica_config", LONG_TEXT, nullable=False),
    Column("start_ts", BigInteger, nullable=False),
    Column("target_ts", BigInteger, nullable=False),
    Column("start_position", LONG_TEXT, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("creator_version", String(32), nullable=False),
    Column("state", String(16), nullable=False),
    Column("job", String(16), nullable=False),
    Column("error", StructText(RunningError)),
    Column("retry", StructText(Retry), nullable=False),
    Column("stuck_ms", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("capture_id", name_type(128), nullable=False, index=True),
    Column("releasing_ms", BigInteger, nullable=False),
    Column("assigned_ms", BigInteger, nullable=False),
    Column("rewind_ts", BigInteger, nullable=False),
    Column("rewind_id", BigInteger, nullable=False),
    Column("checkpoint_ts", BigInteger, nullable=False),
    Column("resolved_ts", BigInteger, nullable=False),
    Column("resolved_ts_estimated", Boolean, nullable=False),
    Column("batch_id", BigInteger, nullable=False),
    Column("source_position", LONG_TEXT, nullable=False),
    Column("rows_total", BigInteger, nullable=False),
    Column("bytes_total", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("counters", StructText(Counters), nullable=False),
    Column("description", LONG_TEXT),
    Column("labels", StructText(dict[str, str])),
    Column("signs", StructText(Signs)),
    Column("wanted_capture", name_type(128)),
    Column("orders", StructText(Orders)),
    UniqueConstraint("keyspace", "name", name="one_name_in_a_keyspace"),
    sqlite_autoincrement=True,  # a uid is never used twice
)

table_progress = Table(
    "table_progress",
    metadata,
    Column("uid", BigInteger, primary_key=True, autoincrement=False),
    Column("tables", LONG_BYTES, nullable=False),
)

log_lines = Table(
    "log_lines",
    metadata,
    Column("seq", ROW_ID, primary_key=True, autoincrement=True),
    Column("uid", BigInteger, nullable=False),
    Column("line", LONG_TEXT, nullable=False),
    Column("time_ms", BigInteger),
    Column("level", String(16)),
    Column("kind", String(16)),
    Index("log_lines_by_changefeed", "uid", "seq"),
)

history = Table(
    "history",
    metadata,
    Column("seq", ROW_ID, primary_key=True, autoincrement=True),
    Column("keyspace", name_type(64), nullable=False),
    Column("name", name_type(128), nullable=False),
    Column("time_ms", BigInteger, nullable=False),
    Column("who", String(255), nullable=False),
    Column("what", String(64), nullable=False),
    Column("from_state", String(16), nullable=False),
    Column("to_state", String(16), nullable=False),
    Column("detail", LONG_TEXT, nullable=False),
    Column("error", StructText(RunningError)),
    Index("history_by_changefeed", "keyspace", "name", "seq"),
)

captures = Table(
    "captures",
    metadata,
    Column("capture_id", name_type(128), primary_key=True),
    Column("address", String(255), nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("version", String(64), nullable=False),
    Column("spark_master", String(255), nullable=False),
    Column("spark_version", String(64), nullable=False),
    Column("spark_application_id", String(255), nullable=False),
    Column("spark_ui_url", String(1024), nullable=False),
    Column("registered_ms", BigInteger, nullable=False),
    Column("lease_until_ms", BigInteger, nullable=False),
    Column("draining", Boolean, nullable=False),
    Column("drain_ordered", Boolean),
    Column("abilities", StructText(list[str])),
)

ddl_history = Table(
    "ddl_history",
    metadata,
    Column("seq", ROW_ID, primary_key=True, autoincrement=True),
    Column("uid", BigInteger, nullable=False),
    Column("event", StructText(DdlEvent), nullable=False),
    Index("ddl_history_by_changefeed", "uid", "seq"),
)

leftovers = Table(
    "leftovers",
    metadata,
    Column("uid", BigInteger, primary_key=True, autoincrement=False),
    Column("keyspace", name_type(64), nullable=False),
    Column("name", name_type(128), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("removed_ms", BigInteger, nullable=False),
    Column("output", LONG_TEXT, nullable=False),
)

owner_lease = Table(
    "owner_lease",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("holder", name_type(64), nullable=False),
    Column("address", String(255), nullable=False),
    Column("term", BigInteger, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("lease_until_ms", BigInteger, nullable=False),
)
