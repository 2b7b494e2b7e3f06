"""Row changes and DDL of any source as the statements that a MySQL-compatible database would run.

Rules

1. Insert: ``REPLACE INTO`` with all columns (or ``INSERT INTO``), so that a repeat leads to the same content.
   Update: ``UPDATE … SET`` all columns. Delete: ``DELETE``. With ``safe`` an update is a delete and a replace, which
   may be repeated as well; without a key, or where neither image has a column, it stays an update.
2. A row is found by its old values of: the primary key; else the first unique key of which none is NULL (such values
   are unique even where the columns may be NULL); else all columns. Only the last needs ``<=>``, which NULL matches,
   and ``LIMIT 1``: there may be equal rows.
3. Generated columns are neither written nor compared, where they are known: by ``Column.generated``, or by the caller,
   who knows the table (TiDB Binlog does not tell them, and gives NULL in updates). Absent columns likewise.
4. Names are quoted, values are parameters: bit, enum and set as numbers, JSON as text (as JSON where compared),
   decimals as ``Decimal`` (MySQL compares numbers in strings as doubles), text that is not UTF-8 as bytes.
5. DDL is text as it came, after ``USE`` its schema, for it may be unqualified; CREATE and DROP DATABASE go without.
   Other events have no statement. Halves of updates must be joined before.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal
from math import isfinite
from typing import Final

import msgspec

from spark_jobs.cdc.codecs.sql.text import SPACE, Parameter, literal, quoted_name
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import ABSENT, DELETE, INSERT, Column, Ddl, Event, Row, RowChange, TableSchema, Value
from spark_jobs.cdc.memory import MAX_COLUMNS, Memory
from spark_jobs.cdc.rows.key_only import refuse_key_only

PROTOCOL: Final = "sql"


class Statement(msgspec.Struct, frozen=True):
    """A statement; its parameters stand between its parts."""

    parts: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()

    @property
    def text(self) -> str:
        """With ``?`` for every parameter."""
        return "?".join(self.parts)

    @property
    def format_text(self) -> str:
        """With ``%s`` for every parameter, and ``%`` doubled, as Python's drivers want it when there are parameters."""
        return "%s".join(part.replace("%", "%%") for part in self.parts)

    @property
    def literal_text(self) -> str:
        """With the values in it."""
        pieces = [piece for pair in zip(self.parts, map(literal, self.parameters), strict=False) for piece in pair]
        return "".join([*pieces, self.parts[-1]])


Generated = Callable[[str, str], Collection[str]]
"""Names of the generated columns of a table (schema, table)."""


def statements(
    events: Iterable[Event], *, replace: bool = True, safe: bool = False, generated: Generated | None = None
) -> list[Statement]:
    """The statements of these events, in order; ``EncodeError`` for a row that they cannot express."""
    writer = StatementWriter(replace=replace, safe=safe, generated=generated)
    return [statement for event in events for statement in writer.write(event)]


class StatementWriter:
    """Like ``statements``, one event after the other; decides once per table schema."""

    def __init__(self, *, replace: bool = True, safe: bool = False, generated: Generated | None = None) -> None:
        self._verb = "REPLACE" if replace else "INSERT"
        self._safe = safe
        self._generated: Generated = generated or (lambda schema, table: ())
        self._tables: Memory[int, _Table] = Memory(MAX_COLUMNS)

    def write(self, event: Event) -> Sequence[Statement]:
        if isinstance(event, RowChange):
            return self._row(event)
        if isinstance(event, Ddl) and event.is_ddl:
            return _ddl(event)
        return ()

    def _row(self, event: RowChange) -> Sequence[Statement]:
        if event.only_handle_key or event.claim_check:
            refuse_key_only(event, PROTOCOL)
        table = self._table(event.table)
        if event.half:
            raise EncodeError(PROTOCOL, f"{table.where(event)} is half of an update; join the halves first")
        if event.kind is INSERT:
            after = table.image(event, event.after)
            if all(value is ABSENT for value in after):
                raise EncodeError(PROTOCOL, f"{table.where(event)} carries no column")
            return [table.insert(self._verb, after)]
        before = table.image(event, event.before)
        if event.kind is DELETE:
            return [table.delete(event, before)]
        after = table.image(event, event.after)
        old = tuple(new if value is ABSENT else value for value, new in zip(before, after, strict=True))
        new = tuple(old if value is ABSENT else value for old, value in zip(before, after, strict=True))
        if self._safe and table.has_key(old) and table.is_whole(new):
            return [table.delete(event, old), table.insert("REPLACE", new)]
        return table.update(event, old, after)

    def _table(self, schema: TableSchema) -> "_Table":
        table = self._tables.get(id(schema))
        if table is None:
            table = _Table(schema, self._generated(schema.schema, schema.table))
            self._tables.remember(id(schema), table, len(schema.columns) + 1)
        return table


class _Table:
    """What is decided once for a ``TableSchema``, which it keeps alive so that its identity stays its own."""

    def __init__(self, schema: TableSchema, generated: Collection[str]) -> None:
        self.schema = schema
        self._name = ".".join(map(quoted_name, filter(None, (schema.schema, schema.table))))
        self._columns = [quoted_name(column.name) for column in schema.columns]
        self._written = [
            at for at, column in enumerate(schema.columns) if not column.generated and column.name not in generated
        ]
        self._keys = _keys(schema)

    def where(self, event: RowChange) -> str:
        return f"{event.kind} in table {self.schema.schema}.{self.schema.table} at commit-ts {event.commit_ts}"

    def image(self, event: RowChange, row: Row | None) -> Row:
        if row is None or len(row) != len(self._columns):
            raise EncodeError(PROTOCOL, f"{self.where(event)} does not have the images and columns it should have")
        return row

    def insert(self, verb: str, row: Row) -> Statement:
        columns = self._present(row)
        names = ", ".join(self._columns[at] for at in columns)
        start = f"{verb} INTO {self._name} ({names}) VALUES ("
        if not columns:
            return Statement((f"{start})",))
        return Statement((start, *[", "] * (len(columns) - 1), ")"), self._parameters(row, columns))

    def update(self, event: RowChange, old: Row, new: Row) -> Sequence[Statement]:
        columns = self._present(new)
        if not columns:
            return ()
        parts, parameters = self._where(event, old)
        sets = [f"{self._columns[at]} = " for at in columns]
        texts = [f"UPDATE {self._name} SET {sets[0]}", *(f", {text}" for text in sets[1:]), parts[0], *parts[1:]]
        return [Statement(tuple(texts), self._parameters(new, columns) + parameters)]

    def delete(self, event: RowChange, old: Row) -> Statement:
        parts, parameters = self._where(event, old)
        return Statement((f"DELETE FROM {self._name}{parts[0]}", *parts[1:]), parameters)

    def is_whole(self, row: Row) -> bool:
        """Whether no column that is written is absent."""
        return all(row[at] is not ABSENT for at in self._written)

    def has_key(self, old: Row) -> bool:
        return self._key(old) is not None

    def _key(self, old: Row) -> Sequence[int] | None:
        """The first key of which the row has every value."""
        return next(
            (key for key in self._keys if all(old[at] is not None and old[at] is not ABSENT for at in key)), None
        )

    def _where(self, event: RowChange, old: Row) -> tuple[list[str], tuple[Parameter, ...]]:
        key = self._key(old)
        columns = self._present(old) if key is None else key
        if not columns:
            raise EncodeError(PROTOCOL, f"{self.where(event)} has no old values by which to find the row")
        equal, end = ("<=>", " LIMIT 1") if key is None else ("=", "")
        parts: list[str] = []
        tail = ""
        for at in columns:
            before, after = ("CAST(", " AS JSON)") if self.schema.columns[at].type.name == "json" else ("", "")
            parts.append(f"{tail}{' AND ' if parts else ' WHERE '}{self._columns[at]} {equal} {before}")
            tail = after
        return [*parts, tail + end], self._parameters(old, columns)

    def _present(self, row: Row) -> list[int]:
        return [at for at in self._written if row[at] is not ABSENT]

    def _parameters(self, row: Row, columns: Iterable[int]) -> tuple[Parameter, ...]:
        return tuple([_parameter(self.schema.columns[at], row[at]) for at in columns])


def _keys(schema: TableSchema) -> list[list[int]]:
    """Positions of the primary key, then of the unique keys in their order."""
    positions = {column.name: at for at, column in enumerate(schema.columns)}
    indexes = [index for index in schema.indexes or () if index.unique and positions.keys() >= set(index.columns)]
    indexes.sort(key=lambda index: index.name != "PRIMARY")
    marked = [positions[name] for name in schema.key_columns]
    return [key for key in (marked, *([positions[name] for name in index.columns] for index in indexes)) if key]


def _parameter(column: Column, value: Value) -> Parameter:
    if isinstance(value, str):
        if column.type.name == "decimal" and _DECIMAL.fullmatch(value):
            return Decimal(value)
        return value if _is_unicode(value) else value.encode("utf-8", "surrogateescape")
    if isinstance(value, float) and not isfinite(value):
        raise EncodeError(PROTOCOL, f"column {column.name} is {value}, which MySQL has not")
    assert value is not ABSENT
    return value


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_DECIMAL: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?", re.ASCII)
_OF_DATABASE: Final = re.compile(rf"{SPACE}(?:create|drop){SPACE}\b(?:database|schema)\b", re.IGNORECASE | re.DOTALL)


def _ddl(event: Ddl) -> Sequence[Statement]:
    query = Statement((event.query.rstrip().rstrip(";"),))
    if not event.schema or _OF_DATABASE.match(event.query):
        return (query,)
    return (Statement((f"USE {quoted_name(event.schema)}",)), query)
