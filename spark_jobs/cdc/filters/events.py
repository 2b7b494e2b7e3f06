"""Which events of a selected table are left out: TiCDC's event filters.

* Every filter whose ``matcher`` selects the table is asked; one that says so is enough.
* ``ignore_event`` names kinds of events (``EVENT_NAMES``). ``alter table`` stands for all of ``_ALTERATIONS``.
* ``ignore_sql``: Go regular expressions, case ignored, found anywhere in the text of a DDL.
* Value expressions (see ``expression``): of an insert the new row, of a delete the old row, of an update the old and
  the new row, each with an expression of its own, one being enough. Where an update carries only what changed of the
  old row, the rest is taken from the new one. Their matcher always tells names apart by case, as TiCDC's does.
* ``ignore_update_only_columns``: an update is left out if every column that changed is in the list, and one did.
* A halved update is judged half by half: the before half by the expression for old rows, the after half by that for new
  ones; ``ignore_update_only_columns`` needs both rows and leaves halves alone.

``filter.ignore_txn_start_ts`` has no place here: no message of any source carries a transaction's start-ts.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from spark_jobs.cdc.ddl.actions import REPLICATED, Action
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.events import ABSENT, DELETE, INSERT, UPDATE, Row, RowChange, RowKind, TableSchema
from spark_jobs.cdc.filters.expression import Expression
from spark_jobs.cdc.filters.regex import GoRegex, RegexError
from spark_jobs.cdc.filters.tables import INVALID, TableFilter, TableRules
from spark_jobs.cdc.memory import remember

UNKNOWN_EVENT: Final = "CDC:ErrInvalidIgnoreEventType"

SCHEMA_ACTIONS: Final = frozenset({Action.CREATE_SCHEMA, Action.DROP_SCHEMA, Action.MODIFY_SCHEMA_CHARSET})
"""Statements on a schema itself."""

_ACTIONS: Final[dict[str, tuple[Action, ...]]] = {
    "create schema": (Action.CREATE_SCHEMA,),
    "create database": (Action.CREATE_SCHEMA,),
    "drop schema": (Action.DROP_SCHEMA,),
    "drop database": (Action.DROP_SCHEMA,),
    "modify schema charset and collate": (Action.MODIFY_SCHEMA_CHARSET,),
    "create table": (Action.CREATE_TABLE, Action.CREATE_TABLES),
    "drop table": (Action.DROP_TABLE,),
    "truncate table": (Action.TRUNCATE_TABLE,),
    "rename table": (Action.RENAME_TABLE, Action.RENAME_TABLES),
    "recover table": (Action.RECOVER_TABLE,),
    "create view": (Action.CREATE_VIEW,),
    "drop view": (Action.DROP_VIEW,),
}
_ALTERATIONS: Final[dict[str, tuple[Action, ...]]] = {
    "modify table comment": (Action.MODIFY_TABLE_COMMENT,),
    "modify table charset and collate": (Action.MODIFY_TABLE_CHARSET,),
    "add table partition": (Action.ADD_PARTITION,),
    "drop table partition": (Action.DROP_PARTITION,),
    "truncate table partition": (Action.TRUNCATE_PARTITION,),
    "exchange table partition": (Action.EXCHANGE_PARTITION,),
    "reorganize table partition": (Action.REORGANIZE_PARTITION,),
    "alter table partitioning": (Action.ALTER_PARTITIONING,),
    "remove table partitioning": (Action.REMOVE_PARTITIONING,),
    "add column": (Action.ADD_COLUMN, Action.ADD_COLUMNS),
    "drop column": (Action.DROP_COLUMN, Action.DROP_COLUMNS),
    "modify column": (Action.MODIFY_COLUMN,),
    "set default value": (Action.SET_DEFAULT,),
    "rebase auto id": (Action.REBASE_AUTO_INCREMENT,),
    "add primary key": (Action.ADD_PRIMARY_KEY,),
    "drop primary key": (Action.DROP_PRIMARY_KEY,),
    "create index": (Action.ADD_INDEX,),
    "drop index": (Action.DROP_INDEX,),
    "rename index": (Action.RENAME_INDEX,),
    "alter index visibility": (Action.ALTER_INDEX_VISIBILITY,),
    "alter ttl info": (Action.ALTER_TTL,),
    "alter ttl remove": (Action.REMOVE_TTL,),
    "multi schema change": (Action.MULTI_SCHEMA_CHANGE,),
    "add foreign key": (Action.ADD_FOREIGN_KEY,),
    "drop foreign key": (Action.DROP_FOREIGN_KEY,),
    "add fulltext index": (Action.ADD_COLUMNAR_INDEX,),
    "create hybrid index": (Action.ADD_COLUMNAR_INDEX,),
}
_ALTER: Final = tuple(action for actions in _ALTERATIONS.values() for action in actions)
_ROWS: Final[dict[str, tuple[RowKind, ...]]] = {
    "insert": (INSERT,),
    "update": (UPDATE,),
    "delete": (DELETE,),
    "all dml": (INSERT, UPDATE, DELETE),
}
_DDL: Final[dict[str, tuple[Action, ...]]] = _ACTIONS | _ALTERATIONS | {"alter table": _ALTER, "all ddl": tuple(Action)}

EVENT_NAMES: Final = frozenset(_ROWS | _DDL)
"""Names that ``ignore_event`` may hold."""

Test = Callable[[Row], bool]


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ``filter.event_filters``."""

    matcher: tuple[str, ...]
    ignore_event: tuple[str, ...] = ()
    ignore_sql: tuple[str, ...] = ()
    ignore_insert_value_expr: str = ""
    ignore_update_new_value_expr: str = ""
    ignore_update_old_value_expr: str = ""
    ignore_delete_value_expr: str = ""
    ignore_update_only_columns: tuple[str, ...] = ()


class EventFilters:
    """All event filters of a changefeed; ``ConfigError`` for a wrong rule, name, regular expression or expression."""

    def __init__(self, filters: Iterable[EventFilter], *, case_sensitive: bool = False) -> None:
        self._filters = [_Filter(one, case_sensitive) for one in filters]

    def ignores_row(self, change: RowChange) -> bool:
        """Whether the row change is left out.

        ``ConfigError`` for an expression that does not fit the table, ``DataError`` for a value it cannot use.
        """
        return any(one.ignores_row(change) for one in self._filters)

    def ignores_ddl(self, schema: str, table: str, query: str, action: Action) -> bool:
        """Whether the statement is left out. A statement whose action is not known is ``Action.NONE``."""
        return any(one.ignores_ddl(schema, table, query, action) for one in self._filters)

    def check(self, table: TableSchema) -> None:
        """``ConfigError`` for an expression that does not fit this table."""
        for one in self._filters:
            one.tests(table)


def selects_ddl(
    tables: TableFilter, action: Action, schema: str, table: str, old: tuple[str, str] | None = None
) -> bool:
    """Whether a changefeed of these tables carries the statement; ``old``: the (schema, table) before a rename.

    A statement on a schema goes by the schema, any other by its table; a rename passes if either name does. Actions
    that change nothing that a row shows (sequences, locks, placement …) are never carried. ``Action.NONE`` stands for
    a statement that was not understood, and goes by its table, or by its schema where it names none.
    """
    if action not in REPLICATED and action is not Action.NONE:
        return False
    if action in SCHEMA_ACTIONS or (action is Action.NONE and not table):
        return tables.matches_schema(schema)
    return tables.matches(schema, table) or (old is not None and tables.matches(*old))


class _Tests(msgspec.Struct, frozen=True):
    """A table's compiled expressions. ``table`` is kept so that its id stays its own."""

    table: TableSchema
    old: dict[RowKind, Test]
    new: dict[RowKind, Test]
    minor: frozenset[int] = frozenset()


class _Filter:
    def __init__(self, rule: EventFilter, case_sensitive: bool) -> None:
        self._tables = TableRules(rule.matcher, case_sensitive)
        self._exact_tables = TableRules(rule.matcher, True)
        self._rows, self._actions = _named(rule.ignore_event)
        self._sql = _joined(rule.ignore_sql)
        self._old = _expressions({DELETE: rule.ignore_delete_value_expr, UPDATE: rule.ignore_update_old_value_expr})
        self._new = _expressions({INSERT: rule.ignore_insert_value_expr, UPDATE: rule.ignore_update_new_value_expr})
        self._minor = {name.lower() for name in rule.ignore_update_only_columns}
        self._known: dict[int, _Tests] = {}

    def ignores_ddl(self, schema: str, table: str, query: str, action: Action) -> bool:
        if not self._tables.matches(schema, table):
            return False
        return action in self._actions or (self._sql is not None and self._sql.search(query))

    def ignores_row(self, change: RowChange) -> bool:
        names = change.table.schema, change.table.table
        if change.kind in self._rows and self._tables.matches(*names):
            return True
        if not (self._old or self._new or self._minor):
            return False
        tests = self.tests(change.table)
        return _tested(tests, change) or (bool(tests.minor) and _only_minor(tests.minor, change))

    def tests(self, table: TableSchema) -> _Tests:
        known = self._known.get(id(table))
        if known is None:
            known = self._compile(table)
            remember(self._known, id(table), known)
        return known

    def _compile(self, table: TableSchema) -> _Tests:
        names = table.schema, table.table
        old = self._old if self._exact_tables.matches(*names) else {}
        new = self._new if self._exact_tables.matches(*names) else {}
        minor = self._minor if self._tables.matches(*names) else set()
        return _Tests(
            table,
            {kind: expression.bind(table) for kind, expression in old.items()},
            {kind: expression.bind(table) for kind, expression in new.items()},
            frozenset(at for at, column in enumerate(table.columns) if column.name.lower() in minor),
        )


def _tested(tests: _Tests, change: RowChange) -> bool:
    before, after = change.before, change.after
    if before is not None and after is not None and ABSENT in before:
        before = tuple(new if old is ABSENT else old for old, new in zip(before, after, strict=True))
    old, new = tests.old.get(change.kind), tests.new.get(change.kind)
    if old is not None and before is not None and old(before):
        return True
    return new is not None and after is not None and new(after)


def _only_minor(minor: frozenset[int], change: RowChange) -> bool:
    before, after = change.before, change.after
    if change.kind is not UPDATE or before is None or after is None:
        return False
    changed = [
        at
        for at, (old, new) in enumerate(zip(before, after, strict=True))
        if old is not ABSENT and new is not ABSENT and old != new
    ]
    return bool(changed) and minor.issuperset(changed)


def _named(names: Iterable[str]) -> tuple[frozenset[RowKind], frozenset[Action]]:
    rows: set[RowKind] = set()
    actions: set[Action] = set()
    for name in names:
        if name not in EVENT_NAMES:
            known = ", ".join(sorted(EVENT_NAMES))
            raise ConfigError(f"ignore_event {name!r} is not known; it may be: {known}", code=UNKNOWN_EVENT)
        rows.update(_ROWS.get(name, ()))
        actions.update(_DDL.get(name, ()))
    return frozenset(rows), frozenset(actions)


def _joined(patterns: tuple[str, ...]) -> GoRegex | None:
    joined: GoRegex | None = None
    for number, pattern in enumerate(patterns, 1):
        try:
            GoRegex(pattern)
            joined = GoRegex("|".join(patterns[:number]), ignore_case=True)
        except RegexError as error:
            where = "" if error.at is None else f", character {error.at + 1}"
            raise ConfigError(f"ignore_sql {number} ({pattern!r}){where}: {error}", code=INVALID) from error
    return joined


def _expressions(texts: dict[RowKind, str]) -> dict[RowKind, Expression]:
    return {kind: Expression(text) for kind, text in texts.items() if text}
