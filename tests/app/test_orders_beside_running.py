"""Dead letters and skips: listed, shown, dropped and ordered over HTTP; captures are twins of the wire protocol."""

import contextlib
from pathlib import Path

import pytest

from app.owner.loop import Owner
from spark_jobs.pipeline.dead_letters import DeadLetters
from spark_jobs.pipeline.job import DeadLetter
from spark_jobs.wire import Counters, DeadLetterRetry, Skip
from tests.app.calls import create, refused
from tests.app.twin import CaptureTwin

FEED = "/api/v2/changefeeds/orders"


def letter(offset, message=b"{not json"):
    return DeadLetter(stream="t", partition=0, offset=offset, reason="it is no JSON", message=message)


@pytest.fixture
def feed(api, context, order):
    """Entries 0 to 3 are committed; the batch that would become entry 4 is not."""
    made = create(api, order())
    folder = Path(context.settings.checkpoint_root) / "orders" / "_dead_letter"
    letters = DeadLetters(str(folder), made["epoch"])
    letters.write(1, [letter(5), letter(6, b"\xff\xfe")])
    letters.write(3, [letter(9)])
    letters.write(4, [letter(11)])
    DeadLetters(str(folder), made["epoch"] - 1).write(1, [letter(1)])
    return made


@pytest.fixture
def running(api, context, twin, feed):
    """Its capture's assignment; entry 3 is reported."""
    Owner(context).tick()
    (assignment,) = twin.beat().assignments
    twin.beat(twin.report(assignment, batch_id=3, checkpoint_ts=5, counters=Counters(dead_letters=3)))
    return assignment


def listed(api, **params):
    return api.get(f"{FEED}/dead_letters", params=params).json()


def test_the_letters_of_committed_batches_of_this_life_are_listed(api, running):
    found = listed(api)
    assert [(item["stream"], item["offset"], item["bytes"], item["retry"]) for item in found["items"]] == [
        ("t", 5, 9, ""),
        ("t", 6, 2, ""),
        ("t", 9, 9, ""),
    ]
    assert [item["offset"] for item in listed(api, offset=1, limit=1)["items"]] == [6]
    assert found["total"] == listed(api, limit=1)["total"] == 3


def test_a_letter_is_shown_with_its_bytes(api, running):
    text, binary, _ = (api.get(f"{FEED}/dead_letters/{item['id']}").json() for item in listed(api)["items"])
    assert (text["message_text"], text["message_base64"]) == ("{not json", "e25vdCBqc29u")
    assert (binary["message_text"], binary["message_base64"]) == (None, "//4=")


def test_a_letter_that_is_dropped_is_gone_for_good_and_the_ids_of_others_stay(api, running):
    first, second, third = (item["id"] for item in listed(api)["items"])
    assert api.delete(f"{FEED}/dead_letters/{first}", auth=("ada", "")).json() == {}
    assert [item["id"] for item in listed(api)["items"]] == [second, third]
    refused(api.delete(f"{FEED}/dead_letters/{first}"), "ErrDeadLetterNotExists", first)
    api.delete(f"{FEED}/dead_letters/{second}")
    assert [item["id"] for item in listed(api)["items"]] == [third]
    told = api.get(f"{FEED}/history").json()["items"][2]
    assert (told["what"], told["who"]) == ("drop dead letter", "ada@127.0.0.1")
    assert "t/0@5: it is no JSON" in told["detail"]


@pytest.mark.parametrize("letter_id", ["nope", "..:0", "1-0000000000000001.jsonl:0", "x" * 3000])
def test_a_letter_that_is_none_is_refused(api, running, letter_id):
    refused(api.get(f"{FEED}/dead_letters/{letter_id}"), "ErrDeadLetterNotExists", "no dead letter")


def test_a_letter_is_ordered_again_and_each_order_is_told_to_the_capture_until_it_is_done(api, context, twin, running):
    first, _, third = (item["id"] for item in listed(api)["items"])
    assert api.post(f"{FEED}/dead_letters/{first}/retry").json() == {"retry_id": 1}
    assert api.post(f"{FEED}/dead_letters/{third}/retry").json() == {"retry_id": 2}
    (assignment,) = twin.beat(twin.report(running)).assignments
    assert assignment.retries == [
        DeadLetterRetry(retry_id=1, file=first.partition(":")[0], line=0),
        DeadLetterRetry(retry_id=2, file=third.partition(":")[0], line=0),
    ]
    assert [item["retry"] for item in listed(api)["items"]] == ["ordered", "", "ordered"]
    (assignment,) = twin.beat(twin.report(running, batch_id=4, retried=1)).assignments
    assert [order.retry_id for order in assignment.retries] == [2]
    assert [item["retry"] for item in listed(api)["items"][:3]] == ["done", "", "ordered"]


def test_skips_are_told_to_the_capture_and_stand_in_the_history(api, context, twin, running):
    one = {"stream": "t", "partition": 0, "offset": 7}
    refused(api.post(f"{FEED}/skips", json=one), "ErrChangefeedUpdateRefused", "pause it")
    twin.live()
    api.post(f"{FEED}/pause").raise_for_status()
    assert api.post(f"{FEED}/skips", json=one).json() == {"total": 1, "items": [one | {"commit_ts": 0}]}
    assert api.post(f"{FEED}/skips", json={"commit_ts": 99}).json()["total"] == 2
    refused(api.post(f"{FEED}/skips", json=one), "ErrAPIInvalidParam", "already")
    with context.database.read() as connection:
        skips = context.feeds(connection).by_name("default", "orders").orders.skips
    assert skips == [Skip(stream="t", partition=0, offset=7), Skip(commit_ts=99)]
    assert [item["detail"] for item in api.get(f"{FEED}/history").json()["items"][-2:]] == ["t/0@7", "statement 99"]


@pytest.mark.parametrize("body", [{}, {"stream": "t"}, {"stream": "t", "offset": 1, "commit_ts": 5}, {"partition": 1}])
def test_half_a_place_is_refused(api, running, body):
    refused(api.post(f"{FEED}/skips", json=body), "ErrAPIInvalidParam", "give stream, partition and offset")


def test_what_no_capture_can_do_is_not_ordered(api, context, feed):
    with contextlib.closing(CaptureTwin(str(api.base_url), abilities=())) as older:
        Owner(context).tick()
        (assignment,) = older.beat().assignments
        older.beat(older.report(assignment, batch_id=3, checkpoint_ts=5))
        letter_id = listed(api)["items"][0]["id"]
        refused(api.post(f"{FEED}/dead_letters/{letter_id}/retry"), "ErrNoCapture", "nothing was ordered")
        refused(api.post(f"{FEED}/skips", json={"commit_ts": 9}), "ErrNoCapture", "nothing was ordered")
    assert api.get(f"{FEED}/skips").json() == {"total": 0, "items": []}
