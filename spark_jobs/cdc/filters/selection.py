"""What of the source is carried, and under which names: ``replica_config.filter``, column selectors, routing of names.

Decided once for a table: most tables pass as they are, and their rows need not be decoded for it.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec

from spark_jobs.cdc import ddl
from spark_jobs.cdc.codec import Rows
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.events import RowChange, TableSchema
from spark_jobs.cdc.filters.columns import ColumnSelector, ColumnSelectors
from spark_jobs.cdc.filters.events import EventFilter, EventFilters
from spark_jobs.cdc.filters.tables import TableFilter, TableRules
from spark_jobs.cdc.routing.names import NameExpression

INVALID: Final = "CDC:ErrInvalidReplicaConfig"
_ANY_TABLE: Final = "\ufffd"
"""A name that only rules for all tables of a schema select."""


class NameRule(msgspec.Struct, frozen=True, rename={"target_schema": "target-schema", "target_table": "target-table"}):
    """One entry of ``sink.dispatchers``, as far as it names the target: ``""`` keeps the name."""

    matcher: tuple[str, ...] = ()
    target_schema: str = ""
    target_table: str = ""


class SelectionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The part of ``replica_config`` that decides what is carried."""

    rules: tuple[str, ...] = ("*.*",)
    case_sensitive: bool = False
    event_filters: tuple[EventFilter, ...] = ()
    column_selectors: tuple[ColumnSelector, ...] = ()
    names: tuple[NameRule, ...] = ()


class _Filter(msgspec.Struct, frozen=True):
    rules: tuple[str, ...] | None = None
    event_filters: tuple[dict[str, Any], ...] | None = None


class _Sink(msgspec.Struct, frozen=True):
    column_selectors: tuple[ColumnSelector, ...] | None = None
    dispatchers: tuple[NameRule, ...] | None = None


class _ReplicaConfig(msgspec.Struct, frozen=True):
    case_sensitive: bool = False
    filter: _Filter = _Filter()
    sink: _Sink = _Sink()


def selection_of(replica_config: Mapping[str, object]) -> SelectionConfig:
    """From the whole tree; ``ConfigError``."""
    try:
        config = msgspec.convert(replica_config, _ReplicaConfig, strict=False)
        filters = tuple(
            msgspec.convert({name: value for name, value in one.items() if value is not None}, EventFilter)
            for one in config.filter.event_filters or ()
        )
    except msgspec.ValidationError as error:
        raise ConfigError(f"replica_config: {error}", code=INVALID) from None
    return SelectionConfig(
        rules=config.filter.rules or ("*.*",),
        case_sensitive=config.case_sensitive,
        event_filters=filters,
        column_selectors=config.sink.column_selectors or (),
        names=tuple(rule for rule in config.sink.dispatchers or () if rule.target_schema or rule.target_table),
    )


class Way(Enum):
    """What becomes of rows: they pass as they are, are changed or filtered one by one, wait, or are left out."""

    DROP = "drop"
    PASS = "pass"
    CHANGE = "change"
    HOLD = "hold"


class ChangedRows:
    """Rows after filters and selectors, under their new name."""

    __slots__ = ("_changes", "commit_ts", "es_ms", "is_partial", "name", "schema", "table")

    def __init__(self, rows: Rows, changes: Sequence[RowChange]) -> None:
        self._changes = changes
        self.table = changes[0].table
        self.schema, self.name = self.table.schema, self.table.table
        self.commit_ts, self.es_ms, self.is_partial = rows.commit_ts, rows.es_ms, rows.is_partial

    def changes(self) -> Sequence[RowChange]:
        return self._changes


class Selection:
    """Built once for a task or an owner; ``ConfigError`` for a rule that is wrong in itself."""

    def __init__(self, config: SelectionConfig) -> None:
        sensitive = config.case_sensitive
        self._tables = TableFilter(config.rules, sensitive)
        self._events = EventFilters(config.event_filters, case_sensitive=sensitive) if config.event_filters else None
        self._filtered = [TableRules(one.matcher, sensitive) for one in config.event_filters]
        self._selectors = ColumnSelectors(config.column_selectors, case_sensitive=sensitive)
        self._selected = [TableRules(one.matcher, sensitive) for one in config.column_selectors]
        self._names = [
            (
                TableRules(rule.matcher, sensitive),
                NameExpression(rule.target_schema or "{schema}"),
                NameExpression(rule.target_table or "{table}"),
            )
            for rule in config.names
        ]
        self._renamed: dict[int, tuple[TableSchema, TableSchema]] = {}

    @property
    def renames(self) -> bool:
        """Whether any table may have another name in the sink."""
        return bool(self._names)

    def passes(self, schema: str, table: str) -> bool:
        """Whether rows and statements of a table are carried at all."""
        return self._tables.matches(schema, table)

    def passes_schema(self, schema: str) -> bool:
        """Whether statements on a schema itself are carried."""
        return self._tables.matches_schema(schema)

    def ignores_ddl(self, schema: str, table: str, query: str, action: int) -> bool:
        """Whether an event filter leaves the statement out; it still tells what the table is like."""
        return self._events is not None and self._events.ignores_ddl(schema, table, query, ddl.Action(action))

    def routed(self, schema: str, table: str) -> tuple[str, str]:
        """The names in the sink; ``table`` "" for a schema, which only goes elsewhere if its name alone decides."""
        for rules, to_schema, to_table in self._names:
            if rules.matches(schema, table or _ANY_TABLE):
                return to_schema.name(schema, table), to_table.name(schema, table) if table else ""
        return schema, table

    def way(self, schema: str, table: str) -> Way:
        """What becomes of rows of a table."""
        if not self.passes(schema, table):
            return Way.DROP
        looked_into = any(rules.matches(schema, table) for rules in (*self._filtered, *self._selected))
        if looked_into or self.routed(schema, table) != (schema, table):
            return Way.CHANGE
        return Way.PASS

    def changed(self, rows: Rows) -> ChangedRows | None:
        """The rows that are left, decoded, with the columns that are kept; None if there are none.

        Raises ``DecodeError``, ``ConfigError`` for a rule that does not fit the table, ``DataError``.
        """
        events, select = self._events, self._selectors.select
        changes = [change for change in rows.changes() if events is None or not events.ignores_row(change)]
        if not changes:
            return None
        return ChangedRows(rows, [self._under_its_name(select(change)) for change in changes])

    def _under_its_name(self, change: RowChange) -> RowChange:
        table = change.table
        if not self._names:
            return change
        known = self._renamed.get(id(table))
        if known is None:
            schema, name = self.routed(table.schema, table.table)
            known = self._renamed[id(table)] = (table, msgspec.structs.replace(table, schema=schema, table=name))
        return msgspec.structs.replace(change, table=known[1])
