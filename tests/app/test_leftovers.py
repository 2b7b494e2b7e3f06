"""What removed changefeeds leave behind is listed, and cleaned: by a call, or when it is old."""

from pathlib import Path

import pytest

from app.owner.loop import Owner
from tests.app.calls import create, refused

DAY = 86_400


@pytest.fixture
def removed(api, context, order):
    """A changefeed that is gone, with files of its own and of a later life under its name."""
    made = create(api, order())
    folder = Path(context.settings.checkpoint_root) / "orders"
    for name in (f"spark/{made['epoch']}-{made['epoch'] + 1}/offsets", f"_dead_letter/{made['epoch']}-0.jsonl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("12345")
    api.delete("/api/v2/changefeeds/orders").raise_for_status()
    return folder, made["epoch"]


def listed(api):
    return api.get("/api/v2/leftovers").json()["items"]


def test_leftovers_are_listed_with_what_they_take(api, removed, tmp_path):
    folder, epoch = removed
    (item,) = listed(api)
    assert (item["changefeed_id"], item["keyspace"], item["bytes"]) == ("orders", "default", 10)
    assert item["files"] == [f"{folder}/_dead_letter/{epoch}-0.jsonl", f"{folder}/spark/{epoch}-{epoch + 1}"]
    assert item["output"] == f"file://{tmp_path}/out-orders?protocol=csv"
    assert item["cleaned_at"] > item["removed_time"]


def test_a_call_cleans_files_and_history(api, removed):
    folder, _ = removed
    (item,) = listed(api)
    assert api.delete(f"/api/v2/leftovers/{item['id']}").json() == {}
    assert listed(api) == []
    assert not folder.exists()
    refused(api.get("/api/v2/changefeeds/orders/history"), "ErrChangeFeedNotExists")
    refused(api.delete(f"/api/v2/leftovers/{item['id']}"), "ErrLeftoverNotExists", "no leftover")


def test_a_later_life_under_the_same_name_keeps_its_files_and_its_history(api, removed, order):
    folder, epoch = removed
    create(api, order())
    (folder / "_dead_letter" / f"{epoch + 999}-0.jsonl").write_text("later")
    api.delete(f"/api/v2/leftovers/{listed(api)[0]['id']}").raise_for_status()
    assert [path.name for path in folder.rglob("*.jsonl")] == [f"{epoch + 999}-0.jsonl"]
    assert len(api.get("/api/v2/changefeeds/orders/history").json()["items"]) == 3


def test_old_leftovers_are_cleaned_by_themselves(api, removed, context, clock):
    folder, _ = removed
    owner = Owner(context)
    clock.advance(29 * DAY)
    owner.tick()
    assert folder.exists()
    clock.advance(2 * DAY)
    owner.tick()
    assert listed(api) == []
    assert not folder.exists()
