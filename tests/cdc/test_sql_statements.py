"""Events as statements, with parameters and with literals."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.cdc.codecs import sql, tidb_binlog
from spark_jobs.cdc.codecs.sql.statements import Statement, statements
from spark_jobs.cdc.codecs.sql.text import literal, one_line
from spark_jobs.cdc.errors import EncodeError
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
)

INT, TEXT = ColumnType("int"), ColumnType("varchar")
KEYED = TableSchema("s", "t", (Column("id", INT, is_key=True), Column("v", TEXT)))
KEYLESS = TableSchema("s", "t", (Column("id", INT), Column("v", TEXT)))


def change(kind, table, before=None, after=None, **fields):
    return RowChange(kind=kind, table=table, before=before, after=after, commit_ts=5, **fields)


def written(*events, **options):
    return [(statement.text, statement.parameters) for statement in statements(events, **options)]


ROWS = [
    pytest.param(
        change(INSERT, KEYED, after=(1, "a")), ("REPLACE INTO `s`.`t` (`id`, `v`) VALUES (?, ?)", (1, "a")), id="insert"
    ),
    pytest.param(
        change(UPDATE, KEYED, before=(1, "a"), after=(2, None)),
        ("UPDATE `s`.`t` SET `id` = ?, `v` = ? WHERE `id` = ?", (2, None, 1)),
        id="update by primary key, with its old value",
    ),
    pytest.param(
        change(DELETE, KEYED, before=(1, "a")), ("DELETE FROM `s`.`t` WHERE `id` = ?", (1,)), id="delete by primary key"
    ),
    pytest.param(
        change(DELETE, KEYLESS, before=(1, None)),
        ("DELETE FROM `s`.`t` WHERE `id` <=> ? AND `v` <=> ? LIMIT 1", (1, None)),
        id="delete without key",
    ),
    pytest.param(
        change(UPDATE, KEYLESS, before=(1, None), after=(1, "b")),
        ("UPDATE `s`.`t` SET `id` = ?, `v` = ? WHERE `id` <=> ? AND `v` <=> ? LIMIT 1", (1, "b", 1, None)),
        id="update without key",
    ),
    pytest.param(
        change(DELETE, KEYED, before=(1, ABSENT)), ("DELETE FROM `s`.`t` WHERE `id` = ?", (1,)), id="handle key only"
    ),
    pytest.param(
        change(UPDATE, KEYED, before=(ABSENT, "a"), after=(1, "b")),
        ("UPDATE `s`.`t` SET `id` = ?, `v` = ? WHERE `id` = ?", (1, "b", 1)),
        id="a key that did not change may be absent from the old image",
    ),
    pytest.param(
        change(UPDATE, KEYED, before=(1, "a"), after=(1, ABSENT)),
        ("UPDATE `s`.`t` SET `id` = ? WHERE `id` = ?", (1, 1)),
        id="absent columns are not set",
    ),
]


@pytest.mark.parametrize(("event", "expected"), ROWS)
def test_a_row_change_is_a_statement(event, expected):
    assert written(event) == [expected]


def test_insert_may_be_plain():
    assert written(change(INSERT, KEYED, after=(1, "a")), replace=False)[0][0].startswith("INSERT INTO `s`.`t`")


def indexed(*indexes):
    columns = (Column("a", INT), Column("b", INT), Column("c", INT))
    return TableSchema("s", "t", columns, indexes)


@pytest.mark.parametrize(
    ("table", "before", "where"),
    [
        pytest.param(indexed(Index("u", ("b", "a"))), (1, 2, None), "`b` = ? AND `a` = ?", id="unique key"),
        pytest.param(indexed(Index("u", ("b",)), Index("PRIMARY", ("a",))), (1, 2, 3), "`a` = ?", id="primary first"),
        pytest.param(indexed(Index("u", ("b",)), Index("w", ("c",))), (1, None, 3), "`c` = ?", id="a key with NULL"),
        pytest.param(indexed(Index("u", ("b",), unique=False)), (1, 2, 3), "`a` <=> ? AND", id="not unique"),
        pytest.param(indexed(Index("u", ("x",))), (1, 2, 3), "`a` <=> ? AND", id="a key over a column not known"),
    ],
)
def test_a_row_is_found_by_the_first_key_it_has(table, before, where):
    [(text, _)] = written(change(DELETE, table, before=before))
    assert text.startswith(f"DELETE FROM `s`.`t` WHERE {where}")


def test_safe_mode_makes_an_update_repeatable():
    event = change(UPDATE, KEYED, before=(1, "a"), after=(2, "b"))
    assert written(event, safe=True) == [
        ("DELETE FROM `s`.`t` WHERE `id` = ?", (1,)),
        ("REPLACE INTO `s`.`t` (`id`, `v`) VALUES (?, ?)", (2, "b")),
    ]


def test_safe_mode_loses_no_column_that_an_image_lacks():
    """With a minimal row image the new row has what changed, and the old one perhaps the key alone."""
    event = change(UPDATE, KEYED, before=(1, "a"), after=(2, ABSENT))
    assert written(event, safe=True)[1] == ("REPLACE INTO `s`.`t` (`id`, `v`) VALUES (?, ?)", (2, "a"))
    event = change(UPDATE, KEYED, before=(1, ABSENT), after=(2, ABSENT))
    assert written(event, safe=True) == written(event) == [("UPDATE `s`.`t` SET `id` = ? WHERE `id` = ?", (2, 1))]


def test_safe_mode_does_not_multiply_rows_without_key():
    event = change(UPDATE, KEYLESS, before=(1, "a"), after=(2, "b"))
    assert written(event, safe=True) == written(event)


def test_generated_columns_are_neither_written_nor_compared():
    columns = (Column("a", INT), Column("g", INT, generated="virtual"), Column("h", INT))
    event = change(UPDATE, TableSchema("s", "t", columns), before=(1, None, None), after=(2, None, None))
    assert written(event, generated=lambda schema, table: {"h"} if (schema, table) == ("s", "t") else ()) == [
        ("UPDATE `s`.`t` SET `a` = ? WHERE `a` <=> ? LIMIT 1", (2, 1))
    ]


@pytest.mark.parametrize(
    ("type_name", "value", "parameter"),
    [
        ("decimal", "-123.4500", Decimal("-123.4500")),
        ("decimal", "NaN", "NaN"),
        ("varchar", "\udcff", b"\xff"),
        ("varchar", "é", "é"),
        ("bit", 2748, 2748),
        ("datetime", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
    ],
)
def test_a_value_is_a_parameter(type_name, value, parameter):
    table = TableSchema("s", "t", (Column("c", ColumnType(type_name)),))
    [(_, parameters)] = written(change(INSERT, table, after=(value,)))
    assert parameters == (parameter,)
    assert type(parameters[0]) is type(parameter)


def test_json_is_compared_as_json():
    table = TableSchema("s", "t", (Column("j", ColumnType("json")), Column("b", INT)))
    assert written(change(DELETE, table, before=("{}", 1))) == [
        ("DELETE FROM `s`.`t` WHERE `j` <=> CAST(? AS JSON) AND `b` <=> ? LIMIT 1", ("{}", 1))
    ]


@pytest.mark.parametrize(
    ("event", "texts"),
    [
        (Ddl(schema="a`b", table="t", query="DROP TABLE t;"), ["USE `a``b`", "DROP TABLE t"]),
        (Ddl(schema="d", table="", query="/* x */ create database d"), ["/* x */ create database d"]),
        (Ddl(schema="d", table="", query="DROP SCHEMA d"), ["DROP SCHEMA d"]),
        (Ddl(schema="d", table="", query="alter database charset utf8"), ["USE `d`", "alter database charset utf8"]),
        (Ddl(schema="", table="", query="drop table a.b"), ["drop table a.b"]),
        (Ddl(schema="d", table="", query="insert into t values (1)", is_ddl=False), []),
        (Heartbeat(), []),
    ],
    ids=lambda value: getattr(value, "query", None),
)
def test_a_ddl_runs_in_its_schema(event, texts):
    assert written(event) == [(text, ()) for text in texts]


@pytest.mark.parametrize(
    "event",
    [
        change(UPDATE, KEYED, after=(1, "a"), half="after"),
        change(UPDATE, KEYED, after=(1, "a")),
        change(INSERT, KEYED, after=(1,)),
        change(DELETE, KEYED, before=(ABSENT, ABSENT)),
        change(INSERT, KEYED, after=(ABSENT, ABSENT)),
        change(INSERT, TableSchema("s", "t", ()), after=()),
        change(INSERT, TableSchema("s", "t", (Column("f", ColumnType("float")),)), after=(float("nan"),)),
    ],
    ids=["half", "no old image", "too few values", "nothing to find it by", "no column", "no columns", "not a number"],
)
def test_what_has_no_statement_is_refused(event):
    with pytest.raises(EncodeError):
        written(event)


# --- text


def test_placeholders_and_names_do_not_mix():
    table = TableSchema("s", "a?%`", (Column("x%?", INT),))
    [statement] = statements([change(INSERT, table, after=(1,))])
    assert statement.text == "REPLACE INTO `s`.`a?%``` (`x%?`) VALUES (?)"
    assert statement.format_text == "REPLACE INTO `s`.`a?%%``` (`x%%?`) VALUES (%s)"
    assert statement.literal_text == "REPLACE INTO `s`.`a?%``` (`x%?`) VALUES (1)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (-1, "-1"),
        (2**64 - 1, "18446744073709551615"),
        (0.1, "0.1e0"),
        (-0.0, "-0.0e0"),
        (1e300, "1e+300"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("-1.50"), "-1.50"),
        (b"", "x''"),
        (b"\0\xff", "x'00ff'"),
        ("it's", "'it\\'s'"),
        ('a\\b"', "'a\\\\b\"'"),
        ("\0\n\r\x1a", "'\\0\\n\\r\\Z'"),
        ("\udcff", "x'ff'"),
        ("0000-00-00", "'0000-00-00'"),
        ("😀%_", "'😀%_'"),
    ],
)
def test_a_literal_is_written_as_mysql_reads_it(value, text):
    assert literal(value) == text


UNESCAPED = {"0": "\0", "n": "\n", "r": "\r", "Z": "\x1a"}


def unescape(text):
    """What MySQL's manual says about backslashes in strings."""
    out, characters = "", iter(text[1:-1])
    for character in characters:
        if character == "\\":
            escaped = next(characters)
            character = UNESCAPED.get(escaped, escaped)
        else:
            assert character != "'"
        out += character
    return out


@given(st.text(st.characters(codec="utf-8")) | st.text("'\\\"\0\n%"))
def test_a_string_literal_reads_back_as_the_string(value):
    text = literal(value)
    assert unescape(text) == value
    assert not set("\n\r\0") & set(text)


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("create table t (\n  a int,\r\n  b int\n)\n", "create table t ( a int, b int )"),
        ("alter table t -- why\n add b int # x\n", "alter table t   add b int"),
        ("alter table t comment 'a\nb -- \\' c' /* x\ny */", "alter table t comment 'a\\nb -- \\' c'"),
        (
            "create table t (a int /*T![clustered_index]\nCLUSTERED */)",
            "create table t (a int /*T![clustered_index] CLUSTERED */)",
        ),
        ("select `a\n--b` from t", "select `a\n--b` from t"),
        ("select 5--1", "select 5--1"),
    ],
)
def test_a_statement_is_put_on_one_line(statement, line):
    assert one_line(statement) == line


@pytest.mark.parametrize("piece", ["/*", "'", "`", '"', "--", "/**/", "'\\", "\n", "/*!"])
@pytest.mark.timeout(20)
def test_no_text_takes_for_ever(piece):
    assert "\n" not in one_line(piece * 30_000)
    assert len(written(Ddl(schema="s", table="", query=piece * 30_000))) == 2


# --- as a codec


def lines(*events, **options):
    encoder = sql.encoder({name.replace("_", "-"): value for name, value in options.items()})
    return [message.decode() for event in events for message in encoder.encode(event)]


def test_the_codec_writes_a_line_for_each_statement():
    assert lines(change(INSERT, KEYED, after=(1, "a\nb")), Ddl(schema="s", table="t", query="drop table\nt;")) == [
        "REPLACE INTO `s`.`t` (`id`, `v`) VALUES (1, 'a\\nb');",
        "USE `s`;",
        "drop table t;",
    ]


def test_the_codec_takes_its_options():
    event = change(UPDATE, KEYED, before=(1, "a"), after=(1, "b"))
    assert len(lines(event, safe_mode="true")) == 2
    assert lines(change(INSERT, KEYED, after=(1, "a")), insert="insert")[0].startswith("INSERT")


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(EncodeError, match="not text"):
        lines(change(INSERT, TableSchema("s", "\ud800", KEYED.columns), after=(1, "a")))


def test_every_vector_of_tidb_binlog_becomes_statements_that_parse():
    vectors = json.loads((Path(__file__).parents[1] / "data/tidb_binlog/secondary.json").read_text())
    events = [event for v in vectors for event in tidb_binlog.decoder({}).decode(bytes.fromhex(v["hex"]))]
    rows = [event for event in events if isinstance(event, RowChange)]
    texts = lines(*rows)
    assert len(texts) == len(rows) == 7
    for text in texts:
        assert sqlglot.parse_one(text, dialect="mysql") is not None


def test_a_statement_without_parameters_is_its_text():
    assert Statement(("USE `a%`",)).literal_text == Statement(("USE `a%`",)).text == "USE `a%`"
