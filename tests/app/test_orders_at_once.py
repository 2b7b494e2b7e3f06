"""Orders that come at the same moment, on each kind of database. The first wins; the others are told why not."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import create_engine

from app.database import Database
from app.owner.loop import Owner
from tests.app.calls import create
from tests.app.twin import CaptureTwin

MANY = 12


@pytest.fixture
def store(database):
    return database


def at_once(send):
    """The replies to ``send(0)``, ``send(1)`` …, sent together."""
    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(send, range(MANY)))


def codes(replies):
    return sorted(reply.json().get("error_code", "") for reply in replies)


def test_one_of_many_gets_an_id(api, order, tmp_path):
    bodies = [order(sink_uri=f"file://{tmp_path}/out-{number}?protocol=csv") for number in range(MANY)]
    replies = at_once(lambda number: api.post("/api/v2/changefeeds", json=bodies[number]))
    assert codes(replies) == ["", *["CDC:ErrChangeFeedAlreadyExists"] * (MANY - 1)]


def test_one_of_many_gets_a_folder(api, order, tmp_path):
    shared = f"file://{tmp_path}/shared?protocol=csv"
    replies = at_once(lambda number: api.post("/api/v2/changefeeds", json=order(f"f{number}", sink_uri=shared)))
    assert codes(replies) == ["", *["CDC:ErrSinkFolderNotEmpty"] * (MANY - 1)]


def test_one_of_many_gets_the_name_of_an_upstream(api, order):
    body = {"name": "shop", "source_uri": order()["source_uri"]}
    replies = at_once(lambda number: api.post("/api/v2/upstreams", json=body))
    assert codes(replies) == ["", *["CDC:ErrAPIInvalidParam"] * (MANY - 1)]


def test_of_many_default_upstreams_one_stays_the_default(api, order):
    source = order()["source_uri"]
    bodies = [{"name": f"u{number}", "source_uri": source, "default": True} for number in range(MANY)]
    assert codes(at_once(lambda number: api.post("/api/v2/upstreams", json=bodies[number]))) == [""] * MANY
    assert sum(item["default"] for item in api.get("/api/v2/upstreams").json()["items"]) == 1


def test_a_changefeed_stands_in_one_state_after_many_orders(api, order):
    create(api, order())
    calls = [("POST", "/pause"), ("POST", "/resume"), ("DELETE", "")]
    replies = at_once(lambda number: api.request(*_call(*calls[number % 3])))
    assert {reply.status_code for reply in replies} <= {200, 400}
    assert api.get("/api/v2/changefeeds", params={"state": "all"}).json()["total"] == 0


def _call(method, path):
    return method, f"/api/v2/changefeeds/orders{path}"


@pytest.mark.parametrize("path", ["", "/history", "/status"])
def test_an_id_that_no_database_can_hold_is_absent(api, path):
    assert api.get(f"/api/v2/changefeeds/a%00b{path}").json()["error_code"] == "CDC:ErrChangeFeedNotExists"


def test_a_name_that_cannot_be_shown_is_refused(api, order):
    reply = api.post("/api/v2/upstreams", json={"name": "a\0b", "source_uri": order()["source_uri"]})
    assert reply.json()["error_code"] == "CDC:ErrAPIInvalidParam"


def test_captures_of_a_clock_that_was_set_back_live_on_or_are_lost_soon(api, order, context, clock):
    create(api, order())
    owner = Owner(context)
    clock.advance(3600)
    gone = CaptureTwin(str(api.base_url))
    assert owner.tick()
    clock.advance(-3600)
    assert owner.tick(), "it renews its own lease"
    alive = CaptureTwin(str(api.base_url))
    clock.advance(7)
    alive.beat()
    assert owner.tick()
    assert [item["id"] for item in api.get("/api/v2/captures").json()["items"]] == [alive.capture_id]
    assert [assignment.changefeed_id for assignment in alive.beat().assignments] == ["orders"]
    for twin in (gone, alive):
        twin.close()


def test_having_no_connection_free_is_no_fault_of_weir(api, context):
    narrow = Database(context.database.url)
    narrow.engine = create_engine(context.database.url, pool_size=1, max_overflow=0, pool_timeout=0.05)
    object.__setattr__(context, "database", narrow)
    with narrow.engine.connect():
        reply = api.get("/api/v2/changefeeds")
    assert (reply.status_code, reply.json()["error_code"]) == (503, "CDC:ErrServerIsNotReady")
    narrow.close()
