"""What an update changed, and whether it lets through what was kept back. Pure."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from app.changefeeds.record import Changefeed
from app.masking import Json, masked_tree
from app.replica_config.effect import Notice
from spark_jobs.cdc.filters.tables import TableFilter
from spark_jobs.uris import masked
from spark_jobs.wire import TableProgress

_PLAIN: Final = ("target_ts", "description", "labels")
_URIS: Final = ("source_uri", "sink_uri")
_LONGEST_DETAIL: Final = 4000
_NAMED: Final = 5
_MOST_RULES: Final = 200
# What keeps events back besides the table rules.
_SIEVES: Final = (
    "filter.event_filters",
    "filter.ignore_txn_start_ts",
    "sink.column_selectors",
)
_WORD: Final = re.compile(r"[A-Za-z0-9_$\x80-\U0010ffff]+")


class Change(msgspec.Struct, frozen=True):
    """``before`` or ``after`` is None where there was or is nothing."""

    key: str
    before: Json
    after: Json


def changes(before: Changefeed, after: Changefeed) -> list[Change]:
    """Every difference that an operator made, secrets masked."""
    found = [Change(name, getattr(before, name) or None, getattr(after, name) or None) for name in _PLAIN]
    found += [Change(name, masked(getattr(before, name)), masked(getattr(after, name))) for name in _URIS]
    old, new = (msgspec.json.decode(feed.replica_config) for feed in (before, after))
    leaves = list(_differences(old, new, "replica_config."))
    secret = [key for key, was, now in leaves if _masked(key, was) == _masked(key, now)]
    found += [Change(key, _masked(key, was), _masked(key, now)) for key, was, now in leaves]
    uris = {name for name in _URIS if getattr(before, name) != getattr(after, name)}
    return [item for item in found if item.before != item.after or item.key in secret or item.key in uris]


def _masked(key: str, value: Json) -> Json:
    name = key.rpartition(".")[2]
    shown = masked_tree({name: value})
    return shown[name] if isinstance(shown, dict) else shown


def _differences(old: Json, new: Json, at: str) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(old, dict) or isinstance(new, dict):
        before, after = (side if isinstance(side, dict) else {} for side in (old, new))
        for key in before | after:
            yield from _differences(before.get(key), after.get(key), f"{at}{key}.")
    elif old != new:
        yield at.removesuffix("."), old, new


def told(found: Iterable[Change]) -> str:
    """The changes as one line of history."""
    shown = (f"{item.key}: {_text(item.before)} → {_text(item.after)}" for item in found)
    return ("changed " + "; ".join(shown))[:_LONGEST_DETAIL]


def _text(value: Json) -> str:
    return "–" if value is None else json.dumps(value, ensure_ascii=False)


def widened(before: Changefeed, after: Changefeed, tables: Iterable[TableProgress]) -> list[Notice]:
    """Warnings about an update that delivers from now on what a filter kept back."""
    old, new = (msgspec.json.decode(feed.replica_config) for feed in (before, after))
    found = []
    names = list(_newly_selected(old, new, tables))
    if names:
        shown = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
        message = f"delivers from now on what the filter kept back until now, such as {shown}; earlier rows do not come"
        found.append(Notice("replica_config.filter.rules", message))
    for path in _SIEVES:
        was, now = _at(old, path) or [], _at(new, path) or []
        if isinstance(was, list) and isinstance(now, list) and any(rule not in now for rule in was):
            message = (
                "a rule that kept something back until now is gone or changed: what it kept back comes from now on"
            )
            found.append(Notice(f"replica_config.{path}", message))
    return found


def _at(tree: Json, path: str) -> Json:
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def _newly_selected(old: Json, new: Json, tables: Iterable[TableProgress]) -> Iterator[str]:
    """Tables that only the new rules select: of those that were seen, then those that the rules name, then any
    other."""
    before, after = _filter(old), _filter(new)
    words = [_WORD.findall(rule) for tree in (old, new) for rule in _rules(tree)][:_MOST_RULES]
    named = sorted({word for rule in words for word in rule})[:_MOST_RULES]
    candidates = [(table.schema, table.table) for table in tables]
    candidates += [(rule[0], rule[-1]) for rule in words if len(rule) > 1]
    candidates += [(schema, "any_other_table") for schema in named]
    candidates += [("any_other_schema", table) for table in [*named, "any_other_table"]]
    candidates += [(schema, table) for schema in named for table in named]
    for schema, table in dict.fromkeys(candidates):
        if after.matches(schema, table) and not before.matches(schema, table):
            yield f"{schema}.{table}"


def _rules(tree: Json) -> list[str]:
    rules = _at(tree, "filter.rules")
    return [str(rule) for rule in rules] if isinstance(rules, list) else []


def _filter(tree: Json) -> TableFilter:
    return TableFilter(_rules(tree), bool(_at(tree, "case_sensitive")))
