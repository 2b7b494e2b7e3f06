"""The table filter's rule grammar: TiDB's own cases, and what they leave open."""

import json
import re
from pathlib import Path

import pytest

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.filters.tables import TableFilter, TableRules

CASES = json.loads((Path(__file__).parents[1] / "data" / "table_filter.json").read_text(encoding="utf-8"))
EVENTS = json.loads((Path(__file__).parents[1] / "data" / "event_filter.json").read_text(encoding="utf-8"))
SENSITIVITY = {"case_sensitive": True, "case_insensitive": False}


@pytest.mark.parametrize("case", CASES["match_tables"], ids=lambda case: " ".join(case["rules"] or ["none"]))
@pytest.mark.parametrize("mode", SENSITIVITY)
def test_a_rule_list_selects_the_tables_that_tidb_selects(case, mode):
    rules = TableRules(case["rules"] or [], SENSITIVITY[mode])
    assert [rules.matches(schema, table) for schema, table in case["tables"]] == case[mode]
    assert [rules.matches(schema, table) for schema, table in case["tables"]] == case[mode], "asked a second time"


@pytest.mark.parametrize("case", CASES["match_schemas"], ids=lambda case: " ".join(case["rules"] or ["none"]))
@pytest.mark.parametrize("mode", SENSITIVITY)
def test_a_rule_list_selects_the_schemas_that_tidb_selects(case, mode):
    rules = TableRules(case["rules"] or [], SENSITIVITY[mode])
    assert [rules.matches_schema(schema) for schema in case["schemas"]] == case[mode]


@pytest.mark.parametrize("case", CASES["parse_failures"], ids=lambda case: case["rule"])
def test_a_wrong_rule_is_refused_with_its_reason(case):
    with pytest.raises(ConfigError) as caught:
        TableFilter(["*.*", case["rule"]])
    assert caught.value.code == "CDC:ErrFilterRuleInvalid"
    assert re.search(case["error_pattern"], caught.value.message)
    assert "filter rule 2" in caught.value.message


@pytest.mark.parametrize(
    ("rule", "position"),
    [("a%b.c", 2), ("  db.x#y", 7), ("db", 3), ("db.", 4), ("a\\tb.c", 2), ("!ab.[x", 5), ("`a`b.c", 4), ("a.b.c", 4)],
)
def test_a_wrong_rule_is_refused_with_the_character_where_it_is_wrong(rule, position):
    with pytest.raises(ConfigError, match=f"character {position}:"):
        TableFilter([rule])


def test_rules_are_not_imported_from_a_file():
    with pytest.raises(ConfigError, match="not read from files here; write the rules of that file into the list"):
        TableFilter(["@/etc/rules"])


@pytest.mark.parametrize("rules", EVENTS["table_ignore"], ids=str)
def test_system_schemas_are_never_selected(rules):
    texts = rules.removeprefix("rules ").split(",") if rules.startswith("rules ") else ["*.*"]
    chosen = TableFilter(texts)
    assert not any(chosen.matches(*table) for table in EVENTS["table_ignore"][rules]["ignored"])
    assert all(chosen.matches(*table) for table in EVENTS["table_ignore"][rules]["kept"])


@pytest.mark.parametrize("schema", ["mysql", "SYS", "INFORMATION_SCHEMA", "workload_schema", "tidb_cdc"])
def test_a_system_schema_is_refused_even_by_name_and_for_statements_on_itself(schema):
    chosen = TableFilter([f"{schema}.*"])
    assert not chosen.matches(schema, "t")
    assert not chosen.matches_schema(schema)
    assert TableRules([f"{schema}.*"]).matches(schema, "t"), "a bare rule list knows no system schemas"


@pytest.mark.parametrize(
    ("rule", "schema", "table", "selected"),
    [
        pytest.param("`my-db`.*", "my-db", "t", True, id="backquoted"),
        pytest.param('"a""b".`c``d`', 'a"b', "c`d", True, id="doubled quotes"),
        pytest.param("/a\\/b/.*", "xa/by", "t", True, id="slash in a regex, found anywhere"),
        pytest.param("*.t", "line\nend", "t", True, id="a wildcard takes line ends"),
        pytest.param("?.t", "é", "t", True, id="one character, not one byte"),
        pytest.param("a*.t", "ba", "t", False, id="a wildcard matches the whole name"),
        pytest.param("/^a$/.t", "a\n", "t", False, id="$ is the very end"),
        pytest.param("/\\d/.t", "٣", "t", False, id="\\d is ASCII"),
        pytest.param("a$*.t", "a$x", "t", True, id="a dollar before a wildcard is a dollar"),
        pytest.param("a\\-b.t", "a-b", "t", True, id="escaped"),
        pytest.param("数据.*", "数据", "t", True, id="beyond ASCII"),
        pytest.param("a[\\]x].t", "a]", "t", True, id="bracket in a class"),
    ],
)
def test_a_pattern_means_what_the_grammar_says(rule, schema, table, selected):
    assert TableFilter([rule]).matches(schema, table) is selected


def test_names_are_told_apart_by_case_only_on_request():
    assert TableFilter(["Db.`T`"]).matches("dB", "t")
    assert not TableFilter(["Db.`T`"], case_sensitive=True).matches("dB", "t")


def test_only_exclusions_select_nothing():
    assert not TableFilter(["!a.b"]).matches("c", "d")


@pytest.mark.parametrize("rule", [".orders", "!.orders"])
def test_a_rule_without_a_schema_is_refused(rule):
    with pytest.raises(ConfigError, match="missing schema pattern"):
        TableFilter([rule])
