"""Type texts, java.sql.Types codes and value texts of MySQL columns."""

import json
import struct
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.events import ColumnType
from spark_jobs.cdc.mysql.float_text import float32, java32, java64, plain32, plain64, shortest32
from spark_jobs.cdc.mysql.types import (
    Dialect,
    canal_text,
    full_text,
    parse_type,
    short_text,
    sql_code,
    sql_code_of,
    with_ddl_defaults,
)
from spark_jobs.cdc.mysql.values import from_names, from_text, to_names, to_text

DATA = Path(__file__).parent.parent / "data"
TYPE_STRINGS = json.loads((DATA / "canal_mysql_type_strings.json").read_text())
TYPE_VALUES = json.loads((DATA / "canal_json_types.json").read_text())["columns"]


def named(cases, key):
    return [pytest.param(case, id=str(case[key])) for case in cases]


@pytest.mark.parametrize("case", named(TYPE_STRINGS["cases"], "ddl"))
def test_a_column_definition_has_ticdcs_two_type_texts_and_code(case):
    type_ = with_ddl_defaults(parse_type(case["ddl"]))
    assert short_text(type_) == case["mysqlType"]
    assert full_text(type_) == case["mysqlTypeFull"]
    assert case["sqlType"] in (None, sql_code(type_))


@pytest.mark.parametrize("case", named(TYPE_STRINGS["cases"], "ddl"))
def test_a_full_type_text_reads_back_as_the_same_type(case):
    type_ = with_ddl_defaults(parse_type(case["ddl"]))
    if type_.name not in ("float", "double"):  # their width is not written unless it has decimals
        assert parse_type(full_text(type_)) == type_


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{case['type']} {case['value']}") for case in TYPE_STRINGS["sqlType_promotion"]]
)
@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_code_of_an_unsigned_integer_depends_on_its_value(case, dialect):
    value = None if case["value"] is None else int(case["value"])
    assert sql_code_of(parse_type(case["type"]), dialect)(value) == case["sqlType"]


@pytest.mark.parametrize(
    ("type_", "value", "ticdc", "canal"),
    [
        ("tinyint unsigned", 255, 5, 5),
        ("smallint unsigned", 65535, 4, 4),
        ("mediumint unsigned", 16777215, 4, 4),
        ("bigint unsigned", 2**64 - 1, 3, 3),
        ("tinyint", 127, -6, -6),
        ("decimal(10,2) unsigned", "99999999.99", 3, 3),
        ("json", None, 12, 1111),
        ("json", "{}", 12, 12),
        ("set('a')", None, -7, 2004),
        ("set('a')", 1, -7, -7),
        ("geometry", b"", 2004, 2004),
        ("somethingnew", "x", 12, 12),
    ],
)
def test_codes_of_both_dialects(type_, value, ticdc, canal):
    assert sql_code_of(parse_type(type_), Dialect.TICDC)(value) == ticdc
    assert sql_code_of(parse_type(type_), Dialect.CANAL)(value) == canal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("decimal(10, 2) unsigned", ColumnType("decimal", unsigned=True, length=10, scale=2)),
        ("DECIMAL(5)", ColumnType("decimal", length=5, scale=0)),
        ("decimal", ColumnType("decimal")),
        ("numeric(3,1)", ColumnType("decimal", length=3, scale=1)),
        ("int(10) unsigned zerofill", ColumnType("int", unsigned=True, zerofill=True, length=10)),
        ("int zerofill", ColumnType("int", unsigned=True, zerofill=True)),
        ("INTEGER", ColumnType("int")),
        ("bool", ColumnType("tinyint", length=1)),
        ("serial", ColumnType("bigint", unsigned=True)),
        ("double precision", ColumnType("double")),
        ("real", ColumnType("double")),
        ("float(24)", ColumnType("float")),
        ("float(25)", ColumnType("double")),
        ("float(7,3)", ColumnType("float", length=7, scale=3)),
        ("varchar(20)", ColumnType("varchar", length=20)),
        ("national character varying(20)", ColumnType("varchar", length=20)),
        ("char(3) CHARACTER SET a COLLATE b", ColumnType("char", length=3, charset="a", collation="b")),
        ("datetime(6)", ColumnType("datetime", scale=6)),
        ("enum('a','b''c')", ColumnType("enum", elements=("a", "b'c"))),
        ("ENUM ( 'x' , \"y\"\"z\" )", ColumnType("enum", elements=("x", 'y"z'))),
        ("set('a,b)','(')", ColumnType("set", elements=("a,b)", "("))),
        (r"enum('back\\slash','it\'s','line\n')", ColumnType("enum", elements=("back\\slash", "it's", "line\n"))),
        ("enum('')", ColumnType("enum", elements=("",))),
        ("enum", ColumnType("enum")),
        ("multipolygon", ColumnType("geometry")),
        ("vector(3)", ColumnType("vector", length=3)),
        ("  Year(4) ", ColumnType("year", length=4)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_type_text_is_read_whatever_its_spelling(text, expected):
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "(3)", "int(", "int(x)", "int(1,2,3)", "varchar(99999999999)", "enum(a)", "enum('a'", "enum('a''"),
        *("set('a',)", "1int", "int(" + "9" * 5000 + ")", "int('')"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_type_is_refused(text):
    with pytest.raises(ValueError, match="is not a MySQL type"):
        parse_type(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("enum(" + "'" * 50_001 + "(", id="quotes"),
        pytest.param("a" + " " * 50_000 + "(", id="spaces"),
        pytest.param("enum('" + "\\'" * 30_000, id="escapes"),
        pytest.param("int" + " x" * 50_000 + "(", id="words"),
        pytest.param("(" * 50_000, id="brackets"),
    ],
)
def test_hostile_type_texts_are_refused_in_no_time(text):
    started = time.monotonic()
    with pytest.raises(ValueError, match="is not a MySQL type"):
        parse_type(text)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("type_", "short", "full", "canal"),
    [
        (ColumnType("int", unsigned=True), "int unsigned", "int(10) unsigned", "int unsigned"),
        (ColumnType("decimal"), "decimal", "decimal", "decimal"),
        (ColumnType("decimal", length=10, scale=2), "decimal", "decimal(10,2)", "decimal(10,2)"),
        (ColumnType("bit", unsigned=True, length=1), "bit", "bit(1)", "bit(1)"),
        (ColumnType("year", unsigned=True, zerofill=True), "year", "year(4)", "year"),
        (ColumnType("text", length=65535), "text", "text", "text"),
        (ColumnType("datetime", scale=0), "datetime", "datetime", "datetime"),
        (ColumnType("enum", elements=("a'b", "c\\d")), "enum", r"enum('a''b','c\\d')", r"enum('a''b','c\\d')"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_type_is_written_in_three_ways(type_, short, full, canal):
    assert (short_text(type_), full_text(type_), canal_text(type_)) == (short, full, canal)


@pytest.mark.parametrize("case", named(TYPE_VALUES, "name"))
def test_a_value_text_reads_and_writes_back_to_itself(case):
    type_ = parse_type(case["mysqlTypeFull"])
    text = case["value"]
    if text is None:
        assert sql_code_of(type_, Dialect.TICDC)(None) == case["sqlType"]
        return
    if text.startswith("LATIN1("):
        text = "测试Binary".encode().ljust(255, b"\0").decode("latin-1")
    value = from_text(type_)(text)
    assert to_text(type_, Dialect.TICDC)(value) == text
    assert sql_code_of(type_, Dialect.TICDC)(value) == case["sqlType"]
    assert parse_type(case["mysqlType"]) == parse_type(short_text(type_))


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("bigint unsigned", "18446744073709551615", 2**64 - 1),
        ("bigint", "-9223372036854775808", -(2**63)),
        ("int zerofill", "00042", 42),
        ("bit(64)", "18446744073709551615", 2**64 - 1),
        ("year", "0000", 0),
        ("enum('a','b')", "2", 2),
        ("enum('a','b')", "b", 2),
        ("enum('a','b')", "", 0),
        ("enum", "b", "b"),
        ("set('a','b','c')", "a,c", 5),
        ("set('a','b')", "3", 3),
        ("set", "a,c", "a,c"),
        ("double", "-0", -0.0),
        ("double", "1.0E7", 1e7),
        ("float", "1.1", struct.unpack("f", struct.pack("f", 1.1))[0]),
        ("decimal(5,2)", "1.50", "1.50"),
        ("time(3)", "-838:59:59.000", "-838:59:59.000"),
        ("datetime", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
        ("blob", "\x00\x80\x9f\xff", b"\x00\x80\x9f\xff"),
        ("varchar(10)", "\x80", "\x80"),
    ],
)
def test_texts_become_values(type_, text, value):
    read = from_text(parse_type(type_))(text)
    assert (read, type(read)) == (value, type(value))
    assert repr(read) == repr(value)  # -0.0 == 0.0


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("int", ""),
        ("int", "1.5"),
        ("int", "1_000"),
        ("int", "１"),
        ("bigint unsigned", "18446744073709551616"),
        ("bigint", "9" * 100_000),
        ("double", "nan"),
        ("double", "1e999"),
        ("double", "0x1p3"),
        ("float", "1e39"),
        ("blob", "Ā"),
        ("enum('a')", "c"),
        ("set('a','b')", "a,c"),
    ],
    ids=lambda text: text[:20],
)
def test_texts_that_are_no_value_are_refused(type_, text):
    with pytest.raises(ValueError, match=r"is |has |not "):
        from_text(parse_type(type_))(text)


@pytest.mark.parametrize(
    ("value", "ticdc", "canal"),
    [
        (1.0, "1", "1.0"),
        (0.001, "0.001", "0.001"),
        (9.99e-4, "0.000999", "9.99E-4"),
        (1e7, "10000000", "1.0E7"),
        (1.23456784e8, "123456784", "1.23456784E8"),
        (1e20, "100000000000000000000", "1.0E20"),
        (-0.0, "-0", "-0.0"),
        (5e-324, "0." + "0" * 323 + "5", "4.9E-324"),
    ],
)
def test_doubles_have_an_exponent_only_in_canal(value, ticdc, canal):
    assert (plain64(value), java64(value)) == (ticdc, canal)


@pytest.mark.parametrize(
    ("value", "ticdc", "canal"),
    [
        (3.14, "3.14", "3.14"),
        (1.1, "1.1", "1.1"),
        (16777216.0, "16777216", "1.6777216E7"),
        (3.4028235e38, "340282350000000000000000000000000000000", "3.4028235E38"),
        (1.4e-45, "0." + "0" * 44 + "1", "1.4E-45"),
        (2.0**-20, "0.0000009536743", "9.536743E-7"),
    ],
)
def test_floats_have_their_own_shortest_digits(value, ticdc, canal):
    assert (plain32(float32(value)), java32(float32(value))) == (ticdc, canal)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@settings(max_examples=300)
def test_the_digits_of_a_float_read_back_and_none_is_too_many(value):
    digits = shortest32(value)
    assert float32(float(digits)) == value
    count = len(digits.split("e")[0].replace(".", "").replace("-", "").strip("0"))
    shorter = (f"{value:.{fewer}g}" for fewer in range(1, count))
    assert not any(reads_as(text, value) for text in shorter)


def reads_as(text, value):
    try:
        return float32(float(text)) == value
    except OverflowError:
        return False


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300)
def test_the_text_of_a_double_has_no_exponent_and_reads_back(value):
    assert "e" not in plain64(value).lower()
    assert float(plain64(value)) == value
    assert float(java64(value)) == value or abs(value) < 1e-320


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_mysql_cannot_store_is_0_in_ticdc(value):
    assert plain32(value) == plain64(value) == "0"


def test_year_0_has_four_digits_in_canal_only():
    year = parse_type("year")
    assert (to_text(year, Dialect.TICDC)(0), to_text(year, Dialect.CANAL)(0)) == ("0", "0000")


def test_names_of_enum_and_set_become_numbers_where_the_elements_are_known():
    enum, mask = parse_type("enum('a','b')"), parse_type("set('x','y','z')")
    assert to_text(enum, Dialect.TICDC)("b") == "2"
    assert to_text(mask, Dialect.TICDC)("x,z") == "5"
    assert (to_names(enum)(2), to_names(enum)(0), to_names(mask)(5), to_names(mask)(0)) == ("b", "", "x,z", "")
    assert (from_names(enum)("a"), from_names(mask)("z,x")) == (1, 5)


def test_a_name_without_known_elements_has_no_number():
    with pytest.raises(ValueError, match="elements are not known"):
        to_text(parse_type("enum"), Dialect.TICDC)("b")


@pytest.mark.parametrize(("type_", "value"), [("enum('a')", 2), ("enum('a')", -1), ("set('a')", 2)])
def test_a_number_beyond_the_elements_has_no_name(type_, value):
    with pytest.raises(ValueError, match=r"the (enum|set) has no"):
        to_names(parse_type(type_))(value)
