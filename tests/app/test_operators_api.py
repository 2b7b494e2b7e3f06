"""TiCDC's calls for operators and for tables, over HTTP; captures are twins of the wire protocol."""

import contextlib
import json
import logging

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app import logs
from app.owner.loop import Owner
from tests.app.calls import PAST, create, refused
from tests.app.conftest import make_context
from tests.app.test_captures_api import eventually
from tests.app.twin import CaptureTwin

FEED = "/api/v2/changefeeds/orders"


@pytest.fixture
def other(api):
    with contextlib.closing(CaptureTwin(str(api.base_url))) as other:
        yield other


def capture_of(api):
    return api.get(FEED).json().get("capture_id", "")


def test_a_drained_capture_hands_everything_over_and_takes_nothing_new(api, owner, twin, order):
    create(api, order())
    assert eventually(lambda: capture_of(api)) == twin.capture_id
    twin.live()
    refused(api.post(f"/api/v2/captures/{twin.capture_id}/drain"), "ErrSchedulerRequestFailed", "no other capture")
    with contextlib.closing(CaptureTwin(str(api.base_url))) as other:
        other.live()
        reply = api.post(f"/api/v2/captures/{twin.capture_id}/drain")
        assert (reply.status_code, reply.json()) == (202, {"current_table_count": 1})
        eventually(lambda: capture_of(api), lambda name: name == other.capture_id)
        assert api.post(f"/api/v2/captures/{twin.capture_id}/drain").json() == {"current_table_count": 0}
        states = {item["id"]: item["state"] for item in api.get("/api/v2/captures").json()["items"]}
        assert states == {twin.capture_id: "draining", other.capture_id: "live"}
        assert [item["what"] for item in api.get(f"{FEED}/history").json()["items"]] == [
            "create",
            "assign",
            "move",
            "assign",
        ]
        assert api.delete(f"/api/v2/captures/{twin.capture_id}/drain").json() == {}


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_an_unknown_capture_is_an_error(api, order, method):
    refused(api.request(method, "/api/v2/captures/nope/drain"), "ErrCaptureNotExist", "nope")
    create(api, order())
    refused(api.get("/api/v2/processors/orders/nope"), "ErrCaptureNotExist", "nope")
    refused(api.post(f"{FEED}/move_table?tableID=1&targetNodeID=nope"), "ErrCaptureNotExist", "nope")


@pytest.mark.parametrize("call", ["move_table", "move_split_table"])
def test_a_changefeed_moves_to_the_capture_that_an_operator_names(api, owner, twin, order, other, call):
    twin.live()
    other.live()
    create(api, order())
    here = eventually(lambda: capture_of(api))
    there = ({twin.capture_id, other.capture_id} - {here}).pop()
    refused(api.post(f"{FEED}/{call}?tableID=1&targetNodeID={here}"), "ErrSchedulerRequestFailed", "already")
    assert api.post(f"{FEED}/{call}?tableID=1&targetNodeID={there}&mode=0&keyspace=").json() == {}
    eventually(lambda: capture_of(api), lambda name: name == there)


@pytest.mark.parametrize("call", ["split_table_by_region_count", "merge_table"])
def test_nothing_can_be_split(api, order, call):
    create(api, order())
    refused(api.post(f"{FEED}/{call}?tableID=1"), "ErrSchedulerRequestFailed", "split")


def test_a_changefeed_has_its_tables_on_one_capture(api, owner, twin, order):
    create(api, order())
    eventually(lambda: capture_of(api))
    nodes = {"total": 1, "items": [{"node_id": twin.capture_id, "table_ids": []}]}
    assert api.get(f"{FEED}/tables", params={"mode": 0}).json() == nodes
    assert api.get(f"{FEED}/get_dispatcher_count").json() == {"count": 0}
    assert api.get(FEED).json()["task_status"] == [{"capture_id": twin.capture_id, "table_ids": []}]
    assert "task_status" not in api.get(f"{FEED}/meta_info").json()


MESSAGES: list[dict[str, object]] = [
    {"database": "shop", "table": "orders", "type": "INSERT", "data": [{"id": "1"}], "isDdl": False},
    {"database": "shop", "table": "audit", "type": "INSERT", "data": [{"id": "1"}], "isDdl": False},
    {
        "database": "crm",
        "table": "people",
        "type": "CREATE",
        "data": None,
        "isDdl": True,
        "sql": "CREATE TABLE people(id INT)",
    },
]


def message(**changes):
    columns = {"mysqlType": {"id": "int"}, "sqlType": {"id": 4}, "pkNames": ["id"], "old": None, "sql": ""}
    return json.dumps({"id": 0, "es": 1_763_694_000_000, "ts": 1_763_694_000_000} | columns | changes)


@pytest.mark.parametrize("call", ["verify_table", "get_all_tables"])
def test_tables_are_those_that_the_source_shows(api, order, tmp_path, call):
    source = order()["source_uri"]
    (tmp_path / "in" / "a.json").write_text("\n".join([message(**item) for item in MESSAGES] + ["{not json"]))
    body = {
        "source_uri": source,
        "replica_config": {"filter": {"rules": ["shop.*", "!shop.audit"]}},
        "sink_uri": "mysql://x/",
    }

    def names(found):
        return [(item["database_name"], item["table_name"]) for item in found]

    found = api.post(f"/api/v2/{call}", json=body).json()
    assert names(found["all_tables"]) == [("crm", "people"), ("shop", "audit"), ("shop", "orders")]
    assert names(found["eligible_tables"]) == [("shop", "orders")]
    assert "ineligible_tables" not in found
    api.post("/api/v2/upstreams", json={"name": "main", "source_uri": source, "default": True}).raise_for_status()
    assert len(api.post(f"/api/v2/{call}", json={"start_ts": PAST}).json()["all_tables"]) == 3


def test_health_knows_whether_anything_can_run(api, context):
    def unhealthy(word):
        reply = api.get("/api/v2/health")
        assert (reply.status_code, reply.json()["error_code"]) == (503, "CDC:ErrClusterIsUnhealthy")
        assert word in reply.json()["error_msg"]

    assert api.get("/api/v2/health").status_code == 503
    Owner(context).tick()
    unhealthy("no capture is registered")
    assert api.get("/readyz").status_code == 200, "captures register through it"
    with contextlib.closing(CaptureTwin(str(api.base_url))) as twin:
        assert api.get("/api/v2/health").json() == {}
        twin.beat(draining=True)
        unhealthy("every capture is draining")


def test_no_capture_is_a_warning_that_heals_by_itself(api, context, clock, order):
    Owner(context).tick()
    create(api, order())
    clock.advance(20)
    shown = api.get(FEED).json()
    assert (shown["state"], shown["error"]["code"]) == ("warning", "CDC:ErrNoCapture")
    assert shown["conditions"][0]["stage"] == "no capture"
    assert api.get(f"{FEED}/status").json()["last_warning"]["code"] == "CDC:ErrNoCapture"
    assert api.get("/api/v2/changefeeds", params={"state": "warning"}).json()["total"] == 1
    assert 'weir_changefeed_condition{changefeed="orders",code="CDC:ErrNoCapture"' in api.get("/metrics").text
    with contextlib.closing(CaptureTwin(str(api.base_url))) as twin:
        Owner(context).tick()
        (assignment,) = twin.beat().assignments
        twin.beat(twin.report(assignment, stage="source", idle=True, waiting_for="new files"))
        shown = api.get(FEED).json()
        assert (shown["state"], shown["idle"], shown["lag_seconds"]) == ("normal", True, 0.0)
        assert "conditions" not in shown


def test_the_lag_metric_is_there_from_the_creation_on(api, clock, order):
    create(api, order())
    clock.advance(5)
    samples = {family.name: family.samples for family in text_string_to_metric_families(api.get("/metrics").text)}
    assert samples["ticdc_owner_checkpoint_ts_lag"][0].value >= 5
    assert samples["ticdc_owner_checkpoint_ts"] == [], "it was not in 1970"


def test_the_owner_may_be_asked_to_resign(api, context, clock, store, tmp_path):
    first = Owner(context)
    second = Owner(make_context(store, tmp_path / "home", clock))
    assert (first.tick(), second.tick()) == (True, False)
    assert api.post("/api/v2/owner/resign").json() == {}
    clock.advance(2)
    assert (second.tick(), first.tick()) == (True, False)


@pytest.mark.parametrize("level", ["debug", "warn", "error", "INFO"])
def test_the_log_level_can_be_set(api, level):
    try:
        assert api.post("/api/v2/log", json={"log_level": level}).json() == {}
    finally:
        logs.set_level("info")


def test_a_log_level_that_is_none_is_refused_and_none_given_is_info(api):
    refused(api.post("/api/v2/log", json={"log_level": "loud"}), "ErrAPIInvalidParam", "debug, info, warn, error")
    assert api.post("/api/v2/log").json() == {}
    assert logging.getLogger("weir")


def test_secrets_in_logs_cannot_be_shown(api):
    assert api.post("/api/v2/log/redact", json={"redact_info_log": "on"}).json()["current_mode"] == "on"
    refused(api.post("/api/v2/log/redact", json={"redact_info_log": "off"}), "ErrAPIInvalidParam", "stricter")


def test_metadata_is_a_bare_list_of_keys_and_values_without_secrets(api, order):
    config = {"sink": {"kafka_config": {"sasl_password": "hunter2"}}}
    create(api, order(replica_config=config))
    reply = api.get("/api/v2/unsafe/metadata")
    assert "hunter2" not in reply.text
    found = {item["key"]: json.loads(item["value"]) for item in reply.json()}
    assert found["/weir/cdc/default/changefeed/info/orders"]["state"] == "normal"


def test_calls_about_tikv_do_nothing_and_say_so(api):
    lock = api.post("/api/v2/unsafe/resolve_lock", json={"region_id": 1, "ts": PAST}).json()
    point = api.request("DELETE", "/api/v2/unsafe/service_gc_safepoint", json={"id": 7, "pd_addrs": []}).json()
    assert all("no TiKV" in reply["warnings"][0]["message"] for reply in (lock, point))
