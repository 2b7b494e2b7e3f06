"""Captures, the owner and changefeeds together. The owner's loop is real, the capture a twin of the wire protocol."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.captures.beat import LEASE_SECONDS
from app.database import Database
from app.owner.loop import Owner
from app.times import now_ms
from spark_jobs.cdc import tso
from spark_jobs.wire import Counters, Phase, TableProgress
from tests.app.conftest import make_context
from tests.app.twin import CaptureTwin

DEADLINE_SECONDS = 10


def eventually(ask, wanted=lambda value: value, seconds=DEADLINE_SECONDS):
    """The first answer that is wanted."""
    deadline = time.monotonic() + seconds
    while not wanted(value := ask()):
        assert time.monotonic() < deadline, f"still {value!r}"
        time.sleep(0.01)
    return value


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """Everything here holds on both."""
    url = f"sqlite:///{tmp_path}/weir.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres")
    database = Database(url)
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def feed(api, order):
    reply = api.post("/api/v2/changefeeds", json=order())
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.fixture
def detail(api):
    return lambda: api.get("/api/v2/changefeeds/orders").json()


def the_assignment(twin, *reports):
    (assignment,) = eventually(lambda: twin.beat(*reports).assignments)
    return assignment


def test_a_new_changefeed_is_assigned_with_all_that_it_needs(api, owner, twin, feed, context):
    assignment = the_assignment(twin)
    assert (assignment.changefeed_id, assignment.epoch) == ("orders", feed["epoch"] + 1)
    assert assignment.feed_uid == feed["epoch"], "the millisecond of its creation"
    assert (assignment.source_uri, assignment.sink_uri) == (feed["source_uri"], feed["sink_uri"])
    assert b'"rules":["*.*"]' in bytes(assignment.replica_config)
    assert (assignment.checkpoint_root, assignment.time_zone) == (context.settings.checkpoint_root, "UTC")
    assert api.get("/api/v2/changefeeds/orders").json()["capture_id"] == twin.capture_id
    assert api.get("/api/v2/processors").json()["items"] == [
        {"keyspace": "default", "namespace": "default", "changefeed_id": "orders", "capture_id": twin.capture_id}
    ]


def test_the_assignment_is_repeated_until_it_ends(owner, twin, feed):
    first = the_assignment(twin)
    assert twin.beat(twin.report(first, Phase.STARTING)).assignments == [first]
    assert twin.beat(twin.report(first)).assignments == [first]


def test_a_changefeed_of_another_keyspace_has_a_name_of_its_own(api, owner, twin, order):
    api.post("/api/v2/changefeeds", params={"keyspace": "team_a"}, json=order())
    assert the_assignment(twin).changefeed_id == "team_a.orders"


def test_progress_shows_in_the_api(api, owner, twin, feed, detail):
    at = tso.compose(context_ms := 1_763_694_000_000, 7)
    table = TableProgress(schema="shop", table="t", version=at - 5, rows=3, bytes=100, last_commit_ts=at)
    assignment = the_assignment(twin)
    twin.beat(
        twin.report(
            assignment,
            checkpoint_ts=at,
            resolved_ts=at + 1,
            resolved_ts_estimated=True,
            batch_id=4,
            source_position='{"file":"x"}',
            rows_total=3,
            bytes_total=100,
            updated_at_ms=context_ms,
            counters=Counters(late_rows=2, held_rows=1),
            tables=[table],
            logs=["one", "two"],
        )
    )
    twin.beat(twin.report(assignment, checkpoint_ts=at, batch_id=4, rows_total=3, logs=["three"]))
    assert (detail()["checkpoint_ts"], detail()["checkpoint_time"]) == (at, "2025-11-21 03:00:00.000")
    base = "/api/v2/changefeeds/orders"
    checkpoint = api.get(f"{base}/checkpoint").json()
    assert (checkpoint["batch_id"], checkpoint["rows_total"]) == (4, 3)
    assert (checkpoint["source_position"], checkpoint["resolved_ts"]) == ('{"file":"x"}', at + 1)
    assert checkpoint["updated_at"] == "2025-11-21T03:00:00.000Z"
    (shown,) = api.get(f"{base}/progress").json()["tables"]
    assert (shown["schema"], shown["rows"], shown["last_commit_ts"]) == ("shop", 3, at)
    assert shown["last_commit_time"] == "2025-11-21 03:00:00.000"
    assert api.get(f"{base}/logs", params={"limit": 2}).json()["lines"] == ["two", "three"]
    labels = {"changefeed": "orders", "namespace": "default"}
    samples = {
        (sample.name, tuple(sample.labels)): sample
        for family in text_string_to_metric_families(api.get("/metrics").text)
        for sample in family.samples
    }
    for name, value in (("ticdc_owner_checkpoint_ts", context_ms), ("ticdc_sink_dml_event_count_total", 3)):
        sample = samples[name, tuple(labels)]
        assert (sample.labels, sample.value) == (labels, value)
    assert samples["weir_captures", ()].value == 1


def test_what_an_earlier_epoch_says_is_not_heard(owner, twin, feed, detail):
    assignment = the_assignment(twin)
    old = twin.report(assignment, Phase.FAILED, epoch=assignment.epoch - 1, checkpoint_ts=99)
    assert twin.beat(old).assignments == [assignment]
    assert (detail()["checkpoint_ts"], detail()["state"]) == (0, "normal")


def test_what_another_capture_says_is_not_heard(api, owner, twin, feed, detail):
    assignment = the_assignment(twin)
    stranger = CaptureTwin(str(api.base_url))
    assert stranger.beat(stranger.report(assignment, checkpoint_ts=99)).assignments == []
    assert (detail()["checkpoint_ts"], detail()["capture_id"]) == (0, twin.capture_id)
    stranger.close()


def test_a_pause_waits_until_the_capture_has_stopped(api, owner, twin, feed, detail):
    twin.live()
    eventually(lambda: twin.running)
    assert api.post("/api/v2/changefeeds/orders/pause").json() == {}
    assert not twin.running
    assert (detail()["state"], "capture_id" in detail()) == ("stopped", False)


def test_a_pause_of_a_capture_that_does_not_let_go_is_503_and_stays_paused(api, owner, twin, feed, detail, context):
    object.__setattr__(context, "stop_seconds", 0.2)
    the_assignment(twin)
    reply = api.post("/api/v2/changefeeds/orders/pause")
    assert (reply.status_code, reply.json()["error_code"]) == (503, "CDC:ErrServerIsNotReady")
    assert twin.capture_id in reply.json()["error_msg"]
    assert detail()["state"] == "stopped"


def test_a_pause_of_what_the_capture_never_heard_of_ends_after_two_beats(api, owner, twin, feed, detail):
    eventually(detail, lambda found: "capture_id" in found)
    with ThreadPoolExecutor() as pool:
        pause = pool.submit(api.post, "/api/v2/changefeeds/orders/pause")
        eventually(lambda: twin.beat() and pause.done())
    assert pause.result().status_code == 200


def test_a_pause_ends_when_the_lease_of_a_lost_capture_ends(api, owner, twin, feed, detail, clock):
    the_assignment(twin)
    clock.advance(LEASE_SECONDS + 1)
    assert api.post("/api/v2/changefeeds/orders/pause").json() == {}
    assert "capture_id" not in detail()


def test_a_resume_brings_a_new_epoch_and_a_rewind_is_numbered(api, owner, twin, feed, detail):
    twin.live()
    first = eventually(lambda: dict(twin.running))["orders"]
    api.post("/api/v2/changefeeds/orders/pause")
    api.post("/api/v2/changefeeds/orders/resume", json={"overwrite_checkpoint_ts": 77})
    second = eventually(lambda: dict(twin.running))["orders"]
    assert second.epoch == first.epoch + 1
    assert (first.rewind_ts, first.rewind_id, second.rewind_ts, second.rewind_id) == (0, 0, 77, 1)


def test_a_removal_waits_for_the_capture_and_the_name_is_free_again(api, owner, twin, feed, order, tmp_path):
    twin.live()
    before = eventually(lambda: dict(twin.running))["orders"]
    assert api.delete("/api/v2/changefeeds/orders").json() == {}
    assert api.get("/api/v2/changefeeds/orders").json()["error_code"] == "CDC:ErrChangeFeedNotExists"
    again = order(sink_uri=f"file://{tmp_path}/again?protocol=csv")
    assert api.post("/api/v2/changefeeds", json=again).status_code == 200
    after = eventually(lambda: dict(twin.running))["orders"]
    assert (after.epoch > before.epoch, after.feed_uid > before.feed_uid) == (True, True)


def test_a_removal_that_nobody_waited_for_is_finished_by_the_owner(api, owner, twin, feed, context, clock):
    the_assignment(twin)
    object.__setattr__(context, "stop_seconds", 0.1)
    assert api.delete("/api/v2/changefeeds/orders").json()["error_code"] == "CDC:ErrChangeFeedDeletionUnfinished"
    twin.goodbye()
    eventually(lambda: api.get("/api/v2/changefeeds", params={"state": "all"}).json()["total"] == 0)


def test_a_lost_capture_hands_its_changefeed_over_with_a_higher_epoch(api, owner, twin, feed, clock, detail):
    first = the_assignment(twin)
    clock.advance(LEASE_SECONDS / 2)
    other = CaptureTwin(str(api.base_url))
    assert other.beat().assignments == []
    clock.advance(LEASE_SECONDS / 2 + 0.5)
    second = the_assignment(other)
    assert (second.changefeed_id, second.epoch) == ("orders", first.epoch + 1)
    assert detail()["capture_id"] == other.capture_id
    assert twin.beat(twin.report(first)).known is False
    assert [item["id"] for item in api.get("/api/v2/captures").json()["items"]] == [other.capture_id]
    told = [item["what"] for item in api.get("/api/v2/changefeeds/orders/history").json()["items"]]
    assert told == ["create", "assign", "release", "assign"]
    other.close()


def test_a_goodbye_hands_over_at_once(api, owner, twin, feed):
    first = the_assignment(twin)
    other = CaptureTwin(str(api.base_url))
    twin.goodbye()
    assert the_assignment(other).epoch == first.epoch + 1
    other.close()


def test_a_capture_that_registers_again_holds_nothing(owner, twin, feed):
    first = the_assignment(twin)
    twin.register()
    assert the_assignment(twin).epoch == first.epoch + 1


def test_changefeeds_are_spread_over_the_captures(api, owner, twin, order):
    other = CaptureTwin(str(api.base_url))
    for name in ("a", "b", "c", "d"):
        assert api.post("/api/v2/changefeeds", json=order(name)).status_code == 200
    eventually(lambda: len(twin.beat().assignments) + len(other.beat().assignments) == 4)
    assert len(twin.beat().assignments) == len(other.beat().assignments) == 2
    load = {item["id"]: item["changefeeds"] for item in api.get("/api/v2/captures").json()["items"]}
    assert load == {twin.capture_id: 2, other.capture_id: 2}
    other.close()


def test_a_draining_capture_takes_nothing_new(api, owner, twin, order):
    twin.beat(draining=True)
    api.post("/api/v2/changefeeds", json=order())
    other = CaptureTwin(str(api.base_url))
    the_assignment(other)
    (item,) = [item for item in api.get("/api/v2/captures").json()["items"] if item["id"] == twin.capture_id]
    assert (item["state"], item["is_owner"], item["cluster_id"]) == ("draining", False, "default")
    other.close()


def test_a_passing_fault_warns_and_is_tried_again_after_its_backoff(api, owner, twin, feed, clock, detail):
    first = the_assignment(twin)
    twin.fail(first, "CDC:ErrKafkaSendMessage", message="kafka://u:hunter2@h:1/t is gone")
    found = detail()
    assert found["state"] == "warning"
    assert found["error"]["code"] == "CDC:ErrKafkaSendMessage"
    assert found["error"]["message"] == "[CDC:ErrKafkaSendMessage]kafka://u:xxxxx@h:1/t is gone"
    assert api.get("/api/v2/changefeeds/orders/status").json()["last_warning"]["code"] == "CDC:ErrKafkaSendMessage"
    assert api.get("/api/v2/changefeeds").json()["items"][0]["error"]["addr"] == "127.0.0.1:1"
    assert twin.beat().assignments == []
    clock.advance(5)
    assert twin.beat().assignments == []
    clock.advance(5.9)
    twin.beat()
    second = the_assignment(twin)
    assert second.epoch == first.epoch + 1
    twin.beat(twin.report(second, checkpoint_ts=5))
    assert (detail()["state"], "error" in detail()) == ("normal", False)
    told = [item["what"] for item in api.get("/api/v2/changefeeds/orders/history").json()["items"]]
    assert told == ["create", "assign", "fault", "assign", "recover"]


def test_a_fatal_fault_fails_the_changefeed_until_it_is_resumed(api, owner, twin, feed, detail):
    twin.fail(the_assignment(twin), "CDC:ErrDecodeFailed", retryable=False)
    assert (detail()["state"], detail()["error"]["code"]) == ("failed", "CDC:ErrDecodeFailed")
    assert api.get("/api/v2/changefeeds/orders/status").json()["last_error"]["code"] == "CDC:ErrDecodeFailed"
    assert api.post("/api/v2/changefeeds/orders/resume").json() == {"warnings": []}
    the_assignment(twin)
    assert detail()["state"] == "normal"


def test_a_number_that_cannot_be_stored_fails_its_changefeed_and_no_other(api, owner, twin, order):
    for name in ("bad", "good"):
        assert api.post("/api/v2/changefeeds", json=order(name)).status_code == 200
    eventually(lambda: len(twin.beat().assignments) == 2)
    given = {assignment.changefeed_id: assignment for assignment in twin.beat().assignments}
    reply = twin.beat(
        twin.report(given["bad"], checkpoint_ts=1 << 63, batch_id=1),
        twin.report(given["good"], checkpoint_ts=(1 << 63) - 1, batch_id=1),
    )
    assert [assignment.changefeed_id for assignment in reply.assignments] == ["good"]
    assert api.get("/api/v2/changefeeds/good").json()["checkpoint_ts"] == (1 << 63) - 1
    failed = api.get("/api/v2/changefeeds/bad").json()
    assert (failed["state"], failed["error"]["code"]) == ("failed", "CDC:ErrDecodeFailed")


def test_a_checkpoint_of_tomorrow_hides_no_error(api, owner, twin, feed):
    tomorrow = tso.compose(now_ms() + 86_400_000)
    assignment = the_assignment(twin)
    twin.beat(twin.report(assignment, checkpoint_ts=tomorrow))
    twin.fail(assignment, "CDC:ErrDecodeFailed", retryable=False)
    assert api.get("/api/v2/changefeeds/orders/status").json()["last_error"]["code"] == "CDC:ErrDecodeFailed"


def test_a_fenced_capture_is_given_a_new_epoch_at_once(api, owner, twin, feed, detail):
    first = the_assignment(twin)
    twin.fail(first, "CDC:ErrFenced")
    assert the_assignment(twin).epoch == first.epoch + 1
    assert detail()["state"] == "normal"
    told = [item["what"] for item in api.get("/api/v2/changefeeds/orders/history").json()["items"]]
    assert "fence" in told


def test_the_target_finishes_a_changefeed(api, owner, twin, order, detail):
    api.post("/api/v2/changefeeds", json=order(target_ts=500))
    assignment = the_assignment(twin)
    assert assignment.target_ts == 500
    assert twin.beat(twin.report(assignment, Phase.FINISHED, checkpoint_ts=400)).assignments == []
    assert (detail()["state"], detail()["checkpoint_ts"]) == ("finished", 500)
    assert api.get("/api/v2/changefeeds").json()["total"] == 0
    assert api.get("/api/v2/changefeeds", params={"state": "all"}).json()["total"] == 1


def test_heartbeats_get_through_while_many_pauses_wait(api, owner, twin, order, context):
    names = [f"f{number}" for number in range(50)]
    for name in names:
        assert api.post("/api/v2/changefeeds", json=order(name)).status_code == 200
    eventually(lambda: len(twin.beat().assignments) == 50)
    twin.live()
    with ThreadPoolExecutor(50) as pool:
        replies = list(pool.map(lambda name: api.post(f"/api/v2/changefeeds/{name}/pause"), names))
    assert [reply.status_code for reply in replies] == [200] * 50


@pytest.mark.parametrize("body", [b"", b"{}", b"nonsense", b'{"capture_id": 5}'], ids=["empty", "{}", "text", "type"])
@pytest.mark.parametrize("path", ["", "/x/beat"])
def test_a_malformed_call_of_a_capture_is_a_bad_request(api, path, body):
    reply = api.post(f"/internal/v1/captures{path}", content=body)
    assert (reply.status_code, reply.json()["error_code"]) == (400, "CDC:ErrAPIInvalidParam")


def test_an_unknown_capture_is_told_to_register(api):
    ghost = CaptureTwin(str(api.base_url), register=False)
    assert ghost.beat().known is False
    ghost.close()


def test_captures_must_send_the_token_when_there_is_one(server, store, tmp_path, clock, api):
    application, url = server
    application.state.context = make_context(store, tmp_path / "home", clock, capture_token="t0ken")
    for token in ("", "wrong", "t0ken2"):
        with pytest.raises(AssertionError, match="ErrUnauthorized"):
            CaptureTwin(url, token=token)
    CaptureTwin(url, token="t0ken").close()


def test_a_second_replica_takes_over_when_the_owner_is_gone(api, store, context, tmp_path, clock, feed, twin):
    first = Owner(context)
    second = Owner(make_context(store, tmp_path / "home", clock))
    assert first.tick()
    assert not second.tick()
    (assignment,) = twin.beat().assignments
    clock.advance(5.1)
    twin.beat(twin.report(assignment))
    assert second.tick()
    assert not first.tick()
    assert twin.beat().assignments == [assignment], "a change of owners moves nothing"


def test_readiness_and_health_need_an_owner_first(api, context):
    for path in ("/readyz", "/api/v2/health"):
        reply = api.get(path)
        assert (reply.status_code, reply.json()["error_code"]) == (503, "CDC:ErrServerIsNotReady")
    assert api.get("/livez").json() == {"status": "alive"}
    assert api.get("/api/v2/status").json()["is_owner"] is False
    Owner(context).tick()
    assert api.get("/readyz").json() == {"status": "ready"}
    assert api.get("/api/v2/status").json()["is_owner"] is True


def test_readiness_needs_the_tables_of_this_version(api, context):
    context.database.migrate("base")
    assert "tables" in api.get("/readyz").json()["error_msg"]


def test_the_status_satisfies_the_cli(api, context):
    status = api.get("/api/v2/status").json()
    assert status == api.get("/status").json()
    assert (status["version"], status["liveness"], status["id"]) == ("v8.5.4", 0, context.node_id)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"id": 7, "pd_addrs": null}'])
def test_the_tso_is_now(api, content):
    now = api.post("/api/v2/tso", content=content).json()
    assert abs(now["timestamp"] - time.time() * 1000) < 5000
    assert now["logic_time"] == 0
