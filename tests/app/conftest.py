"""A control plane on a real database, served by a real server on a free port."""

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from app.api import make_api
from app.context import Context
from app.database import Database
from app.owner.loop import Owner
from app.sealing import Seal
from app.settings import Settings
from app.times import now_ms
from tests.app.twin import CaptureTwin
from tests.servers import mariadb as mariadb_server
from tests.servers import postgres as postgres_server
from tests.servers.ports import free_port

SECRET_KEY = "a key that only tests use"


class Clock:
    """The wall clock, moved ahead on demand."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def __call__(self) -> int:
        return now_ms() + self.ahead_ms

    def advance(self, seconds: float) -> None:
        self.ahead_ms += int(seconds * 1000)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    reason = postgres_server.missing()
    if reason:
        pytest.skip(reason)
    with postgres_server.postgres() as url:
        yield url


@pytest.fixture
def fresh_postgres(postgres_url: str) -> Iterator[str]:
    """A new, empty database on the session's server."""
    name = f"weir_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield make_url(postgres_url).set(drivername="postgresql+psycopg", database=name).render_as_string()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    reason = mariadb_server.missing()
    if reason:
        pytest.skip(reason)
    with mariadb_server.mariadb() as url:
        yield url


@pytest.fixture
def fresh_mariadb(mariadb_url: str) -> Iterator[str]:
    """A new, empty database on the session's server."""
    name = f"weir_{uuid.uuid4().hex}"
    engine = create_engine(mariadb_url)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield make_url(mariadb_url).set(database=name).render_as_string()
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name}")
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/home/weir.db"
    fixture = {"postgresql": "fresh_postgres", "mariadb": "fresh_mariadb"}[request.param]
    url: str = request.getfixturevalue(fixture)
    return url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/home/weir.db")
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def store(sqlite: Database) -> Database:
    """The database of ``context``; a module may put another in its place."""
    return sqlite


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make_context(database: Database, home: Path, clock: Callable[[], int], **settings: Any) -> Context:
    given: dict[str, Any] = {"_env_file": None, "home": home, "database_url": database.url, "captures": 0}
    return Context(
        settings=Settings(**given | settings),
        database=database,
        seal=Seal(SECRET_KEY),
        node_id=str(uuid.uuid4()),
        clock_ms=clock,
        stop_seconds=5,
    )


@pytest.fixture
def context(store: Database, tmp_path: Path, clock: Clock) -> Context:
    """One replica."""
    return make_context(store, tmp_path / "home", clock)


@contextlib.contextmanager
def serving() -> Iterator[tuple[FastAPI, str]]:
    """A real server on a free port; the replica behind it is set by ``application.state.context``."""
    application = make_api(None)  # type: ignore[arg-type]
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(application, port=port, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        thread.join(0.005)
    yield application, f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[FastAPI, str]]:
    with serving() as running:
        yield running


@pytest.fixture
def api(server: tuple[FastAPI, str], context: Context) -> Iterator[httpx.Client]:
    """A client of a replica that does not own: nothing happens by itself."""
    application, url = server
    application.state.context = context
    with httpx.Client(base_url=url, timeout=30) as client:
        yield client


@pytest.fixture
def owner(context: Context) -> Iterator[Owner]:
    """The owner's loop of that replica, running."""
    owner = Owner(context)
    owner.start()
    yield owner
    owner.stop()


@pytest.fixture
def twin(api: httpx.Client) -> Iterator[CaptureTwin]:
    """A capture that speaks the wire protocol by hand."""
    with contextlib.closing(CaptureTwin(str(api.base_url))) as twin:
        yield twin


@pytest.fixture
def order(tmp_path: Path):
    """The body that creates a changefeed between two folders."""
    (tmp_path / "in").mkdir()

    def make(name: str = "orders", **changes: object) -> dict[str, object]:
        return {
            "changefeed_id": name,
            "source_uri": f"file://{tmp_path}/in?protocol=canal-json",
            "sink_uri": f"file://{tmp_path}/out-{name}?protocol=csv",
        } | changes

    return make
