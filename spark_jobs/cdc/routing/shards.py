"""Which shard of a DataHub topic a record belongs to.

Rules (fact sheet §1 and §9.6)

1. A row of a table with a primary key, or with key columns that the user names, goes by its key: all records of one
   key are in one shard, in order. Without a key, Blob records go by table name, Tuple records to a shard at random,
   without any order.
2. The routing key is a text: a JSON array of schema, table and key values, so that no two keys read alike. It never
   depends on a column's type, only on its value, and stays the same from release to release.
3. **An UPDATE that changes the key**: each half goes by the key in its own image, the before half by the old and the
   after half by the new one, so that each key keeps its order. The shared sequence number joins the halves again.
   (``both_by_old_key``: both by the old one; then the two stay together, and the new key's order is broken.)
4. DDL goes by table name; heartbeats, which belong to no table, by the empty text.
5. Topics that split and merge: MD5 of the key's UTF-8, as 32 upper-case hex digits, belongs to the shard with
   ``begin <= hash < end``; the greatest end, FF…F, belongs to the last shard. Topics that are only extended: FNV-1a of
   32 bits modulo the number of shards, which are counted in the order of their ids.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.errors import EncodeError, EnvironmentFault
from spark_jobs.cdc.events import ABSENT, UPDATE, Ddl, Event, Row, RowChange, TableSchema

_LAST_HASH: Final = "F" * 32


class Shard(msgspec.Struct, frozen=True):
    """An active shard; hash keys are 32 upper-case hex digits."""

    shard_id: str
    begin: str = "0" * 32
    end: str = _LAST_HASH


class Shards:
    """The active shards of a topic at one moment; raises ``EnvironmentFault`` where no shard takes a key."""

    def __init__(self, active: Sequence[Shard], *, extend_only: bool = False) -> None:
        if not active:
            raise EnvironmentFault("the topic has no active shard; wait until its shards are ACTIVE")
        self._shards = sorted(active, key=lambda shard: int(shard.shard_id))
        self._extend_only = extend_only

    def of(self, routing_key: str) -> str:
        """The id of the shard that this key belongs to."""
        key = routing_key.encode()
        if self._extend_only:
            return self._shards[fnv1a_32(key) % len(self._shards)].shard_id
        return self.of_hash(md5_key(key))

    def of_hash(self, hash_key: str) -> str:
        """The id of the shard whose range holds this hash key."""
        for shard in self._shards:
            if shard.begin <= hash_key < shard.end or hash_key == shard.end == _LAST_HASH:
                return shard.shard_id
        raise EnvironmentFault(f"no active shard takes the hash key {hash_key}; a shard is being split or merged")

    def at_random(self, below: Callable[[int], int]) -> str:
        """The id of any shard; ``below(n)`` gives a number from 0 to n - 1."""
        return self._shards[below(len(self._shards))].shard_id


def md5_key(key: bytes) -> str:
    """The hash key that the service compares with the shards' ranges."""
    return hashlib.md5(key, usedforsecurity=False).hexdigest().upper()


def fnv1a_32(key: bytes) -> int:
    """FNV-1a with 32 bits."""
    digest = 0x811C9DC5
    for byte in key:
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return digest


class Router(msgspec.Struct, frozen=True, kw_only=True):
    """The routing key of each record that an event becomes; None where any shard will do.

    ``by_table``: what has no key goes by table name (Blob) and not at random (Tuple). ``key_columns``: the user's own
    key, the same for every table; empty for the primary key.
    """

    by_table: bool
    key_columns: tuple[str, ...] = ()
    both_by_old_key: bool = False

    def keys(self, event: Event) -> tuple[str | None, ...]:
        """Parallel to the records that the encoders write of this event; ``EncodeError`` for a row without its key."""
        if isinstance(event, RowChange):
            return self._row_keys(event)
        return (table_key(event.schema, event.table) if isinstance(event, Ddl) else "",)

    def _row_keys(self, event: RowChange) -> tuple[str | None, ...]:
        images = [image for image in (event.before, event.after) if image is not None]
        names = self.key_columns or event.table.key_columns
        if not names:
            key = table_key(event.table.schema, event.table.table) if self.by_table else None
            return (key,) * len(images)
        keys = tuple(row_key(event.table, image, names) for image in images)
        if event.kind is UPDATE and self.both_by_old_key:
            return (keys[0],) * len(keys)
        return keys


def table_key(schema: str, table: str) -> str:
    """The routing key of a table's records that have no key of their own."""
    return _text([schema, table])


def row_key(table: TableSchema, row: Row, names: tuple[str, ...]) -> str:
    """The routing key of a row: schema, table and the values of the key columns as texts."""
    position = {column.name: index for index, column in enumerate(table.columns)}
    values = []
    for name in names:
        value = row[position[name]] if name in position else ABSENT
        if value is ABSENT:
            raise EncodeError("datahub", f"a row of {table.schema}.{table.table} without its key column {name!r}")
        values.append(value.hex() if isinstance(value, bytes) else None if value is None else str(value))
    return _text([table.schema, table.table, *values])


def _text(parts: list[str | None]) -> str:
    try:
        return msgspec.json.encode(parts).decode()
    except UnicodeEncodeError:
        raise EncodeError("datahub", "a key value is not UTF-8") from None
