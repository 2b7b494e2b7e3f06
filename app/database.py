"""The database: engine, migrations, and the only place that begins and commits a transaction.

``read()`` and ``write()`` are short: no network, no file, no waiting inside. On SQLite a write begins with BEGIN
IMMEDIATE, so that two writers queue at its start instead of failing at its end; elsewhere rows that are read to be
changed are locked (``FOR UPDATE``).
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import alembic.command
import alembic.config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from app.tables import facts

_BUSY_SECONDS: Final = 15
_CONNECT_SECONDS: Final = 10
DEFINITIONS: Final = "definitions"
"""The fact that whoever writes definitions locks; the first migration puts it there."""
_MIGRATIONS: Final = Path(__file__).resolve().parent.parent / "migrations"


class Database:
    """One engine. Thread-safe; every transaction is on a connection of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _sqlite_engine(url) if url.startswith("sqlite") else _server_engine(url)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that changes something; committed at the end, rolled back by an exception."""
        with self.engine.connect().execution_options(immediate=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def write_definitions(self) -> Iterator[Connection]:
        """A ``write`` that waits for every other of its kind: for rules over many rows, such as "only one default"."""
        with self.write() as connection:
            connection.execute(select(facts.c.name).where(facts.c.name == DEFINITIONS).with_for_update())
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    def migrate(self, revision: str = "head") -> None:
        """Brings the tables to ``revision`` (``base``: takes them all away)."""
        config = self._alembic()
        if revision == "base":
            alembic.command.downgrade(config, revision)
        else:
            alembic.command.upgrade(config, revision)

    def at_head(self) -> bool:
        """Whether the tables are those of this version. Raises when the database cannot be reached."""
        heads = set(ScriptDirectory.from_config(self._alembic()).get_heads())
        with self.read() as connection:
            return set(MigrationContext.configure(connection).get_current_heads()) == heads

    def close(self) -> None:
        self.engine.dispose()

    def _alembic(self) -> alembic.config.Config:
        config = alembic.config.Config()
        config.set_main_option("script_location", str(_MIGRATIONS))
        config.attributes["engine"] = self.engine
        return config


def reason_of(error: Exception) -> str:
    """The first line of what the driver says, without the statement and its values."""
    said = str(error.orig if isinstance(error, DBAPIError) and error.orig else error).splitlines()
    return said[0] if said else type(error).__name__


def _server_engine(url: str) -> Engine:
    # READ COMMITTED everywhere: MySQL's default would show a locked row as it was before the lock was had.
    return create_engine(
        url,
        connect_args={"connect_timeout": _CONNECT_SECONDS},
        pool_pre_ping=True,
        pool_size=10,
        max_overflow=20,
        isolation_level="READ COMMITTED",
    )


def _sqlite_engine(url: str) -> Engine:
    path = make_url(url).database
    if path and path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    # As many as there are threads: a heartbeat never waits for a connection.
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS}, pool_size=64)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: object) -> None:
        connection.isolation_level = None  # the driver begins nothing; `_begin` does
        cursor = connection.cursor()
        _write_ahead(cursor)
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get("immediate")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """WAL is for good, once set; setting it fails at once, whatever the timeout, while somebody else does the same."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
