"""PUT and PATCH: what they change, what they say about it, and what they refuse."""

import pytest

from app.changefeeds.changes import changes, widened
from app.masking import Json
from app.replica_config.merge import merged
from spark_jobs.wire import TableProgress
from tests.app.calls import PAST, create, refused
from tests.app.feeds import a_changefeed

FEED = "/api/v2/changefeeds/orders"


@pytest.fixture
def stopped(api, order):
    config = {"filter": {"rules": ["shop.*", "!shop.audit"]}, "sink": {"csv": {"quote": "'"}, "date_separator": "none"}}
    return create(api, order(paused=True, replica_config=config, labels={"team": "a"}))


def test_a_patch_merges_and_a_put_lays_over_the_defaults(api, stopped):
    body = {"replica_config": {"sink": {"csv": {"null": "-"}}}}
    patched = api.patch(FEED, json=body).json()["config"]
    assert (patched["sink"]["csv"]["quote"], patched["sink"]["csv"]["null"]) == ("'", "-")
    assert (patched["filter"]["rules"], patched["sink"]["date_separator"]) == (["shop.*", "!shop.audit"], "none")
    put = api.put(FEED, json=body).json()["config"]
    assert (put["sink"]["csv"]["quote"], put["filter"]["rules"], put["sink"]["date_separator"]) == ('"', ["*.*"], "day")


def test_a_null_in_a_patch_is_the_default_again(api, stopped):
    config = api.patch(FEED, json={"replica_config": {"SINK": {"csv": {"quote": None}}, "filter": None}}).json()[
        "config"
    ]
    assert (config["sink"]["csv"]["quote"], config["filter"]["rules"]) == ('"', ["*.*"])
    assert config["sink"]["date_separator"] == "none"


def test_a_patch_takes_a_target_away_and_a_put_does_not(api, stopped):
    assert api.patch(FEED, json={"target_ts": PAST}).json()["target_ts"] == PAST
    assert api.put(FEED, json={"target_ts": 0, "replica_config": {}}).json()["target_ts"] == PAST
    refused(api.patch(FEED, json={"target_ts": None}), "ErrChangefeedUpdateRefused", "over and not reached")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_the_reply_and_the_history_tell_what_changed(api, stopped, tmp_path, method):
    moved = f"file://{tmp_path}/elsewhere?protocol=csv"
    body = {"sink_uri": moved, "replica_config": stopped["config"] | {"filter": {"rules": ["shop.*"]}}}
    changed = api.request(method, FEED, json=body).json()["changes"]
    assert changed == [
        {"key": "sink_uri", "before": stopped["sink_uri"], "after": moved},
        {"key": "replica_config.filter.rules", "before": ["shop.*", "!shop.audit"], "after": ["shop.*"]},
    ]
    detail = api.get(f"{FEED}/history").json()["items"][-1]["detail"]
    assert detail.startswith("changed sink_uri: ")
    assert 'replica_config.filter.rules: ["shop.*", "!shop.audit"] → ["shop.*"]' in detail


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_dry_run_tells_the_same_and_changes_nothing(api, stopped, method):
    reply = api.request(
        method, FEED, json={"replica_config": {"filter": {"rules": ["a.*"]}}}, params={"dry_run": "true"}
    )
    assert reply.json()["changes"][0]["after"] == ["a.*"]
    assert api.get(FEED).json() | {"warnings": []} == stopped
    assert len(api.get(f"{FEED}/history").json()["items"]) == 1


def test_a_secret_that_changes_is_told_without_being_shown(api, order):
    def config(password):
        return {"sink": {"kafka_config": {"sasl_user": "u", "sasl_password": password}}}

    create(api, order(paused=True, replica_config=config("hunter2")))
    reply = api.patch(FEED, json={"replica_config": config("hunter3")})
    assert [change["key"] for change in reply.json()["changes"]] == ["replica_config.sink.kafka_config.sasl_password"]
    assert "hunter" not in reply.text + api.get(f"{FEED}/history").text


def test_notes_may_change_while_it_runs_and_nothing_else(api, order):
    create(api, order(description="old", labels={"team": "a", "tier": "1"}))
    changed = api.patch(FEED, json={"description": "new", "labels": {"tier": None, "site": "x"}}).json()
    assert (changed["description"], changed["labels"], changed["state"]) == (
        "new",
        {"team": "a", "site": "x"},
        "normal",
    )
    refused(api.patch(FEED, json={"target_ts": PAST}), "ErrChangefeedUpdateRefused", "pause it")
    assert [item["id"] for item in api.get("/api/v2/changefeeds", params={"label": "team=a"}).json()["items"]] == [
        "orders"
    ]
    assert api.get("/api/v2/changefeeds", params={"label": ["team=a", "tier"]}).json()["total"] == 0


@pytest.mark.parametrize("body", [{"labels": {"a b": "x"}}, {"labels": {"a": "x" * 300}}, {"labels": {"a": 5}}])
def test_a_label_that_is_none_is_refused(api, stopped, body):
    refused(api.patch(FEED, json=body), "ErrAPIInvalidParam", "labels")


def test_another_id_in_the_body_is_refused(api, stopped):
    refused(
        api.put(FEED, json={"changefeed_id": "other", "target_ts": PAST}), "ErrAPIInvalidParam", "cannot be changed"
    )


def test_an_update_that_lets_through_what_was_kept_back_says_so(api, stopped):
    reply = api.put(FEED, json={"replica_config": {"sink": {"date_separator": "none", "csv": {"quote": "'"}}}}).json()
    (warning,) = reply["warnings"]
    assert warning["key"] == "replica_config.filter.rules"
    assert "shop.audit" in warning["message"]


def feed_with(rules, **config):
    import json

    return a_changefeed(replica_config=json.dumps({"filter": {"rules": rules}} | config))


WIDENED = {
    "an exclusion goes": (["*.*", "!shop.audit"], ["*.*"], "shop.audit"),
    "a rule comes": (["shop.*"], ["shop.*", "crm.*"], "crm."),
    "everything": (["shop.*"], ["*.*"], "any_other_schema.any_other_table"),
    "a table that was seen": (["*.*", "!/au.*/.*"], ["*.*"], "audit.log"),
}
NARROWED = {
    "an exclusion comes": (["*.*"], ["*.*", "!shop.audit"]),
    "a rule goes": (["shop.*", "crm.*"], ["shop.*"]),
    "the same in other words": (["*.*"], ["*.*", "*.*"]),
}
SEEN = [TableProgress(schema="audit", table="log", version=1, rows=1, bytes=1, last_commit_ts=1)]


@pytest.mark.parametrize(("old", "new", "name"), WIDENED.values(), ids=WIDENED.keys())
def test_rules_that_select_more_are_told_with_a_table(old, new, name):
    (notice,) = widened(feed_with(old), feed_with(new), SEEN)
    assert name in notice.message


@pytest.mark.parametrize(("old", "new"), NARROWED.values(), ids=NARROWED.keys())
def test_rules_that_select_no_more_are_not_told(old, new):
    assert widened(feed_with(old), feed_with(new), SEEN) == []


def test_changes_of_a_subtree_are_told_leaf_by_leaf():
    before, after = feed_with(["a.*"]), feed_with(["a.*"], sink={"csv": {"quote": "'"}})
    assert [(item.key, item.before, item.after) for item in changes(before, after)] == [
        ("replica_config.sink.csv.quote", None, "'")
    ]


def test_a_merge_replaces_lists_and_goes_into_objects():
    stored: dict[str, Json] = {"filter": {"rules": ["a.*"]}, "sink": {"csv": {"quote": "'", "null": "-"}}}
    given: dict[str, Json] = {
        "filter": {"RULES": ["b.*"]},
        "sink": {"csv": {"null": None}, "dispatchers": [{"matcher": ["*.*"]}]},
    }
    assert merged(stored, given) == {
        "filter": {"rules": ["b.*"]},
        "sink": {"csv": {"quote": "'"}, "dispatchers": [{"matcher": ["*.*"]}]},
    }
