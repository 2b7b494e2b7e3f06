"""Reading Canal-JSON: all dialects."""

import json

import pytest

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Ddl,
    Heartbeat,
    Origin,
    TransactionMark,
    Watermark,
)
from tests.cdc.canal_json_cases import COMMIT_TS, DATA, ES, flat_message, message, rows, written

pytestmark = pytest.mark.usefixtures("both_ways")

LINES = json.loads((DATA / "canal_json_messages.json").read_text())
TYPES = json.loads((DATA / "canal_json_types.json").read_text())["columns"]


def decoded(raw):
    return list(Decoder({}).decode(raw))


def names(event):
    return [column.name for column in event.table.columns]


def test_the_lines_of_ticdcs_own_tests_are_read():
    insert, update, delete = rows(*(line.encode() for line in LINES["lines"]))
    new, newer = ("Bob", "2014-06-04", "Smith", "New York", 101), ("Bob", "2015-10-08", "Smith", "Los Angeles", 101)
    assert (insert.kind, insert.before, insert.after) == (INSERT, None, new)
    assert (update.kind, update.before, update.after) == (UPDATE, new, newer)
    assert (delete.kind, delete.before, delete.after) == (DELETE, newer, None)
    assert names(insert) == ["FirstName", "HireDate", "LastName", "OfficeLocation", "id"]
    assert insert.table.key_columns == ("id",)
    assert insert.table is update.table is delete.table
    assert (insert.es_ms, insert.ts_ms, insert.commit_ts) == (1668067205238, 1668067206650, 0)


def test_a_commit_tso_beyond_the_numbers_of_a_double_is_exact():
    (change,) = rows(message())
    assert change.commit_ts == COMMIT_TS
    assert tso.physical_ms(change.commit_ts) == ES


@pytest.mark.parametrize("case", TYPES, ids=lambda case: case["name"])
@pytest.mark.parametrize("text", ["mysqlType", "mysqlTypeFull"])
def test_every_type_is_read_by_its_short_and_its_full_text(case, text):
    name, value = case["name"], case["value"]
    if value is not None and value.startswith("LATIN1("):
        value = "测试Binary".encode().ljust(255, b"\0").decode("latin-1")
    raw = message(sqlType={name: case["sqlType"]}, mysqlType={name: case[text]}, data=[{name: value}])
    (change,) = rows(raw)
    expected = {"floatT": 3.140000104904175, "floatTu": 3.140000104904175}.get(name, value)
    if expected is not None and type(change.after[0]) is int:
        expected = int(expected)
    if expected is not None and type(change.after[0]) is bytes:
        expected = expected.encode("latin-1")
    assert change.after == (expected,)
    assert change.table.columns[0].source_type == case[text]


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("bigint unsigned", "18446744073709551615", 2**64 - 1),
        ("bigint", "-9223372036854775808", -(2**63)),
        ("int unsigned zerofill", "0042", 42),
        ("bit", "18446744073709551615", 2**64 - 1),
        ("set", "9223372036854775808", 2**63),
        ("enum", "0", 0),
        ("enum", "red", "red"),
        ("enum('red','blue')", "blue", 2),
        ("double", "0", 0.0),
        ("double", "1.0E7", 1e7),
        ("double", "0.1", 0.1),
        ("float", "0.1", 0.10000000149011612),
        ("decimal(65,30)", "-0.000000000000000000000000000001", "-0.000000000000000000000000000001"),
        ("time(6)", "-838:59:59.000000", "-838:59:59.000000"),
        ("datetime", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
        ("year", "0000", 0),
        ("varchar(9)", "", ""),
        ("varchar(9)", "\U0001f600\x00'", "\U0001f600\x00'"),
        ("blob", "\x00\x7f\x80\xff", b"\x00\x7f\x80\xff"),
        ("json", '{"a": "\\"<b>"}', '{"a": "\\"<b>"}'),
        ("somethingnew(3)", "x", "x"),
    ],
)
def test_extreme_values_are_read_exactly(type_, text, value):
    raw = message(sqlType={"c": 12}, mysqlType={"c": type_}, data=[{"c": text}, {"c": None}])
    first, second = rows(raw)
    assert (first.after, type(first.after[0])) == ((value,), type(value))
    assert second.after == (None,)


def test_the_sign_of_a_double_zero_survives():
    raw = message(sqlType={"c": 8, "d": 8}, mysqlType={"c": "double", "d": "double"}, data=[{"c": "-0", "d": "0"}])
    (change,) = rows(raw)
    assert [str(value) for value in change.after] == ["-0.0", "0.0"]


def test_the_structure_is_one_object_though_codes_and_key_order_change():
    first, second, third, other = rows(
        message(),
        message(mysqlType={"id": "int", "name": "varchar"}),
        message(sqlType={"id": -5, "name": 12}),
        message(table="u"),
    )
    assert first.table is second.table is third.table
    assert other.table is not first.table
    assert names(first) == ["id", "name"]


def test_columns_that_mysqltype_alone_has_come_last_whatever_its_order():
    types = {"b": "int", "id": "int", "a": "int", "name": "varchar"}
    first, second = rows(message(mysqlType=types), message(mysqlType=dict(reversed(types.items()))))
    assert first.table is second.table
    assert names(first) == ["id", "name", "a", "b"]


def test_members_may_come_in_any_order_and_unknown_ones_are_passed_over():
    body = json.loads(message())
    backwards = written({"new": {"deep": [1]}, **dict(reversed(body.items()))})
    assert rows(backwards) == rows(message())


def test_members_that_say_nothing_may_be_missing():
    (change,) = rows(message(id=..., es=..., ts=..., sql=..., old=..., _tidb=..., pkNames=...))
    assert (change.after, change.commit_ts, change.es_ms, change.table.key_columns) == ((1, "a"), 0, 0, ())


def test_a_delete_before_v5_4_repeats_data_in_old():
    (change,) = rows(message(type="DELETE", old=[{"id": "1", "name": "a"}]))
    assert (change.kind, change.before, change.after) == (DELETE, (1, "a"), None)


def test_canals_message_becomes_one_event_a_row():
    first, second = rows(flat_message())
    assert (first.before, first.after) == ((1, "a", 1e7), (1, "b", 1e7))
    assert (second.before, second.after) == ((2, None, 1.0), (2, None, 1.0))
    assert (first.sequence, first.es_ms, first.commit_ts) == (5, 1700000000000, 0)
    assert first.origin == Origin(gtid="u:1-7")
    id_, name, _ = first.table.columns
    assert (id_.type.name, id_.type.unsigned, id_.source_type) == ("bigint", True, "BIGINT unsigned")
    assert name.type.length == 20


@pytest.mark.parametrize("old", [{}, {"name": "x"}, {"name": None}, {"id": "7", "name": "x"}])
def test_columns_that_old_leaves_out_are_as_in_data(old):
    (change,) = rows(message(type="UPDATE", old=[old]))
    assert change.before == (int(old.get("id", "1")), old.get("name", "a"))


def test_partial_and_full_old_images_may_alternate():
    partial, full = message(type="UPDATE", old=[{"name": "x"}]), message(type="UPDATE", old=[{"id": "1", "name": "y"}])
    assert [change.before for change in rows(full, partial, full, partial)] == [(1, "y"), (1, "x"), (1, "y"), (1, "x")]


def test_an_update_without_old_changed_nothing():
    (change,) = rows(message(type="UPDATE", old=None))
    assert change.before == change.after == (1, "a")


def test_a_column_missing_in_data_is_absent_and_not_null():
    (change,) = rows(message(data=[{"id": "1"}]))
    assert change.after == (1, ABSENT)


def test_numbers_may_stand_bare():
    (change,) = rows(message(data=[{"id": 1, "name": "a"}]))
    assert change.after == (1, "a")


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a b", "表", "c0", "class", "%d", ""])
def test_a_column_may_have_any_name(name):
    raw = message(
        type="UPDATE", pkNames=[], sqlType={name: 4}, mysqlType={name: "int"}, data=[{name: "2"}], old=[{name: "1"}]
    )
    (change,) = rows(raw)
    assert (names(change), change.before, change.after) == ([name], (1,), (2,))


def test_marks_of_oversize_messages_are_kept():
    tidb = {"commitTs": COMMIT_TS, "onlyHandleKey": True, "claimCheckLocation": "s3://b/x.json", "rowkey": "dIAB"}
    (change,) = rows(message(_tidb=tidb))
    assert (change.only_handle_key, change.claim_check, change.row_key) == (True, "s3://b/x.json", b"t\x80\x01")


def test_no_rows_are_no_events():
    assert decoded(message(data=[])) == []


def test_a_ddl_keeps_its_text_and_type():
    raw = message(
        type="QUERY", isDdl=True, table="", sql="drop database x", sqlType=None, mysqlType=None, data=None, pkNames=None
    )
    assert decoded(raw) == [
        Ddl(
            schema="test",
            table="",
            query="drop database x",
            canal_type="QUERY",
            commit_ts=COMMIT_TS,
            es_ms=ES,
            ts_ms=ES + 1000,
        )
    ]


@pytest.mark.parametrize("type_", ["QUERY", "INSERT"])
def test_a_statement_that_is_no_ddl_is_told_apart(type_):
    (event,) = decoded(flat_message(type=type_, sql="insert into t values (1)", data=None, old=None))
    assert (type(event), event.is_ddl, event.canal_type, event.query) == (Ddl, False, type_, "insert into t values (1)")


def test_a_watermark_is_read():
    given = LINES["watermark_test"]
    raw = written(
        {name: value for name, value in given.items() if name != "watermarkTs"}
        | {"ts": 7, "_tidb": {"watermarkTs": given["watermarkTs"]}}
    )
    assert decoded(raw) == [Watermark(watermark_ts=1024, es_ms=0, ts_ms=7)]


def test_heartbeats_and_xa_marks_are_read():
    assert decoded(flat_message(type="MHEARTBEAT", data=None, old=None, gtid="")) == [
        Heartbeat(es_ms=1700000000000, ts_ms=1700000000123)
    ]
    (mark,) = decoded(flat_message(type="XACOMMIT", data=None, old=None, sql="XA COMMIT 'x'"))
    assert (type(mark), mark.kind, mark.query, mark.sequence) == (TransactionMark, "XACOMMIT", "XA COMMIT 'x'", 5)


def test_white_space_around_a_message_does_no_harm():
    assert rows(b" " + message() + b"\r\n") == rows(message())
