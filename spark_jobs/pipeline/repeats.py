"""Rows that the upstream sent again, told by what they say.

TiCDC is at least once: after a restart it goes on from its checkpoint, so rows above its last watermark come a second
time, in their partition. They wait for a watermark anyway, and all copies of a row are released in one batch, because a
release is cut by commit-ts.

Two rows are copies if commit-ts, strand, table, kind and all values are equal, and the table has a primary key whose
columns are all there, not NULL and intact. Otherwise they may be two rows that look alike, and none is dropped:

- tables without a primary key, and rows that lack a column of it;
- a key with U+FFFD, which stands for bytes that the source could not show;
- a TIMESTAMP in the key, unless the source's zone is UTC: where clocks are put back an hour comes twice.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from spark_jobs.cdc.codec import Rows
from spark_jobs.cdc.events import ABSENT, Row, RowChange, TableSchema

PRINT_BYTES: Final = 16
NO_PRINT: Final = bytes(PRINT_BYTES)
_UTC: Final = frozenset({"", "UTC", "Etc/UTC"})


class Prints:
    """Fingerprints of rows: equal for copies, ``NO_PRINT`` where copies cannot be told. Remembers tables only."""

    def __init__(self, time_zone: str) -> None:
        self._in_utc = time_zone in _UTC
        self._keys: dict[int, tuple[TableSchema, tuple[int, ...]]] = {}

    def of(self, rows: Rows) -> bytes:
        """Of a message with one row; raises ``DecodeError``."""
        changes: Sequence[RowChange] = rows.changes()
        if len(changes) != 1:
            return NO_PRINT
        change = changes[0]
        row = change.before if change.after is None else change.after
        places = self._places(change.table)
        if row is None or not places or not all(_is_intact(row, at) for at in places):
            return NO_PRINT
        table = change.table
        said = (table.schema, table.table, change.kind, _known(change.before), _known(change.after))
        try:
            text = msgspec.msgpack.encode(said)
        except UnicodeEncodeError:  # bytes that are no text: they are compared as they are
            text = repr(said).encode("utf-8", "backslashreplace")
        return blake2b(text, digest_size=PRINT_BYTES).digest()

    def _places(self, table: TableSchema) -> tuple[int, ...]:
        found = self._keys.get(id(table))
        if found is None:
            places = tuple(at for at, column in enumerate(table.columns) if column.is_key)
            if not self._in_utc and any(table.columns[at].type.name == "timestamp" for at in places):
                places = ()
            found = self._keys[id(table)] = (table, places)
        return found[1]


def _is_intact(row: Row, at: int) -> bool:
    value = row[at]
    return value is not None and value is not ABSENT and not (isinstance(value, str) and "\ufffd" in value)


def _known(row: Row | None) -> list[object] | None:
    """The values, columns that are not there as something that no value is."""
    return None if row is None else [[] if value is ABSENT else value for value in row]
