"""``/api/v2/changefeeds`` over HTTP, without an owner: nothing happens by itself."""

import json
import uuid

import pytest

from app.api import MAX_BODY_BYTES
from app.times import now_ms
from spark_jobs.cdc import tso
from tests.app.calls import JSON_TIME, PAST, RFC3339, create, refused


def test_a_created_changefeed_is_shown_as_ticdc_shows_it(api, order, tmp_path):
    made = create(api, order(start_ts=PAST, target_ts=PAST + 10))
    shown = api.get("/api/v2/changefeeds/orders").json()
    assert made == shown | {"lag_seconds": made["lag_seconds"], "warnings": []}
    assert (made["id"], made["state"], made["keyspace"], made["namespace"]) == (
        "orders",
        "normal",
        "default",
        "default",
    )
    assert (made["start_ts"], made["target_ts"], made["checkpoint_ts"], made["resolved_ts"]) == (
        PAST,
        PAST + 10,
        PAST,
        PAST,
    )
    assert JSON_TIME.fullmatch(made["checkpoint_time"])
    assert RFC3339.fullmatch(made["create_time"])
    assert made["source_uri"] == f"file://{tmp_path}/in?protocol=canal-json"
    assert made["config"]["sink"]["csv"]["delimiter"] == ","
    assert {"error", "upstream_id", "admin_job_type", "capture_id"}.isdisjoint(made)
    assert made["lag_seconds"] > 0


def test_without_a_start_the_checkpoint_is_0_until_the_first_progress(api, order):
    made = create(api, order())
    assert (made["checkpoint_ts"], "start_ts" in made, "lag_seconds" in made) == (0, False, False)


def test_a_list_item_has_all_its_fields_and_no_time_that_nobody_knows(api, order):
    create(api, order())
    assert api.get("/api/v2/changefeeds").json() == {
        "total": 1,
        "items": [
            {
                "upstream_id": 0,
                "keyspace": "default",
                "namespace": "default",
                "id": "orders",
                "state": "normal",
                "checkpoint_tso": 0,
                "error": None,
                "description": "",
                "labels": {},
                "lag_seconds": None,
            }
        ],
    }


@pytest.mark.parametrize(
    ("state", "ids"),
    [("", ["a", "b"]), ("all", ["a", "b"]), ("normal", ["a"]), ("stopped", ["b"]), ("failed", [])],
)
def test_a_list_is_filtered_by_state(api, order, state, ids):
    create(api, order("a"))
    create(api, order("b", paused=True))
    items = api.get("/api/v2/changefeeds", params={"state": state}).json()["items"]
    assert [item["id"] for item in items] == ids


def test_a_state_that_is_none_is_refused(api):
    refused(api.get("/api/v2/changefeeds", params={"state": "runing"}), "ErrAPIInvalidParam", "all, normal, warning")


def test_both_names_of_a_keyspace_work_and_keyspaces_are_apart(api, order, tmp_path):
    create(api, order(), keyspace="team_a")
    create(api, order(sink_uri=f"file://{tmp_path}/out-b?protocol=csv", namespace="team_b"))
    create(api, order(sink_uri=f"file://{tmp_path}/out-c?protocol=csv", namespace="ignored"), keyspace="")
    for params in ({"keyspace": "team_a"}, {"namespace": "team_a"}, {"keyspace": ["x", "team_a"]}):
        found = api.get("/api/v2/changefeeds/orders", params=params).json()
        assert (found["keyspace"], found["namespace"]) == ("team_a", "team_a")
    assert api.get("/api/v2/changefeeds", params={"namespace": "team_b"}).json()["total"] == 1
    refused(api.get("/api/v2/changefeeds/orders"), "ErrChangeFeedNotExists")
    assert api.get("/api/v2/changefeeds/orders", params={"namespace": "ignored"}).status_code == 200


def test_a_missing_id_becomes_a_uuid(api, order):
    body = order()
    del body["changefeed_id"]
    assert str(uuid.UUID(create(api, body)["id"]))


def test_a_dry_run_answers_and_stores_nothing(api, order):
    assert create(api, order(), dry_run="true")["id"] == "orders"
    assert api.get("/api/v2/changefeeds").json()["total"] == 0


def test_a_paused_changefeed_is_created_in_state_stopped(api, order):
    assert create(api, order(paused=True))["state"] == "stopped"


@pytest.mark.parametrize("field", ["start", "target"])
def test_a_time_may_stand_for_a_tso(api, order, field):
    made = create(api, order(**{f"{field}_time": "2025-11-21T03:00:00+01:00"}))
    assert made[f"{field}_ts"] == tso.compose(1_763_690_400_000)


BAD_ORDERS = {
    "an underscore in the id": ({"changefeed_id": "a_b"}, "ErrAPIInvalidParam", "ErrInvalidChangefeedID"),
    "a hyphen at its end": ({"changefeed_id": "a-"}, "ErrAPIInvalidParam", "invalid changefeed id"),
    "129 characters": ({"changefeed_id": "a" * 129}, "ErrAPIInvalidParam", "128"),
    "a bad keyspace": ({"keyspace": "a.b"}, "ErrAPIInvalidParam", "keyspace"),
    "no sink": ({"sink_uri": ""}, "ErrSinkURIInvalid", "empty"),
    "a sink of null": ({"sink_uri": None}, "ErrSinkURIInvalid", "empty"),
    "an unknown scheme": ({"sink_uri": "gopher://x/y"}, "ErrSinkURIInvalid", "unknown scheme"),
    "no source": ({"source_uri": ""}, "ErrAPIInvalidParam", "WEIR_DEFAULT_SOURCE_URI"),
    "an unknown upstream": ({"source_uri": "", "upstream_id": 9}, "ErrUpstreamNotFound", "9"),
    "start in the future": ({"start_ts": tso.compose(now_ms() + 86_400_000)}, "ErrAPIInvalidParam", "future"),
    "target at start": ({"start_ts": PAST, "target_ts": PAST}, "ErrTargetTsBeforeStartTs", "above start_ts"),
    "a target of 64 bits": ({"target_ts": (1 << 64) - 1}, "ErrAPIInvalidParam", "too large"),
    "a start of 65 bits": ({"start_ts": 1 << 64}, "ErrAPIInvalidParam", "start_ts"),
    "a negative start": ({"start_ts": -1}, "ErrAPIInvalidParam", "start_ts"),
    "a start of text": ({"start_ts": "5"}, "ErrAPIInvalidParam", "start_ts"),
    "a start of 1.0": ({"start_ts": 1.0}, "ErrAPIInvalidParam", "start_ts"),
    "a start of true": ({"start_ts": True}, "ErrAPIInvalidParam", "start_ts"),
    "a start in seconds": ({"start_ts": 1_763_694_000}, "ErrAPIInvalidParam", "looks like seconds since 1970"),
    "a start in milliseconds": (
        {"start_ts": 1_763_694_000_000},
        "ErrAPIInvalidParam",
        str(tso.compose(1_763_694_000_000)),
    ),
    "a start in microseconds": ({"start_ts": 1_763_694_000_000_000}, "ErrAPIInvalidParam", "microseconds"),
    "a target in nanoseconds": ({"target_ts": 1_763_694_000 * 10**9}, "ErrAPIInvalidParam", "nanoseconds"),
    "start twice": ({"start_ts": PAST, "start_time": "2025-11-21T03:00:00Z"}, "ErrAPIInvalidParam", "not both"),
    "a time without a zone": ({"start_time": "2025-11-21T03:00:00"}, "ErrAPIInvalidParam", "RFC 3339"),
    "a 13th month": ({"start_time": "2025-13-21T03:00:00Z"}, "ErrAPIInvalidParam", "calendar"),
    "a filter that cannot be parsed": (
        {"replica_config": {"filter": {"rules": ["shop"]}}},
        "ErrFilterRuleInvalid",
        "shop",
    ),
    "a configuration that is no object": ({"replica_config": 5}, "ErrAPIInvalidParam", "replica_config"),
    "a wrong type inside it": (
        {"replica_config": {"sink": {"csv": {"quote": 5}}}},
        "ErrAPIInvalidParam",
        "replica_config.sink.csv.quote",
    ),
    "an event filter that names no event": (
        {"replica_config": {"filter": {"event_filters": [{"matcher": ["a.b"], "ignore_event": ["deletion"]}]}}},
        "ErrInvalidIgnoreEventType",
        "deletion",
    ),
    "a column selector with a bad pattern": (
        {"replica_config": {"sink": {"column_selectors": [{"matcher": ["a.b"], "columns": ["[a"]}]}}},
        "ErrFilterRuleInvalid",
        "column rule 1",
    ),
    "a target's name with an unknown placeholder": (
        {"replica_config": {"sink": {"dispatchers": [{"matcher": ["a.b"], "target-table": "{tabel}"}]}}},
        "ErrInvalidTableRoutingRule",
        "{tabel}",
    ),
    "a share that is no number": (
        {"replica_config": {"scheduler": {"min_traffic_percentage": float("nan")}}},
        "ErrAPIInvalidParam",
        "min_traffic_percentage",
    ),
    "a share that is infinite": (
        {"replica_config": {"scheduler": {"max_traffic_percentage": float("inf")}}},
        "ErrAPIInvalidParam",
        "max_traffic_percentage",
    ),
    "a delimiter that breaks lines": (
        {"replica_config": {"sink": {"csv": {"delimiter": "\n"}}}},
        "ErrInvalidReplicaConfig",
        "delimiter",
    ),
    "an encoding of bytes that nobody knows": (
        {"replica_config": {"sink": {"csv": {"binary_encoding_method": "base85"}}}},
        "ErrInvalidReplicaConfig",
        "base64, hex",
    ),
    "a source and an upstream": ({"upstream_id": 9}, "ErrAPIInvalidParam", "not both"),
    "a start in the future in the source": (
        {"source_uri": f"kafka://127.0.0.1:1/t?protocol=canal-json&start={tso.compose(now_ms() + 86_400_000)}"},
        "ErrAPIInvalidParam",
        "future",
    ),
    "a target before the start in the source": (
        {"source_uri": f"kafka://127.0.0.1:1/t?protocol=canal-json&start={PAST}", "target_ts": PAST - 1},
        "ErrTargetTsBeforeStartTs",
        "above start_ts",
    ),
    "a user before a broker": (
        {"source_uri": "kafka://ada:hunter2@127.0.0.1:1/t?protocol=canal-json"},
        "ErrSourceURIInvalid",
        "sasl-user",
    ),
    "a NUL in a path": ({"sink_uri": "file:///tmp/a%00b?protocol=csv"}, "ErrSinkURIInvalid", "NUL"),
    "a path that is not UTF-8": ({"sink_uri": "file:///tmp/%ff?protocol=csv"}, "ErrSinkURIInvalid", "UTF-8"),
    "a name that no file system takes": (
        {"sink_uri": f"file:///tmp/{'x' * 300}?protocol=csv"},
        "ErrSinkURIInvalid",
        "File name too long",
    ),
    "sync points into files": (
        {"replica_config": {"enable_sync_point": True}},
        "ErrInvalidReplicaConfig",
        "enable_sync_point",
    ),
}


@pytest.mark.parametrize(("changes", "code", "word"), BAD_ORDERS.values(), ids=BAD_ORDERS.keys())
def test_a_bad_order_is_refused_with_a_reason_and_nothing_is_stored(api, order, changes, code, word):
    refused(api.post("/api/v2/changefeeds", content=json.dumps(order(**changes))), code, word)
    assert api.get("/api/v2/changefeeds", params={"state": "all"}).json()["total"] == 0


def test_uris_are_checked_against_the_world(api, order, tmp_path):
    missing = order(source_uri=f"file://{tmp_path}/nowhere?protocol=canal-json")
    refused(api.post("/api/v2/changefeeds", json=missing), "ErrSourceURIInvalid", "nowhere")
    unknown = order(source_uri=f"file://{tmp_path}/in?protocol=canal-json&patern=x")
    refused(api.post("/api/v2/changefeeds", json=unknown), "ErrSourceURIInvalid", "did you mean 'pattern'")
    (tmp_path / "file").write_text("")
    unwritable = order(sink_uri=f"file://{tmp_path}/file/out?protocol=csv")
    refused(api.post("/api/v2/changefeeds", json=unwritable), "ErrSinkURIInvalid", "cannot be written")
    upwards = order(sink_uri=f"file://{tmp_path}/../out?protocol=csv")
    refused(api.post("/api/v2/changefeeds", json=upwards), "ErrSinkURIInvalid", "..")


KAFKA = "kafka://127.0.0.1:1/t?protocol=canal-json"


@pytest.mark.parametrize("start", ["%C2%B2", "1" * 5000, "0", "offset:0", "offset:0:" + "9" * 19, "offset:%D9%A1:1"])
def test_a_start_that_is_none_is_refused_before_a_broker_is_asked(api, order, start):
    bad = order(source_uri=f"{KAFKA}&start={start}")
    refused(api.post("/api/v2/changefeeds", json=bad), "ErrSourceURIInvalid", "is none of latest, earliest")


@pytest.mark.parametrize("password", ["hun/ter2", "hun?ter2", "12/ter2", "hun%2Fter2"])
def test_a_password_with_special_characters_is_not_repeated(api, order, password):
    reply = api.post("/api/v2/changefeeds", json=order(source_uri=f"kafka://u:{password}@h:1/t?protocol=canal-json"))
    assert "ter2" not in refused(reply, "ErrSourceURIInvalid")


@pytest.mark.parametrize("folder", ["in", "in/out", "by-another-name/out"])
def test_an_output_that_would_be_read_as_input_is_refused(api, order, tmp_path, folder):
    (tmp_path / "by-another-name").symlink_to(tmp_path / "in")
    inside = order(sink_uri=f"file://{tmp_path}/{folder}?protocol=canal-json&adopt=restart")
    refused(api.post("/api/v2/changefeeds", json=inside), "ErrSinkURIInvalid", "within the source folder")


@pytest.mark.parametrize(("pattern", "folder"), [("**/*", "in/_out"), ("*.json", "in/out"), ("**/*", "in-out")])
def test_an_output_beside_what_is_read_is_taken(api, order, tmp_path, pattern, folder):
    source = f"file://{tmp_path}/in?protocol=canal-json&pattern={pattern}"
    create(api, order(source_uri=source, sink_uri=f"file://{tmp_path}/{folder}?protocol=csv"))


def test_encoders_that_contradict_themselves_are_refused_at_once(api, order, tmp_path):
    canal = f"file://{tmp_path}/out?protocol=canal-json&dialect=canal&enable-tidb-extension=true"
    refused(api.post("/api/v2/changefeeds", json=order(sink_uri=canal)), "ErrSinkURIInvalid", "dialect=canal")


def test_half_a_surrogate_pair_is_read_as_go_reads_it(api, order):
    body = json.dumps(order(replica_config={"sink": {"csv": {"null": "\ud800"}}}))
    assert api.post("/api/v2/changefeeds", content=body).json()["config"]["sink"]["csv"]["null"] == "\ufffd"


def test_an_unreachable_broker_is_the_clients_fault_and_its_password_stays_hidden(api, order):
    uri = "kafka://127.0.0.1:1/t?protocol=canal-json&sasl-user=u&sasl-password=hunter2&sasl-mechanism=plain"
    reply = api.post("/api/v2/changefeeds", json=order(source_uri=uri))
    assert reply.status_code == 400
    assert "hunter2" not in reply.text


def test_a_folder_with_data_of_unknown_origin_is_not_taken(api, order, tmp_path):
    (tmp_path / "out-orders").mkdir()
    (tmp_path / "out-orders" / "theirs").write_text("x")
    refused(api.post("/api/v2/changefeeds", json=order()), "ErrSinkFolderNotEmpty", "adopt=restart")


def test_two_changefeeds_share_a_folder_only_by_consent(api, order, tmp_path):
    create(api, order("a"))
    shared = f"file://{tmp_path}/out-a?protocol=csv"
    refused(api.post("/api/v2/changefeeds", json=order("b", sink_uri=shared)), "ErrSinkFolderNotEmpty", "changefeed a")
    create(api, order("b", sink_uri=shared + "&adopt=restart"))


@pytest.mark.parametrize("folder", ["out-a/shop", "also-a", "."])
def test_an_output_within_or_around_that_of_another_changefeed_needs_consent(api, order, tmp_path, folder):
    create(api, order("a"))
    (tmp_path / "also-a").symlink_to(tmp_path / "out-a")
    uri = f"file://{tmp_path}/{folder}?protocol=csv"
    within_none = f"file://{tmp_path}/in?protocol=canal-json&pattern=*.json"
    body = order("b", sink_uri=uri, source_uri=within_none)
    refused(api.post("/api/v2/changefeeds", json=body), "ErrSinkFolderNotEmpty", "changefeed a", "overlaps")
    create(api, order("c", sink_uri=f"file://{tmp_path}/out-ab?protocol=csv"))


def test_a_time_of_1970_is_taken_and_told(api, order):
    made = create(api, order(start_ts=1, target_ts=5 << 18))
    assert [warning["key"] for warning in made["warnings"]] == ["start_ts", "target_ts"]


def test_an_id_that_is_taken_is_refused(api, order, tmp_path):
    create(api, order())
    again = order(sink_uri=f"file://{tmp_path}/other?protocol=csv")
    refused(api.post("/api/v2/changefeeds", json=again), "ErrChangeFeedAlreadyExists", "orders")


MALFORMED = {
    "not json": (b"{bad", "not JSON: Expecting property name enclosed in double quotes, at character 1"),
    "empty": (b"", "must be a JSON object"),
    "an array": (b"[]", "must be a JSON object"),
    "text": (b'"x"', "must be a JSON object"),
    "not utf-8": (b'{"changefeed_id": "\xff"}', "not UTF-8"),
    "nested deeply": (b"[" * 100_000, "nested too deeply"),
    "a huge number": (b'{"start_ts": ' + b"9" * 10_000 + b"}", "a number is too long"),
}


@pytest.mark.parametrize(("body", "words"), MALFORMED.values(), ids=MALFORMED.keys())
@pytest.mark.parametrize("path", ["/api/v2/changefeeds", "/api/v2/upstreams", "/api/v2/verify_table"])
def test_a_malformed_body_is_a_bad_request(api, path, body, words):
    refused(api.post(path, content=body), "ErrAPIInvalidParam", words)


@pytest.mark.parametrize("path", ["/api/v2/changefeeds", "/internal/v1/captures"])
@pytest.mark.parametrize("length", [True, False], ids=["with its length", "in chunks"])
def test_a_body_beyond_all_measure_is_refused(api, path, length):
    chunk = b" " * (1 << 20)
    many = (chunk for _ in range((MAX_BODY_BYTES >> 20) + 1))
    refused(api.post(path, content=b"".join(many) if length else many), "ErrAPIInvalidParam", "larger than")


def test_the_content_type_of_a_body_does_not_matter(api, order):
    body = json.dumps(order()).encode()
    reply = api.post("/api/v2/changefeeds", content=body, headers={"content-type": "application/x-www-form-urlencoded"})
    assert reply.status_code == 200, reply.text


def test_keys_match_without_regard_to_case(api, order):
    body = {key.upper(): value for key, value in order().items()}
    body["Replica_Config"] = {"Filter": {"RULES": ["a.*"]}}
    assert create(api, body)["config"]["filter"]["rules"] == ["a.*"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/status"),
        ("GET", "/checkpoint"),
        ("GET", "/progress"),
        ("GET", "/synced"),
        ("GET", "/logs"),
        ("GET", "/history"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("PUT", ""),
    ],
)
@pytest.mark.parametrize("name", ["absent", "not_even_an_id"])
def test_an_absent_changefeed_is_400_everywhere(api, method, path, name):
    reply = api.request(method, f"/api/v2/changefeeds/{name}{path}", json={} if method != "GET" else None)
    refused(reply, "ErrChangeFeedNotExists", f"changefeed not exists, {name}")


def test_removing_what_is_absent_is_no_error(api):
    reply = api.delete("/api/v2/changefeeds/absent")
    assert (reply.status_code, reply.json()) == (200, {})


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nope"), ("GET", "/api/v2/nope"), ("PATCH", "/api/v2/changefeeds"), ("PUT", "/livez")]
)
def test_an_unknown_path_or_method_is_404_in_the_form_of_every_error(api, method, path):
    reply = api.request(method, path)
    assert (reply.status_code, reply.json()["error_code"]) == (404, "CDC:ErrAPINotFound")
    assert f"there is no {method} {path}; " in reply.json()["error_msg"]


def test_pause_resume_and_remove_of_what_nobody_runs(api, order):
    create(api, order())
    assert api.post("/api/v2/changefeeds/orders/pause").json() == {}
    assert api.get("/api/v2/changefeeds/orders").json()["state"] == "stopped"
    assert api.get("/api/v2/changefeeds/orders").json()["admin_job_type"] == 1
    assert api.post("/api/v2/changefeeds/orders/resume").json() == {"warnings": []}
    assert api.get("/api/v2/changefeeds/orders").json()["state"] == "normal"
    refused(api.post("/api/v2/changefeeds/orders/resume", json={}), "ErrChangefeedUpdateRefused", "is normal")
    assert api.delete("/api/v2/changefeeds/orders").json() == {}
    refused(api.get("/api/v2/changefeeds/orders"), "ErrChangeFeedNotExists")
    create(api, order())


OUTSIDE = {
    "the future": (tso.compose(now_ms() + 86_400_000), "future"),
    "before the start": (PAST - 1, "before the changefeed's start_ts"),
    "seconds": (1_763_694_000, "looks like seconds"),
    "milliseconds": (1_763_694_000_000, "looks like milliseconds"),
}


@pytest.mark.parametrize(("ts", "word"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_a_resume_overwrites_the_checkpoint_only_within_the_stream(api, order, ts, word):
    create(api, order(paused=True, start_ts=PAST))
    reply = api.post("/api/v2/changefeeds/orders/resume", json={"overwrite_checkpoint_ts": ts})
    refused(reply, "ErrAPIInvalidParam", word)
    assert api.get("/api/v2/changefeeds/orders").json()["state"] == "stopped"


def test_a_resume_may_overwrite_the_checkpoint_and_says_what_it_passes_over(api, order):
    create(api, order(paused=True, start_ts=PAST))
    reply = api.post("/api/v2/changefeeds/orders/resume", json={"overwrite_checkpoint_ts": PAST + 9}).json()
    (warning,) = reply["warnings"]
    assert (warning["key"], "not delivered" in warning["message"]) == ("overwrite_checkpoint_ts", True)
    assert api.get("/api/v2/changefeeds/orders").json()["checkpoint_ts"] == PAST + 9


def test_the_history_tells_every_operation_and_outlives_the_changefeed(api, order):
    create(api, order())
    api.post("/api/v2/changefeeds/orders/pause", auth=("ada", ""))
    api.post("/api/v2/changefeeds/orders/resume", json={"overwrite_checkpoint_ts": PAST})
    api.delete("/api/v2/changefeeds/orders")
    reply = api.get("/api/v2/changefeeds/orders/history").json()
    told = [(item["what"], item["from_state"], item["to_state"]) for item in reply["items"]]
    assert told == [
        ("create", "", "normal"),
        ("pause", "normal", "stopped"),
        ("rewind", "stopped", "normal"),
        ("remove", "normal", "removed"),
    ]
    assert [item["who"] for item in reply["items"]][:2] == ["anonymous@127.0.0.1", "ada@127.0.0.1"]
    assert str(PAST) in reply["items"][2]["detail"]
    assert all(RFC3339.fullmatch(item["time"]) for item in reply["items"])


def test_the_empty_authorization_of_the_cli_is_anonymous(api):
    assert api.get("/api/v2/changefeeds", headers={"authorization": "Basic Og=="}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://["])
def test_a_foreign_web_page_may_not_send_orders(api, order, origin):
    reply = api.post("/api/v2/changefeeds", json=order(), headers={"origin": origin})
    assert reply.status_code == 401
    same = {"origin": str(api.base_url).rstrip("/")}
    assert api.post("/api/v2/changefeeds", json=order(), headers=same).status_code == 200
