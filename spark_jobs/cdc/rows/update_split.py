"""Cuts updates that change a key into a delete and an insert, as TiCDC does before storage and queues.

Why: a consumer that applies rows by key, or reads two queues, would otherwise meet the new key while another row still
has it, or never learn that the old one is gone.

Rules

1. An update is cut if the value of any column of the primary key or of a unique index changes: every column of a
   composite one counts, nullable ones too. Both halves keep the commit-ts, and are an ordinary delete and insert: a
   CSV row of theirs says is-update=false.
2. If one update of a transaction's part of a table is cut, that part is put in order: all deletes, then the updates
   that stayed whole, then all inserts, each kind in its old order. (TiCDC's older architecture; the newer one only
   moves the inserts of cut updates to the end, which lets an insert stand before the delete that makes room for it.)
   This order is right because TiDB's transactions change a row once. Sources whose transactions may change it several
   times have a commit-ts of its own for every message, so that each of their changes is cut alone, where it stands.
3. With ``output-raw-change-event`` nothing is cut and nothing is moved: do not call this. What TiKV itself delivers as
   a delete and an insert (a clustered primary key that changes) stays two rows even then.
4. An image that lacks a key column, and a half of an update, say nothing about a change: they stay as they are.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.events import ABSENT, DELETE, INSERT, UPDATE, Row, RowChange, TableSchema
from spark_jobs.cdc.memory import Memory

_ORDER: Final = {DELETE: 0, UPDATE: 1, INSERT: 2}


class UpdateSplitter:
    """Cuts key-changing updates; remembers which columns are keys of each table."""

    def __init__(self) -> None:
        self._keys: Memory[int, tuple[TableSchema, tuple[int, ...]]] = Memory()

    def split(self, changes: Sequence[RowChange]) -> Sequence[RowChange]:
        """The changes of one table with one commit-ts, in order; returns the same sequence if nothing is to be cut."""
        if not any(map(self.changes_key, changes)):
            return changes
        return sorted(self._cut(changes), key=lambda change: _ORDER[change.kind])

    def changes_key(self, change: RowChange) -> bool:
        """Whether this is an update of a key."""
        before, after = change.before, change.after
        if change.kind is not UPDATE or before is None or after is None:
            return False
        return any(_differ(before, after, at) for at in self._key_places(change.table))

    def _cut(self, changes: Sequence[RowChange]) -> Iterator[RowChange]:
        for change in changes:
            if self.changes_key(change):
                yield msgspec.structs.replace(change, kind=DELETE, after=None)
                yield msgspec.structs.replace(change, kind=INSERT, before=None)
            else:
                yield change

    def _key_places(self, table: TableSchema) -> tuple[int, ...]:
        known = self._keys.get(id(table))
        if known is None:
            known = table, key_places(table)  # the table is kept, so that its id stays its own
            self._keys.remember(id(table), known)
        return known[1]


def key_places(table: TableSchema) -> tuple[int, ...]:
    """Places of the columns that belong to the primary key or to a unique index."""
    names = {name.lower() for index in table.indexes or () if index.unique for name in index.columns}
    return tuple(at for at, column in enumerate(table.columns) if column.is_key or column.name.lower() in names)


def _differ(before: Row, after: Row, at: int) -> bool:
    old, new = before[at], after[at]
    return old != new and old is not ABSENT and new is not ABSENT
