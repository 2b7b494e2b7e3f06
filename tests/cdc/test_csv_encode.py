"""CSV rows as written, against TiCDC's cases."""

import json
import struct
from pathlib import Path

import pytest

from spark_jobs.cdc.codecs.csv import Encoder, csv_format
from spark_jobs.cdc.codecs.csv.values import go32, go64
from spark_jobs.cdc.errors import ConfigError, EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Heartbeat,
    RowChange,
    TableSchema,
    TransactionMark,
    Watermark,
)

pytestmark = pytest.mark.usefixtures("both_ways")

CASES = json.loads((Path(__file__).parents[1] / "data" / "csv.json").read_text())
NAMES = {
    "delimiter": "delimiter",
    "quote": "quote",
    "terminator": "terminator",
    "null": "null",
    "commitTs": "include-commit-ts",
    "outputOldValue": "output-old-value",
    "oldValue": "output-old-value",
}
TYPE_OF_VALUE = {int: "bigint", float: "double", str: "varchar", type(None): "varchar"}


def options_of(case) -> dict[str, str]:
    return {NAMES[k]: v if isinstance(v, str) else str(v).lower() for k, v in case.items() if k in NAMES}


def table_of(*kinds: str | ColumnType, schema="test", table="t") -> TableSchema:
    types = [ColumnType(kind) if isinstance(kind, str) else kind for kind in kinds]
    return TableSchema(schema, table, tuple(Column(f"c{at}", kind) for at, kind in enumerate(types, 1)))


def insert(table: TableSchema, *row, commit_ts=7) -> RowChange:
    return RowChange(kind=INSERT, table=table, after=row, commit_ts=commit_ts)


def column_text(kind: str | ColumnType, value, **options: str) -> str:
    """One column of a row, as written."""
    (row,) = Encoder(options).encode(insert(table_of(kind), value))
    return row.decode("utf-8", "surrogateescape").split(options.get("delimiter", ","), 3)[3]


@pytest.mark.parametrize("case", CASES["encode"], ids=lambda case: case["out"])
def test_rows_are_ticdcs(case):
    kinds = [TYPE_OF_VALUE[type(value)] for value in case["columns"]]
    table = table_of(*kinds, schema=case["schema"], table=case["table"])
    kind = {"I": INSERT, "U": UPDATE, "D": DELETE}[case["op"]]
    row = tuple(case["columns"])
    before, after = (row, None) if kind is DELETE else (None, row)
    event = RowChange(kind=kind, table=table, before=before, after=after, commit_ts=case["commitTs"])
    encoder = Encoder(options_of(case["cfg"]))
    assert encoder.encode_row(event) == case["out"].encode()
    assert [*encoder.encode(event)] == [case["out"].removesuffix(case["cfg"]["terminator"]).encode()]


@pytest.mark.parametrize("case", CASES["quote"], ids=lambda case: case["in"])
def test_text_is_quoted(case):
    assert column_text("varchar", case["in"]) == case["out"]


@pytest.mark.parametrize("case", CASES["escape_no_quote"], ids=lambda case: case["in"])
def test_text_without_a_quote_is_escaped(case):
    assert column_text("varchar", case["in"], quote="", delimiter=case["delimiter"]) == case["out"]


@pytest.mark.parametrize(
    ("text", "delimiter", "written"),
    [("a\\\r\nb", ",", r"a\\\r\nb"), ("rain", "r", r"\rain"), ("a\\nb\n", "n", r"a\\\nb\n"), ("a\\b", "\\", r"a\\b")],
)
def test_escapes_do_not_meet_each_other(text, delimiter, written):
    table = table_of("varchar", schema="S", table="T")
    (row,) = Encoder({"quote": "", "delimiter": delimiter}).encode(insert(table, text))
    assert row.decode() == delimiter.join(["I", "T", "S", written])


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("tinyint", -128, "-128"),
        ("bigint", 2**64 - 1, "18446744073709551615"),
        ("float", 3.140000104904175, "3.14"),
        ("double", 3.14, "3.14"),
        ("bit", 683, "683"),
        ("year", 1970, "1970"),
        ("decimal", "129012.1230000", '"129012.1230000"'),
        ("json", '{"key": "value"}', '"{""key"": ""value""}"'),
        ("blob", b"hello world", '"aGVsbG8gd29ybGQ="'),
        ("varbinary", b"", '""'),
        (ColumnType("enum", elements=("a,", "b")), 1, '"a,"'),
        (ColumnType("enum", elements=("a,", "b")), 0, '""'),
        (ColumnType("set", elements=("a", "b", "c", "d")), 9, '"a,d"'),
        ("enum", "a,", '"a,"'),
        ("enum", 1, "1"),
        ("datetime", "2015-12-20 23:58:58", '"2015-12-20 23:58:58"'),
        ("time", "-838:59:59", '"-838:59:59"'),
        ("date", "0000-00-00", '"0000-00-00"'),
        ("vector", "[1,2,3,4,5]", '"[1,2,3,4,5]"'),
        ("varchar", None, r"\N"),
        ("varchar", r"\N", '"\\N"'),
        ("varchar", "100%d %s", '"100%d %s"'),
        ("varchar", "raw\r\nbreak\\", '"raw\r\nbreak\\"'),
        ("varchar", "\udcff", '"\udcff"'),
    ],
)
def test_values_by_type(kind, value, written):
    assert column_text(kind, value) == written


def test_bytes_as_hexadecimal():
    assert column_text("binary", b"\x00\xab\xff", **{"binary-encoding-method": "hex"}) == '"00abff"'


@pytest.mark.parametrize(("value", "text"), CASES["derived_float_rendering"]["cases"])
def test_floats_as_go_prints_them(value, text):
    assert go64(float(value)) == text
    assert go64(-float(value)) == f"-{text}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (999999.0, "999999"),
        (123456.7, "123456.7"),
        (9.99e-05, "9.99e-05"),
        (1e16, "1e+16"),
        (12345678901234567.0, "1.2345678901234568e+16"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (5e-324, "5e-324"),
        (1e100, "1e+100"),
        (float("nan"), "0"),
        (float("-inf"), "0"),
    ],
)
def test_doubles_at_the_edges(value, text):
    assert go64(value) == text


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        (0x3DCCCCCD, "0.1"),
        (0x4B800000, "1.6777216e+07"),
        (0x7F7FFFFF, "3.4028235e+38"),
        (0x00000001, "1e-45"),
        (0x497423F0, "999999"),
        (0x49742400, "1e+06"),
        (0x38D1B717, "0.0001"),
        (0x7F800000, "0"),
    ],
)
def test_floats_of_32_bits(bits, text):
    assert go32(struct.unpack("<f", struct.pack("<I", bits))[0]) == text


@pytest.mark.parametrize("case", CASES["header"], ids=lambda case: case["out"])
def test_the_header_names_the_fields(case):
    table = TableSchema("s", "t", (Column("col1", ColumnType("int")), Column("col2", ColumnType("int"))))
    assert csv_format(options_of(case)).header(table) == case["out"].encode()


PAIR = table_of("bigint", "varchar")
UPDATED = RowChange(kind=UPDATE, table=PAIR, before=(1, "old"), after=(1, "new"), commit_ts=9)


def test_an_update_is_one_row_with_the_new_values():
    assert [*Encoder({}).encode(UPDATED)] == [b'"U","t","test",1,"new"']


def test_an_update_with_old_values_is_two_rows():
    encoder = Encoder({"output-old-value": "true", "include-commit-ts": "true", "terminator": "|\n"})
    old, new = b'"D","t","test",9,true,1,"old"', b'"I","t","test",9,true,1,"new"'
    assert encoder.encode(UPDATED) == [old, new]
    assert encoder.encode_row(UPDATED) == old + b"|\n" + new + b"|\n"


@pytest.mark.parametrize(
    ("event", "without", "with_old"),
    [
        (RowChange(kind=UPDATE, table=PAIR, before=(1, "a"), half="before"), [], ['"D","t","test",true,1,"a"']),
        (
            RowChange(kind=UPDATE, table=PAIR, after=(1, "b"), half="after"),
            ['"U","t","test",1,"b"'],
            ['"I","t","test",true,1,"b"'],
        ),
        (RowChange(kind=UPDATE, table=PAIR, after=(1, "b")), ['"U","t","test",1,"b"'], ['"U","t","test",true,1,"b"']),
        (RowChange(kind=DELETE, table=PAIR, before=(1, "a")), ['"D","t","test",1,"a"'], ['"D","t","test",false,1,"a"']),
    ],
    ids=["before half", "after half", "no old row", "delete"],
)
def test_what_is_written_of_each_image(event, without, with_old):
    assert [row.decode() for row in Encoder({}).encode(event)] == without
    assert [row.decode() for row in Encoder({"output-old-value": "true"}).encode(event)] == with_old


@pytest.mark.parametrize(
    ("keys", "handle"),
    [((), r"\N"), ((0,), "5"), ((1,), '"{k""1}"'), ((0, 1, 2), '"{5, k""1, y}"')],
    ids=["hidden row id", "integer", "text", "several"],
)
def test_the_handle_key(keys, handle):
    types = [ColumnType("int"), ColumnType("varchar"), ColumnType("enum", elements=("x", "y"))]
    table = TableSchema("s", "t", tuple(Column(f"c{n}", kind, is_key=n in keys) for n, kind in enumerate(types)))
    (row,) = Encoder({"output-handle-key": "true"}).encode(insert(table, 5, 'k"1', 2))
    expected = f'"{handle}"' if handle.isdigit() else handle
    assert row.decode() == f'"I","t","s",{expected},5,"k""1","y"'


def test_virtual_columns_are_left_out():
    columns = [Column("a", ColumnType("int")), Column("v", ColumnType("int"), generated="virtual")]
    columns += [Column("s", ColumnType("int"), generated="stored")]
    table = TableSchema("test", "t", tuple(columns))
    assert [*Encoder({}).encode(insert(table, 1, ABSENT, 3))] == [b'"I","t","test",1,3']
    assert csv_format({}).header(table).endswith(b"schema,a,s\r\n")


def test_the_null_string_and_names_are_written_whatever_they_hold():
    table = table_of("int", "varchar", schema='a"%s', table="%")
    assert [*Encoder({"null": '%"'}).encode(insert(table, None, None))] == [b'"I","%","a""%s",%",%"']
    assert [*Encoder({"null": '%"'}).encode(insert(table, 1, '"'))] == [b'"I","%","a""%s",1,""""']


def test_rows_of_many_shapes_do_not_disturb_each_other():
    table = table_of(*["int"] * 11)
    encoder = Encoder({})
    for mask in range(1 << 11):
        row = tuple(None if mask >> bit & 1 else bit for bit in range(11))
        (line,) = encoder.encode(insert(table, *row))
        assert line.decode().split(",")[3:] == [r"\N" if value is None else str(value) for value in row]


@pytest.mark.parametrize(
    "event",
    [Ddl(schema="s", table="t", query="q"), Watermark(watermark_ts=1), Heartbeat(), TransactionMark(kind="BEGIN")],
    ids=lambda event: type(event).__name__,
)
def test_events_that_are_no_row_changes_have_no_form(event):
    encoder = Encoder({})
    assert [*encoder.encode(event), *encoder.flush()] == []


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("int", ABSENT, "not in the image"),
        ("int", "1", "str"),
        ("int", True, "bool"),
        ("varchar", b"x", "bytes"),
        ("blob", "x", "str"),
        (ColumnType("enum", elements=("a",)), 2, "no element 2"),
        ("varchar", "\ud800", "surrogate"),
    ],
)
def test_a_value_that_a_row_cannot_carry_is_an_error(kind, value, reason):
    with pytest.raises(EncodeError, match=reason):
        column_text(kind, value)


@pytest.mark.parametrize(
    "event",
    [
        insert(PAIR, 1),
        insert(PAIR, 1, "a", 2),
        RowChange(kind=DELETE, table=PAIR, after=(1, "a")),
        RowChange(kind=DELETE, table=PAIR, before=(1, "a"), only_handle_key=True),
        insert(table_of()),
    ],
    ids=["short", "long", "no image", "a key alone", "no columns"],
)
def test_a_row_that_is_not_the_tables_is_an_error(event):
    with pytest.raises(EncodeError):
        Encoder({}).encode(event)


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ""},
        {"delimiter": "1234"},
        {"delimiter": "é€"},
        {"delimiter": "\n"},
        {"quote": "''"},
        {"quote": "\r"},
        {"delimiter": 'a"'},
        {"binary-encoding-method": "base32"},
        {"include-commit-ts": "maybe"},
        {"delimeter": ","},
    ],
    ids=str,
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ConfigError):
        Encoder(options)
