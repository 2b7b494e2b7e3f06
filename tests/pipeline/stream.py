"""A stream of changes, written in any protocol by its own encoder, and what a pipeline must make of it.

``expected`` is the contract in a few lines, apart from the pipeline's code: every message opened in order, times that
are not told made up as contract §5 says, halves joined, what cannot be written left out with its whole message.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from spark_jobs.cdc.codec import Encoder
from spark_jobs.cdc.codecs import CODECS
from spark_jobs.cdc.ddl.effects import named
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import (
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Event,
    Heartbeat,
    Row,
    RowChange,
    TableSchema,
    TransactionMark,
    Watermark,
)
from spark_jobs.cdc.rows.halves import HalfJoiner

SCHEMA = "shop"
BEGIN_MS = 1_714_564_800_000
"""2024-05-01 12:00 UTC."""
Table = tuple[str, str]
NOTES = (None, "", "plain", 'with "quotes", commas', "line\nfeed\r\n", "żółć 東京 😀", "back\\slash\ttab")
COLUMNS = (
    Column("id", ColumnType("bigint", length=20), is_key=True, nullable=False),
    Column("mark", ColumnType("varchar", length=32), nullable=True),
    Column("qty", ColumnType("int", unsigned=True, length=10), nullable=True),
    Column("price", ColumnType("decimal", length=10, scale=2), nullable=True),
    Column("note", ColumnType("text"), nullable=True),
    Column("at", ColumnType("datetime"), nullable=True),
)
ADDED = Column("colour", ColumnType("varchar", length=16), nullable=True)
_DEFINITIONS = (
    "`id` BIGINT NOT NULL",
    "`mark` VARCHAR(32)",
    "`qty` INT UNSIGNED",
    "`price` DECIMAL(10,2)",
    "`note` TEXT",
    "`at` DATETIME",
)


class Stream:
    """Events of tables whose names begin with ``family``, in commit order, from a seed. ``slot``: of the three in which
    a step's time may lie, so that streams beside each other have times of their own."""

    def __init__(self, seed: int, family: str = "a", slot: int = 0) -> None:
        self.events: list[Event] = []
        self._random = random.Random(seed)
        self._family = family
        self._ms = BEGIN_MS + 3 * slot
        self._marks = self._keys = 0
        self._watermarks = False
        self._tables: dict[str, TableSchema] = {}
        self._rows: dict[str, dict[int, Row]] = {}

    def tell(self, transactions: int = 4, *, watermarks: bool = False) -> "Stream":
        """The usual life of some tables."""
        self._watermarks = watermarks
        self.create("orders")
        self.create("items")
        self.begin("users")  # which no statement told of
        self.transactions(transactions)
        self.alter("orders")
        self.transactions(transactions)
        self.truncate("items")
        self.transactions(transactions)
        self.rename("items", "things")
        self.transactions(transactions)
        self.drop("users")
        self.transactions(transactions)
        return self

    def begin(self, name: str) -> None:
        """A table is there."""
        self._tables[name] = TableSchema(SCHEMA, f"{self._family}_{name}", COLUMNS)
        self._rows[name] = {}

    def create(self, name: str) -> None:
        self.begin(name)
        columns = ",".join((*_DEFINITIONS, "PRIMARY KEY(`id`)"))
        self.statement(name, f"CREATE TABLE `{self._family}_{name}` ({columns})", "CREATE")

    def alter(self, name: str) -> None:
        table = self._tables[name]
        self.statement(name, f"ALTER TABLE `{table.table}` ADD COLUMN `colour` VARCHAR(16)", "ALTER")
        self._tables[name] = replace(table, columns=(*table.columns, ADDED))
        self._rows[name] = {key: (*row, None) for key, row in self._rows[name].items()}

    def truncate(self, name: str) -> None:
        self.statement(name, f"TRUNCATE TABLE `{self._family}_{name}`", "TRUNCATE")
        self._rows[name] = {}

    def rename(self, name: str, to: str) -> None:
        self.statement(name, f"RENAME TABLE `{self._family}_{name}` TO `{self._family}_{to}`", "RENAME")
        self._tables[to] = replace(self._tables.pop(name), table=f"{self._family}_{to}")
        self._rows[to] = self._rows.pop(name)

    def drop(self, name: str) -> None:
        self.statement(name, f"DROP TABLE `{self._family}_{name}`", "ERASE")
        del self._tables[name], self._rows[name]

    def statement(self, name: str, query: str, kind: str) -> None:
        ts = self._tick()
        self.events.append(
            Ddl(
                schema=SCHEMA,
                table=f"{self._family}_{name}",
                query=query,
                canal_type=kind,
                commit_ts=ts,
                es_ms=ts >> 18,
                ts_ms=(ts >> 18) + 2,
            )
        )

    def transactions(self, count: int) -> None:
        """Each over several tables, with its marks."""
        for _ in range(count):
            ts = self._tick()
            ms = ts >> 18
            touched: set[tuple[str, int]] = set()
            rows = [self._change(ts, touched) for _ in range(self._random.choice((1, 2, 5)))]
            self.events.append(TransactionMark(kind="BEGIN", commit_ts=ts, es_ms=ms, ts_ms=ms + 2))
            self.events += [change for change in rows if change is not None]
            end = TransactionMark(kind="END", transaction_id=str(ts), commit_ts=ts, es_ms=ms, ts_ms=ms + 2)
            self.events.append(end)
        if self._watermarks:
            self.events.append(Watermark(watermark_ts=self._ms << 18, es_ms=self._ms, ts_ms=self._ms))

    def _tick(self) -> int:
        self._ms += 9
        return self._ms << 18

    def _change(self, ts: int, touched: set[tuple[str, int]]) -> RowChange | None:
        name = self._random.choice(list(self._tables))
        rows, table = self._rows[name], self._tables[name]
        kind = self._random.choice((INSERT, INSERT, UPDATE, UPDATE, DELETE)) if rows else INSERT
        self._keys += 1
        key = self._random.choice(list(rows)) if kind is not INSERT else self._keys
        if (name, key) in touched:
            return None
        touched.add((name, key))
        before = rows.pop(key, None) if kind is not INSERT else None
        after = self._row(key, len(table.columns)) if kind is not DELETE else None
        if after is not None:
            rows[key] = after
        return RowChange(kind, table, before, after, ts, ts >> 18, (ts >> 18) + 2)

    def _row(self, key: int, columns: int) -> Row:
        self._marks += 1
        chance = self._random
        row: Row = (
            key,
            f"{self._family}{self._marks:05d}",
            chance.choice((None, 0, 7, 4_294_967_295)),
            chance.choice((None, "0.00", "-12.50", "99999999.99")),
            chance.choice(NOTES),
            chance.choice((None, "2024-02-29 13:14:15")),
            chance.choice((None, "red")),
        )
        return row[:columns]


def encoder_of(protocol: str, options: Mapping[str, str]) -> Encoder:
    make = CODECS[protocol].encoder
    assert make is not None
    return make(options)


def written(protocol: str, options: Mapping[str, str], events: Sequence[Event]) -> list[bytes]:
    """The messages of events, by the protocol's own encoder."""
    encoder = encoder_of(protocol, options)
    return [message for event in events for message in encoder.encode(event)] + [*encoder.flush()]


class Item(NamedTuple):
    """Rows of one table in one message, or a statement, as it must come out. ``key``: what it is sorted by."""

    key: int
    is_ddl: bool
    partition: int
    offset: int
    commit_ts: int
    rows: tuple[RowChange, ...]
    ddl: Ddl | None = None

    @property
    def tables(self) -> set[Table]:
        """Whose rows these are, or which tables the statement separates."""
        return {(row.table.schema, row.table.table) for row in self.rows} or named(self.ddl)  # type: ignore[arg-type]


class Expected(NamedTuple):
    """``items`` in the order of one batch over everything; ``dead``: (partition, offset) of what cannot be written."""

    items: list[Item]
    dead: list[tuple[int, int]]

    def of_table(self, table: Table) -> list[Item]:
        return [item for item in self.items if table in item.tables]

    @property
    def tables(self) -> list[Table]:
        """Those that have rows."""
        return sorted({table for item in self.items if item.rows for table in item.tables})


def expected(protocol: str, strands: Sequence[Sequence[bytes]], to: str, options: Mapping[str, str]) -> Expected:
    """What must come out of the messages of each strand where nothing waits for watermarks."""
    target = encoder_of(to, options) if to else None
    found = Expected([], [])
    for partition, messages in enumerate(strands):
        key = 0
        for offset, items in _opened(protocol, messages):
            if target is not None and not _can_be_written(target, items):
                found.dead.append((partition, offset))
                continue
            for commit_ts, rows, ddl in items:
                key = max(key, commit_ts)
                found.items.append(Item(key, ddl is not None, partition, offset, commit_ts, rows, ddl))
                key += ddl is not None
    found.items.sort(key=lambda item: item[:4])
    return found


_Opened = tuple[int, tuple[RowChange, ...], Ddl | None]


def _opened(protocol: str, messages: Sequence[bytes]) -> Iterator[tuple[int, list[_Opened]]]:
    """(offset, what the message holds), with commit-ts made up where none is told."""
    make = CODECS[protocol].opener
    assert make is not None
    opener = make({})
    joiner = HalfJoiner()
    waiting: list[tuple[int, int]] = []
    last = 0
    for offset, message in enumerate(messages):
        began = False
        items: list[_Opened] = []
        for opened in opener.open(message):
            if isinstance(opened, TransactionMark):
                began = False
            elif not isinstance(opened, Watermark | Heartbeat):
                is_ddl = isinstance(opened, Ddl)
                if opened.commit_ts:
                    last = max(last, opened.commit_ts)
                elif is_ddl or not began:
                    last = max(opened.es_ms << 18, last + 1)
                    began = not is_ddl
                ts = opened.commit_ts or last
                if isinstance(opened, Ddl):
                    items.append((ts, (), replace(opened, commit_ts=ts)))
                else:
                    items.append((ts, tuple(replace(row, commit_ts=ts) for row in opened.changes()), None))
        if not opener.halves:
            if items:
                yield offset, items
            continue
        for event in (event for _, rows, ddl in items for event in (rows or (ddl,))):
            assert event is not None
            free = joiner.add(event)
            if joiner.joined_at < 0:
                waiting.append((offset, event.commit_ts))
            for one in free:
                at, ts = waiting.pop(0)
                one = replace(one, commit_ts=ts)
                yield at, [(ts, (), one) if isinstance(one, Ddl) else (ts, (one,), None)]  # type: ignore[list-item]


def _can_be_written(target: Encoder, items: Sequence[_Opened]) -> bool:
    try:
        for _, rows, _ in items:
            for row in rows:
                target.encode(row)
            target.flush()
    except EncodeError:
        target.flush()
        return False
    return True


def messages_of(target: Encoder, item: Item) -> list[bytes]:
    """What the item is in a format."""
    events: Sequence[Event] = item.rows or (item.ddl,)  # type: ignore[assignment]
    return [message for event in events for message in target.encode(event)] + [*target.flush()]
