"""TiDB Binlog in Kafka: the vectors both ways, presence of values, transactions, garbage."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs import tidb_binlog
from spark_jobs.cdc.codecs.tidb_binlog import transactions as tidb_binlog_transactions
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Heartbeat,
    Index,
    RowChange,
    TableSchema,
    Watermark,
)
from spark_jobs.cdc.proto import tidb_binlog_pb2 as wire
from tests.cdc.carrier_views import with_signs

pytestmark = pytest.mark.usefixtures("both_ways")

VECTORS = json.loads((Path(__file__).parents[1] / "data/tidb_binlog/secondary.json").read_text())
by_name = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])


def decode(message) -> list[Any]:
    return list(tidb_binlog.decoder({}).decode(message))


def encode(events, **options):
    encoder = tidb_binlog.encoder({name.replace("_", "-"): value for name, value in options.items()})
    return [message for event in events for message in encoder.encode(event)] + list(encoder.flush())


def binlog(*tables, commit_ts=7):
    return wire.Binlog(type=wire.DML, commit_ts=commit_ts, dml_data=wire.DMLData(tables=tables))


def table_of(columns, *rows, name="t", **fields):
    """A table of (name, mysql_type) columns with one insert a row."""
    return wire.Table(
        schema_name="s",
        table_name=name,
        column_info=[wire.ColumnInfo(name=name, mysql_type=type_, is_primary_key=False) for name, type_ in columns],
        mutations=[wire.TableMutation(type=wire.INSERT, row=wire.Row(columns=row)) for row in rows],
        **fields,
    )


def only_value(mysql_type, **field):
    [event] = decode(binlog(table_of([("c", mysql_type)], [wire.Column(**field)])).SerializeToString())
    return event.after[0]


# --- vectors


CANONICAL = {
    "json": lambda field: bytes.fromhex(field["bytes_hex"]).decode(),
    "bit": lambda field: int(field["bytes_hex"], 16),
    "year": lambda field: int(field["string_value"]),
}


def value_of(field, mysql_type):
    if field.get("is_null"):
        return None
    if mysql_type in CANONICAL:
        return CANONICAL[mysql_type](field)
    [(name, value)] = field.items()
    return bytes.fromhex(value) if name == "bytes_hex" else value


def expected_rows(vector):
    data = vector["decoded"].get("dml_data", {"tables": []})
    for table in data["tables"]:
        types = [column["mysql_type"] for column in table["column_info"]]
        for mutation in table.get("mutations", []):
            row = tuple(map(value_of, mutation["row"], types))
            old = tuple(map(value_of, mutation.get("change_row", []), types))
            images = {"Insert": (None, row), "Update": (old, row), "Delete": (row, None)}[mutation["type"]]
            yield table["schema_name"], table["table_name"], mutation["type"].upper(), *images


@by_name
def test_a_vector_decodes_to_its_rows(vector):
    events = decode(bytes.fromhex(vector["hex"]))
    rows = [
        (event.table.schema, event.table.table, event.kind.value, event.before, event.after)
        for event in events
        if isinstance(event, RowChange)
    ]
    assert rows == list(expected_rows(vector))
    assert all(event.commit_ts == vector["decoded"]["commit_ts"] for event in events)
    assert all(event.es_ms == vector["decoded"]["commit_ts"] >> 18 for event in events)


@pytest.mark.parametrize("vector", [v for v in VECTORS if "ddl_data" in v["decoded"]], ids=lambda v: v["name"])
def test_a_ddl_vector_decodes_to_its_statement(vector):
    [event] = decode(bytes.fromhex(vector["hex"]))
    data = vector["decoded"]["ddl_data"]
    assert (event.schema, event.table, event.query) == (data["schema_name"], data["table_name"], data["ddl_query"])


def without_digits_that_say_nothing(message):
    """``decimal`` of a type that has no digits is not kept: it is written again as unspecified."""
    parsed = wire.Binlog.FromString(message)
    for table in parsed.dml_data.tables:
        for info in table.column_info:
            if info.mysql_type not in ("decimal", "float", "double", "datetime", "timestamp", "time"):
                info.decimal = -1
    return parsed.SerializeToString()


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS if "seek" not in v["name"] and v["name"] != "gentable_keys"], ids=lambda v: v["name"]
)
def test_a_vector_is_written_again_byte_by_byte(vector):
    message = bytes.fromhex(vector["hex"])
    assert encode(decode(message)) == [without_digits_that_say_nothing(message)]


def test_the_vectors_that_specify_no_digits_are_written_again_exactly():
    exact = [v["name"] for v in VECTORS if encode(decode(bytes.fromhex(v["hex"]))) == [bytes.fromhex(v["hex"])]]
    assert {"ddl_create_table", "ddl_translate_test", "dml_all_three", "all_types_insert"} <= set(exact)


def test_a_message_without_data_has_no_events():
    assert decode(bytes.fromhex("0800100a")) == []


def test_a_table_without_mutations_has_no_events():
    [vector] = [v for v in VECTORS if v["name"] == "gentable_keys"]
    assert decode(bytes.fromhex(vector["hex"])) == []


# --- structure


def test_unique_keys_become_indexes():
    keys = [wire.Key(name="PRIMARY", column_names=["a"]), wire.Key(name="u", column_names=["b", "a"])]
    [event] = decode(
        binlog(
            table_of([("a", "int"), ("b", "int")], [wire.Column(int64_value=1)] * 2, unique_keys=keys)
        ).SerializeToString()
    )
    assert event.table.indexes == (Index("PRIMARY", ("a",)), Index("u", ("b", "a")))


def test_a_drainer_before_3_0_9_tells_nothing_about_keys():
    [event] = decode(binlog(table_of([("a", "int")], [wire.Column(int64_value=1)])).SerializeToString())
    assert event.table.indexes is None


def test_a_drainer_before_5_4_tells_no_lengths():
    [event] = decode(binlog(table_of([("a", "decimal")], [wire.Column(string_value="1.50")])).SerializeToString())
    assert event.table.columns[0].type == ColumnType("decimal")


def test_lengths_and_digits_are_kept_where_they_say_something():
    table = table_of(
        [("a", "decimal"), ("b", "int"), ("c", "enum"), ("d", "datetime")], [wire.Column(is_null=True)] * 4
    )
    for info, (flen, decimal) in zip(table.column_info, [(10, 2), (11, 0), (3, -1), (26, 6)], strict=True):
        info.flen, info.decimal = flen, decimal
    [event] = decode(binlog(table).SerializeToString())
    assert [(c.type.length, c.type.scale) for c in event.table.columns] == [(10, 2), (11, None), (None, None), (26, 6)]


def test_unsigned_is_told_by_the_first_value_that_is_not_null():
    null, number = wire.Column(is_null=True), wire.Column(uint64_value=0)
    events = decode(binlog(table_of([("a", "int"), ("b", "int")], [null, null], [number, null])).SerializeToString())
    assert [column.type.unsigned for column in events[0].table.columns] == [True, False]
    assert events[0].table is events[1].table


def test_what_one_message_tells_of_unsigned_does_not_change_how_the_next_is_read():
    decoder: Any = tidb_binlog.decoder({})
    number, null = (
        binlog(table_of([("a", "int")], [column])).SerializeToString()
        for column in (wire.Column(uint64_value=7), wire.Column(is_null=True))
    )
    first, without, again = (decoder.decode(message)[0].table for message in (number, null, number))
    assert first.columns[0].type.unsigned
    assert not without.columns[0].type.unsigned
    assert first is again


def test_an_enum_is_not_unsigned():
    [event] = decode(binlog(table_of([("a", "enum")], [wire.Column(uint64_value=2)])).SerializeToString())
    assert event.table.columns[0].type == ColumnType("enum")


def test_the_same_structure_is_the_same_object_in_every_message():
    decoder: Any = tidb_binlog.decoder({})
    message = binlog(table_of([("a", "int")], [wire.Column(uint64_value=2)])).SerializeToString()
    assert decoder.decode(message)[0].table is decoder.decode(message)[0].table


def test_unknown_fields_are_passed_over():
    message = binlog(table_of([("a", "int")], [wire.Column(int64_value=1)]))
    message.time_zone = "Asia/Shanghai"
    assert decode(message.SerializeToString() + bytes.fromhex("f20603616263")) == decode(message.SerializeToString())


# --- values


@pytest.mark.parametrize(
    ("mysql_type", "field", "value"),
    [
        pytest.param("int", {"int64_value": 0}, 0, id="zero is not NULL"),
        pytest.param("int", {"is_null": True}, None, id="NULL"),
        pytest.param("varchar", {"string_value": ""}, "", id="empty text"),
        pytest.param("blob", {"bytes_value": b""}, b"", id="empty bytes"),
        pytest.param("double", {"double_value": 0.0}, 0.0, id="zero double"),
        pytest.param("bigint", {"int64_value": -1}, -1, id="minus one"),
        pytest.param("bigint", {"int64_value": 300}, 300, id="two-byte varint"),
        pytest.param("bigint", {"uint64_value": 2**64 - 1}, 2**64 - 1, id="largest unsigned"),
        pytest.param("bit", {"bytes_value": b"\x0a\xbc"}, 0xABC, id="bit is big-endian"),
        pytest.param("json", {"bytes_value": b'{"a": 1}'}, '{"a": 1}', id="json bytes are text"),
        pytest.param("year", {"string_value": "0000"}, 0, id="zero year"),
        pytest.param("char", {"string_value": "x" * 200}, "x" * 200, id="text beyond one length byte"),
        pytest.param("date", {"string_value": "0000-00-00"}, "0000-00-00", id="zero date"),
        pytest.param("int", {"string_value": "-5"}, -5, id="a default filled in as text"),
        pytest.param("float", {"string_value": "1.5"}, 1.5, id="a float default filled in as text"),
        pytest.param("enum", {"string_value": "b"}, "b", id="an enum default filled in as its name"),
        pytest.param("int", {"is_null": False, "int64_value": 4}, 4, id="is_null that says no"),
        pytest.param("int", {"int64_value": 4, "string_value": "9"}, 4, id="the first of several fields"),
    ],
)
def test_a_value_is_read_by_presence(mysql_type, field, value):
    assert only_value(mysql_type, **field) == value


def test_text_that_is_not_utf8_survives():
    message = binlog(table_of([("a", "varchar")], [wire.Column(string_value="??")])).SerializeToString()
    message = message.replace(b"??", b"\xff\xc3")
    [event] = decode(message)
    assert event.after == ("\udcff\udcc3",)
    assert b"\xff\xc3" in encode([event])[0]


# --- writing


COLUMNS = (Column("id", ColumnType("bigint"), is_key=True), Column("v", ColumnType("varchar")))
TABLE = TableSchema("s", "t", COLUMNS)
OTHER = TableSchema("s", "u", COLUMNS)


def insert(table, commit_ts, *row):
    return RowChange(kind=INSERT, table=table, after=row, commit_ts=commit_ts, es_ms=commit_ts >> 18)


def tables_of(message):
    return [(t.table_name, len(t.mutations)) for t in wire.Binlog.FromString(message).dml_data.tables]


def test_a_transaction_is_one_message_grouped_by_table():
    rows = [insert(TABLE, 5, 1, "a"), insert(OTHER, 5, 1, "b"), insert(TABLE, 5, 2, "c"), insert(TABLE, 6, 3, "d")]
    first, second = encode(rows)
    assert tables_of(first) == [("t", 2), ("u", 1)]
    assert tables_of(second) == [("t", 1)]
    assert [event.after for event in decode(first) if event.table.table == "t"] == [(1, "a"), (2, "c")]


def test_a_table_whose_structure_changes_inside_a_transaction_keeps_its_order():
    wider = TableSchema("s", "t", (*COLUMNS, Column("w", ColumnType("int"))))
    rows = [insert(TABLE, 5, 1, "a"), insert(wider, 5, 2, "b", 0), insert(TABLE, 5, 3, "c")]
    [message] = encode(rows)
    assert [event.after[0] for event in decode(message)] == [1, 2, 3]


def test_an_equal_schema_from_another_object_stays_in_one_table_entry():
    [message] = encode([insert(TABLE, 5, 1, "a"), insert(TableSchema("s", "t", COLUMNS), 5, 2, "b")])
    assert tables_of(message) == [("t", 2)]


def test_a_ddl_and_a_high_watermark_finish_the_transaction():
    encoder = tidb_binlog.encoder({})
    assert encoder.encode(insert(TABLE, 5, 1, "a")) == ()
    assert encoder.encode(Watermark(watermark_ts=4)) == ()
    assert encoder.encode(Heartbeat()) == ()
    assert len(encoder.encode(Watermark(watermark_ts=5))) == 1
    encoder.encode(insert(TABLE, 6, 1, "a"))
    assert len(encoder.encode(Ddl(schema="s", table="", query="drop database s", commit_ts=6))) == 2
    assert encoder.flush() == ()


def test_rows_without_commit_ts_do_not_gather_for_ever():
    messages = encode([insert(TABLE, 0, number, "") for number in range(2500)])
    assert [tables_of(message) for message in messages] == [[("t", 1000)], [("t", 1000)], [("t", 500)]]


@pytest.mark.parametrize(
    ("version", "fields"),
    [("5.4", {1, 2, 3, 4, 5}), ("3.0.9", {1, 2, 3}), ("3.0", {1, 2, 3})],
)
def test_older_drainers_write_fewer_fields(version, fields):
    table = TableSchema("s", "t", COLUMNS, (Index("PRIMARY", ("id",)), Index("plain", ("v",), unique=False)))
    [message] = encode([insert(table, 5, 1, "a")], drainer_version=version)
    [written] = wire.Binlog.FromString(message).dml_data.tables
    assert {field.number for field, _ in written.column_info[0].ListFields()} == fields
    assert [key.name for key in written.unique_keys] == ([] if version == "3.0" else ["PRIMARY"])


def test_a_message_before_5_4_has_these_bytes():
    row = RowChange(kind=DELETE, table=TableSchema("a", "b", COLUMNS[:1]), before=(-1,), commit_ts=1)
    [message] = encode([row], drainer_version="3.0")
    assert message.hex() == (
        "080010011a2b0a290a01611201621a0e0a0269641206626967696e74180122110802120d0a0b10ffffffffffffffffff01"
    )


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        pytest.param(ColumnType("int"), 0, {"int64_value": 0}, id="zero"),
        pytest.param(ColumnType("int", unsigned=True), 0, {"uint64_value": 0}, id="unsigned zero"),
        pytest.param(ColumnType("bigint"), 2**63, {"uint64_value": 2**63}, id="too big for signed"),
        pytest.param(ColumnType("bit", length=12), 1, {"bytes_value": b"\0\1"}, id="bit of known length"),
        pytest.param(ColumnType("bit"), 0, {"bytes_value": b"\0"}, id="bit of unknown length"),
        pytest.param(ColumnType("bit", length=2**31), 1, {"bytes_value": b"\1"}, id="bit whose length lies"),
        pytest.param(ColumnType("year"), 0, {"string_value": "0000"}, id="zero year"),
        pytest.param(ColumnType("enum", elements=("a", "b")), "b", {"uint64_value": 2}, id="enum by name"),
        pytest.param(ColumnType("set", elements=("a", "b")), "a,b", {"uint64_value": 3}, id="set by names"),
        pytest.param(ColumnType("json"), "[]", {"bytes_value": b"[]"}, id="json"),
        pytest.param(ColumnType("geometry"), b"\1", {"string_value": "\1"}, id="geometry"),
        pytest.param(ColumnType("float"), -0.0, {"double_value": -0.0}, id="minus zero"),
        pytest.param(ColumnType("blob"), b"", {"bytes_value": b""}, id="empty blob"),
        pytest.param(ColumnType("text"), None, {"is_null": True}, id="NULL"),
        pytest.param(ColumnType("text"), "é" * 100, {"string_value": "é" * 100}, id="text beyond one length byte"),
    ],
)
def test_a_value_is_written_in_the_field_of_its_type(name, value, field):
    [message] = encode([insert(TableSchema("s", "t", (Column("c", name),)), 1, value)])
    [table] = wire.Binlog.FromString(message).dml_data.tables
    assert table.mutations[0].row.columns[0].SerializeToString() == wire.Column(**field).SerializeToString()


def test_minus_zero_is_not_taken_for_zero():
    table = TableSchema("s", "t", (Column("c", ColumnType("double")),))
    [message] = encode([insert(table, 1, 0.0), insert(table, 1, -0.0)])
    assert [str(event.after[0]) for event in decode(message)] == ["0.0", "-0.0"]


@pytest.mark.parametrize(
    ("type_name", "value", "reason"),
    [
        ("int", ABSENT, "column c: the image does not have it"),
        ("int", "x", "column c: int is expected"),
        ("int", -(2**63) - 1, "column c: .* does not fit"),
        ("varchar", "\ud800", "column c: .*surrogates not allowed"),
        ("enum", "x", "column c: .* its elements are not known"),
        ("int", [], "column c"),
    ],
)
def test_a_value_that_the_format_cannot_carry_is_an_encode_error(type_name, value, reason):
    with pytest.raises(EncodeError, match=reason):
        encode([insert(TableSchema("s", "t", (Column("c", ColumnType(type_name)),)), 1, value)])


def test_a_row_that_fails_leaves_the_transaction_as_it_was():
    encoder = tidb_binlog.encoder({})
    encoder.encode(insert(TABLE, 5, 1, "a"))
    for bad in (insert(TABLE, 6, ABSENT, "b"), insert(TABLE, -1, 1, "b"), insert(TABLE, 5, 1)):
        with pytest.raises(EncodeError):
            encoder.encode(bad)
    [message] = encoder.flush()
    assert [event.after for event in decode(message)] == [(1, "a")]


def test_a_transaction_beyond_the_limit_is_refused_and_what_was_gathered_stays(monkeypatch):
    monkeypatch.setattr(tidb_binlog_transactions, "MAX_MESSAGE_BYTES", 50)
    encoder = tidb_binlog.encoder({})
    encoder.encode(insert(TABLE, 5, 1, "a"))
    for commit_ts in (5, 6):
        with pytest.raises(EncodeError, match="larger than 50 bytes"):
            encoder.encode(insert(TABLE, commit_ts, 2, "x" * 60))
    assert len(decode(encoder.flush()[0])) == 1


def test_half_an_update_cannot_be_written():
    with pytest.raises(EncodeError, match="images"):
        encode([RowChange(kind=UPDATE, table=TABLE, after=(1, "a"), half="after", commit_ts=5)])


def test_an_unknown_option_is_refused():
    with pytest.raises(ConfigError, match="drainer-version"):
        tidb_binlog.encoder({"drainer-versoin": "3.0"})


# --- round trips


TEXT = st.text(st.characters(codec="utf-8"), max_size=8) | st.just("\udcff\0") | st.just("😀" * 40)
VALUES = {
    "tinyint": st.integers(-128, 127),
    "bigint": st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 127, 128, 16384]),
    "year": st.integers(0, 2155),
    "bit": st.integers(0, 2**64 - 1),
    "enum": st.integers(0, 65535),
    "set": st.integers(0, 2**64 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False) | st.just(-0.0),
    "decimal": st.sampled_from(["0", "-123.4500", "9" * 65]),
    "time": st.sampled_from(["-838:59:59", "00:00:00.000001"]),
    "datetime": st.sampled_from(["0000-00-00 00:00:00", "9999-12-31 23:59:59.999999"]),
    "varchar": TEXT,
    "json": TEXT,
    "blob": st.binary(max_size=8) | st.just(b"\0" * 200),
    "geometry": st.binary(max_size=8),
}
UNSIGNED = st.sampled_from([0, 1, 2**63, 2**64 - 1])
NAMES = st.text(string.ascii_letters + "`ü", min_size=1, max_size=4)


@st.composite
def row_changes(draw):
    types = draw(st.lists(st.sampled_from([*VALUES, "unsigned"]), min_size=1, max_size=5))
    columns = tuple(
        Column(
            draw(NAMES), ColumnType("bigint", unsigned=True) if t == "unsigned" else ColumnType(t), draw(st.booleans())
        )
        for t in types
    )
    table = TableSchema(draw(NAMES), draw(NAMES), columns)

    def image():
        return tuple(draw(UNSIGNED if t == "unsigned" else st.none() | VALUES[t]) for t in types)

    kind = draw(st.sampled_from([INSERT, UPDATE, DELETE]))
    commit_ts = draw(st.integers(1, 2**63 - 1))
    return RowChange(
        kind=kind,
        table=table,
        before=None if kind is INSERT else image(),
        after=None if kind is DELETE else image(),
        commit_ts=commit_ts,
        es_ms=commit_ts >> 18,
    )


@settings(max_examples=150, deadline=None)
@given(row_changes())
def test_a_row_change_survives_the_round_trip(event):
    [message] = encode([event])
    assert [*map(with_signs, decode(message))] == [event]


# --- garbage


def decodes_or_refuses(message):
    try:
        tidb_binlog.decoder({}).decode(message)
    except DecodeError:
        return


@by_name
def test_a_message_cut_anywhere_decodes_or_is_refused(vector):
    message = bytes.fromhex(vector["hex"])
    for size in range(len(message)):
        decodes_or_refuses(message[:size])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(VECTORS), st.data())
def test_a_damaged_message_decodes_or_is_refused(vector, data):
    message = bytearray.fromhex(vector["hex"])
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    decodes_or_refuses(bytes(message))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_decode_or_are_refused(junk):
    decodes_or_refuses(junk)
    decodes_or_refuses(b"\x08\x00\x10\x05\x1a" + bytes([len(junk)]) + junk)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(b"", "commit_ts", id="empty"),
        pytest.param(b"\x08\x00", "commit_ts", id="no commit_ts"),
        pytest.param(b"\x08\x02\x10\x05", "type is 2", id="unknown type"),
        pytest.param(b"\x08\x01\x10\x05", "no ddl_data", id="a DDL without statement"),
        pytest.param(b"\x08\x00\x10\x05\x1a\xff\xff\xff\xff\x07", "not a protobuf", id="a length that lies"),
        pytest.param(b"\x08\x00\x10" + b"\xff" * 11, "not a protobuf", id="a varint without end"),
        pytest.param(b"\x0b" * 200, "not a protobuf", id="deep groups"),
    ],
)
def test_a_wrong_message_is_refused_with_its_reason(message, reason):
    with pytest.raises(DecodeError, match=reason):
        decode(message)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param([wire.Column()], "column c: it holds no value", id="no field"),
        pytest.param([], "has 0 columns and column_info 1", id="too few columns"),
        pytest.param([wire.Column(int64_value=1)] * 2, "has 2 columns", id="too many columns"),
        pytest.param(
            [wire.Column(string_value="1x")], "mutation 0, column c: '1x' is not", id="text that is no number"
        ),
        pytest.param([wire.Column(double_value=1)], "holds a double_value", id="a double in an integer column"),
    ],
)
def test_a_wrong_row_is_refused_with_table_mutation_and_column(row, reason):
    with pytest.raises(DecodeError, match=r"table s\.t, mutation 0") as caught:
        decode(binlog(table_of([("c", "int")], row)).SerializeToString())
    assert reason in caught.value.reason


def test_an_update_without_old_row_is_refused():
    table = table_of([("c", "int")], [wire.Column(int64_value=1)])
    table.mutations[0].type = wire.UPDATE
    with pytest.raises(DecodeError, match="0 columns"):
        decode(binlog(table).SerializeToString())


def test_a_mutation_of_unknown_type_is_refused():
    message = binlog(table_of([("c", "int")], [wire.Column(int64_value=1)])).SerializeToString()
    with pytest.raises(DecodeError, match="type 9 is none of"):
        decode(message.replace(bytes.fromhex("22080800"), bytes.fromhex("22080809")))


# --- rows as a whole: the ways in which a row's columns are told apart


def rows_of(columns, *rows):
    return [event.after for event in decode(binlog(table_of(columns, *rows)).SerializeToString())]


NULL = wire.Column(is_null=True)


@pytest.mark.parametrize("nulls", list(range(16)))
def test_null_stands_where_it_is(nulls):
    columns = [("a", "int"), ("b", "varchar"), ("c", "int"), ("d", "varchar")]
    full = [
        wire.Column(int64_value=1),
        wire.Column(string_value="x"),
        wire.Column(int64_value=2),
        wire.Column(string_value="y"),
    ]
    row = [NULL if nulls >> at & 1 else column for at, column in enumerate(full)]
    expected = tuple(None if nulls >> at & 1 else value for at, value in enumerate((1, "x", 2, "y")))
    assert rows_of(columns, full, row, full) == [(1, "x", 2, "y"), expected, (1, "x", 2, "y")]


def test_signs_that_change_places_are_not_mixed_up():
    """Two columns changed at once from signed to unsigned and back: the lists are as long as before."""
    decoder: Any = tidb_binlog.decoder({})
    columns = [("a", "bigint"), ("b", "bigint")]
    signed, unsigned = wire.Column(int64_value=1), wire.Column(uint64_value=2)
    first, second = (
        decoder.decode(binlog(table_of(columns, row)).SerializeToString())[0]
        for row in ([signed, unsigned], [unsigned, signed])
    )
    assert (first.after, second.after) == ((1, 2), (2, 1))
    assert [column.type.unsigned for column in second.table.columns] == [True, False]


def test_signed_and_unsigned_columns_of_one_message_are_read_row_by_row():
    columns = [("a", "bigint"), ("b", "bigint"), ("c", "varchar")]
    text, null = wire.Column(string_value="x"), wire.Column(is_null=True)
    usual = [wire.Column(int64_value=-1), wire.Column(uint64_value=2), text]
    partly = [null, wire.Column(uint64_value=3), text]
    filled = [wire.Column(int64_value=4), wire.Column(string_value="5"), text]
    expected = [(-1, 2, "x"), (None, 3, "x"), (4, 5, "x"), (-1, 2, "x")]
    assert rows_of(columns, usual, partly, filled, usual) == expected


def test_filled_in_defaults_stand_where_they_are():
    columns = [("a", "int"), ("b", "varchar"), ("c", "double"), ("d", "blob")]
    usual = [
        wire.Column(int64_value=1),
        wire.Column(string_value="x"),
        wire.Column(double_value=2),
        wire.Column(bytes_value=b"y"),
    ]
    filled = [wire.Column(string_value=text) for text in ("7", "z", "0.5", "w")]
    assert rows_of(columns, usual, filled, usual)[1] == (7, "z", 0.5, b"w")


def test_irregular_columns_are_read_one_by_one():
    columns = [("a", "int"), ("b", "varchar")]
    twice = [wire.Column(int64_value=1, string_value="no"), wire.Column(string_value="x")]
    not_null = [wire.Column(is_null=False, int64_value=1), wire.Column(is_null=True, string_value="no")]
    usual = [wire.Column(int64_value=2), wire.Column(string_value="y")]
    assert rows_of(columns, twice, not_null) == [(1, "x"), (1, None)]
    assert rows_of(columns, usual, twice, not_null, usual) == [(2, "y"), (1, "x"), (1, None), (2, "y")]


def test_a_table_that_changes_between_messages_is_read_anew():
    decoder: Any = tidb_binlog.decoder({})

    def read(table):
        [event] = decoder.decode(binlog(table).SerializeToString())
        return [column.name for column in event.table.columns], event.table.indexes, event.after

    one, two = wire.Column(int64_value=1), wire.Column(int64_value=2)
    key = wire.Key(name="PRIMARY", column_names=["a"])
    assert read(table_of([("a", "int")], [one])) == (["a"], None, (1,))
    assert read(table_of([("a", "int"), ("b", "int")], [one, two])) == (["a", "b"], None, (1, 2))
    assert read(table_of([("a", "int")], [one], unique_keys=[key])) == (["a"], (Index("PRIMARY", ("a",)),), (1,))
    assert read(table_of([("a", "int")], [one])) == (["a"], None, (1,))


def test_fields_of_a_table_may_come_in_any_order():
    table = table_of([("a", "int")], [wire.Column(int64_value=1)]).SerializeToString()
    late = wire.Table(column_info=[wire.ColumnInfo(name="b", mysql_type="int")]).SerializeToString()
    row = wire.Row(columns=[wire.Column(int64_value=1), wire.Column(int64_value=2)])
    mutation = wire.Table(mutations=[wire.TableMutation(type=wire.INSERT, row=row)]).SerializeToString()
    decoder: Any = tidb_binlog.decoder({})

    def message(table_bytes):
        data = b"\x0a" + bytes([len(table_bytes)]) + table_bytes
        return b"\x08\x00\x10\x07\x1a" + bytes([len(data)]) + data

    assert decoder.decode(message(table))[0].after == (1,)
    head = table[: table.index(b"\x22")]
    assert decoder.decode(message(head + mutation + late))[0].after == (1, 2)
