"""All SQL about ``leftovers``."""

import msgspec
from sqlalchemy import Connection, delete, insert, select

from app.changefeeds.record import DEFAULT_KEYSPACE, Changefeed
from app.tables import changefeeds, history, leftovers


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """One life of a changefeed that is over. ``output``: its sink, masked; what lies there is never touched."""

    uid: int
    keyspace: str
    name: str
    created_ms: int
    removed_ms: int
    output: str

    @property
    def wire_id(self) -> str:
        return self.name if self.keyspace == DEFAULT_KEYSPACE else f"{self.keyspace}.{self.name}"


class LeftoverRepository:
    """Leftovers within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, feed: Changefeed, output: str, now_ms: int) -> None:
        """Remembers a changefeed that is deleted now."""
        values = {"created_ms": feed.created_ms, "removed_ms": now_ms, "output": output}
        self._connection.execute(
            insert(leftovers).values(uid=feed.uid, keyspace=feed.keyspace, name=feed.name, **values)
        )

    def all(self) -> list[Leftover]:
        rows = self._connection.execute(select(leftovers).order_by(leftovers.c.removed_ms, leftovers.c.uid))
        return [Leftover(**row._mapping) for row in rows]

    def get(self, uid: int) -> Leftover | None:
        row = self._connection.execute(select(leftovers).where(leftovers.c.uid == uid)).first()
        return None if row is None else Leftover(**row._mapping)

    def forget(self, left: Leftover) -> None:
        """Deletes the row, and its history unless a changefeed of that name goes on with it."""
        self._connection.execute(delete(leftovers).where(leftovers.c.uid == left.uid))
        named = select(changefeeds.c.uid).where(
            changefeeds.c.keyspace == left.keyspace, changefeeds.c.name == left.name
        )
        if self._connection.execute(named).first() is None:
            c = history.c
            gone = (c.keyspace == left.keyspace, c.name == left.name, c.time_ms <= left.removed_ms)
            self._connection.execute(delete(history).where(*gone))
