"""Events as JSON: exact, readable, nothing lost."""

import json
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from spark_jobs.cdc import tso
from spark_jobs.cdc.event_json import EventJson
from spark_jobs.cdc.events import (
    ABSENT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Event,
    Heartbeat,
    Index,
    Origin,
    RowChange,
    TableSchema,
    TransactionMark,
    Watermark,
)

TS = tso.compose(1692862944123, 4)
TABLE = TableSchema(
    "shop",
    "orders",
    (
        Column("id", ColumnType("bigint", unsigned=True), is_key=True),
        Column("v", ColumnType("varchar", length=9), source_type="VARCHAR(9)"),
        Column("b", ColumnType("blob")),
    ),
    indexes=(Index("PRIMARY", ("id",)),),
)


def shown(event: Event, zone: str = "UTC") -> Any:
    line = EventJson(UTC if zone == "UTC" else ZoneInfo(zone)).line(event, {"message": 1})
    assert b"\n" not in line
    return json.loads(line)


def test_a_row_change():
    event = RowChange(
        kind=UPDATE,
        table=TABLE,
        before=(2**64 - 1, None, ABSENT),
        after=(2**64 - 1, "é", b"\xff"),
        commit_ts=TS,
        row_key=b"t\0",
        origin=Origin(server_id=7, props=(("a", "b"),)),
    )
    assert shown(event) == {
        "message": 1,
        "kind": "UPDATE",
        "schema": "shop",
        "table": "orders",
        "key": ["id"],
        "indexes": {"PRIMARY": ["id"]},
        "types": {"id": "bigint unsigned", "v": "VARCHAR(9)", "b": "blob"},
        "commit_ts": TS,
        "commit_time": "2023-08-24T07:42:24.123Z",
        "row_key": {"base64": "dAA="},
        "origin": {"server_id": 7, "props": {"a": "b"}},
        "before": {"id": 2**64 - 1, "v": None},
        "after": {"id": 2**64 - 1, "v": "é", "b": {"base64": "/w=="}},
    }


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            Watermark(watermark_ts=TS),
            {"kind": "WATERMARK", "watermark_ts": TS, "watermark_time": "2023-08-24T07:42:24.123Z"},
        ),
        (
            Heartbeat(es_ms=0, checkpoint_ms=1),
            {"kind": "HEARTBEAT", "checkpoint_ms": 1, "checkpoint_time": "1970-01-01T00:00:00.001Z"},
        ),
        (TransactionMark(kind="BEGIN", thread_id=3), {"kind": "BEGIN", "thread_id": 3}),
        (
            Ddl(schema="shop", table="", query="create database shop", canal_type="QUERY"),
            {"kind": "DDL", "schema": "shop", "query": "create database shop", "canal_type": "QUERY"},
        ),
    ],
    ids=["watermark", "heartbeat", "begin", "ddl"],
)
def test_other_events(event, expected):
    assert shown(event) == {"message": 1, **expected}


def test_times_are_shown_in_the_zone_asked_for():
    assert shown(Watermark(watermark_ts=TS), "Asia/Shanghai")["watermark_time"] == "2023-08-24T15:42:24.123+08:00"


@pytest.mark.parametrize("es_ms", [10**18, -(10**18)])
def test_a_time_outside_the_calendar_is_shown_as_its_number(es_ms):
    assert shown(Heartbeat(es_ms=es_ms)) == {"message": 1, "kind": "HEARTBEAT", "es_ms": es_ms}


@pytest.mark.parametrize(("text", "base64"), [("a\udcff", "Yf8="), ("a\ud800", "Ye2ggA==")], ids=["bytes", "surrogate"])
def test_text_that_is_not_utf8_is_marked(text, base64):
    event = RowChange(kind=UPDATE, table=TABLE, after=(1, text, None))
    assert shown(event)["after"]["v"] == {"text_base64": base64}
