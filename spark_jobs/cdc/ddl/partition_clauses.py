"""The clauses of ALTER TABLE that are about partitions."""

from collections.abc import Callable
from typing import Final

from spark_jobs.cdc.ddl.actions import Action
from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.expressions import name as quoted
from spark_jobs.cdc.ddl.expressions import string as quoted_string
from spark_jobs.cdc.ddl.key_grammar import if_not_exists, table_name
from spark_jobs.cdc.ddl.option_grammar import table_options
from spark_jobs.cdc.ddl.partition_grammar import partition_definitions, partitioning
from spark_jobs.cdc.ddl.tree import (
    AddPartitions,
    BoundPartition,
    Clause,
    ExchangePartition,
    OnPartitions,
    PartitionBy,
    PartitionPlacement,
    ReorganizePartitions,
    Spec,
)


def _partition(cursor: Cursor) -> Spec:
    if cursor.at("PARTITION", "BY"):
        return PartitionBy(partitioning(cursor))
    cursor.expect("PARTITION")
    partition = cursor.name()
    if cursor.at("ATTRIBUTES"):
        return Clause(f"PARTITION {quoted(partition)} {attributes_text(cursor)}", Action.PARTITION_ATTRIBUTES)
    if not table_options(cursor):
        cursor.fail("ATTRIBUTES or PLACEMENT POLICY")
    return PartitionPlacement(partition)


def add_partitions(cursor: Cursor) -> Spec:
    """What follows ADD PARTITION."""
    exists = if_not_exists(cursor)
    local = _local(cursor)
    if cursor.accept("PARTITIONS"):
        return AddPartitions((), cursor.integer(), exists, local)
    return AddPartitions(partition_definitions(cursor) if cursor.at("(") else (), 0, exists, local)


def _local(cursor: Cursor) -> bool:
    # a partition may be called local: then no name follows
    if cursor.at("LOCAL") and cursor.peek(1).word in ("", ",") and not cursor.peek(1).text.strip(","):
        return False
    return bool(cursor.accept_any(("NO_WRITE_TO_BINLOG", "LOCAL")))


def _on_partitions(cursor: Cursor) -> Spec:
    verb = cursor.next().word
    if verb in ("IMPORT", "DISCARD") and cursor.accept("TABLESPACE"):
        return Clause(f"{verb} TABLESPACE")
    cursor.expect("PARTITION")
    local = _local(cursor)
    names = None if cursor.accept("ALL") else cursor.listed(Cursor.name)
    if verb in ("IMPORT", "DISCARD"):
        cursor.expect("TABLESPACE")
    return OnPartitions(verb, names, False, local)


def _coalesce(cursor: Cursor) -> Spec:
    cursor.expect("COALESCE", "PARTITION")
    local = "NO_WRITE_TO_BINLOG " if _local(cursor) else ""
    return Clause(f"COALESCE PARTITION {local}{cursor.integer()}", Action.DROP_PARTITION)


def _reorganize(cursor: Cursor) -> Spec:
    cursor.expect("REORGANIZE", "PARTITION")
    local = _local(cursor)
    if not cursor.at_name():
        return ReorganizePartitions(local=local)
    names = cursor.listed(Cursor.name)
    cursor.expect("INTO")
    return ReorganizePartitions(names, partition_definitions(cursor), local)


def _exchange(cursor: Cursor) -> Spec:
    cursor.expect("EXCHANGE", "PARTITION")
    partition = cursor.name()
    cursor.expect("WITH", "TABLE")
    table = table_name(cursor)
    validation = not cursor.accept("WITHOUT", "VALIDATION")
    cursor.accept("WITH", "VALIDATION")
    return ExchangePartition(partition, table, validation)


def _bounded(*words: str) -> Callable[[Cursor], Spec]:
    def read(cursor: Cursor) -> Spec:
        cursor.expect(*words, "PARTITION", "LESS", "THAN")
        return BoundPartition(" ".join(words), cursor.group())

    return read


def attributes_text(cursor: Cursor) -> str:
    """``ATTRIBUTES`` or ``STATS_OPTIONS`` with its string or DEFAULT, normalised."""
    word = cursor.next().word
    cursor.accept("=")
    return f"{word}={'DEFAULT' if cursor.accept('DEFAULT') else quoted_string(cursor.string())}"


PARTITION_CLAUSES: Final[dict[str, Callable[[Cursor], Spec]]] = {
    "PARTITION": _partition,
    "COALESCE": _coalesce,
    "REORGANIZE": _reorganize,
    "EXCHANGE": _exchange,
    "FIRST": _bounded("FIRST"),
    "LAST": _bounded("LAST"),
    "MERGE": _bounded("MERGE", "FIRST"),
    "SPLIT": _bounded("SPLIT", "MAXVALUE"),
} | dict.fromkeys(
    ("TRUNCATE", "CHECK", "ANALYZE", "OPTIMIZE", "REPAIR", "REBUILD", "IMPORT", "DISCARD"), _on_partitions
)
"""Readers by a clause's first word."""
