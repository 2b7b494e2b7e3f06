"""All SQL about what captures tell of a changefeed beside its progress: log lines and statements (DDL)."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from sqlalchemy import Column, Connection, Table, delete, insert, select

from app.tables import ddl_history, log_lines
from spark_jobs.wire import DdlEvent, LogLine

KEPT_LINES: Final = 500
KEPT_STATEMENTS: Final = 1000
LONGEST_LINE: Final = 10_000
LEVELS: Final = ("debug", "info", "warning", "error")


class StoredLine(msgspec.Struct, frozen=True):
    """A line with its place in the order of all lines."""

    seq: int
    line: LogLine


class ReportRepository:
    """Lines and statements within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add_lines(self, uid: int, lines: Sequence[LogLine]) -> None:
        """Appends lines and forgets those beyond the last ``KEPT_LINES``."""
        rows = [
            {
                "uid": uid,
                "line": line.text[:LONGEST_LINE].replace("\0", "\\0"),  # NUL: not in PostgreSQL
                "time_ms": line.time_ms,
                "level": line.level if line.level in LEVELS else "info",
                "kind": line.kind[:16],
            }
            for line in lines[-KEPT_LINES:]
        ]
        self._connection.execute(insert(log_lines), rows)
        self._forget(log_lines, log_lines.c.seq, log_lines.c.uid, uid, KEPT_LINES)

    def lines(
        self, uid: int, limit: int, *, after: int = 0, since_ms: int = 0, level: str = "debug", kind: str = ""
    ) -> list[StoredLine]:
        """The last ``limit`` lines of that level or a graver one, the oldest first."""
        c = log_lines.c
        query = select(c.seq, c.line, c.time_ms, c.level, c.kind).where(c.uid == uid, c.seq > after)
        if since_ms:
            query = query.where(c.time_ms >= since_ms)
        if level != "debug":
            query = query.where(c.level.in_(LEVELS[LEVELS.index(level) :]))
        if kind:
            query = query.where(c.kind == kind)
        rows = self._connection.execute(query.order_by(c.seq.desc()).limit(limit)).all()
        return [
            StoredLine(
                row.seq,
                LogLine(text=row.line, time_ms=row.time_ms or 0, level=row.level or "info", kind=row.kind or "log"),
            )
            for row in reversed(rows)
        ]

    def add_statements(self, uid: int, events: Iterable[DdlEvent]) -> None:
        """Appends statements and forgets those beyond the last ``KEPT_STATEMENTS``."""
        self._connection.execute(insert(ddl_history), [{"uid": uid, "event": event} for event in events])
        self._forget(ddl_history, ddl_history.c.seq, ddl_history.c.uid, uid, KEPT_STATEMENTS)

    def statements(self, uid: int, limit: int) -> list[DdlEvent]:
        """The last ``limit`` statements, the oldest first."""
        c = ddl_history.c
        query = select(c.event).where(c.uid == uid).order_by(c.seq.desc()).limit(limit)
        return list(reversed(self._connection.scalars(query).all()))

    def delete(self, uid: int) -> None:
        """Forgets everything about a changefeed."""
        self._connection.execute(delete(log_lines).where(log_lines.c.uid == uid))
        self._connection.execute(delete(ddl_history).where(ddl_history.c.uid == uid))

    def _forget(self, table: Table, seq: Column[int], owner: Column[int], uid: int, kept: int) -> None:
        last = self._connection.scalar(select(seq).where(owner == uid).order_by(seq.desc()).offset(kept - 1).limit(1))
        if last is not None:
            self._connection.execute(delete(table).where(owner == uid, seq < last))
