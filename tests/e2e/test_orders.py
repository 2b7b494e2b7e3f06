"""A changefeed's life as an operator steers it: what the README shows."""

import time

import pytest

from tests.e2e.conftest import SINK
from tests.pipeline.messages import insert, ts, watermark
from tests.rig.waiting import wait_for


def test_a_whole_life_from_creation_to_removal(weir):
    source = weir.source()
    source.insert(1)
    feed = weir.create(source_uri=source.uri, paused=True)
    listed = {item["id"]: item["state"] for item in weir.api.get("/changefeeds").json()["items"]}
    assert listed[feed.name] == feed.state == "stopped"
    assert feed.keys() == []

    feed.resume()
    feed.wait_for_keys(1)
    wait_for(lambda: feed.get()["checkpoint_ts"] == ts(1), "the checkpoint")
    assert feed.get()["state"] == "normal"
    assert feed.get("/checkpoint")["rows_total"] == 1

    feed.pause()
    source.insert(2)
    answer = feed.update(replica_config={"filter": {"rules": ["shop.*"]}}, sink_uri=f"file://{feed.output}?{SINK}")
    assert answer.status_code == 200, answer.text
    feed.resume()
    feed.wait_for_keys(1, 2)

    feed.remove()
    assert weir.api.get(f"/changefeeds/{feed.name}").status_code == 400
    assert feed.keys() == [1, 2]
    what = [item["what"] for item in feed.get("/history")["items"]]
    assert [word for word in what if word != "assign"] == ["create", "resume", "pause", "update", "resume", "remove"]


def test_a_name_that_was_removed_may_be_used_again_for_another_folder(weir):
    source = weir.source()
    source.insert(1)
    feed = weir.create(source_uri=source.uri)
    feed.wait_for_keys(1)
    feed.remove()
    again = weir.api.post(
        "/changefeeds",
        json={"changefeed_id": feed.name, "source_uri": source.uri, "sink_uri": f"file://{feed.output}?{SINK}"},
    )
    assert again.json()["error_code"] == "CDC:ErrSinkFolderNotEmpty"
    adopted = weir.api.post(
        "/changefeeds",
        json={
            "changefeed_id": feed.name,
            "source_uri": source.uri,
            "sink_uri": f"file://{feed.output}?{SINK}&adopt=restart",
        },
    )
    assert adopted.status_code == 200, adopted.text
    feed.wait_for_keys(1, 1)


def test_from_a_start_to_a_target_and_on_to_a_later_target(weir):
    source = weir.source()
    source.insert(*range(1, 10))
    feed = weir.create(source_uri=source.uri, start_ts=ts(3), target_ts=ts(6))
    feed.wait_for_state("finished")
    assert feed.keys() == [4, 5, 6]
    assert feed.get()["checkpoint_ts"] == ts(6) == feed.read().checkpoint

    feed.pause()
    assert feed.update(target_ts=ts(8)).status_code == 200
    feed.resume()
    wait_for(lambda: feed.state == "finished" and feed.get()["checkpoint_ts"] == ts(8), "the later target")
    assert feed.keys() == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("watermarks", [True, False], ids=["with watermarks", "without"])
def test_a_topic_from_a_start_to_a_target(weir, watermarks):
    topic = weir.topic(partitions=2)
    now_ms = int(time.time() * 1000) - 60_000
    for number in range(2):
        rows = [insert("orders", key, ts(now_ms + key), extension=watermarks) for key in range(number, 100, 2)]
        weir.kafka.produce(topic, [*rows, *([watermark(ts(now_ms + 200))] * watermarks)], partition=number)
    feed = weir.create(source_uri=weir.topic_uri(topic), start_ts=ts(now_ms + 9), target_ts=ts(now_ms + 49))
    feed.wait_for_state("finished")
    assert sorted(feed.keys()) == list(range(10, 50))
    assert feed.get()["checkpoint_ts"] == ts(now_ms + 49)


def test_a_rewind_delivers_again_under_new_numbers_and_stands_in_the_history(weir):
    source = weir.source()
    source.insert(*range(1, 6))
    feed = weir.create(source_uri=source.uri)
    feed.wait_for_keys(1, 2, 3, 4, 5)
    feed.pause()
    feed.resume(overwrite_checkpoint_ts=ts(3))
    feed.wait_for_keys(1, 2, 3, 4, 5, 4, 5)
    wait_for(lambda: feed.get()["checkpoint_ts"] == ts(5), "the checkpoint to come back")
    (folder,) = feed.read(ordered=False).tables["shop", "orders"]
    assert len(folder.files) == 2
    assert any(item["what"] == "rewind" and str(ts(3)) in item["detail"] for item in feed.get("/history")["items"])


def test_latest_is_the_moment_of_creation_even_if_it_runs_only_later(weir):
    topic = weir.topic()
    weir.kafka.produce(topic, [insert("orders", 1, ts(1), extension=False)])
    feed = weir.create(source_uri=weir.topic_uri(topic, options=""), paused=True)
    weir.kafka.produce(topic, [insert("orders", 2, ts(2), extension=False)])
    feed.resume()
    feed.wait_for_keys(2)


def test_a_new_output_folder_gets_everything_from_the_beginning(weir):
    source = weir.source()
    source.insert(1, 2)
    feed = weir.create(source_uri=source.uri)
    feed.wait_for_keys(1, 2)
    feed.pause()
    source.insert(3)
    feed.output = weir.folder / f"moved-{feed.name}"
    answer = feed.update(sink_uri=f"file://{feed.output}?{SINK}")
    assert answer.json()["checkpoint_ts"] == 0
    feed.resume()
    feed.wait_for_keys(1, 2, 3)


def test_a_filter_that_changes_holds_for_what_is_read_from_then_on(weir):
    topic = weir.topic()
    weir.kafka.produce(topic, [insert("orders", 1, ts(10)), insert("items", 2, ts(11))])
    feed = weir.create(source_uri=weir.topic_uri(topic, options="&start=earliest&watermark=require"))
    wait_for(lambda: feed.get("/progress")["held_rows"] == 2, "both rows to be held")
    feed.pause()
    assert feed.update(replica_config={"filter": {"rules": ["*.items"]}}).status_code == 200
    feed.resume()
    weir.kafka.produce(topic, [watermark(ts(20))])
    feed.wait_for_keys(2)
    assert ("shop", "orders") not in feed.read().tables
