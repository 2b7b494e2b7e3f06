"""Keeps some columns of a table: TiCDC's column selectors.

* A selector is a ``matcher`` (a table rule list) and ``columns``, name patterns without a dot; ``!`` before one
  excludes, the last that matches decides, a column that none matches is dropped. Names of columns are compared without
  case. The first selector whose matcher selects the table applies; a table without one keeps everything.
* What is kept must hold the whole primary key or one whole unique index, and the columns that a ``columns`` dispatcher
  hashes; keeping nothing is an error too.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.events import Row, RowChange, TableSchema
from spark_jobs.cdc.filters.names import NamePattern, PatternError, parse_pattern
from spark_jobs.cdc.filters.tables import INVALID, TableRules
from spark_jobs.cdc.memory import remember
from spark_jobs.cdc.rows.eligibility import index_places

FAILED: Final = "CDC:ErrColumnSelectorFailed"


class ColumnSelector(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ``sink.column_selectors``."""

    matcher: tuple[str, ...]
    columns: tuple[str, ...]


class ColumnRules:
    """A list of column patterns; ``ConfigError`` names the pattern, the character and the remedy where one is wrong."""

    def __init__(self, rules: Iterable[str]) -> None:
        parsed = [_parse(rule, number) for number, rule in enumerate(rules, 1)]
        self._rules = tuple(rule for rule in reversed(parsed) if rule is not None)

    def keeps(self, column: str) -> bool:
        return next((include for pattern, include in self._rules if pattern.matches(column)), False)


class _Projection(msgspec.Struct, frozen=True):
    """``source`` is kept so that its id stays its own; ``places`` None: everything is kept."""

    source: TableSchema
    table: TableSchema
    places: tuple[int, ...] | None


class ColumnSelectors:
    """All selectors of a changefeed."""

    def __init__(self, selectors: Iterable[ColumnSelector], *, case_sensitive: bool = False) -> None:
        self._selectors = [(TableRules(one.matcher, case_sensitive), ColumnRules(one.columns)) for one in selectors]
        self._known: dict[int, _Projection] = {}

    def select(self, change: RowChange) -> RowChange:
        """The change with the kept columns only. The same ``TableSchema`` in gives the same one out."""
        projection = self._projection(change.table)
        if projection.places is None:
            return change
        return msgspec.structs.replace(
            change,
            table=projection.table,
            before=_project(change.before, projection.places),
            after=_project(change.after, projection.places),
        )

    def table(self, table: TableSchema) -> TableSchema:
        """The structure with the kept columns only; ``ConfigError`` if that is not enough to tell rows apart."""
        return self._projection(table).table

    def check(self, table: TableSchema, dispatched: Sequence[str] = ()) -> None:
        """``ConfigError`` if the table's key, or a column that its dispatcher hashes, would be dropped."""
        if index_places(self.table(table), tuple(dispatched)) is None:
            raise ConfigError(
                f"the column selector of {_named(table)} drops a column that its dispatcher needs "
                f"({', '.join(dispatched)})",
                code=FAILED,
            )

    def _projection(self, table: TableSchema) -> _Projection:
        known = self._known.get(id(table))
        if known is None:
            known = self._decide(table)
            remember(self._known, id(table), known)
        return known

    def _decide(self, table: TableSchema) -> _Projection:
        rules = next(
            (columns for tables, columns in self._selectors if tables.matches(table.schema, table.table)), None
        )
        if rules is None:
            return _Projection(table, table, None)
        places = tuple(at for at, column in enumerate(table.columns) if rules.keeps(column.name))
        if not _tells_apart(table, places):
            raise ConfigError(
                f"the column selector of {_named(table)} keeps neither its whole primary key nor a whole unique index",
                code=FAILED,
            )
        return _Projection(table, _narrowed(table, places), places if len(places) < len(table.columns) else None)


def _tells_apart(table: TableSchema, places: tuple[int, ...]) -> bool:
    kept = set(places)
    keys = [index_places(table, index.columns) for index in table.indexes or () if index.unique]
    keys.append(tuple(at for at, column in enumerate(table.columns) if column.is_key))
    known = [set(key) for key in keys if key]
    return bool(kept) and (any(key <= kept for key in known) or not known)


def _narrowed(table: TableSchema, places: tuple[int, ...]) -> TableSchema:
    if len(places) == len(table.columns):
        return table
    columns = tuple(table.columns[at] for at in places)
    names = {column.name.lower() for column in columns}
    indexes = table.indexes
    if indexes is not None:
        indexes = tuple(index for index in indexes if names.issuperset(map(str.lower, index.columns)))
    return msgspec.structs.replace(table, columns=columns, indexes=indexes)


def _project(row: Row | None, places: tuple[int, ...]) -> Row | None:
    return None if row is None else tuple(row[at] for at in places)


def _parse(rule: str, number: int) -> tuple[NamePattern, bool] | None:
    text = rule.strip(" \t")
    if not text or text.startswith("#"):
        return None
    try:
        return _parse_text(text)
    except PatternError as error:
        at = error.at + 1 + len(rule) - len(rule.lstrip(" \t"))
        message = f"column rule {number} ({rule!r}), character {at}: {error.what}; {error.remedy}"
        raise ConfigError(message, code=INVALID) from error


def _parse_text(text: str) -> tuple[NamePattern, bool]:
    if text.startswith("@"):
        raise PatternError("rules are not read from files here", 0, "write the rules of that file into the list itself")
    include = not text.startswith("!")
    pattern, at = parse_pattern(text, 0 if include else 1, dotted=False, ignore_case=True)
    if at < len(text):
        raise PatternError("syntax error: stray characters after column pattern", at, "quote a name as a whole")
    return pattern, include


def _named(table: TableSchema) -> str:
    return f"{table.schema}.{table.table}"
