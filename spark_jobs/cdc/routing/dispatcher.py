"""Topic and partition of each event of a queue sink, by TiCDC's dispatch rules.

* The first rule whose matcher selects the table decides (the other way round than in filters); a last rule for every
  table sends to the default topic by ``table``.
* The partition is (hash modulo number of partitions). The hash is the XOR of a CRC-32 for each *write*, and a write is
  strings put together without a separator: first (schema, table); then (column name, value text) for each column:

  ==================  ===============================================================================================
  ``table``           no columns; also the empty word and ``default``
  ``index-value``     the handle key's columns, or those of ``index``, which must be unique; ``rowid`` is the same
  ``columns``         the columns named
  ``ts``              no hash: the commit-ts modulo the number of partitions
  ==================  ===============================================================================================

  Any other word counts as ``table``, with a warning. Names are hashed as the table spells them.
* The row is the new one, of a DELETE the old one; a column that a partial new image lacks is taken from the old one.
* Value text: numbers in decimal, float and double shortest and without exponent, bit, enum and set as numbers, bytes as
  they are, all else MySQL's text. NULL is left out, or is the text ``null`` (TiCDC's older architecture).
* DDL goes to partition 0 with canal and canal-json, to every partition with any other protocol; a statement on a schema
  goes to the default topic; a rename goes to the topic of the *old* name. A watermark goes to every partition of every
  topic.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Final
from zlib import crc32

import msgspec

from spark_jobs.cdc.errors import ConfigError, DataError
from spark_jobs.cdc.events import ABSENT, BINARY_TYPES, ColumnType, RowChange, TableSchema, Value
from spark_jobs.cdc.filters.tables import TableRules
from spark_jobs.cdc.memory import remember
from spark_jobs.cdc.mysql.types import Dialect
from spark_jobs.cdc.mysql.values import to_text
from spark_jobs.cdc.routing.topics import TopicExpression
from spark_jobs.cdc.rows.eligibility import handle_key, index_places

FAILED: Final = "CDC:ErrDispatcherFailed"
FIRST_PARTITION_DDL: Final = frozenset({"canal", "canal-json"})
"""Protocols whose DDL goes to partition 0 alone."""

_TABLE, _INDEX, _COLUMNS, _TS = "table", "index-value", "columns", "ts"
_WORDS: Final = {"": _TABLE, "default": _TABLE, "table": _TABLE, "index-value": _INDEX, "rowid": _INDEX} | {
    word: word for word in (_COLUMNS, _TS)
}

ToBytes = Callable[[Value], bytes]
Hash = Callable[[RowChange], int]


_commit_ts: Final[Hash] = attrgetter("commit_ts")


class DispatchRule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ``sink.dispatchers``."""

    matcher: tuple[str, ...]
    partition: str = ""
    index: str = ""
    columns: tuple[str, ...] = ()
    topic: str = ""


class _Rule(msgspec.Struct, frozen=True):
    tables: TableRules
    topic: TopicExpression | None
    by: str
    index: str = ""
    columns: tuple[str, ...] = ()


class _Hashed(msgspec.Struct, frozen=True):
    """A column that is hashed: its place, the CRC-32 of its name, and the bytes of a value.

    Without ``to_bytes`` these are Python's text of the value.
    """

    at: int
    name: int
    to_bytes: ToBytes | None


class Dispatcher:
    """Routes events; built once for a changefeed. ``ConfigError`` for a rule that is wrong in itself.

    ``warnings``: sentences about rules that were taken otherwise than written. ``null_text``: text hashed for NULL;
    None leaves NULL out, as today's TiCDC does.
    """

    def __init__(
        self,
        rules: Iterable[DispatchRule],
        default_topic: str,
        *,
        case_sensitive: bool = False,
        null_text: str | None = None,
    ) -> None:
        self.default_topic = default_topic
        self.warnings: list[str] = []
        self._null = None if null_text is None else null_text.encode()
        self._rules = [self._compile(rule, case_sensitive) for rule in rules]
        self._rules.append(_Rule(TableRules(["*.*"]), None, _TABLE))
        self._found: dict[tuple[str, str], _Rule] = {}
        self._hashes: dict[int, tuple[Hash, TableSchema]] = {}  # with the table, so that its id stays its own
        self._table: TableSchema | None = None  # the last, since the rows of a table come in runs
        self._hash_of: Hash = _commit_ts

    def topic(self, schema: str, table: str) -> str:
        """The topic of a table's rows and DDL; of a statement on a schema (``table`` empty) the default topic."""
        expression = self._rule(schema, table).topic if table else None
        return self.default_topic if expression is None else expression.topic(schema, table)

    def topics(self, tables: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """The topics that get watermarks when these (schema, table) are active, the default topic among them."""
        return tuple(sorted({self.default_topic, *(self.topic(schema, table) for schema, table in tables)}))

    def partition(self, change: RowChange, partitions: int) -> int:
        """The partition of a row; ``ConfigError`` if the rule names an index or column that the table has not.

        ``DataError`` for a name of an enum or set whose elements are not known: TiCDC hashes the number.
        """
        table = change.table
        if table is not self._table:
            self._table, self._hash_of = table, self._known_hash(table)
        return self._hash_of(change) % partitions

    def _known_hash(self, table: TableSchema) -> Hash:
        known = self._hashes.get(id(table))
        if known is None:
            known = self._hash(table), table
            remember(self._hashes, id(table), known)
        return known[0]

    def _hash(self, table: TableSchema) -> Hash:
        rule = self._rule(table.schema, table.table)
        if rule.by == _TS:
            return _commit_ts
        columns = [(at, table.columns[at]) for at in _places(rule, table)]
        hashed = [_Hashed(at, crc32(_bytes(column.name)), _to_bytes(column.type)) for at, column in columns]
        start = crc32(_bytes(table.schema) + _bytes(table.table))
        hash_of = _hash_of_columns(table, start, hashed, self._null)
        return _hash_of_one(start, hashed[0], hash_of) if len(hashed) == 1 else hash_of

    def _rule(self, schema: str, table: str) -> _Rule:
        found = self._found.get((schema, table))
        if found is None:
            found = next(rule for rule in self._rules if rule.tables.matches(schema, table))
            remember(self._found, (schema, table), found)
        return found

    def _compile(self, rule: DispatchRule, case_sensitive: bool) -> _Rule:
        by = _WORDS.get(rule.partition.lower())
        if by is None:
            self.warnings.append(
                f"partition rule {rule.partition!r} is none of {', '.join(filter(None, _WORDS))}: table is taken"
            )
        if by == _COLUMNS and not rule.columns:
            raise ConfigError("a dispatcher with partition=columns names no columns", code=FAILED)
        topic = TopicExpression(rule.topic) if rule.topic else None
        return _Rule(TableRules(rule.matcher, case_sensitive), topic, by or _TABLE, rule.index, rule.columns)


def ddl_partitions(protocol: str, partitions: int) -> Sequence[int]:
    """The partitions that get a DDL."""
    return (0,) if protocol in FIRST_PARTITION_DDL else range(partitions)


def _hash_of_columns(table: TableSchema, start: int, columns: Sequence[_Hashed], null: bytes | None) -> Hash:
    def hash_of(change: RowChange) -> int:
        result, row, second = start, change.after, change.before
        if row is None:
            row, second = second, None
        for column in columns:
            value = ABSENT if row is None else row[column.at]
            if value is ABSENT and second is not None:
                value = second[column.at]
            if value is not None and value is not ABSENT:
                try:
                    text = f"{value!s}".encode() if column.to_bytes is None else column.to_bytes(value)
                except ValueError as error:
                    raise DataError(f"a row of {_named(table)} has no partition: {error}", code=FAILED) from None
                result ^= crc32(text, column.name)
            elif value is None and null is not None:
                result ^= crc32(null, column.name)
        return result

    return hash_of


def _hash_of_one(start: int, column: _Hashed, otherwise: Hash) -> Hash:
    """For one column, as most handle keys have; ``otherwise`` for what is not usual."""
    at, name, to_bytes = column.at, column.name, column.to_bytes
    if to_bytes is not None:
        return otherwise

    def hash_of(change: RowChange) -> int:
        row = change.after or change.before
        value = None if row is None else row[at]
        if value is None or value is ABSENT:
            return otherwise(change)
        return start ^ crc32(f"{value!s}".encode(), name)

    return hash_of


def _places(rule: _Rule, table: TableSchema) -> tuple[int, ...]:
    if rule.by == _COLUMNS:
        return _named_columns(rule, table)
    if rule.by != _INDEX:
        return ()
    return _named_index(rule, table) if rule.index else handle_key(table)


def _named_columns(rule: _Rule, table: TableSchema) -> tuple[int, ...]:
    for name in rule.columns:
        places = index_places(table, (name,))
        if places is None or table.columns[places[0]].generated == "virtual":
            what = "has no column" if places is None else "generates without storing it the column"
            raise ConfigError(f"{_named(table)} {what} {name!r} that its dispatcher names", code=FAILED)
    return index_places(table, rule.columns) or ()


def _named_index(rule: _Rule, table: TableSchema) -> tuple[int, ...]:
    wanted = rule.index.lower()
    if wanted == "primary" and table.key_columns:
        return handle_key(table)
    for index in table.indexes or ():
        places = index_places(table, index.columns)
        if index.name.lower() == wanted and index.unique and places is not None:
            return places
    reason = "has no unique index" if table.indexes is not None else "comes from a source that tells nothing of index"
    raise ConfigError(f"{_named(table)} {reason} {rule.index!r} that its dispatcher names", code=FAILED)


def _to_bytes(type_: ColumnType) -> ToBytes | None:
    if type_.name in BINARY_TYPES:
        return lambda value: value if isinstance(value, bytes) else _bytes(str(value))
    text = to_text(type_, Dialect.TICDC)
    if text is str:
        return None
    return lambda value: _bytes(text(value))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _named(table: TableSchema) -> str:
    return f"{table.schema}.{table.table}"
