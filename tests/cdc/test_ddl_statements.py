"""Statements by action: what they are, whose table they change, how they are written. All of them are parsed."""

import json
import re
from pathlib import Path

import pytest

from spark_jobs.cdc import ddl

DATA = Path(__file__).parents[1] / "data"
ACTIONS = json.loads((DATA / "ddl_actions.json").read_text())["actions"]
STATEMENTS = json.loads((DATA / "ddl_statements.json").read_text())
CASES = [(int(action), case) for action, cases in STATEMENTS["actions"].items() for case in cases]
IDS = [f"{action}-{case['sql'][:50]}" for action, case in CASES]
WRITTEN = [(action, case) for action, case in CASES if case.get("out") not in ("", "ALTER TABLE `t`")]
# never a statement: history of TiDB's job list, or jobs that no statement starts
NO_STATEMENT = {31, 37, 38, 46, 47, 48, 60, 74, 75, 76, 77}


def squeezed(text):
    """Without what left-out options leave behind: blanks and TiDB's notes on options that it does not keep."""
    return re.sub(r"\s+|/\* \w+ is not supported \*/", "", text)


def pairs(names):
    return tuple((schema, table) for schema, table in names)


@pytest.mark.parametrize(("action", "case"), CASES, ids=IDS)
def test_a_statement_is_its_action_on_its_tables(action, case):
    (statement,) = ddl.parse(case["sql"], "db")
    assert statement.reason == ""
    assert statement.parsed
    assert statement.action == action
    assert statement.tables == pairs(case.get("tables", [["db", "t"]]))
    assert statement.old_tables == pairs(case.get("old", []))


@pytest.mark.parametrize(("action", "case"), CASES, ids=IDS)
def test_a_statement_is_written_as_tidb_writes_it(action, case):
    expected = case.get("out", case["sql"].rstrip("; "))
    assert ddl.normalise(case["sql"], current_schema="db") == (expected,)


@pytest.mark.parametrize(("action", "case"), WRITTEN, ids=[case["sql"][:50] for _, case in WRITTEN])
def test_the_normalised_text_means_the_same(action, case):
    """Written again it stays as it is, and it is the same action on the same tables."""
    (once,) = ddl.normalise(case["sql"], current_schema="db")
    (again,) = ddl.parse(once, "db")
    assert again.action == action
    assert again.tables == ddl.parse(case["sql"], "db")[0].tables
    assert squeezed(ddl.normalised(again)) == squeezed(once)


@pytest.mark.parametrize("entry", ACTIONS, ids=lambda entry: entry["name"])
def test_an_action_has_tidbs_name_and_canals_word(entry):
    if entry["name"].startswith("("):
        return
    action = ddl.Action(entry["type"])
    assert ddl.action_name(action) == entry["name"].removesuffix(" (deprecated)")
    assert ddl.canal_type(action) == entry["canalType"]
    assert (action in ddl.REPLICATED) == entry["replicated"]


def test_every_action_that_a_statement_can_be_has_cases():
    covered = {action for action, _ in CASES}
    assert covered == {entry["type"] for entry in ACTIONS} - NO_STATEMENT


@pytest.mark.parametrize("case", STATEMENTS["several"], ids=lambda case: case["sql"][:50])
def test_a_text_with_several_statements_or_tables_is_cut(case):
    statements = ddl.parse(case["sql"], "db")
    cut = [[statement.action, ddl.normalised(statement), list(statement.tables[0])] for statement in statements]
    assert cut == case["statements"]
