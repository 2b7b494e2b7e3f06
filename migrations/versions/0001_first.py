"""The first tables: upstreams, changefeeds and what they report, captures, the owner's lease."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import LONGBLOB, LONGTEXT, VARCHAR
from sqlalchemy.schema import SchemaItem

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LONG_TEXT = sa.Text().with_variant(LONGTEXT(), "mysql", "mariadb")
_LONG_BYTES = sa.LargeBinary().with_variant(LONGBLOB(), "mysql", "mariadb")


def _name(length: int) -> sa.String:
    binary = VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(binary, "mysql", "mariadb")


def _whole(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, _LONG_TEXT, nullable=False)


def _create_table(name: str, *parts: SchemaItem, **options: Any) -> sa.Table:
    # MySQL and MariaDB would otherwise take the database's character set, which may not know every character.
    return op.create_table(name, *parts, mysql_charset="utf8mb4", **options)


def upgrade() -> None:
    facts = _create_table(
        "facts",
        sa.Column("name", _name(64), primary_key=True),
        _text("value"),
    )
    op.bulk_insert(facts, [{"name": "definitions", "value": "locked by whoever writes definitions"}])
    _create_table(
        "upstreams",
        sa.Column("id", _ROW_ID, primary_key=True, autoincrement=True),
        sa.Column("name", _name(128), nullable=False, unique=True),
        _text("source_uri"),
        sa.Column("is_default", sa.Boolean, nullable=False),
    )
    _create_table(
        "changefeeds",
        sa.Column("uid", _ROW_ID, primary_key=True, autoincrement=True),
        _whole("revision"),
        sa.Column("keyspace", _name(64), nullable=False),
        sa.Column("name", _name(128), nullable=False),
        _whole("upstream_id"),
        _text("source_uri"),
        _text("sink_uri"),
        _text("replica_config"),
        _whole("start_ts"),
        _whole("target_ts"),
        _text("start_position"),
        _whole("created_ms"),
        sa.Column("creator_version", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("job", sa.String(16), nullable=False),
        sa.Column("error", _LONG_TEXT),
        _text("retry"),
        _whole("stuck_ms"),
        _whole("epoch"),
        sa.Column("capture_id", _name(128), nullable=False),
        _whole("releasing_ms"),
        _whole("assigned_ms"),
        _whole("rewind_ts"),
        _whole("rewind_id"),
        _whole("checkpoint_ts"),
        _whole("resolved_ts"),
        sa.Column("resolved_ts_estimated", sa.Boolean, nullable=False),
        _whole("batch_id"),
        _text("source_position"),
        _whole("rows_total"),
        _whole("bytes_total"),
        _whole("updated_ms"),
        _text("counters"),
        sa.UniqueConstraint("keyspace", "name", name="one_name_in_a_keyspace"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_changefeeds_capture_id", "changefeeds", ["capture_id"])
    _create_table(
        "table_progress",
        sa.Column("uid", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("tables", _LONG_BYTES, nullable=False),
    )
    _create_table(
        "log_lines",
        sa.Column("seq", _ROW_ID, primary_key=True, autoincrement=True),
        _whole("uid"),
        _text("line"),
    )
    op.create_index("log_lines_by_changefeed", "log_lines", ["uid", "seq"])
    _create_table(
        "history",
        sa.Column("seq", _ROW_ID, primary_key=True, autoincrement=True),
        sa.Column("keyspace", _name(64), nullable=False),
        sa.Column("name", _name(128), nullable=False),
        _whole("time_ms"),
        sa.Column("who", sa.String(255), nullable=False),
        sa.Column("what", sa.String(64), nullable=False),
        sa.Column("from_state", sa.String(16), nullable=False),
        sa.Column("to_state", sa.String(16), nullable=False),
        _text("detail"),
        sa.Column("error", _LONG_TEXT),
    )
    op.create_index("history_by_changefeed", "history", ["keyspace", "name", "seq"])
    _create_table(
        "captures",
        sa.Column("capture_id", _name(128), primary_key=True),
        sa.Column("address", sa.String(255), nullable=False),
        _whole("pid"),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("spark_master", sa.String(255), nullable=False),
        sa.Column("spark_version", sa.String(64), nullable=False),
        sa.Column("spark_application_id", sa.String(255), nullable=False),
        sa.Column("spark_ui_url", sa.String(1024), nullable=False),
        _whole("registered_ms"),
        _whole("lease_until_ms"),
        sa.Column("draining", sa.Boolean, nullable=False),
    )
    _create_table(
        "owner_lease",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("holder", _name(64), nullable=False),
        sa.Column("address", sa.String(255), nullable=False),
        _whole("term"),
        _whole("since_ms"),
        _whole("lease_until_ms"),
    )


def downgrade() -> None:
    for table in (
        "owner_lease",
        "captures",
        "history",
        "log_lines",
        "table_progress",
        "changefeeds",
        "upstreams",
        "facts",
    ):
        op.drop_table(table)
