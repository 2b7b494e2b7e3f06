"""The payloads of Drainer's local files: datums, transactions, statements, garbage."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs import drainer as drainer_binlog
from spark_jobs.cdc.codecs.drainer.statement import read_statement, stored_statement
from spark_jobs.cdc.codecs.tidb_binlog import datum as tidb_datum
from spark_jobs.cdc.codecs.tidb_binlog.binary_json import json_text
from spark_jobs.cdc.codecs.tidb_binlog.values import NULL
from spark_jobs.cdc.errors import DecodeError, EncodeError
from spark_jobs.cdc.events import ABSENT, DELETE, INSERT, UPDATE, Column, ColumnType, Ddl, RowChange, TableSchema
from spark_jobs.cdc.proto import drainer_file_pb2 as wire
from tests.cdc.carrier_views import with_signs

pytestmark = pytest.mark.usefixtures("both_ways")

VECTORS = json.loads((Path(__file__).parents[1] / "data/tidb_binlog/file.json").read_text())


def decode(message) -> list[Any]:
    return list(drainer_binlog.decoder({}).decode(message))


def encode(events):
    encoder = drainer_binlog.encoder({})
    return [message for event in events for message in encoder.encode(event)] + list(encoder.flush())


def opened(hexed):
    return tidb_datum.open_datum(bytes.fromhex(hexed))[1]


# --- datums

WRITERS: dict[int, Any] = {
    0x02: lambda v: tidb_datum.write_bytes(v.encode()),
    0x05: tidb_datum.write_float,
    0x08: tidb_datum.write_int,
    0x09: tidb_datum.write_uint,
}


@pytest.mark.parametrize("vector", VECTORS["codec"], ids=lambda vector: vector["hex"])
def test_a_datum_is_read_and_written(vector):
    datum, value = bytes.fromhex(vector["hex"]), vector["value"]
    field, raw = tidb_datum.open_datum(datum)
    assert (None if field == NULL else raw.decode() if isinstance(raw, bytes) else raw) == value
    if datum[0] in WRITERS:
        assert WRITERS[datum[0]](value) == datum


@pytest.mark.parametrize(
    ("hexed", "value"),
    [
        pytest.param("060e04810dfb38d204d2", b"1234567890.1234", id="packed decimal"),
        pytest.param("060e047ef204c72dfb2d", b"-1234567890.1234", id="negative packed decimal"),
        pytest.param("0603028005", b"0.05", id="small decimal"),
        pytest.param("07" + (2**63 + 3_661_000_000_000).to_bytes(8, "big").hex(), b"01:01:01", id="duration"),
        pytest.param(
            "07" + (2**63 - 1_500_000_000).to_bytes(8, "big").hex(), b"-00:00:01.500000", id="negative duration"
        ),
        pytest.param("04ffffffffffffffff", 2**64 - 1, id="comparable uint"),
        pytest.param("0540" + "0" * 14, struct.unpack(">d", bytes.fromhex("bf" + "f" * 14))[0], id="negative float"),
    ],
)
def test_what_reparo_reads_is_read(hexed, value):
    assert opened(hexed) == value


@pytest.mark.parametrize(
    ("hexed", "reason"),
    [
        ("", "no value"),
        ("0b", "unknown flag 0x0b"),
        ("0000", "followed by bytes"),
        ("08ff", "does not end"),
        ("08" + "ff" * 10 + "01", "longer than 64 bits"),
        ("09" + "ff" * 9 + "02", "longer than 64 bits"),
        ("0801ff", "followed by bytes"),
        ("0208746573", "say that they are 4 and are 3"),
        ("0201", "say that they are -1"),
        ("0380", "8 bytes has 1"),
        ("01", "groups"),
        ("01616263000000000aff", "groups"),
        ("016162630000000001fa", "padded with zeros"),
        ("06ff00", "impossible"),
        ("0601020000", "impossible"),
        ("06020180", "has not the bytes"),
        ("060302e405", "too many digits"),
    ],
)
def test_a_damaged_datum_is_refused(hexed, reason):
    with pytest.raises(ValueError, match=reason):
        opened(hexed)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1), st.floats(allow_nan=False), st.binary())
def test_numbers_and_bytes_survive_the_datum(signed, unsigned, number, raw):
    assert tidb_datum.open_datum(tidb_datum.write_int(signed))[1] == signed
    assert tidb_datum.open_datum(tidb_datum.write_uint(unsigned))[1] == unsigned
    assert str(tidb_datum.open_datum(tidb_datum.write_float(number))[1]) == str(number)
    assert tidb_datum.open_datum(tidb_datum.write_bytes(raw))[1] == raw


# --- binary JSON: bytes put together by hand from the layout


def json_array(*entries):
    """Array of (type, bytes); literals stand in the entry itself."""
    head, tail = b"", b""
    begin = 8 + 5 * len(entries)
    for kind, data in entries:
        inline = kind == 4
        head += bytes((kind,)) + (data.ljust(4, b"\0") if inline else (begin + len(tail)).to_bytes(4, "little"))
        tail += b"" if inline else data
    return struct.pack("<II", len(entries), begin + len(tail)) + head + tail


def json_object(key, kind, data):
    return struct.pack("<IIIHBI", 1, 0, 19, len(key), kind, 19 + len(key)) + key + data


JSON_CASES = [
    pytest.param(4, b"\0", "null", id="null"),
    pytest.param(4, b"\1", "true", id="true"),
    pytest.param(9, struct.pack("<q", -5), "-5", id="integer"),
    pytest.param(10, struct.pack("<Q", 2**64 - 1), "18446744073709551615", id="unsigned"),
    pytest.param(11, struct.pack("<d", 1.5), "1.5", id="double"),
    pytest.param(12, b'\4a"\xc3\xa9', '"a\\"é"', id="string"),
    pytest.param(13, b"\xfc\2hi", '"base64:type252:aGk="', id="opaque"),
    pytest.param(3, json_array(), "[]", id="empty array"),
    pytest.param(3, json_array((4, b"\2"), (9, bytes(8)), (3, json_array())), "[false, 0, []]", id="array"),
    pytest.param(1, json_object(b"a", 9, struct.pack("<q", 1)), '{"a": 1}', id="object"),
]


@pytest.mark.parametrize(("kind", "data", "text"), JSON_CASES)
def test_binary_json_is_printed_as_tidb_prints_it(kind, data, text):
    assert json_text(bytes((kind,)) + data) == text
    assert tidb_datum.open_datum(b"\x0a" + bytes((kind,)) + data)[1] == text.encode()


def test_json_that_contains_itself_is_refused():
    ring = struct.pack("<II", 2, 0) + bytes((3, 0, 0, 0, 0)) * 2
    with pytest.raises(ValueError, match="more than 100 deep"):
        json_text(b"\x03" + ring * 1000)


def test_json_whose_values_overlap_is_not_multiplied():
    text = b"\xe8\x07" + b"x" * 1000
    entries = bytes((12,)) + (8 + 5 * 50).to_bytes(4, "little")
    with pytest.raises(ValueError, match="points outside of itself or at itself"):
        json_text(b"\x03" + struct.pack("<II", 50, 0) + entries * 50 + text)


def test_json_that_is_too_deep_is_refused():
    deep = json_array()
    for _ in range(200):
        deep = json_array((3, deep))
    with pytest.raises(ValueError, match="more than 100 deep"):
        json_text(b"\x03" + deep)


@given(st.binary(max_size=60), st.sampled_from([1, 3, 4, 9, 12, 13]))
def test_any_bytes_are_json_or_refused(junk, kind):
    for data in (junk, bytes((kind,)) + junk, bytes((kind, 2, 0, 0, 0)) + junk):
        try:
            json_text(data)
        except ValueError:
            continue


# --- messages


def as_pairs(event, row):
    return {column.name: value for column, value in zip(event.table.columns, row, strict=True)}


@pytest.mark.parametrize("vector", VECTORS["pb_binlogs"], ids=lambda vector: vector["name"])
def test_a_vector_decodes_to_its_rows(vector):
    for event, expected in zip(decode(bytes.fromhex(vector["hex"])), vector["expect"], strict=True):
        if expected["op"] == "ddl":
            assert event.commit_ts == expected["commit_ts"]
            assert stored_statement(event.schema, event.query) == expected["query"]
            continue
        assert event.kind.value.lower() == expected["op"]
        if event.kind is UPDATE:
            assert (as_pairs(event, event.before), as_pairs(event, event.after)) == (expected["old"], expected["new"])
        else:
            assert as_pairs(event, event.after or event.before) == expected["values"]


@pytest.mark.parametrize("name", ["drainer_update", "drainer_ddl"])
def test_what_drainer_wrote_is_written_again_byte_by_byte(name):
    [vector] = [v for v in VECTORS["pb_binlogs"] if v["name"] == name]
    assert [message.hex() for message in encode(decode(bytes.fromhex(vector["hex"])))] == [vector["hex"]]


def test_the_header_record_of_reparo_has_no_statement():
    with pytest.raises(DecodeError, match="no ddl_query"):
        decode(bytes.fromhex("0801108094ebdc03"))


@pytest.mark.parametrize("case", VECTORS["ddl_strings"]["cases"], ids=lambda case: case["stored"])
def test_a_statement_is_stored_with_its_schema(case):
    assert stored_statement(case["schema"], case["query"]) == case["stored"]
    assert read_statement(case["stored"]) == (case["schema"], case["query"])


@pytest.mark.parametrize(
    ("schema", "query"),
    [
        ("a`b", "create table t (id int);"),
        ("d", "/* x */ CREATE /* y */ DATABASE IF NOT EXISTS `d`"),
        ("d", "-- x\ncreate schema d"),
        ("", "drop table t;"),
    ],
)
def test_a_statement_survives(schema, query):
    [event] = decode(encode([Ddl(schema=schema, table="t", query=query, commit_ts=9)])[0])
    assert (event.schema, event.query) == (schema, query)


def test_many_comments_do_not_take_for_ever():
    assert read_statement("/**/" * 50_000 + "x;")[0] == ""


def test_unsigned_is_told_by_the_flag():
    columns = (Column("a", ColumnType("int", unsigned=True)), Column("b", ColumnType("int")))
    table = TableSchema("s", "t", columns)
    rows = [RowChange(kind=INSERT, table=table, after=row, commit_ts=5) for row in ((None, None), (0, 0))]
    events = decode(encode(rows)[0])
    assert [column.type.unsigned for column in events[0].table.columns] == [True, False]
    assert events[0].table is events[1].table


def test_absent_columns_are_left_out():
    table = TableSchema("s", "t", (Column("a", ColumnType("int")), Column("b", ColumnType("int"))))
    [event] = decode(encode([RowChange(kind=DELETE, table=table, before=(1, ABSENT), commit_ts=5)])[0])
    assert [(column.name) for column in event.table.columns] == ["a"]
    with pytest.raises(EncodeError, match="column b"):
        encode([RowChange(kind=UPDATE, table=table, before=(1, ABSENT), after=(1, 2), commit_ts=5)])


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [(INSERT, (1,), None), (UPDATE, None, (1,)), (UPDATE, (1,), None), (DELETE, None, (1,)), (INSERT, None, (1, 2))],
)
def test_a_row_without_its_images_cannot_be_written(kind, before, after):
    table = TableSchema("s", "t", (Column("a", ColumnType("int")),))
    with pytest.raises(EncodeError, match="images and columns"):
        encode([RowChange(kind=kind, table=table, before=before, after=after, commit_ts=5)])


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 64]),
    "year": st.integers(0, 2155),
    "bit": st.integers(0, 2**64 - 1),
    "enum": st.integers(0, 65535),
    "set": st.integers(0, 2**64 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False) | st.just(-0.0),
    "decimal": st.sampled_from(["0", "-123.4500", "9" * 65]),
    "time": st.sampled_from(["-838:59:59", "00:00:00.000001"]),
    "varchar": st.text(st.characters(codec="utf-8"), max_size=8) | st.just("\udcff\0") | st.just("😀" * 40),
    "json": st.just('{"a": 1}'),
    "blob": st.binary(max_size=8) | st.just(b"\0" * 200),
    "geometry": st.binary(max_size=8),
}


@st.composite
def row_changes(draw):
    types = draw(st.lists(st.sampled_from([*VALUES]), min_size=1, max_size=5))
    columns = tuple(Column(f"c{at}", ColumnType(name)) for at, name in enumerate(types))
    image = st.tuples(*[st.none() | VALUES[name] for name in types])
    kind = draw(st.sampled_from([INSERT, UPDATE, DELETE]))
    return RowChange(
        kind=kind,
        table=TableSchema(draw(st.text(st.characters(codec="utf-8"), max_size=4)), "t`ü", columns),
        before=None if kind is INSERT else draw(image),
        after=None if kind is DELETE else draw(image),
        commit_ts=449000000000000001,
        es_ms=449000000000000001 >> 18,
    )


@settings(max_examples=150, deadline=None)
@given(row_changes())
def test_a_row_change_survives_the_round_trip(event):
    assert [*map(with_signs, decode(encode([event])[0]))] == [event]


# --- garbage


def decodes_or_refuses(message):
    try:
        drainer_binlog.decoder({}).decode(message)
    except DecodeError:
        return


@pytest.mark.parametrize("vector", VECTORS["pb_binlogs"], ids=lambda vector: vector["name"])
def test_a_message_cut_anywhere_decodes_or_is_refused(vector):
    message = bytes.fromhex(vector["hex"])
    for size in range(len(message)):
        decodes_or_refuses(message[:size])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(VECTORS["pb_binlogs"]), st.data())
def test_a_damaged_message_decodes_or_is_refused(vector, data):
    message = bytearray.fromhex(vector["hex"])
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    decodes_or_refuses(bytes(message))


@given(st.binary(max_size=60))
def test_any_bytes_decode_or_are_refused(junk):
    decodes_or_refuses(junk)
    row = wire.Column(name=b"c", mysql_type=b"int", value=junk).SerializeToString()
    event = wire.Event(schema_name=b"s", table_name=b"t", tp=0, row=[row, junk])
    decodes_or_refuses(wire.Binlog(tp=0, commit_ts=1, dml_data=wire.DMLData(events=[event])).SerializeToString())


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        pytest.param(wire.Event(tp=7), "tp is 7", id="unknown kind"),
        pytest.param(wire.Event(tp=0, row=[b"\xff"]), "event 0, of table", id="damaged column"),
        pytest.param(
            wire.Event(tp=1, row=[wire.Column(name=b"c", mysql_type=b"int", value=b"\0").SerializeToString()]),
            "column c: it holds no value",
            id="an update without new value",
        ),
        pytest.param(
            wire.Event(tp=0, row=[wire.Column(name=b"c", tp=b"\x11", value=b"\0").SerializeToString()]),
            "neither mysql_type nor a known tp",
            id="no type",
        ),
    ],
)
def test_a_wrong_event_is_refused_with_its_place(event, reason):
    with pytest.raises(DecodeError, match=reason):
        decode(wire.Binlog(tp=0, commit_ts=1, dml_data=wire.DMLData(events=[event])).SerializeToString())


def test_a_column_without_type_text_goes_by_its_number():
    row = wire.Column(name=b"c", tp=b"\x08", value=bytes.fromhex("087e")).SerializeToString()
    message = wire.Binlog(tp=0, commit_ts=1, dml_data=wire.DMLData(events=[wire.Event(tp=0, row=[row])]))
    [event] = decode(message.SerializeToString())
    assert (event.table.columns[0].type.name, event.after) == ("bigint", (63,))
