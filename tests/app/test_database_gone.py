"""A database that goes away for a while: everybody is told, nothing else breaks, and all goes on when it is back."""

import psycopg
import pytest
from sqlalchemy.engine import make_url

from app.database import Database
from app.owner.loop import Owner
from tests.app.calls import create


@pytest.fixture
def store(fresh_postgres):
    database = Database(fresh_postgres)
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def reachable(store, postgres_url):
    """Lets the database go (False) and come back (True)."""
    name = make_url(store.url).database

    def set_it(on):
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS {on}')
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

    yield set_it
    set_it(True)


CALLS = ["/readyz", "/api/v2/health", "/api/v2/status", "/api/v2/changefeeds", "/api/v2/changefeeds/orders", "/metrics"]


def test_a_database_that_is_gone_is_said_and_all_goes_on_when_it_is_back(api, context, order, reachable):
    owner = Owner(context)
    owner.start()
    create(api, order())
    reachable(False)
    for path in CALLS:
        reply = api.get(path)
        assert (reply.status_code, reply.json()["error_code"]) == (503, "CDC:ErrServerIsNotReady"), path
        assert "the database does not answer" in reply.json()["error_msg"]
    assert api.post("/api/v2/changefeeds", json=order("late")).status_code == 503
    assert api.get("/livez").status_code == 200
    reachable(True)
    create(api, order("late"))
    assert [item["id"] for item in api.get("/api/v2/changefeeds").json()["items"]] == ["late", "orders"]
    owner.tick()
    assert api.get("/readyz").status_code == 200
    owner.stop()


def test_a_value_that_the_database_cannot_hold_is_the_callers_fault(api):
    body = {"capture_id": "x" * 129, "address": "127.0.0.1:1", "pid": 1, "version": "0.1.0"}
    reply = api.post("/internal/v1/captures", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (400, "CDC:ErrAPIInvalidParam")
    assert "too long" in reply.json()["error_msg"]
