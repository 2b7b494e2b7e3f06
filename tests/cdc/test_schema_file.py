"""Schema files against TiCDC's cases: the text, the hash, the columns."""

import json
import zlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import Column, ColumnType, TableSchema
from spark_jobs.cdc.storage import schema_file
from spark_jobs.cdc.storage.paths import parse_schema_path
from spark_jobs.cdc.storage.schema_file import DEFAULT_LENGTHS, SchemaFile

CASES = json.loads((Path(__file__).parents[1] / "data" / "schema_file.json").read_text())
HASHES = CASES["cases"] + CASES["derived"]
KEYS = ["Table", "Schema", "Version", "TableVersion", "Query", "Type", "TableColumns", "TableColumnsTotal"]


def definition(case) -> SchemaFile:
    return msgspec.convert(case["definition"] | {"TableVersion": case.get("tableVersion", 1)}, SchemaFile)


def columns(*types, **more):
    table = TableSchema("s", "t", tuple(Column(f"c{n}", kind, **more) for n, kind in enumerate(types)))
    return json.loads(schema_file.of_table(table, 1).encode())["TableColumns"]


@pytest.mark.parametrize(
    "case", HASHES, ids=lambda case: f"{case['definition']['Schema']}.{case['definition']['Table']}"
)
def test_the_hash_is_ticdcs(case):
    assert zlib.crc32(case["hashed_text"].encode()) == case["checksum"]
    assert definition(case).checksum == case["checksum"]


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["path"])
def test_the_path_is_ticdcs(case):
    assert definition(case).path == case["path"]


@pytest.mark.parametrize(
    "case", HASHES, ids=lambda case: f"{case['definition']['Schema']}.{case['definition']['Table']}"
)
def test_the_text_has_the_columns_in_table_order(case):
    text = definition(case).encode()
    document = json.loads(text)
    assert list(document) == KEYS
    assert document["TableColumns"] == case["definition"]["TableColumns"]
    assert b"<" not in text
    assert schema_file.parse(text) == definition(case)


def test_a_whole_file():
    example = CASES["file_example"]["json"]
    text = json.dumps(example, indent=4, ensure_ascii=False)
    file = schema_file.parse(text.encode())
    assert file.encode() == text.encode()
    assert (file.version, file.action, file.query) == (100, 5, example["Query"])
    assert [column.name for column in file.table_schema().columns] == ["Id", "LastName", "FirstName", "Birthday"]
    assert file.table_schema().columns[0] == Column(
        "Id", ColumnType("int", length=11), is_key=True, nullable=False, default="10"
    )


def test_a_database_file():
    file = schema_file.of_database("schema1", 441349361156227000, "CREATE DATABASE `schema1`", 1)
    assert file.path == "schema1/meta/schema_441349361156227000_3233644819.json"
    assert (
        file.encode().decode()
        == """{
    "Table": "",
    "Schema": "schema1",
    "Version": 1,
    "TableVersion": 441349361156227000,
    "Query": "CREATE DATABASE `schema1`",
    "Type": 1,
    "TableColumns": null,
    "TableColumnsTotal": 0
}"""
    )


def test_a_table_file_is_written_from_its_structure():
    col1, col2 = Column("col1", ColumnType("int", length=11)), Column("col2", ColumnType("varchar", length=5))
    file = schema_file.of_table(TableSchema("test", "table1", (col1, col2)), 100)
    assert file.path == "test/table1/meta/schema_100_4192708364.json"
    assert (
        file.encode().decode()
        == """{
    "Table": "table1",
    "Schema": "test",
    "Version": 1,
    "TableVersion": 100,
    "Query": "",
    "Type": 0,
    "TableColumns": [
        {
            "ColumnName": "col1",
            "ColumnType": "INT",
            "ColumnPrecision": "11"
        },
        {
            "ColumnName": "col2",
            "ColumnType": "VARCHAR",
            "ColumnPrecision": "5",
            "ColumnLength": "5"
        }
    ],
    "TableColumnsTotal": 2
}"""
    )


def ddl_type(ddl: str) -> ColumnType:
    """A type from the way the cases write it: ``double(12,3)``, ``int(5) unsigned``, ``float (flen 5)``."""
    name, _, rest = ddl.replace(" (", "(").partition("(")
    numbers = [int(part) for part in rest.replace(")", ",").replace(" ", ",").split(",") if part.isdigit()]
    if name in ("time", "datetime", "timestamp"):
        return ColumnType(name, scale=numbers[0] if numbers else None)
    length, scale = [*numbers, None, None][:2]
    return ColumnType(name, unsigned="unsigned" in rest, length=length, scale=scale)


@pytest.mark.parametrize("case", CASES["column_cases"], ids=lambda case: case["ddl"])
def test_columns_are_described_as_ticdc_does(case):
    (written,) = columns(ddl_type(case["ddl"]))
    assert written["ColumnType"] == case["ColumnType"]
    assert written.get("ColumnPrecision") == case["ColumnPrecision"]
    assert written.get("ColumnScale") == case["ColumnScale"]


LENGTHS = """
    tinyint 4, smallint 6, mediumint 9, int 11, bigint 20, bit 1, year 4, float 12, double 22, char 1, varchar 5,
    tinyint unsigned 3, smallint unsigned 5, mediumint unsigned 8, int unsigned 10, bigint unsigned 20, binary 1,
    tinytext 255, blob 65535, mediumtext 16777215, longblob 4294967295,
    time None, date None, json None, enum None, vector None
"""


@pytest.mark.parametrize("case", [case.strip() for case in LENGTHS.split(",")])
def test_a_length_that_the_source_does_not_tell_is_the_types_own(case):
    *words, length = case.split()
    (written,) = columns(ColumnType(words[0], unsigned="unsigned" in words))
    assert str(written.get("ColumnPrecision")) == length
    assert "ColumnScale" not in written


def test_decimal_always_has_both_lengths():
    (written,) = columns(ColumnType("decimal"))
    assert (written["ColumnPrecision"], written["ColumnScale"]) == ("10", "0")


def test_bit_and_year_are_never_unsigned():
    assert [c["ColumnType"] for c in columns(ColumnType("bit", unsigned=True), ColumnType("year", unsigned=True))] == [
        "BIT",
        "YEAR",
    ]


@pytest.mark.parametrize("name", ["char", "varchar", "binary", "varbinary", "text", "longblob"])
def test_a_string_has_its_length_twice(name):
    (written,) = columns(ColumnType(name, length=7))
    assert written["ColumnPrecision"] == written["ColumnLength"] == "7"


@pytest.mark.parametrize("name", ["int", "decimal", "json", "year", "float", "bit"])
def test_a_column_that_is_no_string_has_no_column_length(name):
    assert "ColumnLength" not in columns(ColumnType(name, length=7))[0]


def test_elements_are_named_where_they_are_known():
    kinds = ColumnType("enum", elements=("a,", "b")), ColumnType("set")
    assert [written.get("ColumnElems") for written in columns(*kinds)] == [["a,", "b"], None]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"nullable": False}, {"ColumnNullable": "false"}),
        ({"nullable": True}, {}),
        ({"is_key": True}, {"ColumnNullable": "false", "ColumnIsPk": "true"}),
        ({"default": ""}, {"ColumnDefault": ""}),
        ({"default": b"\x01\xe4\xbd"}, {"ColumnDefault": "\x01\ufffd\ufffd"}),
        ({"default": "\ud800\udcff"}, {"ColumnDefault": "\ufffd\ufffd"}),
    ],
    ids=str,
)
def test_flags_and_defaults(given, written):
    assert columns(ColumnType("date"), **given) == [{"ColumnName": "c0", "ColumnType": "DATE"} | written]


def test_text_is_escaped_as_go_does_it_and_broken_bytes_are_replaced():
    table = TableSchema("s", "<&>\u2028", (Column("ä\udcff", ColumnType("date")),))
    text = schema_file.of_table(table, 1, 'a"\\\t\x01\x7f').encode()
    assert b'"Table": "\\u003c\\u0026\\u003e\\u2028"' in text
    assert '"ColumnName": "ä\ufffd"'.encode() in text
    assert b'"Query": "a\\"\\\\\\t\\u0001\x7f"' in text
    assert schema_file.parse(text).checksum == schema_file.of_table(table, 1).checksum


def test_the_spelling_of_ticdcs_document_is_read():
    file = schema_file.parse(
        b'{ "Table":"table1", "Schema":"test", "Version":1, "TableVersion":441349361156227074, "Query":"Q", "Type":5, '
        b'"TableColumns":[ { "ColumnName":"Id", "ColumnType":"INT", "ColumnNullable":"true", "ColumnIsPk":"true" }, '
        b'{ "ColumnName":"LastName", "ColumnType":"CHAR", "ColumnLength":"20" } ], "TableColumnsTotal":"2" }'
    )
    assert file.table_schema().columns == (
        Column("Id", ColumnType("int"), is_key=True, nullable=True),
        Column("LastName", ColumnType("char", length=20), nullable=True),
    )


GOOD = (
    b'{"Table":"t","Schema":"s","TableVersion":1,'
    b'"TableColumns":[{"ColumnName":"c","ColumnType":"INT"}],"TableColumnsTotal":1}'
)
BAD_TYPES = [b"", b"INT UNSIGNED ZEROFILL", b" UNSIGNED", b"INT SIGNED", b"\xff"]
BAD_LENGTHS = [b"11", b'"x"', b'"-1"', b'"' + b"9" * 99999 + b'"']
BAD = [
    b"",
    b"[]",
    b"{}",
    b"\xff",
    b"[" * 100000,
    GOOD[:-1],
    GOOD.replace(b'Total":1', b'Total":2'),
    GOOD.replace(b'"t"', b"null"),
    *(GOOD.replace(b"INT", kind) for kind in BAD_TYPES),
    *(GOOD.replace(b'"INT"', b'"INT","ColumnPrecision":' + length) for length in BAD_LENGTHS),
]


@pytest.mark.parametrize("content", BAD, ids=range(len(BAD)))
def test_anything_else_is_one_decode_error(content):
    assert schema_file.parse(GOOD).columns
    with pytest.raises(DecodeError):
        schema_file.parse(content)


kinds = st.builds(
    ColumnType,
    name=st.sampled_from([*DEFAULT_LENGTHS, "int", "bigint", "date", "json", "vector"]),
    length=st.integers(0, 2**32 - 1),
)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
tables = st.builds(
    TableSchema,
    schema=names,
    table=names,
    columns=st.lists(
        st.builds(Column, name=names, type=kinds, is_key=st.booleans(), default=st.none() | names), min_size=1
    ).map(tuple),
)


@given(tables, st.integers(1, 2**63), names)
def test_a_file_reads_back_as_it_was_written(table, version, query):
    file = schema_file.of_table(table, version, query, 3)
    back = schema_file.parse(file.encode())
    assert back == file
    assert parse_schema_path(file.path).checksum == back.checksum
    assert [column.name for column in back.table_schema().columns] == [column.name for column in table.columns]


@given(tables)
def test_the_hash_does_not_depend_on_the_order_of_columns(table):
    if len({column.name for column in table.columns}) == len(table.columns):
        turned = msgspec.structs.replace(table, columns=table.columns[::-1])
        assert schema_file.of_table(turned, 1).checksum == schema_file.of_table(table, 2).checksum
