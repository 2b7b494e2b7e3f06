"""Which tables a rule list selects: TiDB's table filter, as ``filter.rules`` and every ``matcher`` use it.

* A rule is ``schema-pattern.table-pattern`` (see ``names``); ``!`` before it excludes. Blanks
  and tabs around it, empty rules and ``# comments`` are passed over.
* The last rule that matches decides; when none does, the table is not selected. So ``["!a.b"]`` selects nothing: a list
  of exclusions begins with ``*.*``.
* For statements on a schema itself, the last rule counts whose schema part matches and that includes something or
  excludes the whole schema (table part exactly ``*``).
* Names are compared without case unless ``case_sensitive``.
* Schemas of the system itself are never selected by a ``TableFilter``; ``TableRules``, the bare list, has no such rule.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

import msgspec

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.filters.names import NamePattern, PatternError, parse_pattern

INVALID: Final = "CDC:ErrFilterRuleInvalid"
SYSTEM_SCHEMAS: Final = frozenset(
    {
        "dm_heartbeat",
        "information_schema",
        "inspection_schema",
        "lightning_task_info",
        "metrics_schema",
        "mysql",
        "performance_schema",
        "sys",
        "tidb_cdc",
        "workload_schema",
    }
)
_REMEMBERED: Final = 100_000


class Rule(msgspec.Struct, frozen=True):
    schema: NamePattern
    table: NamePattern
    include: bool


class TableRules:
    """A rule list; ``ConfigError`` names the rule, the character and the remedy where one is wrong."""

    def __init__(self, rules: Iterable[str], case_sensitive: bool = False) -> None:
        parsed = [_parse(rule, number, case_sensitive) for number, rule in enumerate(rules, 1)]
        self._rules = tuple(rule for rule in reversed(parsed) if rule is not None)
        self.matches: Final[Callable[[str, str], bool]] = lru_cache(_REMEMBERED)(self._decide)
        """Whether the list selects this table, by schema and name; a second question about the same is a look-up."""

    def matches_schema(self, schema: str) -> bool:
        """Whether a statement on the schema itself is selected."""
        for rule in self._rules:
            if rule.schema.matches(schema) and (rule.include or rule.table.matches_all):
                return rule.include
        return False

    def _decide(self, schema: str, table: str) -> bool:
        for rule in self._rules:
            if rule.schema.matches(schema) and rule.table.matches(table):
                return rule.include
        return False


class TableFilter(TableRules):
    """The tables of a changefeed: a rule list that never selects a system schema."""

    def matches_schema(self, schema: str) -> bool:
        return not is_system_schema(schema) and super().matches_schema(schema)

    def _decide(self, schema: str, table: str) -> bool:
        return not is_system_schema(schema) and super()._decide(schema, table)


def is_system_schema(schema: str) -> bool:
    """Whether the schema belongs to the database or to a tool, whatever its case."""
    return schema.lower() in SYSTEM_SCHEMAS


def _parse(rule: str, number: int, case_sensitive: bool) -> Rule | None:
    text = rule.strip(" \t")
    if not text or text.startswith("#"):
        return None
    try:
        return _parse_text(text, not case_sensitive)
    except PatternError as error:
        at = error.at + 1 + len(rule) - len(rule.lstrip(" \t"))
        message = f"filter rule {number} ({rule!r}), character {at}: {error.what}; {error.remedy}"
        raise ConfigError(message, code=INVALID) from error


def _parse_text(text: str, ignore_case: bool) -> Rule:
    if text.startswith("@"):
        raise PatternError("rules are not read from files here", 0, "write the rules of that file into the list itself")
    include = not text.startswith("!")
    begin = 0 if include else 1
    schema, at = parse_pattern(text, begin, dotted=True, ignore_case=ignore_case)
    if at == begin:
        raise PatternError("missing schema pattern", at, "write schema.table, *.table for every schema")
    if at >= len(text):
        raise PatternError("missing table pattern", at, "write schema.table, schema.* for all its tables")
    if text[at] != ".":
        what = "syntax error: missing '.' between schema and table patterns"
        raise PatternError(what, at, "quote a name as a whole, or not at all")
    table, at = parse_pattern(text, at + 1, dotted=True, ignore_case=ignore_case)
    if at < len(text):
        what = "syntax error: stray characters after table pattern"
        raise PatternError(what, at, "a rule has two parts, and a name is quoted as a whole or not at all")
    return Rule(schema, table, include)
