"""Updates, secrets, progress calls and upstreams over HTTP."""

import json
from urllib.parse import quote

import pytest

from tests.app.calls import JSON_TIME, PAST, create, refused

FAR = PAST + (1 << 50)
CHECKPOINT_FIELDS = {
    "checkpoint_ts",
    "checkpoint_time",
    "resolved_ts",
    "resolved_ts_estimated",
    "lag_seconds",
    "batch_id",
    "epoch",
    "source_position",
    "rows_total",
    "bytes_total",
    "updated_at",
}


@pytest.fixture
def stopped(api, order):
    return create(api, order(paused=True, replica_config={"filter": {"rules": ["a.*"]}, "memory_quota": 5}))


def put(api, body):
    return api.put("/api/v2/changefeeds/orders", json=body)


def test_an_update_of_what_runs_is_refused(api, order):
    create(api, order())
    refused(put(api, {"target_ts": PAST}), "ErrChangefeedUpdateRefused", "pause it")


def test_an_update_lays_the_configuration_over_the_defaults(api, stopped):
    changed = put(api, {"replica_config": {"sink": {"date_separator": "none"}}}).json()
    assert changed["config"]["sink"]["date_separator"] == "none"
    assert (changed["config"]["filter"]["rules"], changed["config"]["memory_quota"]) == (["*.*"], 1 << 30)
    assert changed["state"] == "stopped"


def test_an_update_without_a_configuration_keeps_it(api, stopped):
    changed = put(api, {"target_ts": PAST}).json()
    assert (changed["target_ts"], changed["config"], changed["sink_uri"]) == (
        PAST,
        stopped["config"],
        stopped["sink_uri"],
    )


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_an_update_that_changes_nothing_is_refused_as_ticdc_refuses_it(api, stopped, method):
    body = {"target_ts": 0, "sink_uri": "", "start_ts": 0, "replica_config": stopped["config"]}
    reply = api.request(method, "/api/v2/changefeeds/orders", json=body)
    refused(reply, "ErrChangefeedUpdateRefused", "changefeed config is the same with the old one, do nothing")
    assert len(api.get("/api/v2/changefeeds/orders/history").json()["items"]) == 1


BAD_UPDATES = {
    "a start": ({"start_ts": PAST}, "ErrAPIInvalidParam", "start_ts"),
    "another source": ({"source_uri": "file:///else?protocol=canal-json"}, "ErrChangefeedUpdateRefused", "source_uri"),
    "a bad sink": ({"sink_uri": "nonsense"}, "ErrSinkURIInvalid", "scheme"),
    "a bad filter": ({"replica_config": {"filter": {"rules": ["["]}}}, "ErrFilterRuleInvalid", "["),
}


@pytest.mark.parametrize(("body", "code", "word"), BAD_UPDATES.values(), ids=BAD_UPDATES.keys())
def test_a_bad_update_changes_nothing(api, stopped, body, code, word):
    refused(put(api, body), code, word)
    shown = api.get("/api/v2/changefeeds/orders").json()
    assert shown | {"warnings": stopped["warnings"]} == stopped


def test_a_target_at_the_start_is_refused_in_an_update(api, order):
    create(api, order(paused=True, start_ts=PAST))
    refused(put(api, {"target_ts": PAST}), "ErrChangefeedUpdateRefused", "above start_ts")


def test_an_update_may_move_the_output_to_another_free_folder(api, stopped, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "theirs").write_text("x")
    refused(put(api, {"sink_uri": f"file://{tmp_path}/full?protocol=csv"}), "ErrSinkFolderNotEmpty")
    moved = f"file://{tmp_path}/elsewhere?protocol=csv"
    assert put(api, {"sink_uri": moved}).json()["sink_uri"] == moved
    (tmp_path / "elsewhere" / "_weir").mkdir(parents=True, exist_ok=True)
    other = moved + "&flush-interval=1s"
    assert put(api, {"sink_uri": other}).json()["sink_uri"] == other, "its own folder needs no consent"


def test_secrets_are_masked_in_every_reply_and_a_masked_one_means_keep(api, order, context):
    config = {"sink": {"kafka_config": {"sasl_user": "u", "sasl_password": "hunter2", "key": "/k.pem"}}}
    made = create(api, order(paused=True, replica_config=config))
    assert made["config"]["sink"]["kafka_config"] == {"sasl_user": "u", "sasl_password": "xxxxx", "key": "/k.pem"}
    put(api, {"replica_config": made["config"], "target_ts": FAR})
    with context.database.read() as connection:
        stored = context.feeds(connection).by_name("default", "orders")
    assert json.loads(stored.replica_config)["sink"]["kafka_config"]["sasl_password"] == "hunter2"
    for path in ("", "/status", "/checkpoint", "/progress", "/history", "/logs"):
        assert "hunter2" not in api.get(f"/api/v2/changefeeds/orders{path}").text


def test_a_secret_in_a_refused_uri_is_not_repeated(api, order):
    secret = "kafka://u:hunter2@h:1/t?sasl-password=hunter2&nonsense=1"
    for field in ("source_uri", "sink_uri"):
        reply = api.post("/api/v2/changefeeds", json=order(**{field: secret}))
        assert reply.status_code == 400
        assert "hunter2" not in reply.text


def test_status_checkpoint_progress_logs_and_synced_of_a_new_changefeed(api, order):
    create(api, order(start_ts=PAST))
    base = "/api/v2/changefeeds/orders"
    assert api.get(f"{base}/status").json() == {
        "state": "normal",
        "resolved_ts": PAST,
        "checkpoint_ts": PAST,
        "conditions": [],
        "idle": False,
        "stage": "",
    }
    checkpoint = api.get(f"{base}/checkpoint").json()
    assert set(checkpoint) == CHECKPOINT_FIELDS
    assert api.get(f"{base}/progress").json()["tables"] == []
    assert api.get(f"{base}/logs").json() == {"lines": [], "items": []}
    synced = api.get(f"{base}/synced").json()
    assert synced["synced"] is False
    assert all(JSON_TIME.fullmatch(synced[key]) for key in synced if key.endswith("_ts"))
    assert {"sink_checkpoint_ts", "puller_resolved_ts", "now_ts"} < synced.keys()
    assert "last_synced_ts" not in synced, "nothing was delivered yet, and it was not in 1970"


@pytest.mark.parametrize("path", ["verify_table", "get_all_tables"])
def test_table_checks_answer_with_an_empty_object(api, path):
    body = {"ca_path": "", "replica_config": {"filter": {"rules": ["*.*"]}}, "start_ts": PAST, "sink_uri": "mysql://x/"}
    reply = api.post(f"/api/v2/{path}", json=body)
    assert (reply.status_code, reply.json()) == (200, {})
    bad = {"replica_config": {"filter": {"rules": ["no dot"]}}}
    refused(api.post(f"/api/v2/{path}", json=bad), "ErrFilterRuleInvalid")


def test_an_upstream_is_a_named_source(api, order, tmp_path):
    source = f"file://{tmp_path}/in?protocol=canal-json"
    body = order("a", source_uri="")
    made = api.post("/api/v2/upstreams", json={"name": "shop", "source_uri": source, "default": True}).json()
    assert made == {"id": made["id"], "name": "shop", "source_uri": source, "default": True}
    assert create(api, body)["upstream_id"] == made["id"]
    by_number = order("b", source_uri="", upstream_id=made["id"])
    assert create(api, by_number)["source_uri"] == source
    by_name = order("c", source_uri="", sink_uri=f"file://{tmp_path}/c?upstream=shop&protocol=csv")
    assert create(api, by_name)["sink_uri"] == f"file://{tmp_path}/c?protocol=csv"
    assert api.get("/api/v2/upstreams").json() == {"total": 1, "items": [made]}
    assert "in use" in refused(api.delete(f"/api/v2/upstreams/{made['id']}"), "ErrUpstreamInUse")
    for name in "abc":
        api.delete(f"/api/v2/changefeeds/{name}")
    assert api.delete(f"/api/v2/upstreams/{made['id']}").json() == {}
    refused(api.get(f"/api/v2/upstreams/{made['id']}"), "ErrUpstreamNotFound")


def test_there_is_one_default_upstream(api, order, tmp_path):
    order()
    source = f"file://{tmp_path}/in?protocol=canal-json"
    first, second = (
        api.post("/api/v2/upstreams", json={"name": name, "source_uri": source, "default": True}).json()["id"]
        for name in ("first", "second")
    )
    assert not api.get(f"/api/v2/upstreams/{first}").json()["default"]
    changed = api.put(f"/api/v2/upstreams/{first}", json={"default": True, "name": "renamed"}).json()
    assert (changed["default"], changed["name"], changed["source_uri"]) == (True, "renamed", source)
    assert not api.get(f"/api/v2/upstreams/{second}").json()["default"]
    taken = api.put(f"/api/v2/upstreams/{second}", json={"name": "renamed"})
    refused(taken, "ErrAPIInvalidParam", "already")


def test_a_path_with_unusual_characters_survives(api, order, tmp_path):
    folder = tmp_path / "in put ü"
    folder.mkdir()
    made = create(api, order(source_uri=f"file://{quote(str(folder))}?protocol=canal-json"))
    assert made["source_uri"] == f"file://{quote(str(folder))}?protocol=canal-json"
