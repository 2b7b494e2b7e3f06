"""What a message with DDL means for the tables that it names: which end, which have a new structure, under which text.

Rules

1. CREATE TABLE … LIKE names its model too, which does not change.
2. EXCHANGE PARTITION changes two tables. The plain one comes first and carries the statement; the partitioned one has
   no text and action 0.
3. A renamed table ends under its old name without a word (``quiet``), and DROP DATABASE ends its tables likewise.
4. Names come out as the known structure has them, else as they are written.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from spark_jobs.cdc.ddl import Catalog, Statement, TableId, apply, normalised, parse, tree
from spark_jobs.cdc.ddl.actions import Action
from spark_jobs.cdc.ddl.classify import resolved
from spark_jobs.cdc.ddl.renaming import Route, under_names
from spark_jobs.cdc.events import Ddl, TableSchema

_DROPS: Final = frozenset({Action.DROP_TABLE, Action.DROP_VIEW})
_CACHED_LENGTH: Final = 8192
"""Longer texts are parsed each time that they are asked for."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One table (or, with ``table`` "", database) after a statement.

    ``structure``: after it, or before it of a table that is dropped; None: not known. ``has_rows``: False of a view.
    ``quiet``: the table just ends (its database was dropped, or it has another name now). ``source``: the statement's
    text as it was, for rules about it.
    """

    schema: str
    table: str
    structure: TableSchema | None
    action: int
    query: str
    dropped: bool = False
    quiet: bool = False
    has_rows: bool = True
    source: str = ""


class Effects(msgspec.Struct, frozen=True):
    """All effects of one message in the order of its statements, and how many of these could not be parsed."""

    each: list[Effect]
    unparsed: int = 0


def effects(
    event: Ddl,
    structures: Mapping[TableId, TableSchema],
    passes: Callable[[str, str], bool] = lambda schema, table: True,
    route: Route = lambda schema, table: (schema, table),
) -> Effects:
    """Never raises. ``structures``: of the tables as they were before; only those that the message names are looked up,
    all names are gone through for a database. ``passes(schema, table)``: what is wanted, ``table`` "" of a database.
    ``route``: the names that texts of statements have; all else has the source's.
    """
    statements = statements_of(event)
    catalog = Catalog(dict(_involved(statements, event, structures)))
    each: list[Effect] = []
    unparsed = 0
    for statement in statements:
        if statement.parsed and not statement.is_replicated:
            continue
        unparsed += not statement.parsed
        after = apply(statement, catalog)
        each += [
            effect for effect in _of(statement, event, catalog, after, route) if passes(effect.schema, effect.table)
        ]
        catalog = after
    return Effects(each, unparsed)


def statements_of(event: Ddl) -> tuple[Statement, ...]:
    """The statements of a message; texts of usual length are remembered."""
    parsed = _parsed if len(event.query) <= _CACHED_LENGTH else parse
    return parsed(event.query, event.schema)


def named(event: Ddl) -> set[TableId]:
    """The tables and databases (``table`` "") whose rows a message separates, as they are written."""
    names: set[TableId] = set()
    for statement in statements_of(event):
        if not statement.parsed or statement.is_replicated:
            names.update(_affected(statement, statement.tables or ((event.schema, event.table),)))
            names.update(statement.old_tables)
    return names


@lru_cache(8192)
def _parsed(query: str, schema: str) -> tuple[Statement, ...]:
    return parse(query, schema)


def _involved(
    statements: tuple[Statement, ...], event: Ddl, structures: Mapping[TableId, TableSchema]
) -> Iterator[tuple[TableId, TableSchema]]:
    for schema, table in {name for statement in statements for name in _looked_up(statement, event)}:
        if table:
            known = structures.get((schema, table))
            if known is not None:
                yield (known.schema, known.table), known
            continue
        for key in structures:
            if key[0].lower() == schema.lower():
                yield key, structures[key]


def _looked_up(statement: Statement, event: Ddl) -> Iterator[TableId]:
    yield from statement.tables or ((event.schema, event.table),)
    yield from statement.old_tables
    if isinstance(statement.change, tree.CreateTable) and statement.change.like is not None:
        yield resolved(statement.change.like, statement.schema)


def _of(statement: Statement, event: Ddl, before: Catalog, after: Catalog, route: Route) -> Iterator[Effect]:
    query = normalised(under_names(statement, route))
    for old in statement.old_tables:
        known = before.get(old)
        yield _ended(old if known is None else (known.schema, known.table), statement)
    names = statement.tables or ((event.schema, event.table),)
    for place, (schema, table) in enumerate(_affected(statement, names)):
        dropped = statement.action in _DROPS
        carries = not place or statement.action != Action.EXCHANGE_PARTITION
        structure = (before if dropped else after).get((schema, table)) if table else None
        if structure is not None:
            schema, table = structure.schema, structure.table
        yield Effect(
            schema=schema,
            table=table,
            structure=structure,
            action=int(statement.action) if carries else 0,
            query=query if carries else "",
            dropped=dropped,
            has_rows=statement.action != Action.CREATE_VIEW,
            source=statement.query,
        )
    if statement.action == Action.DROP_SCHEMA:
        schema = names[0][0]
        yield from (_ended(key, statement) for key in before if key[0].lower() == schema.lower())


def _affected(statement: Statement, names: tuple[TableId, ...]) -> tuple[TableId, ...]:
    """Rules 1 and 2."""
    if statement.action == Action.CREATE_TABLE:
        return names[:1]
    if statement.action == Action.EXCHANGE_PARTITION:
        return tuple(reversed(names))
    return names


def _ended(key: TableId, statement: Statement) -> Effect:
    return Effect(
        schema=key[0],
        table=key[1],
        structure=None,
        action=int(statement.action),
        query="",
        dropped=True,
        quiet=True,
    )
