"""Event filters: TiCDC's own cases, every name, and what they leave open."""

import json
from pathlib import Path

import pytest

from spark_jobs.cdc.ddl.actions import REPLICATED, Action
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.events import ABSENT
from spark_jobs.cdc.filters.events import EVENT_NAMES, EventFilter, EventFilters, selects_ddl
from spark_jobs.cdc.filters.tables import TableFilter
from tests.cdc.routing_tables import column, delete, insert, table, update

CASES = json.loads((Path(__file__).parents[1] / "data" / "event_filter.json").read_text(encoding="utf-8"))
ACTIONS = json.loads((Path(__file__).parents[1] / "data" / "ddl_actions.json").read_text(encoding="utf-8"))["actions"]
USED_ACTIONS = [one for one in ACTIONS if one["type"] not in (0, 46, 48)]
TICDC_NAMES = (
    "all dml, all ddl, insert, update, delete, alter table, create schema, drop schema, create database, drop "
    "database, modify schema charset and collate, create table, drop table, truncate table, rename table, "
    "recover table, modify table comment, modify table charset and collate, create view, drop view, add table "
    "partition, drop table partition, truncate table partition, exchange table partition, reorganize table "
    "partition, alter table partitioning, remove table partitioning, add column, drop column, modify column, "
    "set default value, rebase auto id, add primary key, drop primary key, create index, drop index, rename "
    "index, alter index visibility, alter ttl info, alter ttl remove, multi schema change, add foreign key, "
    "drop foreign key, add fulltext index, create hybrid index"
)
SPELLINGS = {"ModifySchemaCharsetAndCollate": Action.MODIFY_SCHEMA_CHARSET}
NAMES = {"bf.AlterTable": "alter table", "bf.DropTable": "drop table"}

STUDENT = table(
    column("id", key=True), column("name", "char"), column("age"), column("gender", "char"), name="test.student"
)


def action(text: str) -> Action:
    word = text.removeprefix("timodel.Action")
    return SPELLINGS.get(word) or Action["".join("_" + c if c.isupper() else c for c in word).strip("_").upper()]


def each(cases):
    return [
        (group, case) for group in cases for case in group["cases"] if case["startTs"] not in group.get("ignoredTs", [])
    ]


def named(case):
    return f"{case['schema']}.{case['table']} {case.get('query', '')}"


@pytest.mark.parametrize(
    ("group", "case"), each(CASES["ddl_ignore"]), ids=lambda value: named(value) if "schema" in value else ""
)
def test_a_ddl_is_ignored_as_ticdc_ignores_it(group, case):
    filters = EventFilters(
        EventFilter(
            matcher=tuple(one["Matcher"]),
            ignore_event=tuple(NAMES[name] for name in one.get("IgnoreEvent", ())),
            ignore_sql=tuple(one.get("IgnoreSQL", ())),
        )
        for one in group.get("eventFilters", [])
    )
    found = filters.ignores_ddl(case["schema"], case["table"], case["query"], action(case["ddlType"]))
    assert found is case["ignore"]


@pytest.mark.parametrize(
    ("group", "case"), each(CASES["ddl_discard"]), ids=lambda value: named(value) if "schema" in value else ""
)
def test_a_ddl_is_selected_as_ticdc_selects_it(group, case):
    found = selects_ddl(TableFilter(group["rules"]), action(case["ddlType"]), case["schema"], case["table"])
    assert found is not case["discard"]


@pytest.mark.parametrize("one", USED_ACTIONS, ids=lambda one: one["name"])
def test_only_actions_that_ticdc_hands_to_sinks_are_selected(one):
    found = selects_ddl(TableFilter(["*.*"]), Action(one["type"]), "s", "t")
    assert found is one["replicated"]


def test_a_rename_passes_if_either_name_does():
    tables = TableFilter(["a.*"])
    assert selects_ddl(tables, Action.RENAME_TABLE, "b", "t", old=("a", "t"))
    assert selects_ddl(tables, Action.RENAME_TABLE, "a", "t", old=("b", "t"))
    assert not selects_ddl(tables, Action.RENAME_TABLE, "b", "t", old=("c", "t"))


def test_a_statement_that_was_not_understood_goes_by_the_names_it_came_with():
    tables = TableFilter(["a.t"])
    assert selects_ddl(tables, Action.NONE, "a", "t")
    assert not selects_ddl(tables, Action.NONE, "a", "u")
    assert selects_ddl(tables, Action.NONE, "a", "")
    assert not selects_ddl(tables, Action.NONE, "b", "")


def of(**rule) -> EventFilters:
    return EventFilters([EventFilter(matcher=("test.*",), **rule)])


ROWS = {
    "insert": insert(STUDENT, (1, "a", 2, "b")),
    "update": update(STUDENT, (1, "a", 2, "b"), (1, "a", 3, "b")),
    "delete": delete(STUDENT, (1, "a", 2, "b")),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_are_ignored_by_their_kind(kind):
    for name, change in ROWS.items():
        assert of(ignore_event=(kind,)).ignores_row(change) is (name == kind)
        assert of(ignore_event=("all dml",)).ignores_row(change)
        assert not of(ignore_event=("all ddl",)).ignores_row(change)


@pytest.mark.parametrize("one", sorted(REPLICATED), ids=lambda one: one.name)
def test_every_action_that_sinks_see_has_a_name_of_its_own(one):
    specific = [
        name
        for name in EVENT_NAMES - {"all ddl", "alter table"}
        if of(ignore_event=(name,)).ignores_ddl("test", "t", "", one)
    ]
    assert specific
    assert of(ignore_event=("all ddl",)).ignores_ddl("test", "t", "", one)
    assert not of(ignore_event=("all dml",)).ignores_ddl("test", "t", "", one)


@pytest.mark.parametrize("name", ["all", "none", "none ddl", "Insert", "alter schema", "", "drop unique key"])
def test_a_name_that_ticdc_refuses_is_refused_with_those_it_takes(name):
    with pytest.raises(ConfigError, match="it may be: add column, ") as caught:
        of(ignore_event=(name,))
    assert caught.value.code == "CDC:ErrInvalidIgnoreEventType"


def test_the_names_are_those_that_ticdc_has():
    assert set(TICDC_NAMES.split(", ")) == EVENT_NAMES


@pytest.mark.parametrize("patterns", [("(?=a)",), ("ok", "(")])
def test_a_wrong_pattern_is_refused(patterns):
    with pytest.raises(ConfigError, match=f"ignore_sql {len(patterns)}"):
        of(ignore_sql=patterns)


def test_patterns_are_found_anywhere_whatever_their_case():
    filters = of(ignore_sql=("nothing", "drop\\s+column"))
    assert filters.ignores_ddl("test", "t", "ALTER TABLE t DROP  COLUMN a", Action.DROP_COLUMN)
    assert not filters.ignores_ddl("other", "t", "ALTER TABLE t DROP  COLUMN a", Action.DROP_COLUMN)
    assert not filters.ignores_row(ROWS["insert"])


FILTERS = CASES["dml_expression_filter"]
STUDENTS = FILTERS[0]["filter"]["EventFilters"][0]


def expressions(rule) -> EventFilters:
    return EventFilters(
        [
            EventFilter(
                matcher=tuple(rule["Matcher"]),
                ignore_insert_value_expr=rule.get("IgnoreInsertValueExpr", ""),
                ignore_delete_value_expr=rule.get("IgnoreDeleteValueExpr", ""),
                ignore_update_old_value_expr=rule.get("IgnoreUpdateOldValueExpr", ""),
                ignore_update_new_value_expr=rule.get("IgnoreUpdateNewValueExpr", ""),
            )
        ]
    )


def student(age, gender):
    return (1, "x", age, gender)


STUDENT_CASES = [
    # insert: age >= 20 or gender = 'female'
    (insert(STUDENT, student(20, "male")), True),
    (insert(STUDENT, student(19, "male")), False),
    (insert(STUDENT, student(19, "female")), True),
    (insert(STUDENT, student(None, "male")), False),
    (insert(STUDENT, student(None, "female")), True),
    # delete: age >= 32 and age < 48
    (delete(STUDENT, student(31, "male")), False),
    (delete(STUDENT, student(32, "male")), True),
    (delete(STUDENT, student(48, "male")), False),
    # update: gender = 'male' before, or age > 28 after
    (update(STUDENT, student(1, "male"), student(1, "female")), True),
    (update(STUDENT, student(29, "female"), student(28, "male")), False),
    (update(STUDENT, student(1, "female"), student(29, "female")), True),
    (update(STUDENT, (ABSENT, ABSENT, 1, ABSENT), student(2, "male")), True),
    (update(STUDENT, (ABSENT, ABSENT, 1, ABSENT), student(2, "female")), False),
]


@pytest.mark.parametrize(("change", "ignored"), STUDENT_CASES, ids=lambda value: str(getattr(value, "kind", value)))
def test_rows_are_ignored_by_their_values(change, ignored):
    assert expressions(STUDENTS).ignores_row(change) is ignored


@pytest.mark.parametrize("name", ["test.teacher", "no.student", "Test.student"])
def test_expressions_leave_other_tables_alone_and_tell_names_apart_by_case(name):
    other = table(*STUDENT.columns, name=name)
    assert not expressions(STUDENTS).ignores_row(insert(other, student(99, "female")))


POET = table(column("id", key=True), column("name", "varchar"), column("works", "char"), name="test.poet")


@pytest.mark.parametrize(
    ("row", "ignored"),
    [
        ((1, "李白", "静夜思"), True),
        ((2, "杜甫", "石壕吏"), False),
        ((4, "屈原", "离骚"), True),
        ((3, "辛弃疾", "众里寻他"), True),
    ],
)
def test_texts_beyond_ascii_are_compared(row, ignored):
    assert expressions(FILTERS[3]["filter"]["EventFilters"][0]).ignores_row(insert(POET, row)) is ignored


def test_an_expression_may_exclude_a_table():
    rule = FILTERS[4]["filter"]["EventFilters"][0]
    columns = (column("id", key=True), column("end", "char"))
    for name, ignored in (("season", False), ("autumn", True)):
        one = table(*columns, name=f"test.{name}")
        assert expressions(rule).ignores_row(insert(one, (1, "a"))) is ignored
        assert expressions(rule).ignores_row(update(one, (1, "a"), (1, "b"))) is ignored


def test_an_expression_is_bound_to_each_structure():
    filters = of(ignore_insert_value_expr="v > 1")
    before = table(column("v"), name="test.t")
    after = table(column("w"), column("v"), name="test.t")
    assert filters.ignores_row(insert(before, (2,)))
    assert filters.ignores_row(insert(after, (0, 2)))
    assert not filters.ignores_row(insert(after, (2, 0)))
    with pytest.raises(ConfigError, match="has no column v"):
        filters.check(table(column("w"), name="test.t"))


def test_updates_of_unimportant_columns_only_are_ignored():
    filters = of(ignore_update_only_columns=("AGE", "name"))
    assert filters.ignores_row(update(STUDENT, (1, "a", 1, "x"), (1, "b", 2, "x")))
    assert filters.ignores_row(update(STUDENT, (ABSENT, "a", ABSENT, ABSENT), (1, "b", 2, "x")))
    assert not filters.ignores_row(update(STUDENT, (1, "a", 1, "x"), (1, "a", 2, "y")))
    assert not filters.ignores_row(update(STUDENT, (1, "a", 1, "x"), (1, "a", 1, "x"))), "nothing changed at all"
    assert not filters.ignores_row(insert(STUDENT, (1, "a", 1, "x")))


def test_all_filters_are_asked():
    filters = EventFilters(
        [
            EventFilter(matcher=("a.*",), ignore_event=("insert",)),
            EventFilter(matcher=("*.*",), ignore_event=("delete",)),
        ]
    )
    assert filters.ignores_row(ROWS["delete"])
    assert not filters.ignores_row(ROWS["insert"])
    assert not EventFilters([]).ignores_row(ROWS["insert"])
