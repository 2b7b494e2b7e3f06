"""DataHub Tuple records: the documented example, types, metadata columns, round trips, garbage."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs.datahub.tuple import Decoder, Encoder
from spark_jobs.cdc.codecs.datahub.tuple_values import READ_AS
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    NO_ORIGIN,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Event,
    Heartbeat,
    RowChange,
    TableSchema,
    Value,
    Watermark,
)
from spark_jobs.cdc.rows.halves import HalfJoiner
from tests.cdc.datahub_events import BYTES, DATETIME_US, DECIMAL, FLOAT32, FLOAT64, MYSQL_VALUES, TEXT, changes, ints

pytestmark = pytest.mark.usefixtures("both_ways")

TABLE = TableSchema(
    "shop",
    "orders",
    (Column("id", ColumnType("bigint"), is_key=True), Column("v", ColumnType("varchar"), comment="what")),
)
INSERTED = RowChange(kind=INSERT, table=TABLE, after=(7, "a"), es_ms=1649991726000, sequence=1649991610688000000)
UPDATED = RowChange(
    kind=UPDATE, table=TABLE, before=(7, "a"), after=(7, None), es_ms=1649991756000, sequence=1649991610688000001
)
DELETED = RowChange(kind=DELETE, table=TABLE, before=(7, None), es_ms=1649991774000, sequence=1649991610688000002)
META = ["_sequence_id_", "_operation_type_", "_excute_time_", "_source_table_", "_before_image_", "_after_image_"]


def encoder(**options: str) -> Encoder:
    return Encoder({name.replace("_", "-"): value for name, value in options.items()})


def decoder(**options: str) -> Decoder:
    return Decoder({name.replace("_", "-"): value for name, value in options.items()})


def insert(type_: ColumnType, value: Value) -> RowChange:
    return RowChange(kind=INSERT, table=TableSchema("d", "t", (Column("c", type_),)), after=(value,), es_ms=1)


def written(type_: ColumnType, value: Value, **options: str) -> tuple[str, str | None]:
    """Field type and text of one column."""
    (record,) = encoder(**options).records(insert(type_, value))
    return record.fields[0].type, record.values[0]


def line(**changes: object) -> bytes:
    parsed = json.loads(encoder().encode(INSERTED)[0])
    return json.dumps({**parsed, **changes}).encode()


def with_meta(name: str, value: str | None) -> bytes:
    parsed = json.loads(line())
    parsed["data"][[field["name"] for field in parsed["fields"]].index(name)] = value
    return json.dumps(parsed).encode()


def test_the_documented_example():
    writer = encoder()
    records = [record for event in (INSERTED, UPDATED, DELETED) for record in writer.records(event)]
    assert [record.values for record in records] == [
        ("7", "a", "1649991610688000000", "I", "1649991726000", "orders", "N", "Y"),
        ("7", "a", "1649991610688000001", "U", "1649991756000", "orders", "Y", "N"),
        ("7", None, "1649991610688000001", "U", "1649991756000", "orders", "N", "Y"),
        ("7", None, "1649991610688000002", "D", "1649991774000", "orders", "Y", "N"),
    ]


def test_a_topic_is_created_with_the_columns_and_the_metadata_columns():
    types = ["string", "string", "bigint", "string", "string", "string"]
    assert json.loads(encoder().schema_json(TABLE)) == {
        "fields": [
            {"name": "id", "type": "bigint"},
            {"name": "v", "type": "string", "comment": "what"},
            *({"name": name, "type": type_} for name, type_ in zip(META, types, strict=True)),
        ]
    }


def test_a_line_stands_alone():
    (message,) = encoder().encode(INSERTED)
    parsed = json.loads(message)
    assert list(parsed) == ["database", "table", "primaryKey", "fields", "data"]
    assert (parsed["database"], parsed["table"], parsed["primaryKey"]) == ("shop", "orders", ["id"])
    assert dict(zip((field["name"] for field in parsed["fields"]), parsed["data"], strict=True)) == {
        "id": "7",
        "v": "a",
        "_sequence_id_": "1649991610688000000",
        "_operation_type_": "I",
        "_excute_time_": "1649991726000",
        "_source_table_": "orders",
        "_before_image_": "N",
        "_after_image_": "Y",
    }


def test_metadata_columns_can_be_renamed_and_left_out():
    names = {"time_column": "_execute_time_", "table_column": ""}
    (record,) = encoder(**names).records(INSERTED)
    assert [field.name for field in record.fields[2:]] == [
        "_sequence_id_",
        "_operation_type_",
        "_execute_time_",
        "_before_image_",
        "_after_image_",
    ]
    assert len(record.values) == len(record.fields)
    (event,) = decoder(**names).decode(encoder(**names).encode(INSERTED)[0])
    assert isinstance(event, RowChange)
    assert event.es_ms == INSERTED.es_ms


def test_an_update_whose_old_row_is_not_known_is_one_record():
    event = RowChange(kind=UPDATE, table=TABLE, after=(7, "a"), es_ms=1)
    assert [record.values[-2:] for record in encoder().records(event)] == [("N", "Y")]


@pytest.mark.parametrize(
    "event",
    [Ddl(schema="shop", table="orders", query="drop table orders"), Heartbeat(), Watermark(watermark_ts=1)],
    ids=["ddl", "heartbeat", "watermark"],
)
def test_what_has_no_form_is_dropped_and_counted(event):
    writer = encoder()
    assert list(writer.encode(event)) == []
    assert writer.dropped == {type(event).__name__: 1}


def test_an_absent_column_is_null_in_an_old_row_and_refused_in_a_new_one():
    (record,) = encoder().records(RowChange(kind=DELETE, table=TABLE, before=(7, ABSENT), es_ms=1))
    assert record.values[:2] == ("7", None)
    with pytest.raises(EncodeError, match="'v'"):
        encoder().records(RowChange(kind=INSERT, table=TABLE, after=(7, ABSENT), es_ms=1))


def test_a_column_named_like_a_metadata_column_is_refused():
    table = TableSchema("d", "t", (Column("_SEQUENCE_ID_", ColumnType("int")),))
    with pytest.raises(EncodeError, match="_sequence_id_"):
        encoder().schema_json(table)


def test_two_metadata_columns_with_one_name_are_a_config_error():
    with pytest.raises(ConfigError, match="same name"):
        encoder(time_column="_Sequence_Id_")


U64 = 2**64 - 1
WRITE_CASES = [
    (ColumnType("tinyint"), -128, {}, ("bigint", "-128")),
    (ColumnType("tinyint"), -128, {"integers": "exact"}, ("tinyint", "-128")),
    (ColumnType("tinyint", unsigned=True), 255, {"integers": "exact"}, ("smallint", "255")),
    (ColumnType("smallint", unsigned=True), 65535, {"integers": "exact"}, ("integer", "65535")),
    (ColumnType("mediumint", unsigned=True), 2**24 - 1, {"integers": "exact"}, ("integer", str(2**24 - 1))),
    (ColumnType("int"), -(2**31), {"integers": "exact"}, ("integer", str(-(2**31)))),
    (ColumnType("int", unsigned=True), 2**32 - 1, {"integers": "exact"}, ("bigint", str(2**32 - 1))),
    (ColumnType("bigint"), -(2**63), {}, ("bigint", str(-(2**63)))),
    (ColumnType("bigint", unsigned=True), U64, {}, ("decimal", str(U64))),
    (ColumnType("bigint", unsigned=True), U64, {"bigint_unsigned": "string"}, ("string", str(U64))),
    (ColumnType("tinyint", length=1), 2, {}, ("bigint", "2")),
    (ColumnType("tinyint", length=1), 1, {"tinyint1": "boolean"}, ("boolean", "true")),
    (ColumnType("bit", length=1), 0, {}, ("boolean", "false")),
    (ColumnType("bit", length=63), 5, {}, ("bigint", "5")),
    (ColumnType("bit", length=64), U64, {}, ("decimal", str(U64))),
    (ColumnType("bit"), U64, {}, ("decimal", str(U64))),
    (ColumnType("year"), 2024, {}, ("bigint", "2024")),
    (ColumnType("float"), 0.5, {}, ("double", "0.5")),
    (ColumnType("double"), 0.1, {}, ("double", "0.1")),
    (ColumnType("decimal", length=38, scale=2), "-0.10", {}, ("decimal", "-0.10")),
    (ColumnType("decimal", length=65, scale=2), "-0.10", {}, ("string", "-0.10")),
    (ColumnType("date"), "1970-01-02", {}, ("timestamp", "86400000000")),
    (ColumnType("datetime", scale=6), "1970-01-01 00:00:01.999999", {}, ("timestamp", "1999999")),
    (ColumnType("timestamp"), "1970-01-01 08:00:00", {"time_zone": "Asia/Shanghai"}, ("timestamp", "0")),
    (ColumnType("datetime"), "0000-00-00 00:00:00", {}, ("timestamp", None)),
    (ColumnType("time"), "-838:59:59", {}, ("string", "-838:59:59")),
    (ColumnType("json"), '{"a": 1}', {}, ("string", '{"a": 1}')),
    (ColumnType("enum", elements=("x", "y")), 2, {}, ("string", "y")),
    (ColumnType("set", elements=("x", "y", "z")), 5, {}, ("string", "x,z")),
    (ColumnType("blob"), b"\xff\xfe", {}, ("string", "//4=")),
    (ColumnType("varchar"), "", {}, ("string", "")),
    (ColumnType("varchar"), None, {}, ("string", None)),
]


@pytest.mark.parametrize(("type_", "value", "options", "expected"), WRITE_CASES)
def test_a_value_is_written_by_its_column_type(type_, value, options, expected):
    assert written(type_, value, **options) == expected


@pytest.mark.parametrize(
    ("type_", "value", "options"),
    [
        (ColumnType("tinyint", length=1), 2, {"tinyint1": "boolean"}),
        (ColumnType("double"), float("inf"), {}),
        (ColumnType("datetime"), "9999-12-31 23:59:59", {}),
        (ColumnType("datetime"), "2021-02-31 00:00:00", {}),
        (ColumnType("longtext"), "x" * (2 * 1024 * 1024 + 1), {}),
        (ColumnType("longtext"), "é" * (1024 * 1024 + 1), {}),
        (ColumnType("enum", elements=("x",)), 2, {}),
        (ColumnType("decimal"), "9" * 39, {}),
    ],
    ids=[
        *("boolean 2", "infinity", "year 9999 in UTC", "no such day", "long text", "long UTF-8", "no such element"),
        "39 digits",
    ],
)
def test_a_value_that_the_format_cannot_carry_is_refused(type_, value, options):
    with pytest.raises(EncodeError, match="'c'"):
        written(type_, value, **options)


def test_text_that_is_not_utf8_is_refused_on_a_line():
    with pytest.raises(EncodeError):
        encoder().encode(insert(ColumnType("varchar"), "\udcff"))


READ_CASES = [
    ("TinyInt", "-128", -128),
    ("SMALLINT", "32767", 32767),
    ("INTEGER", "-2147483648", -(2**31)),
    ("bigint", str(-(2**63)), -(2**63)),
    ("FLOAT", "0.1", 0.10000000149011612),
    ("DOUBLE", "1.0000000000000001e-01", 0.1),
    ("DOUBLE", "1.e+20", 1e20),
    ("BOOLEAN", "true", 1),
    ("BOOLEAN", "False", 0),
    ("BOOLEAN", "1", 1),
    ("TIMESTAMP", "1455869335000000", "2016-02-19 08:08:55.000000"),
    ("STRING", "é", "é"),
    ("DECIMAL", "1.10", "1.10"),
    ("DECIMAL", "1E+2", "100"),
    ("DECIMAL", None, None),
]


def read(type_: str, text: str | None) -> RowChange:
    parsed = json.loads(line())
    parsed["fields"][1] = {"name": "c", "type": type_}
    parsed["data"][1] = text
    (event,) = decoder().decode(json.dumps(parsed).encode())
    assert isinstance(event, RowChange)
    return event


@pytest.mark.parametrize(("type_", "text", "value"), READ_CASES)
def test_a_value_is_read_by_its_field_type(type_, text, value):
    event = read(type_, text)
    assert event.after == (7, value)
    assert event.table.columns[1].type == READ_AS[type_.upper()]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("TINYINT", "128"),
        ("SMALLINT", "1.5"),
        ("BIGINT", str(2**63)),
        ("BIGINT", ""),
        ("DOUBLE", "nan"),
        ("FLOAT", "1e39"),
        ("BOOLEAN", "2"),
        ("TIMESTAMP", "253402300800000000"),
        ("TIMESTAMP", "2020-01-01"),
        ("DECIMAL", "1E+999"),
        ("DECIMAL", "٣"),
        ("BLOB", "x"),
    ],
)
def test_a_text_of_another_type_is_a_decode_error_that_names_the_column(type_, text):
    with pytest.raises(DecodeError, match="'c'"):
        read(type_, text)


BROKEN = {
    "empty": b"",
    "not JSON": b"{]",
    "no data": b"{}",
    "too few values": line(data=["7"]),
    "a number as value": line(data=[7, "a", "1", "I", "1", "orders", "N", "Y"]),
    "a column twice": line(fields=[{"name": "id", "type": "bigint"}] * 8),
    "no metadata": line(fields=[{"name": "id", "type": "bigint"}], data=["7"]),
    "unknown operation": with_meta("_operation_type_", "X"),
    "insert of an old row": with_meta("_before_image_", "Y"),
    "no image": with_meta("_after_image_", None),
    "time is text": with_meta("_excute_time_", "now"),
    "time in microseconds": with_meta("_excute_time_", "1649991726000000"),
    "sequence is text": with_meta("_sequence_id_", "x"),
    "sequence is null": with_meta("_sequence_id_", None),
    "sequence is endless": with_meta("_sequence_id_", "9" * 5000),
    "deep nesting": b'{"x":' + b"[" * 100_000,
    "broken UTF-8": line().replace(b"orders", b"\xff"),
}


@pytest.mark.parametrize("message", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_tuple_record_is_a_decode_error(message):
    with pytest.raises(DecodeError):
        decoder().decode(message)


def test_a_metadata_column_under_another_name_is_missed_with_its_option():
    with pytest.raises(DecodeError, match="sequence-column"):
        decoder(sequence_column="_seq_").decode(line())


def reread(event: Event, **options: str) -> list[Event]:
    """What is read of what is written of an event, halves joined."""
    reader, joiner = decoder(), HalfJoiner()
    events = [found for message in encoder(**options).encode(event) for found in reader.decode(message)]
    return [joined for found in events for joined in joiner.add(found)] + joiner.flush()


def without_what_is_not_carried(event: RowChange) -> RowChange:
    return RowChange(
        kind=event.kind,
        table=event.table,
        before=event.before,
        after=event.after,
        es_ms=event.es_ms,
        sequence=event.sequence,
        origin=NO_ORIGIN,
    )


CARRIED = [
    (READ_AS["TINYINT"], ints(8)),
    (READ_AS["SMALLINT"], ints(16)),
    (READ_AS["INTEGER"], ints(32)),
    (READ_AS["BIGINT"], ints(64)),
    (READ_AS["DOUBLE"], FLOAT64),
    (READ_AS["BOOLEAN"], ints(1, True)),
    (READ_AS["TIMESTAMP"], DATETIME_US.filter(lambda text: "0001-01-02" < str(text) < "9999-12-31")),
    (READ_AS["STRING"], TEXT),
    (READ_AS["DECIMAL"], DECIMAL),
]
KEEP = {"sequence_keep": "all"}


@settings(max_examples=150, deadline=None)
@given(changes(CARRIED, partial=False))
def test_what_the_format_carries_comes_back_as_it_was(event):
    assert reread(event, integers="exact", **KEEP) == [without_what_is_not_carried(event)]


WRITABLE = [(type_, values) for type_, values in MYSQL_VALUES if type_.name not in ("date", "datetime", "timestamp")]


@settings(max_examples=150, deadline=None)
@given(changes([*WRITABLE, (ColumnType("float"), FLOAT32), (ColumnType("blob"), BYTES)], partial=False))
def test_every_mysql_value_is_written_and_a_second_pass_changes_nothing(event):
    (once,) = reread(event, **KEEP)
    assert reread(once, **KEEP) == [once]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_record_is_read_or_refused_and_nothing_else(data):
    message = bytearray(line())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(message) - 1))
        message[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(DecodeError):
        decoder().decode(bytes(message))
