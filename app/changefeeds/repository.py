"""All SQL about changefeeds and their progress."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from app.changefeeds.record import Changefeed, Job, State
from app.changefeeds.reports import ReportRepository
from app.errors import Conflict
from app.plan import FeedView
from app.sealing import Seal
from app.tables import changefeeds, table_progress
from spark_jobs.wire import TableProgress

_SEALED: Final = ("source_uri", "sink_uri", "replica_config")
# Columns of a later version: empty in rows that are older.
_LATER: Final = frozenset({"description", "labels", "signs", "wanted_capture", "orders"})
_COLUMNS: Final = [changefeeds.c[name] for name in Changefeed.__struct_fields__]
_PLAIN: Final = [column for column in _COLUMNS if column.name not in _SEALED]


class ChangefeedRepository:
    """Changefeeds within one transaction. ``lock=True`` in a transaction that means to save what it read.

    Rows are locked by their uid, the smallest first, and by nothing else: MariaDB also locks the index that a row is
    found by, and two transactions that find one row by different indexes would wait for each other.
    """

    def __init__(self, connection: Connection, seal: Seal) -> None:
        self._connection = connection
        self._seal = seal

    def by_name(self, keyspace: str, name: str, *, lock: bool = False) -> Changefeed | None:
        named = (changefeeds.c.keyspace == keyspace, changefeeds.c.name == name)
        if not lock:
            return self._one(select(*_COLUMNS).where(*named), lock)
        uid = self._connection.scalar(select(changefeeds.c.uid).where(*named))
        return None if uid is None else self.by_uid(uid, lock=True)

    def by_uid(self, uid: int, *, lock: bool = False) -> Changefeed | None:
        return self._one(select(*_COLUMNS).where(changefeeds.c.uid == uid), lock)

    def of_capture(self, capture_id: str, *, lock: bool = False) -> list[Changefeed]:
        c = changefeeds.c
        if not lock:
            return self._all(select(*_COLUMNS).where(c.capture_id == capture_id).order_by(c.uid))
        uids = self._connection.scalars(select(c.uid).where(c.capture_id == capture_id)).all()
        locked = self._all(select(*_COLUMNS).where(c.uid.in_(uids)).order_by(c.uid).with_for_update())
        return [feed for feed in locked if feed.capture_id == capture_id]

    def all(self, keyspace: str | None = None) -> list[Changefeed]:
        query = select(*_COLUMNS).order_by(changefeeds.c.keyspace, changefeeds.c.name)
        return self._all(query if keyspace is None else query.where(changefeeds.c.keyspace == keyspace))

    def summaries(self, keyspace: str | None = None) -> list[Changefeed]:
        """The same without URIs and configuration (""): to open what is sealed takes longer than everything else."""
        query = select(*_PLAIN).order_by(changefeeds.c.keyspace, changefeeds.c.name)
        rows = self._connection.execute(query if keyspace is None else query.where(changefeeds.c.keyspace == keyspace))
        return [_struct(dict(row._mapping) | dict.fromkeys(_SEALED, "")) for row in rows]

    def made_after(self, uid: int) -> list[Changefeed]:
        """Those that were created after the one with that uid."""
        return self._all(select(*_COLUMNS).where(changefeeds.c.uid > uid).order_by(changefeeds.c.uid))

    def views(self) -> list[FeedView]:
        """What planning needs of every changefeed, in the order they were made."""
        c = changefeeds.c
        asked = select(c.uid, c.state, c.epoch, c.capture_id, c.retry, c.assigned_ms, c.releasing_ms, c.wanted_capture)
        rows = self._connection.execute(asked.order_by(c.uid))
        return [
            FeedView(
                uid=row.uid,
                state=State(row.state),
                epoch=row.epoch,
                capture_id=row.capture_id,
                next_at_ms=row.retry.next_at_ms,
                assigned_ms=row.assigned_ms,
                moving=bool(row.releasing_ms),
                wanted_capture=row.wanted_capture or "",
            )
            for row in rows
        ]

    def holder(self, uid: int) -> tuple[str, int] | None:
        """Who may run it under which epoch; None when it is no more."""
        row = self._connection.execute(
            select(changefeeds.c.capture_id, changefeeds.c.epoch).where(changefeeds.c.uid == uid)
        ).first()
        return None if row is None else (row.capture_id, row.epoch)

    def count_using_upstream(self, upstream_id: int) -> int:
        query = select(func.count()).select_from(changefeeds).where(changefeeds.c.upstream_id == upstream_id)
        return self._connection.scalar(query) or 0

    def add(self, feed: Changefeed) -> Changefeed:
        """Stores a new changefeed; the caller has made sure that the name is free."""
        values = self._row(feed)
        del values["uid"]
        result = self._connection.execute(insert(changefeeds).values(values))
        assert result.inserted_primary_key is not None
        return msgspec.structs.replace(feed, uid=result.inserted_primary_key[0])

    def save(self, before: Changefeed, after: Changefeed) -> Changefeed:
        """Stores what differs, if nobody else has changed the row since ``before`` was read."""
        old, new = self._fields(before), self._fields(after)
        changed = {name: value for name, value in new.items() if old[name] != value}
        if not changed:
            return before
        revision = before.revision + 1
        changed |= {name: self._seal.close(changed[name]) for name in _SEALED if name in changed}
        result = self._connection.execute(
            update(changefeeds)
            .where(changefeeds.c.uid == before.uid, changefeeds.c.revision == before.revision)
            .values(changed | {"revision": revision})
        )
        if result.rowcount != 1:
            raise Conflict(f"changefeed {before.name} was changed by somebody else just now; try again")
        return msgspec.structs.replace(after, revision=revision)

    def delete(self, feed: Changefeed) -> None:
        """Deletes the changefeed and all that it reported."""
        self._connection.execute(delete(table_progress).where(table_progress.c.uid == feed.uid))
        ReportRepository(self._connection).delete(feed.uid)
        self._connection.execute(delete(changefeeds).where(changefeeds.c.uid == feed.uid))

    def tables(self, uid: int) -> list[TableProgress]:
        stored = self._connection.scalar(select(table_progress.c.tables).where(table_progress.c.uid == uid))
        return msgspec.json.decode(stored, type=list[TableProgress]) if stored else []

    def save_tables(self, uid: int, tables: Sequence[TableProgress]) -> None:
        encoded = msgspec.json.encode(tables)
        result = self._connection.execute(
            update(table_progress).where(table_progress.c.uid == uid).values(tables=encoded)
        )
        if result.rowcount == 0:
            self._connection.execute(insert(table_progress).values(uid=uid, tables=encoded))

    def _one(self, query: Select[Any], lock: bool) -> Changefeed | None:
        row = self._connection.execute(query.with_for_update() if lock else query).first()
        return None if row is None else self._record(row)

    def _all(self, query: Select[Any]) -> list[Changefeed]:
        return [self._record(row) for row in self._connection.execute(query)]

    def _record(self, row: Row[Any]) -> Changefeed:
        values = dict(row._mapping)
        return _struct(values | {name: self._seal.open(values[name]) for name in _SEALED})

    def _row(self, feed: Changefeed) -> dict[str, Any]:
        values = self._fields(feed)
        return values | {name: self._seal.close(values[name]) for name in _SEALED}

    @staticmethod
    def _fields(feed: Changefeed) -> dict[str, Any]:
        return msgspec.structs.asdict(feed) | {"state": feed.state.value, "job": feed.job.value}


def _struct(values: dict[str, Any]) -> Changefeed:
    known = {name: value for name, value in values.items() if value is not None or name not in _LATER}
    return Changefeed(**known | {"state": State(known["state"]), "job": Job(known["job"])})
