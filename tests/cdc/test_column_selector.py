"""Column selectors: TiDB's own cases for the patterns, and what is left of rows and structures."""

import json
import re
from pathlib import Path

import pytest

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.events import ABSENT, Index
from spark_jobs.cdc.filters.columns import ColumnRules, ColumnSelector, ColumnSelectors
from tests.cdc.routing_tables import column, delete, insert, table, update

CASES = json.loads((Path(__file__).parents[1] / "data" / "table_filter.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES["match_columns"], ids=lambda case: " ".join(case["rules"] or ["none"]))
def test_patterns_keep_the_columns_that_tidb_keeps(case):
    rules = ColumnRules(case["rules"] or [])
    assert [rules.keeps(name) for name in case["columns"]] == case["accepted"]


@pytest.mark.parametrize("case", CASES["column_parse_failures"], ids=lambda case: case["rule"])
def test_a_wrong_pattern_is_refused_with_its_reason(case):
    with pytest.raises(ConfigError) as caught:
        ColumnRules(["*", case["rule"]])
    assert re.search(case["error_pattern"], caught.value.message)
    assert "column rule 2" in caught.value.message


STRUCTURE = table(
    column("id", key=True),
    column("a"),
    column("b"),
    indexes=(Index("PRIMARY", ("id",)), Index("ua", ("A",)), Index("uab", ("a", "b"))),
    name="s.t",
)


def selectors(*columns: str, matcher: tuple[str, ...] = ("s.*",)) -> ColumnSelectors:
    return ColumnSelectors([ColumnSelector(matcher=matcher, columns=columns)])


def test_rows_and_structure_keep_the_same_columns():
    chosen = selectors("*", "!B").select(update(STRUCTURE, (1, ABSENT, 2), (1, None, 3)))
    assert [one.name for one in chosen.table.columns] == ["id", "a"]
    assert chosen.table.indexes == (Index("PRIMARY", ("id",)), Index("ua", ("A",)))
    assert (chosen.before, chosen.after) == ((1, ABSENT), (1, None))


def test_the_same_structure_in_gives_the_same_structure_out():
    selector = selectors("id", "a")
    first, second = selector.select(insert(STRUCTURE, (1, 2, 3))), selector.select(delete(STRUCTURE, (1, 2, 3)))
    assert first.table is second.table
    assert (first.after, first.before, second.after, second.before) == ((1, 2), None, None, (1, 2))


@pytest.mark.parametrize("selector", [selectors("*"), selectors("id", matcher=("other.*",)), ColumnSelectors([])])
def test_what_keeps_everything_changes_nothing(selector):
    change = insert(STRUCTURE, (1, 2, 3))
    assert selector.select(change) is change


def test_the_first_selector_that_matches_applies():
    both = [ColumnSelector(matcher=("s.t",), columns=("id",)), ColumnSelector(matcher=("*.*",), columns=("*",))]
    assert len(ColumnSelectors(both).table(STRUCTURE).columns) == 1


@pytest.mark.parametrize("kept", [("id",), ("a",), ("a", "b")])
def test_a_whole_key_is_enough(kept):
    selectors(*kept).check(STRUCTURE)


@pytest.mark.parametrize("kept", [("b",), (), ("!*",)])
def test_a_table_must_keep_a_whole_key(kept):
    with pytest.raises(ConfigError, match=r"keeps neither its whole primary key nor a whole unique index") as caught:
        selectors(*kept).check(STRUCTURE)
    assert caught.value.code == "CDC:ErrColumnSelectorFailed"


def test_a_table_without_keys_must_keep_something():
    keyless = table(column("x"), column("y"), name="s.t")
    selectors("x").check(keyless)
    with pytest.raises(ConfigError):
        selectors("z").check(keyless)


def test_a_dispatcher_keeps_the_columns_it_hashes():
    selectors("id", "b").check(STRUCTURE, ("B",))
    with pytest.raises(ConfigError, match="drops a column that its dispatcher needs"):
        selectors("id").check(STRUCTURE, ("b",))
