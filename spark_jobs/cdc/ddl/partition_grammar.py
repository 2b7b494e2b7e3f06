"""The grammar of partitioning: PARTITION BY, partition definitions, TiDB's interval partitions."""

from typing import Final

from spark_jobs.cdc.ddl.column_grammar import column_name
from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.nodes import (
    PartitionDefinition,
    Partitioning,
    PartitionInterval,
    PartitionMethod,
    Tokens,
)
from spark_jobs.cdc.ddl.option_grammar import table_options

_NO_STOPS: Final[frozenset[str]] = frozenset()


def partitioning(cursor: Cursor) -> Partitioning:
    """``PARTITION BY …``, its first two words included."""
    cursor.expect("PARTITION", "BY")
    method = _method(cursor, "PARTITIONS")
    interval = _interval(cursor)
    sub = None
    if cursor.accept("SUBPARTITION", "BY"):
        sub = _method(cursor, "SUBPARTITIONS")
    definitions = partition_definitions(cursor) if cursor.at("(") else ()
    scopes: tuple[tuple[str, str], ...] = ()
    if cursor.accept("UPDATE", "INDEXES"):
        scopes = cursor.parenthesised(_index_scope)
    return Partitioning(method, interval, sub, definitions, scopes)


def _method(cursor: Cursor, counted: str) -> PartitionMethod:
    linear = cursor.accept("LINEAR")
    kind = cursor.accept_any(("RANGE", "LIST", "HASH", "KEY", "SYSTEM_TIME")) or cursor.fail("a partition method")
    algorithm = None
    if cursor.accept("ALGORITHM"):
        cursor.accept("=")
        algorithm = cursor.integer()
    expression: Tokens = ()
    columns: tuple[str, ...] | None = None
    if cursor.accept_any(("COLUMNS", "FIELDS")) or kind == "KEY":
        columns = _columns(cursor)
    elif kind == "SYSTEM_TIME":
        expression = cursor.run(frozenset({"PARTITIONS", "("}))
    else:
        expression = cursor.group()
    count = cursor.integer() if cursor.accept(counted) else 0
    return PartitionMethod(kind, expression, columns, linear, algorithm, count)


def _columns(cursor: Cursor) -> tuple[str, ...]:
    if cursor.at("(", ")"):
        cursor.expect("(", ")")
        return ()
    return cursor.parenthesised(column_name)


def _interval(cursor: Cursor) -> PartitionInterval | None:
    if not cursor.accept("INTERVAL"):
        return None
    step = cursor.group()
    first: Tokens = ()
    last: Tokens = ()
    if cursor.accept("FIRST", "PARTITION", "LESS", "THAN"):
        first = cursor.group()
    if cursor.accept("LAST", "PARTITION", "LESS", "THAN"):
        last = cursor.group()
    null_partition = cursor.accept("NULL", "PARTITION")
    return PartitionInterval(step, first, last, null_partition, cursor.accept("MAXVALUE", "PARTITION"))


def _index_scope(cursor: Cursor) -> tuple[str, str]:
    name = cursor.name()
    return name, cursor.accept_any(("GLOBAL", "LOCAL")) or cursor.fail("GLOBAL or LOCAL")


def partition_definitions(cursor: Cursor) -> tuple[PartitionDefinition, ...]:
    """``(PARTITION p …, …)``"""
    return cursor.parenthesised(_definition)


def _definition(cursor: Cursor) -> PartitionDefinition:
    cursor.expect("PARTITION")
    name = cursor.name()
    less_than, values_in, default = None, None, cursor.accept("DEFAULT")
    if cursor.accept("VALUES", "LESS", "THAN"):
        less_than = _bounds(cursor)
    elif cursor.accept("VALUES", "IN"):
        values_in = cursor.parenthesised(_value_or_tuple)
    else:
        cursor.accept_any(("HISTORY", "CURRENT"))
    options = table_options(cursor)
    subs = cursor.parenthesised(_subpartition) if cursor.at("(") else ()
    return PartitionDefinition(name, less_than, values_in, default, options, subs)


def _bounds(cursor: Cursor) -> tuple[Tokens, ...]:
    if cursor.at("MAXVALUE"):
        return ((cursor.next(),),)
    return cursor.parenthesised(_value)


def _value(cursor: Cursor) -> Tokens:
    return cursor.run(_NO_STOPS) or cursor.fail("a value")


def _value_or_tuple(cursor: Cursor) -> tuple[Tokens, ...]:
    return cursor.parenthesised(_value) if cursor.at("(") else (_value(cursor),)


def _subpartition(cursor: Cursor) -> PartitionDefinition:
    cursor.expect("SUBPARTITION")
    return PartitionDefinition(cursor.name(), options=table_options(cursor))
