"""Nothing is ignored in silence: unknown keys are refused, everything without effect is told."""

import json

import pytest

from app.changefeeds.notices import notices
from app.replica_config import ReplicaConfig
from app.replica_config.effect import without_effect
from tests.app.calls import PAST, create, refused

SOURCE, SINK = "file:///in?protocol=canal-json", "file:///out?protocol=csv"

UNKNOWN = {
    "at the top": ({"foo": 1}, "unknown key 'foo'", "known are: "),
    "a near one at the top": ({"sink_ur": "x"}, "did you mean 'sink_uri'?", ""),
    "in the configuration": ({"replica_config": {"filters": {}}}, "replica_config: unknown key 'filters'", "'filter'"),
    "one deeper": ({"replica_config": {"filter": {"rule": []}}}, "replica_config.filter: unknown key", "'rules'"),
    "TOML's spelling": ({"replica_config": {"filter": {"event-filters": []}}}, "'event-filters'", "'event_filters'"),
    "TOML's spelling of a name": ({"replica_config": {"case-sensitive": True}}, "case-sensitive", "'case_sensitive'"),
    "in a list": (
        {"replica_config": {"sink": {"dispatchers": [{"match": ["*.*"]}]}}},
        "replica_config.sink.dispatchers.0: unknown key 'match'",
        "'matcher'",
    ),
    "far from all": ({"replica_config": {"sink": {"csv": {"zzz": 1}}}}, "unknown key 'zzz'", "delimiter"),
    "in an empty place": ({"replica_config": {"filter": {"rule": None}}}, "unknown key 'rule'", "'rules'"),
}


@pytest.mark.parametrize(("changes", "what", "near"), UNKNOWN.values(), ids=UNKNOWN.keys())
@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_an_unknown_key_is_refused_with_the_nearest_known_one(api, order, changes, what, near, dry_run):
    reply = api.post("/api/v2/changefeeds", json=order(**changes), params={"dry_run": dry_run})
    assert near in refused(reply, "ErrAPIInvalidParam", what)
    assert api.get("/api/v2/changefeeds").json()["total"] == 0


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/changefeeds/orders", {"replica_config": {"filter": {"rule": []}}}),
        ("PATCH", "/changefeeds/orders", {"replica_config": {"filter": {"rule": None}}}),
        ("POST", "/changefeeds/orders/resume", {"overwrite_checkpoint": 1}),
        ("POST", "/verify_table", {"replica-config": {}}),
        ("POST", "/upstreams", {"nmae": "x"}),
        ("PUT", "/upstreams/1", {"nmae": "x"}),
        ("POST", "/tso", {"idd": 1}),
    ],
)
def test_every_body_refuses_an_unknown_key(api, order, method, path, body):
    create(api, order(paused=True))
    refused(api.request(method, f"/api/v2{path}", json=body), "ErrAPIInvalidParam", "unknown key", "did you mean")


@pytest.mark.parametrize("name", ["dryrun", "dry-run", "dry_runn", "DRY_RUN"])
def test_a_misspelt_parameter_of_a_call_is_refused_and_nothing_is_stored(api, order, name):
    reply = api.post("/api/v2/changefeeds", json=order(), params={name: "true"})
    refused(reply, "ErrAPIInvalidParam", f"unknown parameter '{name}'", "'dry_run'")
    assert api.get("/api/v2/changefeeds").json()["total"] == 0


def test_parameters_that_the_cli_leaves_over_from_earlier_calls_do_no_harm(api, order):
    create(api, order(), keyspace="", state=["all", "all"], tableID="5", mode="0")


def told(source=SOURCE, sink=SINK, start_ts=0, **config):
    tree = ReplicaConfig.model_validate(config).model_dump(mode="json", by_alias=True, exclude_none=True)
    return {notice.key: notice.message for notice in notices(source, sink, tree, start_ts=start_ts)}


SAID = {
    "an interval below the smallest": (
        {"sink": f"{SINK}&flush-interval=1ms"},
        "sink_uri.flush-interval",
        "1ms is below the smallest value, 100ms; 100ms is used",
    ),
    "an interval above the largest": (
        {"sink": f"{SINK}&flush-interval=1h"},
        "sink_uri.flush-interval",
        "10m is used",
    ),
    "a size in the URI": ({"sink": f"{SINK}&file-size=5"}, "sink_uri.file-size", "1024 is used"),
    "a width in the URI": ({"sink": f"{SINK}&file-index-width=3"}, "sink_uri.file-index-width", "20 is used"),
    "a parameter of TiCDC's": ({"sink": f"{SINK}&worker-count=4"}, "sink_uri.worker-count", "no effect"),
    "a parameter of a source": (
        {"source": "kafka://h:1/t?protocol=canal-json&dial-timeout=3s"},
        "source_uri.dial-timeout",
        "no effect",
    ),
    "a start beside a start": (
        {"source": f"{SOURCE}&start=latest", "start_ts": PAST},
        "source_uri.start",
        "start_ts",
    ),
}
SAID_OF_CONFIG = {
    "a width": ({"sink": {"file_index_width": 3}}, "sink.file_index_width", "20 is used"),
    "no rules": ({"filter": {"rules": []}}, "filter.rules", "every table"),
    "bdr_mode": ({"bdr_mode": True}, "bdr_mode", "no effect"),
    "another protocol": ({"sink": {"protocol": "canal-json"}}, "sink.protocol", "protocol=csv wins"),
    "an interval": (
        {"sink": {"cloud_storage_config": {"flush_interval": "1ms"}}},
        "sink.cloud_storage_config.flush_interval",
        "100ms is used",
    ),
    "a size": (
        {"sink": {"cloud_storage_config": {"file_size": 1}}},
        "sink.cloud_storage_config.file_size",
        "1024 is used",
    ),
    "topics of a folder": (
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "x"}]}},
        "sink.dispatchers",
        "queues",
    ),
    "a broker's settings for a folder": (
        {"sink": {"kafka_config": {"compression": "gzip"}}},
        "sink.kafka_config.compression",
        "kafka://",
    ),
    "canal-json's settings for csv": ({"sink": {"content_compatible": True}}, "sink.content_compatible", "canal-json"),
    "TiKV's regions": ({"scheduler": {"region_threshold": 7}}, "scheduler.region_threshold", "TiKV"),
    "a key of an older TiCDC": ({"enable_old_value": True}, "enable_old_value", "no effect"),
}


@pytest.mark.parametrize(("given", "key", "words"), SAID.values(), ids=SAID.keys())
def test_what_a_uri_cannot_have_is_told(given, key, words):
    assert words in told(**given)[key]


@pytest.mark.parametrize(("given", "key", "words"), SAID_OF_CONFIG.values(), ids=SAID_OF_CONFIG.keys())
def test_what_of_the_configuration_has_no_effect_is_told(given, key, words):
    tree = ReplicaConfig.model_validate(given).model_dump(mode="json", by_alias=True, exclude_none=True)
    found = {notice.key: notice.message for notice in notices(SOURCE, SINK, tree)}
    assert words in found.pop(f"replica_config.{key}")
    assert found == {}


NEWER = {"scheduler": {"region_threshold": 10000}, "sink": {"file_index_width": 20, "csv": {"quote": '"'}}}
OLDER = {
    "scheduler": {"region_threshold": 100000, "write_key_threshold": 0},
    "consistent": {"flush_concurrency": 1, "level": "none"},
    "sink": {"advance_timeout": 150, "file_index_width": 20, "safe_mode": False, "open": {"output_old_value": True}},
}


@pytest.mark.parametrize("tree", [{}, NEWER, OLDER], ids=["nothing", "the newer generation", "the older generation"])
@pytest.mark.parametrize("sink", [SINK, SINK.replace("csv", "canal-json"), SINK.replace("?", "?date-separator=none&")])
def test_the_defaults_that_cdc_cli_sends_give_no_warning(tree, sink):
    whole = ReplicaConfig.model_validate(tree).model_dump(mode="json", by_alias=True, exclude_none=True)
    assert notices(SOURCE, sink, whole) == []


def test_what_takes_effect_gives_no_warning():
    config = {
        "case_sensitive": True,
        "changefeed_error_stuck_duration": "1h",
        "filter": {"rules": ["a.*"]},
        "synced_status": {"checkpoint_interval": 3},
        "sink": {"csv": {"quote": "'"}, "terminator": "\n", "date_separator": "year", "file_index_width": 7},
    }
    tree = ReplicaConfig.model_validate(config).model_dump(mode="json", by_alias=True, exclude_none=True)
    assert without_effect(tree, "file", "csv") == []


def test_replies_carry_the_warnings(api, order, tmp_path):
    sink = f"file://{tmp_path}/out?protocol=csv&flush-interval=1ms"
    body = order(sink_uri=sink, pd_addrs=["http://pd:2379"], replica_config={"bdr_mode": True})
    keys = {"sink_uri.flush-interval", "pd_addrs", "replica_config.bdr_mode"}
    for params in ({"dry_run": "true"}, {}):
        assert {warning["key"] for warning in create(api, body | {"paused": True}, **params)["warnings"]} == keys
    put = api.put(
        "/api/v2/changefeeds/orders", json={"replica_config": {"bdr_mode": True, "filter": {"rules": ["a.*"]}}}
    )
    patch = api.patch("/api/v2/changefeeds/orders", json={"replica_config": {"filter": {"rules": ["b.*"]}}})
    for reply in (put, patch):
        assert {"sink_uri.flush-interval", "replica_config.bdr_mode"} <= {w["key"] for w in reply.json()["warnings"]}


def test_a_secret_is_not_repeated_by_a_warning(api, order, tmp_path):
    config = {"sink": {"kafka_config": {"sasl_password": "hunter2"}}}
    reply = create(api, order(replica_config=config))
    assert "hunter2" not in json.dumps(reply)
    assert [warning["key"] for warning in reply["warnings"]] == ["replica_config.sink.kafka_config.sasl_password"]
