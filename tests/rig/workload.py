"""What happens in an upstream database, from a seed: inserts, updates and deletes of the same keys, transactions over
several tables, DDL, watermarks on every partition, and rows that are sent again below a watermark.

The messages are TiCDC's canal-json with ``_tidb``, or another protocol's (``forms``). Beside them stands the ledger:
what a reader of the output must find.
"""

import json
import random
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tests.rig.forms import Form

Image = dict[str, str | None]
Column = tuple[str, int]
"""MySQL type and JDBC type."""

SCHEMA: Final = "shop"
TABLES: Final = ("orders", "items", "users", "stock")
BEGIN_MS: Final = 1_714_607_990_000
"""Ten seconds before a midnight (UTC), so that date folders change early."""
_FIRST_COLUMNS: Final[dict[str, Column]] = {
    "id": ("bigint", -5),
    "name": ("varchar", 12),
    "amount": ("decimal", 3),
    "note": ("text", 2005),
}
_LATER_COLUMNS: Final[tuple[tuple[str, Column], ...]] = (
    ("colour", ("varchar", 12)),
    ("weight", ("int", 4)),
    ("seen_at", ("datetime", 93)),
)
_TEXTS: Final = ("", "plain", 'with "quotes", commas', "line\nfeed\r\n", "żółć 東京 😀", "back\\slash\ttab", "x" * 700)


class Change(NamedTuple):
    """A row change as it must come out. ``version``: the table version whose folder it belongs to."""

    operation: str
    table: str
    key: str
    commit_ts: int
    before: Image | None
    after: Image | None
    version: int

    @property
    def identity(self) -> tuple[str, str, int]:
        return self.table, self.key, self.commit_ts


class Message(NamedTuple):
    """A message for one partition."""

    partition: int
    value: bytes


class Ledger:
    """Every change so far, in commit order; grows before its messages are sent. Safe to read while it grows."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.by_identity: dict[tuple[str, str, int], Change] = {}
        self.repeats = 0
        self.statements = 0

    def add(self, change: Change) -> None:
        self.by_identity[change.identity] = change
        self.changes.append(change)


class _Table:
    def __init__(self, name: str) -> None:
        self.name = name
        self.version = 0
        self.columns = dict(_FIRST_COLUMNS)
        self.rows: dict[str, Image] = {}
        self.next_key = 1


class Workload:
    """``next`` is one step: a transaction, a statement, a watermark, or something sent again. ``partitions`` 0: a
    folder, one ordered stream without watermarks, as every stream of another ``protocol`` is."""

    def __init__(self, seed: int, *, partitions: int = 0, protocol: str = "canal-json") -> None:
        self._form = Form(protocol, SCHEMA) if protocol != "canal-json" else None
        self._last_ts = 0
        self.ledger = Ledger()
        self.partitions = partitions
        self._random = random.Random(seed)
        self._tables = {name: _Table(name) for name in TABLES}
        self._ms, self._logical = BEGIN_MS, 0
        self._watermark = 0
        self._recent: deque[tuple[int, Message]] = deque(maxlen=200)
        self._lock = threading.Lock()
        self._opening = [self._create(table) for table in list(self._tables.values())[::2]]

    def next(self) -> list[Message]:
        """The messages of the next step, in the order in which they are sent."""
        with self._lock:
            if self._opening:
                return self._opening.pop(0)
            chance = self._random.random()
            if chance < 0.01:
                return self._alter()
            if self.partitions and chance < 0.16:
                return self._watermarks(self._recent_ts())
            if self.partitions and chance < 0.20 and self._watermark:
                return self._again()
            return self._transaction()

    def finish(self) -> list[Message]:
        """What lets everything so far come out: a last watermark."""
        with self._lock:
            return self._watermarks(self._now()) if self.partitions else []

    def _now(self) -> int:
        return self._ms << 18 | self._logical

    def _tick(self) -> int:
        if self._random.random() < 0.3:
            self._logical += 1
        else:
            self._ms += self._random.choice((1, 1, 5, 40))
            self._logical = 0
        if self._random.random() < 0.002:
            self._ms += 3 * 3600 * 1000
        return self._now()

    def _stamp(self, commit_ts: int) -> int:
        """The commit-ts by which a reader knows a change: made up, message by message, where the form has none."""
        if self._form is None or self._form.timed:
            return commit_ts
        self._last_ts = max(commit_ts >> 18 << 18, self._last_ts + 1)
        return self._last_ts

    def _recent_ts(self) -> int:
        """Somewhere in the last few transactions, so that some rows wait; never back."""
        stamps = [stamp for stamp, _ in list(self._recent)[-8:]]
        return max(self._watermark, self._random.choice(stamps) if stamps else self._now())

    def _watermarks(self, watermark: int) -> list[Message]:
        self._watermark = watermark
        text = {**_message("", "", "TIDB_WATERMARK", watermark), "_tidb": {"watermarkTs": watermark}}
        return [Message(partition, _encoded(text)) for partition in range(self.partitions)]

    def _again(self) -> list[Message]:
        known = [message for stamp, message in self._recent if stamp < self._watermark]
        if not known:
            return self._transaction()
        self.ledger.repeats += 1
        return [self._random.choice(known)]

    def _create(self, table: _Table) -> list[Message]:
        columns = ",".join(f"`{name}` {_definition(kind)}" for name, (kind, _) in table.columns.items())
        return self._statement(table, f"CREATE TABLE `{table.name}` ({columns},PRIMARY KEY(`id`))", "CREATE")

    def _alter(self) -> list[Message]:
        table = self._random.choice([table for table in self._tables.values() if table.version] or [self._any()])
        if not table.version:
            return self._transaction()
        added = len(table.columns) - len(_FIRST_COLUMNS)
        if added == len(_LATER_COLUMNS):
            for name, _ in _LATER_COLUMNS:
                del table.columns[name]
            for row in table.rows.values():
                for name, _ in _LATER_COLUMNS:
                    row.pop(name, None)
            dropped = ", ".join(f"DROP COLUMN `{name}`" for name, _ in _LATER_COLUMNS)
            return self._statement(table, f"ALTER TABLE `{table.name}` {dropped}", "ALTER")
        name, column = _LATER_COLUMNS[added]
        table.columns[name] = column
        for row in table.rows.values():
            row[name] = None
        query = f"ALTER TABLE `{table.name}` ADD COLUMN `{name}` {_definition(column[0])}"
        return self._statement(table, query, "ALTER")

    def _statement(self, table: _Table, query: str, kind: str) -> list[Message]:
        table.version = self._stamp(self._tick())
        self.ledger.statements += 1
        if self._form is not None:
            return [Message(0, value) for value in self._form.statement(table.name, query, kind, table.version)]
        text = {**_message(SCHEMA, table.name, kind, table.version), "isDdl": True, "sql": query}
        return [Message(0, _encoded(text))]

    def _any(self) -> _Table:
        return self._random.choice(self._all())

    def _all(self) -> list[_Table]:
        return list(self._tables.values())

    def _transaction(self) -> list[Message]:
        commit_ts = self._tick()
        touched: set[tuple[str, str]] = set()
        changes: list[Change] = []
        for _ in range(self._random.choice((1, 1, 1, 2, 5))):
            change = self._change(self._any(), commit_ts, touched)
            if change is not None:
                changes.append(change)
        if self._form is not None:
            columns = {table.name: {name: kind for name, (kind, _) in table.columns.items()} for table in self._all()}
            return [Message(0, value) for value in self._form.transaction(changes, columns)]
        messages = [self._row(change) for change in changes]
        self._recent.extend((commit_ts, message) for message in messages)
        return messages

    def _change(self, table: _Table, commit_ts: int, touched: set[tuple[str, str]]) -> Change | None:
        operation = self._random.choice("IIUUUD") if table.rows else "I"
        key = str(table.next_key) if operation == "I" else self._random.choice(list(table.rows))
        if (table.name, key) in touched:
            return None
        touched.add((table.name, key))
        commit_ts = self._stamp(commit_ts)
        table.version = table.version or commit_ts
        before = dict(table.rows[key]) if operation != "I" else None
        after = self._image(table, key) if operation != "D" else None
        if operation == "I":
            table.next_key += 1
        if after is None:
            del table.rows[key]
        else:
            table.rows[key] = after
        change = Change(operation, table.name, key, commit_ts, before, dict(after) if after else None, table.version)
        self.ledger.add(change)
        return change

    def _image(self, table: _Table, key: str) -> Image:
        number = self._random.randrange(10**6)
        values: Image = {
            "id": key,
            "name": f"n{number}",
            "amount": f"{number / 100:.2f}",
            "note": self._random.choice(_TEXTS),
            "colour": self._random.choice((None, "red", "blue")),
            "weight": self._random.choice((None, str(number))),
            "seen_at": self._random.choice((None, "2024-02-29 12:34:56")),
        }
        return {name: values[name] for name in table.columns}

    def _row(self, change: Change) -> Message:
        table = self._tables[change.table]
        data = change.before if change.after is None else change.after
        kind = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}[change.operation]
        text = {
            **_message(SCHEMA, table.name, kind, change.commit_ts),
            "pkNames": ["id"],
            "sqlType": {name: table.columns[name][1] for name in data or ()},
            "mysqlType": {name: table.columns[name][0] for name in data or ()},
            "old": [change.before] if change.operation == "U" else None,
            "data": [data],
        }
        partition = int(change.key) % self.partitions if self.partitions else 0
        return Message(partition, _encoded(text))


def _definition(kind: str) -> str:
    return {"bigint": "BIGINT NOT NULL", "varchar": "VARCHAR(64)", "decimal": "DECIMAL(10,2)"}.get(kind, kind.upper())


def _message(schema: str, table: str, kind: str, commit_ts: int) -> dict[str, Any]:
    return {
        "id": 0,
        "database": schema,
        "table": table,
        "pkNames": None,
        "isDdl": False,
        "type": kind,
        "es": commit_ts >> 18,
        "ts": (commit_ts >> 18) + 3,
        "sql": "",
        "sqlType": None,
        "mysqlType": None,
        "old": None,
        "data": None,
        "_tidb": {"commitTs": commit_ts},
    }


def _encoded(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()
