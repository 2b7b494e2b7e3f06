"""Writing Canal-JSON: TiCDC's dialect with its options, and Canal's own."""

import json

import msgspec
import pytest

from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.errors import ConfigError, EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Ddl,
    Heartbeat,
    Index,
    Origin,
    RowChange,
    TransactionMark,
    Watermark,
)
from tests.cdc.canal_json_cases import COMMIT_TS, DATA, ES, rows, table

pytestmark = pytest.mark.usefixtures("both_ways")

LINES = json.loads((DATA / "canal_json_messages.json").read_text())["lines"]
TYPES = json.loads((DATA / "canal_json_types.json").read_text())["columns"]
EXTENSION = {"enable-tidb-extension": "true"}
CANAL = {"dialect": "canal"}
T = table(id="int", name="varchar(20)", n="tinyint unsigned")
ROW, NEW = (1, "a", 7), (1, "b", 200)
INSERTED = RowChange(kind=INSERT, table=T, after=ROW, commit_ts=COMMIT_TS, es_ms=ES, ts_ms=ES + 1)
UPDATED = RowChange(kind=UPDATE, table=T, before=ROW, after=NEW, commit_ts=COMMIT_TS, es_ms=ES, ts_ms=ES + 1)
DELETED = RowChange(kind=DELETE, table=T, before=ROW, commit_ts=COMMIT_TS, es_ms=ES, ts_ms=ES + 1)


def text(event, options=()):
    (message,) = Encoder(dict(options)).encode(event)
    return message.decode()


def parsed(event, options=()):
    return json.loads(text(event, options))


def with_rows(event, **fields):
    return msgspec.structs.replace(event, **fields)


def test_a_row_message_has_ticdcs_keys_in_ticdcs_order():
    assert text(UPDATED, EXTENSION) == (
        '{"id":0,"database":"test","table":"t","pkNames":["id"],"isDdl":false,"type":"UPDATE","es":1640007049196,'
        '"ts":1640007049197,"sql":"","sqlType":{"id":4,"name":12,"n":5},'
        '"mysqlType":{"id":"int","name":"varchar","n":"tinyint unsigned"},'
        '"old":[{"id":"1","name":"a","n":"7"}],"data":[{"id":"1","name":"b","n":"200"}],'
        '"_tidb":{"commitTs":429918007904436226}}'
    )


def test_without_the_extension_there_is_no_tidb_member():
    assert "_tidb" not in parsed(INSERTED)


@pytest.mark.parametrize("event", [INSERTED, DELETED], ids=["insert", "delete"])
def test_insert_and_delete_have_their_row_in_data_and_no_old(event):
    body = parsed(event)
    assert (body["data"], body["old"]) == ([{"id": "1", "name": "a", "n": "7"}], None)


def test_the_lines_of_ticdcs_own_tests_are_written_again():
    for line in LINES:
        (change,) = rows(line.encode())
        assert parsed(change) == json.loads(line)


@pytest.mark.parametrize("case", TYPES, ids=lambda case: case["name"])
@pytest.mark.parametrize("compatible", ["false", "true"])
def test_every_type_is_written_as_ticdc_does(case, compatible):
    name, value = case["name"], case["value"]
    if value is not None and value.startswith("LATIN1("):
        value = "测试Binary".encode().ljust(255, b"\0").decode("latin-1")
    given = {"sqlType": {name: 12}, "mysqlType": {name: case["mysqlTypeFull"]}, "data": [{name: value}]}
    (change,) = rows(json.dumps({"database": "test", "table": "t", "type": "INSERT"} | given).encode())
    body = parsed(change, {"content-compatible": compatible})
    assert body["mysqlType"] == {name: case["mysqlTypeFull" if compatible == "true" else "mysqlType"]}
    assert (body["sqlType"], body["data"]) == ({name: case["sqlType"]}, [{name: value}])


def test_content_compatible_writes_full_types_and_only_what_changed():
    body = parsed(UPDATED, {"content-compatible": "true"})
    assert body["mysqlType"] == {"id": "int(11)", "name": "varchar(20)", "n": "tinyint(3) unsigned"}
    assert body["old"] == [{"name": "a", "n": "7"}]
    assert body["data"] == [{"id": "1", "name": "b", "n": "200"}]


def test_only_output_updated_columns_leaves_the_types_short():
    body = parsed(UPDATED, {"only-output-updated-columns": "true"})
    assert (body["old"], body["mysqlType"]["name"]) == ([{"name": "a", "n": "7"}], "varchar")


def test_an_update_that_changed_nothing_has_an_empty_old():
    assert parsed(with_rows(UPDATED, after=ROW), {"only-output-updated-columns": "true"})["old"] == [{}]


def test_a_double_that_changed_its_sign_only_has_changed():
    event = RowChange(kind=UPDATE, table=table(id="int", d="double"), before=(1, -0.0), after=(1, 0.0))
    assert parsed(event, {"only-output-updated-columns": "true"})["old"] == [{"d": "-0"}]


def test_a_delete_may_hold_its_handle_key_only():
    body = parsed(DELETED, EXTENSION | {"delete-only-output-handle-key-columns": "true"})
    assert (body["data"], body["sqlType"], body["mysqlType"]) == ([{"id": "1"}], {"id": 4}, {"id": "int"})
    assert body["_tidb"] == {"commitTs": COMMIT_TS}


@pytest.mark.parametrize("event", [INSERTED, UPDATED], ids=["insert", "update"])
def test_other_rows_stay_whole_then(event):
    assert parsed(event, {"delete-only-output-handle-key-columns": "true"}) == parsed(event)


@pytest.mark.parametrize(
    ("indexes", "nullable", "written"),
    [
        ((Index("u", ("a", "b")), Index("v", ("c",))), False, {"c"}),
        ((Index("u", ("a", "b")), Index("v", ("c",), unique=False)), False, {"a", "b"}),
        ((Index("u", ("b",)), Index("v", ("c",))), False, {"b"}),
        ((Index("u", ("a",)),), True, {"a", "b", "c"}),
        (None, False, {"a", "b", "c"}),
    ],
    ids=["fewest columns", "not unique", "first of equals", "nullable", "unknown"],
)
def test_without_primary_key_the_handle_key_is_a_unique_index_without_nulls(indexes, nullable, written):
    keyless = table(key="", a="int", b="int", c="int")
    columns = tuple(msgspec.structs.replace(column, nullable=nullable) for column in keyless.columns)
    keyless = msgspec.structs.replace(keyless, columns=columns, indexes=indexes)
    deleted = RowChange(kind=DELETE, table=keyless, before=(1, 2, 3))
    body = parsed(deleted, {"delete-only-output-handle-key-columns": "true"})
    assert body["data"][0].keys() == body["sqlType"].keys() == written
    assert body["pkNames"] == []


def test_delete_old_repeats_data():
    body = parsed(DELETED, {"delete-old": "true"})
    assert body["old"] == body["data"] == [{"id": "1", "name": "a", "n": "7"}]
    assert parsed(INSERTED, {"delete-old": "true"})["old"] is None


def test_a_null_column_keeps_its_keys():
    body = parsed(with_rows(INSERTED, after=(1, None, None)))
    assert body["data"] == [{"id": "1", "name": None, "n": None}]
    assert body["sqlType"] == {"id": 4, "name": 12, "n": -6}


def test_an_absent_column_has_no_key_anywhere():
    body = parsed(with_rows(UPDATED, before=(1, ABSENT, 7), after=(1, "b", ABSENT)))
    assert (body["data"], body["old"]) == ([{"id": "1", "name": "b"}], [{"id": "1"}])
    assert body["sqlType"].keys() == body["mysqlType"].keys() == {"id", "name"}


def test_a_row_without_any_column_is_an_empty_object():
    body = parsed(with_rows(INSERTED, after=(ABSENT, ABSENT, ABSENT)))
    assert (body["data"], body["sqlType"], body["mysqlType"]) == ([{}], {}, {})
    (read,) = rows(json.dumps(body).encode())
    assert (read.table.columns, read.after) == ((), ())
    assert parsed(read)["data"] == [{}]


def test_a_virtual_generated_column_is_written_by_canal_only():
    columns = (*T.columns[:2], msgspec.structs.replace(T.columns[2], generated="virtual"))
    event = with_rows(INSERTED, table=msgspec.structs.replace(T, columns=columns))
    assert parsed(event)["data"] == [{"id": "1", "name": "a"}]
    assert parsed(event)["sqlType"].keys() == parsed(event)["mysqlType"].keys() == {"id", "name"}
    assert parsed(event, CANAL)["data"] == [{"id": "1", "name": "a", "n": "7"}]


def test_the_code_of_an_update_is_that_of_the_new_row():
    assert parsed(UPDATED)["sqlType"]["n"] == 5
    assert parsed(with_rows(UPDATED, before=NEW, after=ROW))["sqlType"]["n"] == -6


def test_marks_of_oversize_messages_are_written_in_order():
    event = with_rows(INSERTED, only_handle_key=True, claim_check="s3://b/x.json", row_key=b"t\x80\x01")
    assert text(event, EXTENSION).endswith(
        '"_tidb":{"commitTs":429918007904436226,"onlyHandleKey":true,"claimCheckLocation":"s3://b/x.json",'
        '"rowkey":"dIAB"}}'
    )


@pytest.mark.parametrize(
    ("value", "ticdc", "canal"),
    [
        ('"\\/', r"\"\\/", r"\"\\/"),
        ("<a>&", r"\u003ca\u003e\u0026", "<a>&"),
        ("\t\r\n", r"\t\r\n", r"\t\r\n"),
        ("\b\f\x00\x1f", r"\u0008\u000c\u0000\u001f", r"\b\f\u0000\u001f"),
        ("\u2028\u2029\u2027", r"\u2028\u2029" + "\u2027", "\u2028\u2029\u2027"),
        ("\\b\\u003c", r"\\b\\u003c", r"\\b\\u003c"),
        ("\x7fé表\U0001f600", "\x7fé表\U0001f600", "\x7fé表\U0001f600"),
        ("a\udc80\udcffb", "a\ufffd\ufffdb", "a\ufffd\ufffdb"),
    ],
    ids=["quotes", "html", "short", "control", "line separators", "backslashes", "raw", "not UTF-8"],
)
def test_strings_are_escaped_as_the_producer_does(value, ticdc, canal):
    event = with_rows(INSERTED, after=(1, value, 7))
    assert f'"name":"{ticdc}"' in text(event)
    assert f'"name":"{canal}"' in text(event, CANAL)


def test_names_are_escaped_too():
    odd = msgspec.structs.replace(table(**{'a"<%': "int"}), schema="s<%", table='t"%d')
    body = text(RowChange(kind=INSERT, table=odd, after=(1,)))
    assert r'"database":"s\u003c%","table":"t\"%d"' in body
    assert r'"data":[{"a\"\u003c%":"1"}]' in body
    assert json.loads(body)["mysqlType"] == {'a"<%': "int"}


def test_times_that_are_not_given_are_made_from_the_others():
    body = parsed(with_rows(INSERTED, es_ms=0, ts_ms=0))
    assert body["es"] == body["ts"] == ES
    assert parsed(with_rows(INSERTED, ts_ms=0))["ts"] == ES


DDL = Ddl(
    schema="test", table="t", query="CREATE TABLE `t` (a INT)", canal_type="CREATE", commit_ts=COMMIT_TS, es_ms=ES
)


def test_a_ddl_has_data_before_old():
    assert text(DDL, EXTENSION) == (
        '{"id":0,"database":"test","table":"t","pkNames":null,"isDdl":true,"type":"CREATE","es":1640007049196,'
        '"ts":1640007049196,"sql":"CREATE TABLE `t` (a INT)","sqlType":null,"mysqlType":null,"data":null,"old":null,'
        '"_tidb":{"commitTs":429918007904436226}}'
    )


@pytest.mark.parametrize("options", [EXTENSION, CANAL], ids=["ticdc", "canal"])
@pytest.mark.parametrize("word", ["", "DROP"], ids=["no word", "no word of Canal's"])
@pytest.mark.parametrize(
    ("query", "type_"),
    [
        ("CREATE TABLE `t` (a INT)", "CREATE"),
        ("/* x */ drop table t", "ERASE"),
        ("ALTER TABLE t ADD INDEX (a)", "CINDEX"),
        ("alter table t rename u", "RENAME"),
        ("ALTER TABLE t ENGINE = InnoDB", "ALTER"),
        ("ALTER TABLE t something new", "ALTER"),
        ("CREATE DATABASE d", "QUERY"),
        ("grant all on *.* to u", "QUERY"),
        ("", "QUERY"),
    ],
)
def test_a_ddl_of_unknown_type_gets_the_type_that_its_text_tells(options, word, query, type_):
    assert parsed(msgspec.structs.replace(DDL, canal_type=word, query=query), options)["type"] == type_


def test_a_watermark_is_written_with_the_extension_only():
    mark = Watermark(watermark_ts=429918007904436226)
    assert text(mark, EXTENSION) == (
        '{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,"type":"TIDB_WATERMARK","es":1640007049196,'
        '"ts":1640007049196,"sql":"","sqlType":null,"mysqlType":null,"data":null,"old":null,'
        '"_tidb":{"watermarkTs":429918007904436226}}'
    )
    assert [*Encoder({}).encode(mark), *Encoder(CANAL).encode(mark)] == []


def test_canals_message_has_its_keys_in_alphabetical_order():
    event = with_rows(UPDATED, sequence=5, origin=Origin(gtid="u:1-7"))
    assert text(event, CANAL) == (
        '{"data":[{"id":"1","name":"b","n":"200"}],"database":"test","es":1640007049196,"gtid":"u:1-7","id":5,'
        '"isDdl":false,"mysqlType":{"id":"int","name":"varchar(20)","n":"tinyint unsigned"},'
        '"old":[{"name":"a","n":"7"}],"pkNames":["id"],"sql":"","sqlType":{"id":4,"name":12,"n":5},"table":"t",'
        '"ts":1640007049197,"type":"UPDATE"}'
    )


def test_canal_writes_the_type_text_of_the_table_definition():
    (change,) = rows(b'{"type":"INSERT","sqlType":{"a":4},"mysqlType":{"a":"INT(10) UNSIGNED"},"data":[{"a":"1"}]}')
    assert parsed(change, CANAL)["mysqlType"] == {"a": "INT(10) UNSIGNED"}


def test_canal_has_null_for_no_key_and_codes_of_its_own_for_null():
    odd = table(key="", j="json", s="set('a')", d="double", f="float", y="year")
    body = parsed(RowChange(kind=INSERT, table=odd, after=(None, None, 1e7, 0.5, 0)), CANAL)
    assert body["pkNames"] is None
    assert body["sqlType"] == {"j": 1111, "s": 2004, "d": 8, "f": 7, "y": 12}
    assert body["data"] == [{"j": None, "s": None, "d": "1.0E7", "f": "0.5", "y": "0000"}]


def test_a_set_may_come_by_its_names():
    choice = table(id="int", s="set('a','b')")
    event = RowChange(kind=INSERT, table=choice, after=(1, "a,b"))
    assert [parsed(event, options)["data"] for options in ({}, CANAL)] == [[{"id": "1", "s": "3"}]] * 2


def test_canal_writes_xa_marks_and_statements():
    mark = TransactionMark(kind="XACOMMIT", query="XA COMMIT 'x'", es_ms=ES)
    assert parsed(mark, CANAL)["type"] == "XACOMMIT"
    body = parsed(msgspec.structs.replace(DDL, is_ddl=False, canal_type="QUERY"), CANAL)
    assert (body["isDdl"], body["sql"], body["data"], body["pkNames"]) == (False, DDL.query, None, None)


@pytest.mark.parametrize("event", [Heartbeat(), TransactionMark(kind="BEGIN"), TransactionMark(kind="END")], ids=str)
@pytest.mark.parametrize("options", [EXTENSION, CANAL], ids=["ticdc", "canal"])
def test_events_that_canal_json_has_no_form_for_are_left_out(event, options):
    assert [*Encoder(options).encode(event), *Encoder(options).flush()] == []


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (with_rows(UPDATED, before=None, half="after"), "a UPDATE without its old image"),
        (with_rows(UPDATED, after=None, half="before"), "a UPDATE without its new image"),
        (with_rows(INSERTED, after=None), "a INSERT without its new image"),
        (with_rows(DELETED, before=None), "a DELETE without its old image"),
        (with_rows(INSERTED, after=(1, "a")), "the row has 2 values and the table 3 columns"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_event_without_what_the_format_needs_is_refused(event, reason):
    with pytest.raises(EncodeError, match=reason):
        text(event)


@pytest.mark.parametrize("options", [{}, CANAL, {"only-output-updated-columns": "true"}], ids=str)
@pytest.mark.parametrize(
    "event",
    [with_rows(UPDATED, before=(1,)), with_rows(INSERTED, after=(1, "a", "7")), with_rows(INSERTED, after=())],
    ids=["short old row", "text for a number", "empty row"],
)
def test_a_row_that_does_not_fit_its_table_is_refused(event, options):
    with pytest.raises(EncodeError, match=r"test\.t: "):
        text(event, options)


def test_a_value_that_cannot_be_written_is_named():
    choice = table(id="int", c="enum")
    with pytest.raises(EncodeError, match=r"test\.t: column 'c' \(enum\): .* elements are not known"):
        text(RowChange(kind=INSERT, table=choice, after=(1, "red")))


@pytest.mark.parametrize(
    "options",
    [
        {"dialect": "maxwell"},
        {"no-such": "1"},
        {"delete-old": "maybe"},
        CANAL | EXTENSION,
        CANAL | {"delete-old": "true"},
    ],
    ids=str,
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ConfigError, match="canal-json"):
        Encoder(options)
