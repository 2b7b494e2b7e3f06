"""What captures say about how it goes, labels, orders beside running, statements, and what removed changefeeds left."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import LONGTEXT, VARCHAR

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LONG_TEXT = sa.Text().with_variant(LONGTEXT(), "mysql", "mariadb")


def _name(length: int) -> sa.String:
    binary = VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(binary, "mysql", "mariadb")


# Every new column may be empty: rows that are there stay as they are.
_NEW: tuple[tuple[str, str, sa.types.TypeEngine[Any]], ...] = (
    ("changefeeds", "description", _LONG_TEXT),
    ("changefeeds", "labels", _LONG_TEXT),
    ("changefeeds", "signs", _LONG_TEXT),
    ("changefeeds", "wanted_capture", _name(128)),
    ("changefeeds", "orders", _LONG_TEXT),
    ("log_lines", "time_ms", sa.BigInteger()),
    ("log_lines", "level", sa.String(16)),
    ("log_lines", "kind", sa.String(16)),
    ("captures", "drain_ordered", sa.Boolean()),
    ("captures", "abilities", _LONG_TEXT),
)


def upgrade() -> None:
    for table, name, kind in _NEW:
        op.add_column(table, sa.Column(name, kind))
    op.create_table(
        "ddl_history",
        sa.Column("seq", _ROW_ID, primary_key=True, autoincrement=True),
        sa.Column("uid", sa.BigInteger, nullable=False),
        sa.Column("event", _LONG_TEXT, nullable=False),
        mysql_charset="utf8mb4",
    )
    op.create_index("ddl_history_by_changefeed", "ddl_history", ["uid", "seq"])
    op.create_table(
        "leftovers",
        sa.Column("uid", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("keyspace", _name(64), nullable=False),
        sa.Column("name", _name(128), nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("removed_ms", sa.BigInteger, nullable=False),
        sa.Column("output", _LONG_TEXT, nullable=False),
        mysql_charset="utf8mb4",
    )


def downgrade() -> None:
    op.drop_table("leftovers")
    op.drop_table("ddl_history")
    for table, name, _ in reversed(_NEW):
        op.drop_column(table, name)
