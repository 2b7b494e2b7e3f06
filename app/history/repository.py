"""All SQL about ``history``."""

import msgspec
from sqlalchemy import Connection, insert, select

from app.changefeeds.record import Changefeed, RunningError
from app.tables import history


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of history. ``who``: a user, a capture or ``weir``; ``what``: create, pause, fault, …"""

    time_ms: int
    who: str
    what: str
    from_state: str
    to_state: str
    detail: str = ""
    error: RunningError | None = None


class HistoryRepository:
    """Lines of history, by the changefeed's name: they outlive it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, feed: Changefeed, entry: Entry) -> None:
        values = msgspec.structs.asdict(entry)
        values["who"] = entry.who[:255]
        self._connection.execute(insert(history).values(keyspace=feed.keyspace, name=feed.name, **values))

    def of(self, keyspace: str, name: str, limit: int) -> list[Entry]:
        """The last ``limit`` entries, the oldest first."""
        columns = [history.c[name] for name in Entry.__struct_fields__]
        query = select(*columns).where(history.c.keyspace == keyspace, history.c.name == name)
        rows = self._connection.execute(query.order_by(history.c.seq.desc()).limit(limit)).all()
        return [Entry(**row._mapping) for row in reversed(rows)]

    def is_empty(self) -> bool:
        return self._connection.execute(select(history.c.seq).limit(1)).first() is None
