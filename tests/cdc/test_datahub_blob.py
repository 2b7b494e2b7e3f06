"""DataHub Blob JSON: the documented samples, every spelling, values, round trips, garbage."""

import contextlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.datahub.blob import CODEC
from spark_jobs.cdc.codecs.datahub.blob_decoder import Decoder
from spark_jobs.cdc.codecs.datahub.blob_encoder import Encoder
from spark_jobs.cdc.codecs.datahub.streamx import READ_AS
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
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
    Value,
    Watermark,
)
from spark_jobs.cdc.mysql.types import canal_text
from spark_jobs.cdc.rows.halves import HalfJoiner
from tests.cdc.datahub_events import BYTES, DATETIME_MS, FLOAT64, MYSQL_VALUES, TEXT, changes, ints

pytestmark = pytest.mark.usefixtures("both_ways")

SAMPLES = {
    sample["name"]: sample["message"]
    for sample in json.loads((Path(__file__).parents[1] / "data/datahub/blob_samples.json").read_text())
}
"""The samples of the document; ``ddlMeta`` is cut to its first 64 characters."""

MYSQL = Origin(db_type="MySQL")
PK_TABLE = TableSchema(
    "yunshi_db",
    "t_shiyu_pk",
    (
        Column("id", ColumnType("bigint"), is_key=True),
        Column("name", ColumnType("varchar"), is_key=True),
        Column("comment", ColumnType("varchar")),
    ),
)
SAMPLE_EVENTS: dict[str, Any] = {
    "insert": RowChange(
        kind=INSERT,
        table=PK_TABLE,
        after=(1, "joe", "comment"),
        es_ms=1605339932000,
        ts_ms=1605339932736,
        sequence=1605339516000000004,
        origin=MYSQL,
    ),
    "update_before": RowChange(
        kind=UPDATE,
        table=PK_TABLE,
        before=(1, "joe", "comment"),
        es_ms=1605339934000,
        ts_ms=1605339934951,
        sequence=1605339516000000005,
        half="before",
        origin=MYSQL,
    ),
    "update_after": RowChange(
        kind=UPDATE,
        table=PK_TABLE,
        after=(1, "joe", "com1"),
        es_ms=1605339934000,
        ts_ms=1605339934951,
        sequence=1605339516000000005,
        half="after",
        origin=MYSQL,
    ),
    "delete": RowChange(
        kind=DELETE,
        table=PK_TABLE,
        before=(1, "joe", "com1"),
        es_ms=1605339937000,
        ts_ms=1605339937671,
        sequence=1605339516000000006,
        origin=MYSQL,
    ),
    "heartbeat": Heartbeat(es_ms=1605339953629, checkpoint_ms=1605339953629),
    "ddl": Ddl(
        schema="yunshi_db",
        table="t_shiyu_nopk",
        query="alter table t_shiyu_nopk add column holo text",
        canal_type="ALTER",
        es_ms=1605342109000,
        ts_ms=1605342109259,
        sequence=1605339516000000035,
        ddl_meta=SAMPLES["ddl"]["payload"]["ddl"]["ddlMeta"],
        origin=MYSQL,
    ),
}


def decoder(**options: str) -> Decoder:
    return Decoder({name.replace("_", "-"): value for name, value in options.items()})


def encoder(**options: str) -> Encoder:
    return Encoder({name.replace("_", "-"): value for name, value in options.items()})


def sample(name: str, **payload: Any) -> dict[str, Any]:
    """A copy of a sample whose payload is changed; ``...`` takes a key out."""
    message = json.loads(json.dumps(SAMPLES[name]))
    for key, value in payload.items():
        message["payload"].pop(key, None) if value is ... else message["payload"].update({key: value})
    return dict(message)


def read(message: object) -> Any:
    (event,) = decoder().decode(json.dumps(message).encode())
    return event


def row_of(types: dict[str, str], values: dict[str, object], **options: str) -> RowChange:
    message = sample("insert", after={"dataColumn": values})
    message["schema"]["dataColumn"] = [{"name": name, "type": type_} for name, type_ in types.items()]
    (event,) = decoder(**options).decode(json.dumps(message).encode())
    assert isinstance(event, RowChange)
    return event


def insert(type_: ColumnType, value: Value) -> RowChange:
    return RowChange(kind=INSERT, table=TableSchema("d", "t", (Column("c", type_),)), after=(value,), es_ms=1)


def written(type_: ColumnType, value: Value, **options: str) -> tuple[str, object]:
    """StreamX type and JSON value of one column."""
    (message,) = encoder(**options).encode(insert(type_, value))
    parsed = json.loads(message)
    return parsed["schema"]["dataColumn"][0]["type"], parsed["payload"]["after"]["dataColumn"]["c"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_documented_sample_is_read(name):
    assert read(SAMPLES[name]) == SAMPLE_EVENTS[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_documented_sample_is_written_with_the_same_keys_in_the_same_order(name):
    (message,) = encoder().encode(SAMPLE_EVENTS[name])
    parsed = json.loads(message)
    assert parsed == SAMPLES[name]
    assert list(parsed) == list(SAMPLES[name])
    assert list(parsed["schema"]) == list(SAMPLES[name]["schema"])


def test_an_update_is_written_as_two_messages_that_share_their_number():
    whole = msgspec.structs.replace(SAMPLE_EVENTS["update_after"], before=(1, "joe", "comment"), half="")
    first, second = map(json.loads, encoder().encode(whole))
    assert (first, second) == (SAMPLES["update_before"], SAMPLES["update_after"])


def test_an_update_whose_old_row_is_not_known_is_written_as_its_after_half():
    event = msgspec.structs.replace(SAMPLE_EVENTS["update_after"], half="")
    assert [json.loads(message) for message in encoder().encode(event)] == [SAMPLES["update_after"]]


@pytest.mark.parametrize("op", ["UPDATE_BEFOR", "UPDATE_BEFORE"])
def test_a_before_half_is_read_under_both_spellings(op):
    assert read(sample("update_before", op=op)) == SAMPLE_EVENTS["update_before"]


def test_an_update_with_both_images_in_one_message_is_whole():
    event = read(sample("update_after", op="UPDATE", before=SAMPLES["update_before"]["payload"]["before"]))
    assert (event.before, event.after, event.half) == ((1, "joe", "comment"), (1, "joe", "com1"), "")


@pytest.mark.parametrize(("name", "half"), [("update_before", "before"), ("update_after", "after")])
def test_an_update_with_one_image_is_a_half(name, half):
    assert read(sample(name, op="UPDATE")) == SAMPLE_EVENTS[name]
    assert read(sample(name, op="UPDATE")).half == half


@pytest.mark.parametrize("value", ["1605339516000000004", 1605339516000000004])
def test_a_sequence_id_is_read_as_string_or_number(value):
    assert read(sample("insert", sequenceId=value)).sequence == 1605339516000000004


@pytest.mark.parametrize("value", [..., None])
def test_a_missing_sequence_id_is_zero(value):
    assert read(sample("insert", sequenceId=value)).sequence == 0


@pytest.mark.parametrize(
    "change", [{"ddl": None}, {"before": None}, {"somethingNew": [1]}], ids=["ddl null", "before null", "unknown key"]
)
def test_what_says_nothing_changes_nothing(change):
    assert read(sample("insert", **change)) == SAMPLE_EVENTS["insert"]


@pytest.mark.parametrize("db_type", ["mysql", "MySQL", "oracle"])
def test_the_database_kind_is_kept_as_it_is_spelt(db_type):
    message = sample("insert")
    message["schema"]["source"] |= {"dbType": db_type, "dbVersion": "8.0", "schemaName": "s"}
    event = read(message)
    assert event.origin == Origin(db_type=db_type, db_version="8.0", schema_name="s")
    assert [json.loads(text) for text in encoder().encode(event)] == [message]


@pytest.mark.parametrize("op", ["CREATE", "ALTER", "ERASE", "QUERY", "TRUNCATE", "RENAME", "CINDEX", "DINDEX"])
def test_every_ddl_op_goes_through(op):
    event = read(sample("ddl", op=op))
    assert event == msgspec.structs.replace(SAMPLE_EVENTS["ddl"], canal_type=op)
    assert [json.loads(message) for message in encoder().encode(event)] == [sample("ddl", op=op)]


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("TRANSACTION_BEGIN", "BEGIN"),
        ("TRANSACTION_END", "END"),
        ("GTID", "GTID"),
        ("XACOMMIT", "XACOMMIT"),
        ("XAROLLBACK", "XAROLLBACK"),
    ],
)
def test_every_mark_goes_through(op, kind):
    event = read(sample("heartbeat", op=op, sequenceId="7"))
    assert event == TransactionMark(kind=kind, es_ms=1605339953629, sequence=7)
    assert [json.loads(message) for message in encoder().encode(event)] == [sample("heartbeat", op=op, sequenceId="7")]


@pytest.mark.parametrize("op", ["insert", "MERGE", ""])
def test_an_unknown_op_is_skipped_and_counted(op):
    reader = decoder()
    assert reader.decode(json.dumps(sample("insert", op=op)).encode()) == ()
    assert reader.skipped == {op: 1}


def test_the_count_of_unknown_ops_does_not_grow_without_end():
    reader = decoder()
    for number in range(300):
        reader.decode(json.dumps(sample("insert", op=f"OP{number}")).encode())
    assert reader.skipped.total() == 300
    assert len(reader.skipped) == 101
    assert reader.skipped["others"] == 200


def test_a_statement_under_an_unknown_op_is_not_lost():
    event = read(sample("ddl", op="DROP"))
    assert (event.canal_type, event.query) == ("DROP", SAMPLE_EVENTS["ddl"].query)


@pytest.mark.parametrize("schema", [{}, None, {"source": None}, ...], ids=["empty", "null", "null source", "missing"])
def test_a_heartbeat_needs_no_schema(schema):
    message = sample("heartbeat")
    message["schema"] = schema
    if schema is ...:
        del message["schema"]
    assert read(message) == SAMPLE_EVENTS["heartbeat"]


def test_a_ddl_meta_is_relayed_unopened_and_null_when_there_is_none():
    relayed, fresh = (
        json.loads(encoder().encode(msgspec.structs.replace(SAMPLE_EVENTS["ddl"], ddl_meta=meta))[0])["payload"]["ddl"]
        for meta in ("rO0AB+not/checked==", None)
    )
    assert relayed["ddlMeta"] == "rO0AB+not/checked=="
    assert fresh == {"text": SAMPLE_EVENTS["ddl"].query, "ddlMeta": None}


@pytest.mark.parametrize(
    ("query", "op"),
    [
        ("CREATE TABLE t(a int)", "CREATE"),
        ("create database d", "QUERY"),
        ("DROP SCHEMA d", "QUERY"),
        ("drop table t", "ERASE"),
        ("alter table t add b int", "ALTER"),
        ("truncate t", "TRUNCATE"),
        ("rename table a to b", "RENAME"),
        ("create unique index i on t(a)", "CINDEX"),
        ("drop index i on t", "DINDEX"),
        ("alter table t add index (b)", "CINDEX"),
        ("/* a */ alter table t rename to u", "RENAME"),
        ("grant all on *.* to u", "QUERY"),
    ],
)
def test_a_statement_without_canal_type_gets_its_op_from_its_words(query, op):
    (message,) = encoder().encode(Ddl(schema="d", table="t", query=query, es_ms=1))
    assert json.loads(message)["payload"]["op"] == op


def test_a_watermark_is_a_heartbeat_of_its_time_or_dropped_and_counted():
    mark = Watermark(watermark_ts=tso.compose(1605339953629, 7))
    assert [json.loads(message) for message in encoder().encode(mark)] == [SAMPLES["heartbeat"]]
    silent = encoder(watermark="drop")
    assert list(silent.encode(mark)) == []
    assert silent.dropped == {"Watermark": 1}


def test_the_event_time_is_that_of_the_commit_ts_where_the_source_gave_no_other():
    event = RowChange(kind=INSERT, table=PK_TABLE, after=(1, "a", None), commit_ts=tso.compose(1605339932000, 3))
    (message,) = encoder().encode(event)
    assert json.loads(message)["payload"]["timestamp"] == {
        "eventTime": 1605339932000,
        "checkpointTime": 1605339932000,
    }


def test_a_checkpoint_time_of_its_own_survives_a_relay():
    message = sample("insert", timestamp={"eventTime": 5, "checkpointTime": 4})
    assert [json.loads(text) for text in encoder().encode(read(message))] == [message]


def test_rows_of_one_table_share_one_schema_object():
    reader = decoder()
    texts = [json.dumps(SAMPLES["insert"]), json.dumps(SAMPLES["delete"], indent=1)]
    first, second = (reader.decode(text.encode())[0] for text in texts)
    assert isinstance(first, RowChange)
    assert isinstance(second, RowChange)
    assert first.table is second.table


def test_the_order_of_the_key_columns_is_kept():
    message = sample("insert")
    message["schema"]["primaryKey"] = ["name", "id"]
    event = read(message)
    assert event.table.indexes == (Index("PRIMARY", ("name", "id")),)
    assert json.loads(encoder().encode(event)[0])["schema"]["primaryKey"] == ["name", "id"]


def test_a_column_that_the_message_does_not_carry_is_absent_and_null_is_null():
    event = read(sample("insert", after={"dataColumn": {"id": 1, "comment": None}}))
    assert event.after == (1, ABSENT, None)
    assert json.loads(encoder().encode(event)[0])["payload"]["after"] == {"dataColumn": {"id": 1, "comment": None}}


READ_CASES = [
    ("BOOLEAN", True, 1),
    ("BOOLEAN", False, 0),
    ("LONG", -(2**63), -(2**63)),
    ("LONG", "17", 17),
    ("DOUBLE", 1.5, 1.5),
    ("DOUBLE", 3, 3.0),
    ("STRING", "é\0", "é\0"),
    ("DATE", 1590315269000, "2020-05-24 10:14:29.000"),
    ("DATE", "1590315269001", "2020-05-24 10:14:29.001"),
    ("DATE", -1, "1969-12-31 23:59:59.999"),
    ("BYTES", "5rWL6K+VdGV4dDEyMw==", "测试text123".encode()),
    ("BYTES", "5rWL6K+VdGV4dDEyMw", "测试text123".encode()),
    ("BYTES", "", b""),
]


@pytest.mark.parametrize(("streamx", "given", "value"), READ_CASES)
def test_a_value_is_read_by_its_column_type(streamx, given, value):
    event = row_of({"c": streamx}, {"c": given})
    assert event.after == (value,)
    assert event.table.columns[0].type == READ_AS[streamx]


def test_type_names_are_read_in_any_case():
    assert row_of({"c": "Long"}, {"c": 1}).after == (1,)


def test_a_date_is_read_in_the_zone_that_was_asked_for():
    assert row_of({"c": "DATE"}, {"c": 0}, time_zone="Asia/Shanghai").after == ("1970-01-01 08:00:00.000",)


def test_a_long_above_the_signed_range_makes_its_column_unsigned_in_that_message_alone():
    reader = decoder()
    message = sample("update_after", op="UPDATE", before={"dataColumn": {"id": 1}})
    message["payload"]["after"] = {"dataColumn": {"id": 2**64 - 1}}
    (wide,) = reader.decode(json.dumps(message).encode())
    (narrow,) = reader.decode(json.dumps(SAMPLES["insert"]).encode())
    assert isinstance(wide, RowChange)
    assert isinstance(narrow, RowChange)
    assert (wide.before, wide.after) == ((1, ABSENT, ABSENT), (2**64 - 1, ABSENT, ABSENT))
    assert wide.table.columns[0] == Column("id", ColumnType("bigint", unsigned=True), is_key=True)
    assert narrow.table == PK_TABLE


WRITE_CASES = [
    (ColumnType("tinyint"), -128, {}, ("LONG", -128)),
    (ColumnType("tinyint", length=1), 2, {}, ("LONG", 2)),
    (ColumnType("tinyint", length=1), 1, {"tinyint1": "boolean"}, ("BOOLEAN", True)),
    (ColumnType("bigint", unsigned=True), 2**64 - 1, {}, ("LONG", 2**64 - 1)),
    (ColumnType("bigint", unsigned=True), 2**64 - 1, {"bigint_unsigned": "string"}, ("STRING", str(2**64 - 1))),
    (ColumnType("year"), 2024, {}, ("LONG", 2024)),
    (ColumnType("bit", length=1), 0, {}, ("BOOLEAN", False)),
    (ColumnType("bit", length=63), 2**63 - 1, {}, ("LONG", 2**63 - 1)),
    (ColumnType("bit", length=64), 2**64 - 1, {}, ("STRING", str(2**64 - 1))),
    (ColumnType("float"), 0.5, {}, ("DOUBLE", 0.5)),
    (ColumnType("decimal"), "-0.10", {}, ("STRING", "-0.10")),
    (ColumnType("decimal"), "12.50", {"decimal": "double"}, ("DOUBLE", 12.5)),
    (ColumnType("date"), "1970-01-02", {}, ("DATE", 86400000)),
    (ColumnType("datetime", scale=6), "1970-01-01 00:00:01.999999", {}, ("DATE", 1999)),
    (ColumnType("datetime", scale=6), "1969-12-31 23:59:59.999999", {}, ("DATE", -1)),
    (ColumnType("timestamp"), "1970-01-01 08:00:00", {"time_zone": "Asia/Shanghai"}, ("DATE", 0)),
    (ColumnType("datetime"), "0000-00-00 00:00:00", {}, ("DATE", None)),
    (ColumnType("datetime"), "0000-00-00 00:00:00", {"date": "string"}, ("STRING", "0000-00-00 00:00:00")),
    (ColumnType("time"), "-838:59:59", {}, ("STRING", "-838:59:59")),
    (ColumnType("json"), '{"a": 1}', {}, ("STRING", '{"a": 1}')),
    (ColumnType("enum", elements=("x", "y")), 2, {}, ("STRING", "y")),
    (ColumnType("enum", elements=("x", "y")), 0, {}, ("STRING", "")),
    (ColumnType("enum"), 2, {}, ("STRING", "2")),
    (ColumnType("set", elements=("x", "y", "z")), 5, {}, ("STRING", "x,z")),
    (ColumnType("binary"), "测试text123".encode(), {}, ("BYTES", "5rWL6K+VdGV4dDEyMw==")),
    (ColumnType("blob"), None, {}, ("BYTES", None)),
]


@pytest.mark.parametrize(("type_", "value", "options", "expected"), WRITE_CASES)
def test_a_value_is_written_by_its_column_type(type_, value, options, expected):
    assert written(type_, value, **options) == expected


def test_a_decimal_as_double_keeps_all_its_digits():
    text = "12345678901234567890123456789012345.678901234567890"
    (message,) = encoder(decimal="double").encode(insert(ColumnType("decimal"), text))
    assert f'"c":{text}'.encode() in message


@pytest.mark.parametrize(
    ("type_", "value", "options"),
    [
        (ColumnType("tinyint", length=1), 2, {"tinyint1": "boolean"}),
        (ColumnType("datetime"), "0000-00-00 00:00:00", {"zero_date": "fail"}),
        (ColumnType("datetime", scale=6), "2020-01-01 00:00:00.000001", {"microseconds": "fail"}),
        (ColumnType("datetime"), "2021-02-31 00:00:00", {}),
        (ColumnType("double"), float("nan"), {}),
        (ColumnType("varchar"), "\udcff", {}),
        (ColumnType("enum", elements=("x",)), 2, {}),
        (ColumnType("decimal"), "1E+2", {"decimal": "double"}),
        (ColumnType("blob"), "text", {}),
    ],
)
def test_a_value_that_the_format_cannot_carry_is_refused(type_, value, options):
    with pytest.raises(EncodeError):
        written(type_, value, **options)


@pytest.mark.parametrize(
    "event",
    [Ddl(schema="d\udc98", table="t", query="drop table t"), TransactionMark(kind="BEGIN", table="t\udc98")],
    ids=["ddl", "mark"],
)
def test_a_name_that_is_not_utf8_is_refused(event):
    with pytest.raises(EncodeError, match="is not UTF-8"):
        encoder().encode(event)


@pytest.mark.parametrize("event", [SAMPLE_EVENTS["delete"], SAMPLE_EVENTS["insert"]], ids=["delete", "insert"])
def test_a_row_change_without_the_image_of_its_kind_is_refused(event):
    with pytest.raises(EncodeError, match="without its"):
        encoder().encode(msgspec.structs.replace(event, before=None, after=None))


BROKEN = {
    "empty": b"",
    "not JSON": b"{]",
    "another format": b'{"id":0,"database":"d","table":"t","data":[]}',
    "array": b"[]",
    "no op": json.dumps(sample("insert", op=...)).encode(),
    "no time": json.dumps(sample("insert", timestamp={})).encode(),
    "time in microseconds": json.dumps(sample("insert", timestamp={"eventTime": 1605339932000000})).encode(),
    "insert without after": json.dumps(sample("insert", after=None)).encode(),
    "delete without before": json.dumps(sample("delete", before=...)).encode(),
    "after half without after": json.dumps(sample("update_before", op="UPDATE_AFTER")).encode(),
    "update without images": json.dumps(sample("update_before", op="UPDATE", before=None)).encode(),
    "row without schema": json.dumps({**SAMPLES["insert"], "schema": {}}).encode(),
    "ddl without text": json.dumps(sample("ddl", ddl=None)).encode(),
    "sequenceId is text": json.dumps(sample("insert", sequenceId="x")).encode(),
    "sequenceId is negative": json.dumps(sample("insert", sequenceId=-1)).encode(),
    "sequenceId is endless": json.dumps(sample("insert", sequenceId="9" * 5000)).encode(),
    "untyped column": json.dumps(sample("insert", after={"dataColumn": {"id": 1, "new": 2}})).encode(),
    "value is a list": json.dumps(sample("insert", after={"dataColumn": {"id": [1]}})).encode(),
    "broken UTF-8": json.dumps(SAMPLES["insert"]).encode().replace(b"joe", b"j\xff"),
    "lone surrogate": json.dumps(SAMPLES["insert"]).encode().replace(b"joe", b"\\ud800"),
    "deep nesting": b'{"x":' + b"[" * 100_000,
    "deep nesting in schema": b'{"schema":' + b"[" * 100_000,
    "huge number": json.dumps(SAMPLES["insert"]).encode().replace(b'"id": 1}', b'"id": ' + b"9" * 5000 + b"}"),
}


@pytest.mark.parametrize("message", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_blob_message_is_a_decode_error(message):
    with pytest.raises(DecodeError):
        decoder().decode(message)


@pytest.mark.parametrize(
    ("streamx", "value"),
    [
        ("BOOLEAN", 1),
        ("LONG", 1.5),
        ("LONG", True),
        ("LONG", 2**64),
        ("LONG", -(2**63) - 1),
        ("LONG", "1" * 21),
        ("DOUBLE", "1.5"),
        ("DOUBLE", True),
        ("STRING", 1),
        ("DATE", 1.5),
        ("DATE", 10**18),
        ("BYTES", "a-_="),
        ("BYTES", "é"),
        ("DECIMAL", "1"),
    ],
)
def test_a_value_of_another_type_is_a_decode_error_that_names_the_column(streamx, value):
    with pytest.raises(DecodeError, match="'c'"):
        row_of({"c": streamx}, {"c": value})


def test_a_decode_error_says_where():
    with pytest.raises(DecodeError) as error:
        decoder().decode(b'{"version":1x')
    assert error.value.offset == 12


def test_a_decode_error_in_the_schema_says_so():
    with pytest.raises(DecodeError, match="schema: Expected `array"):
        decoder().decode(json.dumps({**SAMPLES["insert"], "schema": {"dataColumn": 1}}).encode())


@pytest.mark.parametrize("options", [{"decimals": "double"}, {"decimal": "float"}, {"time-zone": "Mars"}])
def test_a_wrong_option_is_a_config_error(options):
    with pytest.raises(ConfigError):
        CODEC.encoder(options)  # type: ignore[misc]


CARRIED = [
    (READ_AS["BOOLEAN"], ints(1, True)),
    (READ_AS["LONG"], ints(64)),
    (READ_AS["DOUBLE"], FLOAT64),
    (READ_AS["STRING"], TEXT),
    (READ_AS["DATE"], DATETIME_MS),
    (READ_AS["BYTES"], BYTES),
]
KEEP = {"sequence_keep": "all"}


def reread(event: Event, **options: str) -> list[Event]:
    """What is read of what is written of an event, halves joined."""
    reader, joiner = decoder(), HalfJoiner()
    events = [found for message in encoder(**options).encode(event) for found in reader.decode(message)]
    return [joined for found in events for joined in joiner.add(found)] + joiner.flush()


@settings(max_examples=150, deadline=None)
@given(changes(CARRIED))
def test_what_the_format_carries_comes_back_as_it_was(event):
    assert reread(event, **KEEP) == [event]


@settings(max_examples=150, deadline=None)
@given(changes(MYSQL_VALUES), st.sampled_from(["string", "double"]), st.sampled_from(["date", "string"]))
def test_every_mysql_value_is_written_and_a_second_pass_changes_nothing(event, decimal, date):
    options = {**KEEP, "date": date, "bigint_unsigned": "string", "decimal": decimal}
    (once,) = reread(event, **options)
    assert isinstance(once, RowChange)
    assert reread(once, **KEEP) == [once]
    assert [(c.name, c.is_key) for c in once.table.columns] == [(c.name, c.is_key) for c in event.table.columns]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_a_damaged_message_is_read_or_refused_and_nothing_else(name, data):
    message = bytearray(json.dumps(SAMPLES[name]).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(message) - 1))
        message[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(DecodeError):
        decoder().decode(bytes(message))


EXTREMES: dict[str, list[Value]] = {
    "bigint unsigned": [0, 2**64 - 1],
    "bigint": [-(2**63), 2**63 - 1],
    "bit(64)": [2**64 - 1],
    "date": ["0000-00-00", "9999-12-31"],
    "timestamp(3)": ["0000-00-00 00:00:00.000"],
    "time(1)": ["-838:59:59.0", "838:59:59.0"],
    "longtext": ["", "\0", "😀"],
    "longblob": [b"", b"\0", b"\xff\xfe"],
    "year": [0, 1901, 2155],
}


@pytest.mark.parametrize(("type_", "value"), [(type_, value) for type_, values in EXTREMES.items() for value in values])
def test_the_generators_reach_the_extremes(type_, value):
    values = {canal_text(known): generated for known, generated in MYSQL_VALUES}[type_]
    assert find(values, lambda found: found == value) == value


@pytest.mark.parametrize("hole", [None, ABSENT], ids=["null", "absent"])
def test_the_generators_leave_holes(hole):
    find(changes(CARRIED), lambda event: event.after is not None and hole in event.after)
