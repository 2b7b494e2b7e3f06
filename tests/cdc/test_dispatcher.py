"""Where queue sinks send events: TiCDC's rules, its own cases, and what they leave open."""

import json
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.errors import ConfigError, DataError
from spark_jobs.cdc.events import ABSENT, Index
from spark_jobs.cdc.routing.dispatcher import Dispatcher, DispatchRule, ddl_partitions
from spark_jobs.cdc.routing.topics import TopicExpression
from tests.cdc.routing_tables import column, delete, insert, table, update

CASES = json.loads((Path(__file__).parents[1] / "data" / "mq_routing.json").read_text(encoding="utf-8"))
WORDS = {"table/default": ("table", ()), "index-value": ("index-value", ())}


def by(partition: str, **rest) -> Dispatcher:
    return Dispatcher([DispatchRule(matcher=("*.*",), partition=partition, **rest)], "topic")


def row_of(case):
    (schema, name), *cells = case["writes"]
    keys = case.get("pk", [])
    columns = [column(cell, key=cell in keys) for cell, _ in cells]
    return insert(table(*columns, name=f"{schema}.{name}"), tuple(int(text) for _, text in cells))


@pytest.mark.parametrize("case", CASES["partition"], ids=lambda case: f"{case['rule']} {case['writes']}")
def test_a_row_goes_to_the_partition_that_ticdc_chooses(case):
    word, columns = WORDS.get(case["rule"], ("columns", ("col2", "col1")))
    change = row_of(case)
    assert by(word, columns=columns).partition(change, 2**32) == case["hash"]
    assert by(word, columns=columns).partition(change, case["partitions"]) == case["partition"]


@pytest.mark.parametrize("case", CASES["ts"], ids=str)
def test_ts_takes_the_commit_ts_itself(case):
    change = insert(table(column("a")), (1,), commit_ts=case["commitTs"])
    assert by("ts").partition(change, case["partitions"]) == case["partition"]


@pytest.mark.parametrize(
    "case", CASES["topic"], ids=lambda case: f"{case['expression']} {case['schema']} {case['table']}"
)
def test_an_expression_names_the_topic_that_ticdc_names(case):
    if case["error"]:
        with pytest.raises(ConfigError, match=case["error"]) as caught:
            TopicExpression(case["expression"])
        assert caught.value.code == "CDC:ErrKafkaInvalidConfig"
    else:
        assert TopicExpression(case["expression"]).topic(case["schema"], case["table"]) == case["topic"]


@pytest.mark.parametrize(
    ("schema", "name", "topic"),
    [("a" * 300, "b", "a" * 249), ("..", "", "__"), (".", "", "_"), ("...", "", "...")],
)
def test_a_topic_is_a_name_that_kafka_takes(schema, name, topic):
    assert TopicExpression("{schema}{table}").topic(schema, name) == topic


@pytest.mark.parametrize("text", ["", "{table}{schema}", "{schema}{schema}", "{table}{table}", "a b", "{Schema}"])
def test_a_wrong_topic_expression_is_refused(text):
    with pytest.raises(ConfigError, match="invalid topic expression"):
        TopicExpression(text)


@pytest.mark.parametrize("protocol", CASES["ddl_partition"])
def test_ddl_goes_where_ticdc_sends_it(protocol):
    expected = [0] if CASES["ddl_partition"][protocol] == "partition 0" else [0, 1, 2]
    assert list(ddl_partitions(protocol, 3)) == expected


def test_the_first_rule_that_matches_decides():
    rules = [
        DispatchRule(matcher=("a.*", "!a.skip"), partition="ts", topic="first"),
        DispatchRule(matcher=("a.*",), partition="table", topic="{schema}-{table}"),
    ]
    dispatcher = Dispatcher(rules, "default")
    assert dispatcher.topic("a", "t") == "first"
    assert dispatcher.topic("a", "skip") == "a-skip"
    assert dispatcher.topic("b", "t") == "default"
    assert dispatcher.topic("a", "") == "default", "a statement on the schema"
    assert dispatcher.topics([("a", "t"), ("a", "skip"), ("b", "t")]) == ("a-skip", "default", "first")
    assert dispatcher.topics([]) == ("default",)


def test_matchers_ignore_case_unless_told():
    rule = DispatchRule(matcher=("A.T",), topic="own")
    assert Dispatcher([rule], "default").topic("a", "t") == "own"
    assert Dispatcher([rule], "default", case_sensitive=True).topic("a", "t") == "default"


def test_an_unknown_word_counts_as_table_and_is_told():
    dispatcher = by("Nonsense")
    change = insert(table(column("a", key=True)), (1,))
    assert dispatcher.partition(change, 2**32) == crc32(b"testt1")
    assert "'Nonsense'" in dispatcher.warnings[0]
    assert not by("Index-Value").warnings


KEYED = table(column("Id", key=True), column("v", "varchar", nullable=True), name="s.t")
BASE = crc32(b"st")


@pytest.mark.parametrize(
    ("change", "cells"),
    [
        pytest.param(insert(KEYED, (7, "x")), [b"Id7"], id="the new row of an insert, the name as the table spells it"),
        pytest.param(update(KEYED, (6, "x"), (7, "x")), [b"Id7"], id="the new row of an update"),
        pytest.param(delete(KEYED, (6, None)), [b"Id6"], id="the old row of a delete"),
        pytest.param(update(KEYED, (6, "x"), (ABSENT, "y")), [b"Id6"], id="the old row where the new one is partial"),
        pytest.param(delete(KEYED, (ABSENT, "y")), [], id="nothing where the message carries no key"),
        pytest.param(insert(table(column("a"), name="s.t"), (7,)), [], id="no key at all"),
    ],
)
def test_index_value_hashes_the_key_of_the_row(change, cells):
    expected = BASE
    for cell in cells:
        expected ^= crc32(cell)
    assert by("rowid").partition(change, 2**32) == expected


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        ("bigint", 2**64 - 1, b"18446744073709551615"),
        ("float", 0.10000000149011612, b"0.1"),
        ("double", 1e20, b"100000000000000000000"),
        ("decimal", "1.50", b"1.50"),
        ("blob", b"\xff\x00", b"\xff\x00"),
        ("varchar", "é\udcff", "é".encode() + b"\xff"),
        ("datetime", "0000-00-00 00:00:00", b"0000-00-00 00:00:00"),
        ("enum", 2, b"2"),
        ("bit", 5, b"5"),
    ],
)
def test_values_are_hashed_as_their_text(type_, value, text):
    change = insert(table(column("c", type_), name="s.t"), (value,))
    assert by("columns", columns=("C",)).partition(change, 2**32) == BASE ^ crc32(b"c" + text)


def test_a_name_of_an_enum_whose_elements_are_not_known_has_no_partition():
    dispatcher = Dispatcher([DispatchRule(matcher=("*.*",), partition="columns", columns=("c",))], "d")
    with pytest.raises(DataError, match=r"a row of test\.t1 has no partition: the enum value 'red' is a name"):
        dispatcher.partition(insert(table(column("c", "enum")), ("red",)), 4)


def test_null_is_left_out_or_hashed_as_a_word():
    change = insert(KEYED, (1, None))
    rule = DispatchRule(matcher=("*.*",), partition="columns", columns=("v",))
    assert Dispatcher([rule], "t").partition(change, 2**32) == BASE
    assert Dispatcher([rule], "t", null_text="null").partition(change, 2**32) == BASE ^ crc32(b"vnull")


INDEXED = table(
    column("a", key=True),
    column("b"),
    column("c", generated="virtual"),
    indexes=(Index("PRIMARY", ("a",)), Index("ub", ("B",)), Index("plain", ("b",), unique=False)),
    name="s.t",
)


def test_a_named_index_is_hashed_instead_of_the_key():
    assert by("index-value", index="UB").partition(insert(INDEXED, (1, 2, 3)), 2**32) == BASE ^ crc32(b"b2")
    assert by("index-value", index="primary").partition(insert(INDEXED, (1, 2, 3)), 2**32) == BASE ^ crc32(b"a1")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (DispatchRule(matcher=("*.*",), partition="index-value", index="plain"), "s.t has no unique index 'plain'"),
        (DispatchRule(matcher=("*.*",), partition="index-value", index="none"), "s.t has no unique index 'none'"),
        (DispatchRule(matcher=("*.*",), partition="columns", columns=("a", "x")), "s.t has no column 'x'"),
        (DispatchRule(matcher=("*.*",), partition="columns", columns=("c",)), "generates without storing it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_rule_that_names_what_the_table_has_not_is_refused(rule, reason):
    with pytest.raises(ConfigError, match=reason) as caught:
        Dispatcher([rule], "t").partition(insert(INDEXED, (1, 2, 3)), 4)
    assert caught.value.code == "CDC:ErrDispatcherFailed"


def test_a_source_that_tells_nothing_of_indexes_cannot_use_one():
    unknown = table(column("a"), indexes=None)
    with pytest.raises(ConfigError, match="tells nothing of index 'u'"):
        by("index-value", index="u").partition(insert(unknown, (1,)), 4)


def test_columns_must_be_named():
    with pytest.raises(ConfigError, match="names no columns"):
        by("columns")


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text(), st.integers(0, 2**63), st.integers(1, 64), st.sampled_from(["", "ts", "rowid"]))
def test_every_row_has_a_partition_that_exists_and_keeps_it(schema, name, key, partitions, word):
    structure = table(column("id", "bigint", key=True), name=f"{schema}.{name}")
    change = insert(structure, (key,), commit_ts=key)
    first = by(word).partition(change, partitions)
    assert 0 <= first < partitions
    assert by(word).partition(change, partitions) == first
