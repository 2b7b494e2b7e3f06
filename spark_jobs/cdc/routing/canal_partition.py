r"""Topic and partition as Canal's own server chooses them: ``canal.mq.partitionHash`` and ``canal.mq.dynamicTopic``.

Rules

1. ``partitionHash`` is a list of ``table[:keys]`` parted by ``,`` or ``;`` (inside a regex too, so ``{1,2}`` cannot be
   written); the last ``:`` parts table and keys. The first rule that matches ``schema.table`` decides, else 0.
2. Keys: ``a^b`` are columns, ``$pk$`` the primary key; without keys the table's name is hashed.
3. A table text without any of ``* ? + | ( ) { } [ ] \ $ ^`` is a name, compared without case; any other is a regular
   expression for the whole name, in lower case.
4. The hash is Java's ``String.hashCode`` in 32 bits. With keys it is that of the schema (if ``database_hash``)
   XOR that of each value, NULL being the empty text; of the table's name alone without keys. The partition is its
   amount modulo the number of partitions.
5. The row is the new one, of a DELETE the old one. Everything that is not a row goes to partition 0.
6. ``dynamicTopic`` is a list of ``pattern`` or ``topic:pattern``: the topic is the one given, or the matched name in
   lower case with ``.`` as ``_``. ``schema.table`` is tried against all items, then ``schema``; an expression with
   ``\.`` is for tables, another for schemas. None, or a message without schema or table: the default topic.

Regular expressions are Perl's in Canal; here those that Go takes too (no look-around, no back references).
"""

from collections.abc import Callable
from typing import Final

import msgspec

from spark_jobs.cdc.errors import ConfigError, DataError
from spark_jobs.cdc.events import ABSENT, RowChange, TableSchema, Value
from spark_jobs.cdc.filters.regex import GoRegex, RegexError
from spark_jobs.cdc.memory import remember
from spark_jobs.cdc.mysql.types import Dialect
from spark_jobs.cdc.mysql.values import to_text

PRIMARY_KEY: Final = "$pk$"
_SPECIAL: Final = frozenset("*?+|(){}[]\\$^")
_SIGN: Final = 1 << 31

Matches = Callable[[str], bool]


def java_hash(text: str) -> int:
    """Java's ``String.hashCode``: signed 32 bits over UTF-16 units."""
    units = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for at in range(0, len(units), 2):
        result = (result * 31 + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return result - (1 << 32) if result & _SIGN else result


def partition_of_hashes(start: int, texts: list[str], partitions: int) -> int:
    """XOR of the texts' hashes onto ``start``, as a partition."""
    for text in texts:
        start ^= java_hash(text)
    return abs(start) % partitions


class _HashRule(msgspec.Struct, frozen=True):
    matches: Matches
    keys: tuple[str, ...]


class _Keys(msgspec.Struct, frozen=True):
    """``start`` None: partition 0, no rule matches. ``table`` is kept so that its id stays its own."""

    table: TableSchema
    start: int | None
    columns: tuple[tuple[int, Callable[[Value], str]], ...] = ()


class PartitionHash:
    """``canal.mq.partitionHash``. ``ignore_column_case``: as Canal does for protobuf, not for flat messages."""

    def __init__(self, text: str, *, database_hash: bool = True, ignore_column_case: bool = False) -> None:
        self._rules = [_hash_rule(item) for item in _items(text)]
        self._database_hash = database_hash
        self._fold = str.lower if ignore_column_case else str
        self._known: dict[int, _Keys] = {}

    def partition(self, change: RowChange, partitions: int) -> int:
        """The partition of a row; ``DataError`` for a name of an enum whose elements are not known."""
        keys = self._keys(change.table)
        row = change.before if change.after is None else change.after
        if keys.start is None or row is None:
            return 0
        values = [(row[at], text) for at, text in keys.columns]
        try:
            texts = ["" if value is None or value is ABSENT else text(value) for value, text in values]
        except ValueError as error:
            name = f"{change.table.schema}.{change.table.table}"
            raise DataError(f"a row of {name} has no partition: {error}") from None
        return partition_of_hashes(keys.start, texts, partitions)

    def _keys(self, table: TableSchema) -> _Keys:
        known = self._known.get(id(table))
        if known is None:
            known = self._decide(table)
            remember(self._known, id(table), known)
        return known

    def _decide(self, table: TableSchema) -> _Keys:
        name = f"{table.schema}.{table.table}"
        rule = next((rule for rule in self._rules if rule.matches(name)), None)
        if rule is None:
            return _Keys(table, None)
        if not rule.keys:
            return _Keys(table, java_hash(table.table))
        start = java_hash(table.schema) if self._database_hash else 0
        wanted = table.key_columns if rule.keys == (PRIMARY_KEY,) else rule.keys
        names = {self._fold(key) for key in wanted}
        columns = tuple(
            (at, to_text(column.type, Dialect.CANAL))
            for at, column in enumerate(table.columns)
            if self._fold(column.name) in names
        )
        return _Keys(table, start, columns)


class DynamicTopic:
    """``canal.mq.dynamicTopic``."""

    def __init__(self, text: str, default_topic: str) -> None:
        self._items = [_topic_item(item) for item in _items(text)]
        self._default = default_topic

    def topic(self, schema: str, table: str) -> str:
        """The topic of a table's messages."""
        if not schema or not table:
            return self._default
        return self._match(f"{schema}.{table}", of_table=True) or self._match(schema, of_table=False) or self._default

    def _match(self, name: str, *, of_table: bool) -> str:
        for topic, matches, for_tables in self._items:
            if for_tables in (None, of_table) and matches(name):
                return topic or name.lower().replace(".", "_")
        return ""


def partitions_of_topic(text: str, topic: str, default: int) -> int:
    """``canal.mq.dynamicTopicPartitionNum``: the number of partitions of a topic, by a list of ``pattern:number``."""
    for item in _items(text):
        pattern, _, number = item.rpartition(":")
        if not number.isascii() or not number.isdigit() or not int(number):
            raise ConfigError(f"{item!r} is not pattern:number of partitions")
        if _matcher(pattern)(topic):
            return int(number)
    return default


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.replace(",", ";").split(";") if item.strip()]


def _hash_rule(item: str) -> _HashRule:
    name, colon, keys = item.rpartition(":")
    if not colon:
        return _HashRule(_matcher(item), ())
    return _HashRule(_matcher(name.strip()), tuple(filter(None, map(str.strip, keys.split("^")))))


def _topic_item(item: str) -> tuple[str, Matches, bool | None]:
    """(topic or "", matcher, whether it is for tables: None for a plain name, which is compared with either)."""
    topic, _, pattern = item.rpartition(":")
    return topic.strip(), _matcher(pattern.strip()), r"\." in pattern if _SPECIAL & set(pattern) else None


def _matcher(pattern: str) -> Matches:
    if not _SPECIAL & set(pattern):
        wanted = pattern.lower()
        return lambda name: name.lower() == wanted
    try:
        regex = GoRegex(f"^(?:{pattern})$", ignore_case=True)
    except RegexError as error:
        raise ConfigError(f"{pattern!r} cannot be used to choose a partition or topic: {error}") from error
    return lambda name: regex.search(name.lower())
