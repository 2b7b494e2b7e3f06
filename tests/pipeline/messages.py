"""TiCDC's Canal-JSON messages, written by hand from the fact sheet, for tests of the pipeline."""

import json
from collections.abc import Mapping

COLUMNS = {"id": ("bigint", -5), "name": ("varchar", 12)}
WIDER = {**COLUMNS, "age": ("int", 4)}


def ts(ms: int, logical: int = 0) -> int:
    """A TSO of milliseconds."""
    return ms << 18 | logical


def row(
    table: str,
    values: Mapping[str, str | None],
    commit_ts: int,
    *,
    kind: str = "INSERT",
    old: Mapping[str, str | None] | None = None,
    columns: Mapping[str, tuple[str, int]] = COLUMNS,
    extension: bool = True,
    schema: str = "shop",
) -> bytes:
    """A row change."""
    message = {
        "id": 0,
        "database": schema,
        "table": table,
        "pkNames": ["id"],
        "isDdl": False,
        "type": kind,
        "es": commit_ts >> 18,
        "ts": (commit_ts >> 18) + 7,
        "sql": "",
        "sqlType": {name: columns[name][1] for name in values},
        "mysqlType": {name: columns[name][0] for name in values},
        "old": [dict(old)] if old is not None else None,
        "data": [dict(values)],
    }
    if extension:
        message["_tidb"] = {"commitTs": commit_ts}
    return json.dumps(message, separators=(",", ":")).encode()


def insert(table: str, key: int, commit_ts: int, *, extension: bool = True) -> bytes:
    """An insert of a row that is known by its key."""
    return row(table, {"id": str(key), "name": f"n{key}"}, commit_ts, extension=extension)


def ddl(
    table: str, query: str, commit_ts: int, *, kind: str = "ALTER", schema: str = "shop", extension: bool = True
) -> bytes:
    """A statement."""
    message = {
        "id": 0,
        "database": schema,
        "table": table,
        "pkNames": None,
        "isDdl": True,
        "type": kind,
        "es": commit_ts >> 18,
        "ts": commit_ts >> 18,
        "sql": query,
        "sqlType": None,
        "mysqlType": None,
        "data": None,
        "old": None,
    }
    if extension:
        message["_tidb"] = {"commitTs": commit_ts}
    return json.dumps(message, separators=(",", ":")).encode()


def watermark(watermark_ts: int) -> bytes:
    """A watermark."""
    message = {
        "id": 0,
        "database": "",
        "table": "",
        "pkNames": None,
        "isDdl": False,
        "type": "TIDB_WATERMARK",
        "es": watermark_ts >> 18,
        "ts": watermark_ts >> 18,
        "sql": "",
        "sqlType": None,
        "mysqlType": None,
        "data": None,
        "old": None,
        "_tidb": {"watermarkTs": watermark_ts},
    }
    return json.dumps(message, separators=(",", ":")).encode()
