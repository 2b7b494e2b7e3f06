"""Log lines, as a list and as a stream, and statements."""

import json
import threading

import pytest

from app.owner.loop import Owner
from app.times import rfc3339
from spark_jobs.wire import DdlEvent, LogLine
from tests.app.calls import create, refused

FEED = "/api/v2/changefeeds/orders"
NOON = 1_763_694_000_000
LINES = [
    LogLine(text="batch 1", kind="batch", level="debug", time_ms=NOON),
    LogLine(text="ALTER TABLE", kind="ddl", time_ms=NOON + 1000),
    LogLine(text="tried again", kind="retry", level="warning", time_ms=NOON + 2000),
    LogLine(text="it broke: kafka://u:hunter2@h/t", level="error", time_ms=NOON + 3000),
]


@pytest.fixture
def tell(api, context, twin, order):
    """Lets its capture tell lines or statements."""
    create(api, order())
    Owner(context).tick()
    (assignment,) = twin.beat().assignments
    return lambda **told: twin.beat(twin.report(assignment, **told))


@pytest.mark.parametrize(
    ("params", "texts"),
    [
        ({}, ["batch 1", "ALTER TABLE", "tried again", "it broke: kafka://u:xxxxx@h/t"]),
        ({"level": "warning"}, ["tried again", "it broke: kafka://u:xxxxx@h/t"]),
        ({"kind": "ddl"}, ["ALTER TABLE"]),
        ({"since": rfc3339(NOON + 2000)}, ["tried again", "it broke: kafka://u:xxxxx@h/t"]),
        ({"limit": 1}, ["it broke: kafka://u:xxxxx@h/t"]),
        ({"level": "error", "kind": "ddl"}, []),
    ],
)
def test_lines_are_found_by_level_kind_and_time(api, tell, params, texts):
    tell(lines=LINES)
    found = api.get(f"{FEED}/logs", params=params).json()
    assert found["lines"] == [item["text"] for item in found["items"]] == texts


def test_lines_of_an_older_capture_have_a_time_too(api, tell):
    tell(logs=["2025-11-21T03:03:58Z epoch 5: running"])
    (item,) = api.get(f"{FEED}/logs").json()["items"]
    assert (item["level"], item["kind"], item["text"]) == ("info", "log", "2025-11-21T03:03:58Z epoch 5: running")
    assert item["time"]


@pytest.mark.parametrize("params", [{"level": "loud"}, {"kind": "x"}, {"since": "yesterday"}, {"limit": 0}])
def test_what_cannot_be_asked_for_is_refused(api, tell, params):
    refused(api.get(f"{FEED}/logs", params=params), "ErrAPIInvalidParam", next(iter(params)))


def events(reply):
    """Each event as (id, data)."""
    number = ""
    for line in reply.iter_lines():
        if line.startswith("id: "):
            number = line[4:]
        if line.startswith("data: "):
            yield number, json.loads(line[6:])


def test_lines_can_be_followed(api, tell):
    tell(lines=LINES[:2])
    later = threading.Timer(0.3, lambda: tell(lines=LINES[2:]))
    with api.stream("GET", f"{FEED}/logs/stream", params={"limit": 1}) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        later.start()
        seen = events(reply)
        first = next(seen)
        assert first[1]["text"] == "ALTER TABLE"
        assert [next(seen)[1]["text"], next(seen)[1]["level"]] == ["tried again", "error"]
    with api.stream("GET", f"{FEED}/logs/stream", headers={"last-event-id": first[0]}) as reply:
        assert next(events(reply))[1]["text"] == "tried again"


def test_statements_are_told_with_what_became_of_them(api, tell):
    tell(
        ddl=[DdlEvent(commit_ts=5 << 18, schema="s", table="t", query="DROP TABLE t", outcome="filtered", time_ms=NOON)]
    )
    tell(ddl=[DdlEvent(commit_ts=0, schema="s", table="", query="CREATE DATABASE s")])
    found = api.get(f"{FEED}/ddl").json()
    assert found["total"] == 2
    first, second = found["items"]
    assert (first["schema"], first["query"], first["outcome"], first["time"]) == (
        "s",
        "DROP TABLE t",
        "filtered",
        rfc3339(NOON),
    )
    assert (second["outcome"], second["commit_time"]) == ("delivered", None)
    assert [item["query"] for item in api.get(f"{FEED}/ddl", params={"limit": 1}).json()["items"]] == [
        "CREATE DATABASE s"
    ]
