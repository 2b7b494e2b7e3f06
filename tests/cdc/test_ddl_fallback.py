"""Texts that are no statement: the reason is said, the beginning is used, nothing is raised and nothing takes long."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc import ddl
from spark_jobs.cdc.ddl.cursor import MAX_TOKENS

DATA = Path(__file__).parents[1] / "data" / "ddl_statements.json"
QUERIES = [case["sql"] for cases in json.loads(DATA.read_text())["actions"].values() for case in cases]
KNOWN = ddl.apply(ddl.parse("create table t (a int primary key, b text, unique u (b))", "db")[0], ddl.Catalog())

GUESSED = {
    "create table t (a int oddly)": (ddl.Action.CREATE_TABLE, "CREATE", (("db", "t"),)),
    "create table if not exists `x`.`t` (": (ddl.Action.CREATE_TABLE, "CREATE", (("x", "t"),)),
    "alter table t frobnicate": (ddl.Action.MULTI_SCHEMA_CHANGE, "ALTER", (("db", "t"),)),
    "ALTER TABLE x.t ADD COLUMN": (ddl.Action.MULTI_SCHEMA_CHANGE, "ALTER", (("x", "t"),)),
    "drop table if exists t oddly": (ddl.Action.DROP_TABLE, "ERASE", (("db", "t"),)),
    "truncate table t, u": (ddl.Action.TRUNCATE_TABLE, "TRUNCATE", (("db", "t"),)),
    "rename table t u": (ddl.Action.RENAME_TABLE, "RENAME", ()),
    "create index i on x.t": (ddl.Action.ADD_INDEX, "CINDEX", (("x", "t"),)),
    "create unique index i oddly": (ddl.Action.ADD_INDEX, "CINDEX", ()),
    "drop index i on t oddly": (ddl.Action.DROP_INDEX, "DINDEX", (("db", "t"),)),
    "create database x oddly": (ddl.Action.CREATE_SCHEMA, "QUERY", (("x", ""),)),
    "drop database x oddly": (ddl.Action.DROP_SCHEMA, "QUERY", (("x", ""),)),
    "frobnicate the table": (ddl.Action.NONE, "QUERY", ()),
    "alter table t comment 'open": (ddl.Action.MULTI_SCHEMA_CHANGE, "ALTER", (("db", "t"),)),
    "alter table t add c int /* open": (ddl.Action.MULTI_SCHEMA_CHANGE, "ALTER", (("db", "t"),)),
    "\0": (ddl.Action.NONE, "QUERY", ()),
}


@pytest.mark.parametrize("query", GUESSED)
def test_the_first_words_tell_what_they_can(query):
    (statement,) = ddl.parse(query, "db")
    assert not statement.parsed
    assert statement.reason
    assert statement.change is None
    assert (statement.action, statement.canal_type, statement.tables) == GUESSED[query]


@pytest.mark.parametrize("query", GUESSED)
def test_what_cannot_be_parsed_is_passed_on_as_it_is(query):
    assert ddl.normalise(query, current_schema="db") == (query,)


def test_the_reason_says_where_and_what():
    (statement,) = ddl.parse("alter table t frobnicate", "db")
    assert statement.reason == "expected a clause of ALTER TABLE, found 'frobnicate' at character 14"


def test_one_bad_statement_makes_the_whole_text_unparsed():
    (statement,) = ddl.parse("create table a (i int); frobnicate", "db")
    assert not statement.parsed
    assert statement.query == "create table a (i int); frobnicate"


SIZE = 1 << 18
HUGE = {
    "open parentheses": "create table t (a int default " + "(" * SIZE,
    "nested parentheses": "create table t (a int default " + "(" * 40_000 + ")" * 40_000 + ")",
    "open comments": "/*" * SIZE,
    "open special comments": "/*T![" * SIZE,
    "executed comments": "/*!40101 " * SIZE,
    "ends of comments": "*/" * SIZE,
    "quotes": "'" * (SIZE + 1),
    "an open string": "create table t (a int comment '" + "a\\'" * SIZE,
    "adjacent strings": "alter table t add index i ((" + "'a' " * 60_000 + "))",
    "arrows": "alter table t add index i ((a" + "->'$.x'" * 30_000 + "))",
    "statements": "create table t (a int);" * 10_000,
    "semicolons": ";" * SIZE,
    "clauses": "alter table t " + ",".join(["add c int"] * 10_000),
    "keys": "create table t (a int," + ",".join(["key (a)"] * 10_000) + ")",
    "names of constraints": "create table t (a int" + " constraint x" * 40_000 + ")",
    "tables": "drop table " + ",".join("t" * 20_000),
    "digits": "alter table t auto_increment=" + "9" * SIZE,
    "a length": "create table t (a decimal(" + "9" * SIZE + "))",
    "a float": "alter table t alter a set default 1e" + "9" * 10_000,
    "signs": "alter table t alter a set default " + "-" * SIZE,
    "a word": "a" * SIZE,
    "dots": "create table " + "a." * SIZE,
    "a text above the limit": "create table t (a int) comment '" + "x" * ddl.MAX_LENGTH + "'",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("query", HUGE.values(), ids=HUGE)
def test_huge_texts_take_no_more_than_seconds(query):
    began = time.process_time()
    catalog = KNOWN
    for statement in ddl.parse(query, "db")[:3]:
        ddl.normalised(statement)
        catalog = ddl.apply(statement, catalog)
    assert time.process_time() - began < 10


def test_the_largest_real_statements_are_parsed():
    columns = ",".join(f"`column_{number}` varchar(255) not null default '' comment 'text'" for number in range(4096))
    partitions = ",".join(f"partition p{number} values less than ({number})" for number in range(8192))
    query = f"create table t ({columns}) partition by range (column_0) ({partitions})"
    (statement,) = ddl.parse(query, "db")
    assert statement.reason == ""
    assert len(ddl.apply(statement, ddl.Catalog())["db", "t"].columns) == 4096


def test_the_number_of_words_is_limited():
    (statement,) = ddl.parse("alter table t comment 'x' " + "engine=x " * (MAX_TOKENS // 3), "db")
    assert statement.reason == f"there are more than {MAX_TOKENS} words and symbols"


def everything(query):
    for statement in ddl.parse(query, "db"):
        assert isinstance(ddl.normalised(statement), str)
        assert isinstance(ddl.apply(statement, KNOWN), ddl.Catalog)
        assert statement.parsed == (statement.reason == "")


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_has_an_answer(query):
    everything(query)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(sorted({word for query in QUERIES for word in query.split()})), max_size=25))
def test_any_words_of_ddl_have_an_answer(words):
    everything(" ".join(words))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(QUERIES), st.data())
def test_any_damaged_statement_has_an_answer(query, data):
    at = data.draw(st.integers(0, len(query)))
    removed = data.draw(st.integers(0, 10))
    inserted = data.draw(
        st.one_of(st.sampled_from(["", "'", "`", "/*", "*/", "(", ")", ",", ";", "--", "\0", "\\"]), st.text())
    )
    everything(query[:at] + inserted + query[at + removed :])


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=64), st.text(st.characters(codec="utf-8"), max_size=64)
)
def test_any_name_and_comment_survive_being_written(name, comment):
    quoted = name.replace("`", "``")
    text = comment.replace("\\", "\\\\").replace("'", "\\'")
    (once,) = ddl.normalise(f"create table `{quoted}` (`{quoted}` int comment '{text}') comment '{text}'", "", "", "db")
    (statement,) = ddl.parse(once, "db")
    table = ddl.apply(statement, ddl.Catalog())["db", name]
    assert (table.comment, table.columns[0].name, table.columns[0].comment) == (comment, name, comment)
