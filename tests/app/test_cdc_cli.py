"""A client that makes precisely the calls of `cdc cli`, of both generations, and reads the answers as Go does."""

import json
import re
from datetime import datetime

import httpx
import pytest

from app.replica_config import ReplicaConfig
from tests.app.calls import JSON_TIME

NEWER, OLDER = "newer", "older"


def whole_tree(generation):
    """The configuration as the command-line tool sends it: its own defaults, every key."""
    tree = ReplicaConfig().model_dump(mode="json", by_alias=True, exclude_none=True)
    tree["sink"] |= {"file_index_width": 20, "csv": tree["sink"]["csv"]}
    if generation == OLDER:
        tree["scheduler"] = {"enable_table_across_nodes": False, "region_threshold": 100000, "write_key_threshold": 0}
        tree["sink"]["advance_timeout"] = tree["sink"].pop("advance_timeout_in_sec")
        tree["sink"]["send-all-bootstrap-at-start"] = tree["sink"].pop("send_all_bootstrap_at_start")
        for key in ("performance_mode", "enable_active_active", "active_active_progress_interval"):
            del tree[key]
    return tree


class Refused(Exception):
    """The tool would print this and end with 1."""


class Cli:
    """Every command begins by asking for the status."""

    def __init__(self, url, generation):
        headers = {"accept": "application/json", "x-client-version": "v8.5.4", "authorization": "Basic Og=="}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=30)
        self.generation = generation
        self._space = "keyspace" if generation == NEWER else "namespace"

    def _call(self, method, path, body=None, *, space="default", decoded=True, **query):
        named = {} if space is None else {self._space: space}
        content = {} if body is None else {"json": body}
        reply = self._http.request(method, f"/api/v2{path}", params=dict(sorted((named | query).items())), **content)
        if not 200 <= reply.status_code <= 206:
            raise Refused(reply.json()["error_msg"])
        if not decoded:
            return None
        assert reply.content, "ErrZeroLengthResponseBody"
        return reply.json()

    def _begin(self):
        status = self._call("GET", "/status", space=None)
        version = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", status["version"])
        assert version
        assert tuple(map(int, version.groups())) >= (6, 2, 0)
        assert isinstance(status["liveness"], int)
        assert isinstance(status["pid"], int)

    @staticmethod
    def _info(info):
        assert isinstance(info["config"]["sink"], dict)
        datetime.fromisoformat(info["create_time"])
        for key in ("resolved_ts", "checkpoint_ts"):
            assert isinstance(info[key], int)
        if "checkpoint_time" in info:
            assert JSON_TIME.fullmatch(info["checkpoint_time"]), "Go reads neither null nor another form"
        return info

    def create(self, name, sink_uri):
        self._begin()
        now = self._call("POST", "/tso", {"id": 0} if self.generation == OLDER else {}, space=None)
        start_ts = now["timestamp"] * 262144 + now["logic_time"]
        tree = whole_tree(self.generation)
        paths = {"ca_path": "", "cert_path": "", "key_path": ""}
        verify = paths | {"replica_config": tree, "start_ts": start_ts, "sink_uri": sink_uri}
        space = "" if self.generation == NEWER else None
        self._call("POST", "/verify_table", verify, space=space)
        order = verify | {self._space: "default", "changefeed_id": name, "target_ts": 0}
        made = self._call("POST", "/changefeeds", order, space=space)
        assert made["warnings"] == [], "nothing that the tool sends by itself is worth a word"
        return self._info(made)

    def list(self):
        self._begin()
        found = self._call("GET", "/changefeeds", state="all")
        for item in found["items"]:
            assert {"upstream_id", self._space, "id", "state", "checkpoint_tso", "error"} <= item.keys()
            assert "checkpoint_time" not in item or JSON_TIME.fullmatch(item["checkpoint_time"])
        return [item["id"] for item in found["items"]]

    def query(self, name):
        self._begin()
        return self._info(self._call("GET", f"/changefeeds/{name}"))

    def pause(self, name):
        self._begin()
        space = "" if self.generation == NEWER else "default"
        self._call("POST", f"/changefeeds/{name}/pause", space=space, decoded=False)

    def resume(self, name, overwrite_ts=0):
        self._begin()
        info = self._info(self._call("GET", f"/changefeeds/{name}"))
        self._call("POST", "/tso", {"id": info.get("upstream_id", 0)}, space=None)
        if overwrite_ts and self.generation == NEWER:
            self._call(
                "POST", "/get_all_tables", {"replica_config": info["config"], "sink_uri": "", "start_ts": overwrite_ts}
            )
        body = {
            "overwrite_checkpoint_ts": overwrite_ts,
            "pd_addrs": None,
            "ca_path": "",
            "cert_path": "",
            "key_path": "",
        }
        self._call("POST", f"/changefeeds/{name}/resume", body, decoded=False)

    def update(self, name, **changes):
        self._begin()
        info = self._info(self._call("GET", f"/changefeeds/{name}"))
        config = json.loads(json.dumps(info["config"]))
        config["filter"] |= changes
        if config == info["config"]:
            return "same"
        if self.generation == NEWER:
            self._call("POST", "/get_all_tables", {"replica_config": config, "sink_uri": "", "start_ts": 0})
        body = {"target_ts": info.get("target_ts", 0), "sink_uri": "", "start_ts": 0, "replica_config": config}
        return self._info(self._call("PUT", f"/changefeeds/{name}", body))

    def remove(self, name):
        self._begin()
        try:
            self._call("GET", f"/changefeeds/{name}")
        except Refused as error:
            if "ErrChangeFeedNotExists" not in str(error):
                raise
            return "Changefeed not found."
        self._call("DELETE", f"/changefeeds/{name}", decoded=False)
        with pytest.raises(Refused, match="ErrChangeFeedNotExists"):
            self._call("GET", f"/changefeeds/{name}")
        return "removed"

    def captures(self):
        self._begin()
        for item in self._call("GET", "/captures", space=None)["items"]:
            assert {"id", "is_owner", "address", "cluster_id"} <= item.keys()

    def unsafe(self):
        self._begin()
        assert isinstance(self._call("GET", "/unsafe/metadata", space=None), list)
        self._call("POST", "/unsafe/resolve_lock", {"region_id": 1, "ts": 5, "pd_addrs": None}, decoded=False)
        self._call("DELETE", "/unsafe/service_gc_safepoint", {"id": 0, "pd_addrs": None}, decoded=False)


@pytest.fixture(params=[NEWER, OLDER])
def cli(request, api):
    return Cli(str(api.base_url), request.param)


@pytest.fixture
def sink(api, order, tmp_path):
    """A sink; the source is the default upstream's, which the tool knows nothing of."""
    body = {"name": "main", "source_uri": order()["source_uri"], "default": True}
    api.post("/api/v2/upstreams", json=body).raise_for_status()
    return f"file://{tmp_path}/out?protocol=canal-json"


def test_a_changefeed_goes_through_its_whole_life(cli, sink):
    info = cli.create("try", sink)
    assert (info["state"], info["config"]["sink"]["file_index_width"]) == ("normal", 20)
    assert cli.list() == ["try"]
    cli.pause("try")
    assert cli.query("try")["state"] == "stopped"
    assert cli.update("try") == "same"
    assert cli.update("try", rules=["a.*"])["config"]["filter"]["rules"] == ["a.*"]
    cli.resume("try")
    cli.pause("try")
    cli.resume("try", cli.query("try")["start_ts"])
    assert cli.query("try")["state"] == "normal"
    assert cli.remove("try") == "removed"
    assert cli.remove("try") == "Changefeed not found."
    assert cli.list() == []


def test_captures_and_what_is_unsafe(cli, twin):
    cli.captures()
    cli.unsafe()


def test_errors_are_read_as_the_tool_reads_them(cli, sink):
    cli.create("try", sink)
    with pytest.raises(Refused, match="ErrChangeFeedAlreadyExists"):
        cli.create("try", sink)
    with pytest.raises(Refused, match="ErrChangefeedUpdateRefused"):
        cli.update("try", rules=["a.*"])
    with pytest.raises(Refused, match="ErrSinkURIInvalid"):
        cli.create("other", "gopher://x/y")
