"""What a statement of the source means for the tables in the sink."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from spark_jobs.cdc import ddl
from spark_jobs.cdc.events import TableSchema
from spark_jobs.cdc.filters.tables import TableFilter
from spark_jobs.pipeline.job import Statement

Structures: TypeAlias = Mapping[tuple[str, str], TableSchema]

_DROPS: Final = frozenset({ddl.Action.DROP_TABLE, ddl.Action.DROP_VIEW})


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One table (or, with ``table`` "", database) after a statement.

    ``structure`` None: not known. ``quiet``: no schema file is written, the table just ends (its database was dropped,
    or it has another name now).
    """

    schema: str
    table: str
    structure: TableSchema | None
    action: int
    query: str
    dropped: bool = False
    quiet: bool = False


class Made(msgspec.Struct, frozen=True):
    """All changes of one message, and how many of its statements could not be parsed."""

    changes: list[Change]
    unparsed: int


def changes(message: Statement, structures: Structures, tables: TableFilter) -> Made:
    """What passes the filter, in the order of the statements."""
    made: list[Change] = []
    unparsed = 0
    catalog = ddl.Catalog(structures)
    for statement in ddl.parse(message.query, message.schema):
        if statement.parsed and not statement.is_replicated:
            continue
        unparsed += not statement.parsed
        after = ddl.apply(statement, catalog)
        made += [change for change in _of(statement, message, catalog, after) if _passes(change, tables)]
        catalog = after
    return Made(made, unparsed)


def is_repeat(change: Change, commit_ts: int, version: int, structure: TableSchema | None) -> bool:
    """Whether the change was made before: a version never decreases. A name that was given away at this very commit-ts
    (so its ``structure`` is not known) may be given to another table by the same RENAME."""
    if commit_ts == version and structure is None and not change.dropped:
        return False
    return commit_ts <= version


def _passes(change: Change, tables: TableFilter) -> bool:
    if not change.table:
        return tables.matches_schema(change.schema)
    return tables.matches(change.schema, change.table)


def _of(statement: ddl.Statement, message: Statement, before: ddl.Catalog, after: ddl.Catalog) -> Iterator[Change]:
    query = ddl.normalised(statement)
    for old in statement.old_tables:
        yield _ended(old, statement)
    named = statement.tables or ((message.schema, message.table),)
    for place, (schema, table) in enumerate(_affected(statement, named)):
        dropped = statement.action in _DROPS
        carries = not place or statement.action != ddl.Action.EXCHANGE_PARTITION
        yield Change(
            schema=schema,
            table=table,
            structure=(before if dropped else after).get((schema, table)),
            action=int(statement.action) if carries else 0,
            query=query if carries else "",
            dropped=dropped,
        )
    if statement.action == ddl.Action.DROP_SCHEMA:
        schema = named[0][0]
        yield from (_ended(key, statement) for key in before if key[0] == schema)


def _affected(statement: ddl.Statement, named: tuple[ddl.TableId, ...]) -> tuple[ddl.TableId, ...]:
    """CREATE TABLE … LIKE names its model too, which does not change. Of an exchange the plain table comes first: its
    schema file carries the statement, that of the partitioned table does not."""
    if statement.action == ddl.Action.CREATE_TABLE:
        return named[:1]
    if statement.action == ddl.Action.EXCHANGE_PARTITION:
        return tuple(reversed(named))
    return named


def _ended(key: tuple[str, str], statement: ddl.Statement) -> Change:
    return Change(
        schema=key[0],
        table=key[1],
        structure=None,
        action=int(statement.action),
        query="",
        dropped=True,
        quiet=True,
    )
