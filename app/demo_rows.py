"""What the demo's source sends: pure, and the same for the same step. A small shop of three tables.

Step 0 makes the tables. Every later step *n* inserts order *n*, pays order *n − 4* (an update and a payment), deletes
every tenth order nine steps later, adds a customer each third step; each sixtieth step the table of orders gains or
loses the column ``note``. Messages are TiCDC's Canal-JSON with the TiDB extension: values are text, ``old`` of an
update is the whole row before, ``old`` stands before ``data``.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from spark_jobs.cdc import tso

DATABASE: Final = "demo_shop"
_ALTER_EVERY: Final = 60
_FIRST_DAY: Final = datetime(2025, 1, 1, tzinfo=UTC)

Row = dict[str, str | None]


class Column(msgspec.Struct, frozen=True):
    """``mysql_type`` and ``sql_type`` as messages carry them, ``declared`` as DDL does."""

    name: str
    mysql_type: str
    sql_type: int
    declared: str


_NOTE: Final = Column("note", "varchar", 12, "VARCHAR(64)")
_CUSTOMERS: Final = (
    Column("id", "bigint", -5, "BIGINT NOT NULL"),
    Column("name", "varchar", 12, "VARCHAR(64) NOT NULL"),
    Column("email", "varchar", 12, "VARCHAR(128)"),
    Column("joined", "date", 91, "DATE"),
)
_ORDERS: Final = (
    Column("id", "bigint unsigned", -5, "BIGINT UNSIGNED NOT NULL"),
    Column("customer_id", "bigint", -5, "BIGINT NOT NULL"),
    Column("status", "varchar", 12, "VARCHAR(16) NOT NULL"),
    Column("amount", "decimal", 3, "DECIMAL(10,2) NOT NULL"),
    Column("placed_at", "datetime", 93, "DATETIME(3) NOT NULL"),
)
_PAYMENTS: Final = (
    Column("id", "bigint", -5, "BIGINT NOT NULL"),
    Column("order_id", "bigint unsigned", -5, "BIGINT UNSIGNED NOT NULL"),
    Column("method", "varchar", 12, "VARCHAR(16) NOT NULL"),
    Column("receipt", "varbinary", 2004, "VARBINARY(8)"),
)


def messages(step: int, unix_ms: int) -> list[bytes]:
    """The messages of one step, in order; their commit-ts grow from ``unix_ms``."""
    made = _ddl(step) + _dml(step)
    return [_stamped(message, tso.compose(unix_ms, number)) for number, message in enumerate(made, start=1)]


def _has_note(step: int) -> bool:
    return (step // _ALTER_EVERY) % 2 == 1


def _ddl(step: int) -> list[dict[str, object]]:
    if step == 0:
        tables = (("customers", _CUSTOMERS), ("orders", _ORDERS), ("payments", _PAYMENTS))
        database = _statement("QUERY", "", f"CREATE DATABASE `{DATABASE}`")
        return [database, *(_statement("CREATE", table, _create(table, columns)) for table, columns in tables)]
    if step % _ALTER_EVERY:
        return []
    change = f"ADD COLUMN `note` {_NOTE.declared}" if _has_note(step) else "DROP COLUMN `note`"
    return [_statement("ALTER", "orders", f"ALTER TABLE `orders` {change}")]


def _create(table: str, columns: tuple[Column, ...]) -> str:
    declared = ",".join(f"`{column.name}` {column.declared}" for column in columns)
    return f"CREATE TABLE `{table}` ({declared},PRIMARY KEY (`id`))"


def _dml(step: int) -> list[dict[str, object]]:
    if step == 0:
        return []
    made = [_row("INSERT", "orders", step, None, _order(step, "new", step))]
    if step % 3 == 0:
        made.append(_row("INSERT", "customers", step, None, _customer(step // 3)))
    paid = step - 4
    if paid >= 1:
        made.append(_row("UPDATE", "orders", step, _order(paid, "new", step), _order(paid, "paid", step)))
        made.append(_row("INSERT", "payments", step, None, _payment(paid)))
    if step % 10 == 0:
        made.append(_row("DELETE", "orders", step, None, _order(step - 9, "paid", step)))
    return made


def _order(number: int, status: str, step: int) -> Row:
    placed = _FIRST_DAY + timedelta(milliseconds=1500 * number)
    row: Row = {
        "id": str(number),
        "customer_id": str(1 + number % 97),
        "status": status,
        "amount": f"{number * 37 % 100_000}.{number % 100:02d}",
        "placed_at": f"{placed:%Y-%m-%d %H:%M:%S}.{placed.microsecond // 1000:03d}",
    }
    if not _has_note(step):
        return row
    same_column = number // _ALTER_EVERY == step // _ALTER_EVERY  # one added later knows nothing of earlier rows
    return row | {"note": f"order {number}, naïve “quotes” & <tags>" if same_column else None}


def _customer(number: int) -> Row:
    return {
        "id": str(number),
        "name": f"Customer {number}",
        "email": f"c{number}@example.com" if number % 5 else None,
        "joined": f"{_FIRST_DAY + timedelta(days=number % 3650):%Y-%m-%d}",
    }


def _payment(number: int) -> Row:
    receipt = (number * 2_654_435_761 % 2**32).to_bytes(4, "big")
    return {
        "id": str(number),
        "order_id": str(number),
        "method": ("card", "cash", "transfer")[number % 3],
        "receipt": receipt.decode("latin-1"),  # bytes travel as the characters of the same numbers
    }


def _columns(table: str, step: int) -> tuple[Column, ...]:
    if table == "orders":
        return (*_ORDERS, _NOTE) if _has_note(step) else _ORDERS
    return {"customers": _CUSTOMERS, "payments": _PAYMENTS}[table]


def _row(kind: str, table: str, step: int, old: Row | None, data: Row) -> dict[str, object]:
    columns = _columns(table, step)
    return {
        "id": 0,
        "database": DATABASE,
        "table": table,
        "pkNames": ["id"],
        "isDdl": False,
        "type": kind,
        "es": 0,
        "ts": 0,
        "sql": "",
        "sqlType": {column.name: column.sql_type for column in columns},
        "mysqlType": {column.name: column.mysql_type for column in columns},
        "old": None if old is None else [old],
        "data": [data],
    }


def _statement(kind: str, table: str, sql: str) -> dict[str, object]:
    return {
        "id": 0,
        "database": DATABASE,
        "table": table,
        "pkNames": None,
        "isDdl": True,
        "type": kind,
        "es": 0,
        "ts": 0,
        "sql": sql,
        "sqlType": None,
        "mysqlType": None,
        "data": None,
        "old": None,
    }


def _stamped(message: dict[str, object], commit_ts: int) -> bytes:
    at_ms = tso.physical_ms(commit_ts)
    return msgspec.json.encode(message | {"es": at_ms, "ts": at_ms, "_tidb": {"commitTs": commit_ts}})
