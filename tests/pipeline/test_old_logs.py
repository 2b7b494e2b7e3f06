"""A commit log that an earlier version wrote (format 1): it is gone on with, and its last entry published."""

import json

import pytest

from tests.pipeline.messages import insert, ts, watermark
from tests.pipeline.scene import NOON, Queue, Scene, deliver

SCHEMA_FILE = (
    '{"Table":"orders","Schema":"shop","Version":1,"TableVersion":%d,"Query":"","Type":0,"TableColumns":'
    '[{"ColumnName":"id","ColumnType":"BIGINT","ColumnIsPk":"true","ColumnPrecision":"20"},'
    '{"ColumnName":"name","ColumnType":"VARCHAR"}],"TableColumnsTotal":2}'
)


def home(scene: Scene):
    made = scene.output / "_weir" / "feed"
    for name in ("log", "staging", "held"):
        (made / name).mkdir(parents=True, exist_ok=True)
    return made


def write(scene: Scene, *entries: dict[str, object]) -> None:
    """As an earlier version did: what has its default is left out, the format too."""
    for entry in entries:
        (home(scene) / "log" / f"{entry['number']:016d}").write_text(json.dumps(entry))


def claim(**more: object) -> dict[str, object]:
    return {"number": 1, "kind": "claim", "epoch": 1, "changefeed_id": "feed", "feed_uid": 1, "fresh": True, **more}


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path)
    scene.epoch = 1
    return scene


def test_a_folder_goes_on_in_the_middle_of_its_file(scene):
    rows = [insert("orders", key, ts(key)) for key in (1, 2, 3)]
    path = scene.put("b.json", *rows)
    scene.put("a.json", insert("orders", 9, ts(9)))
    cursor = {"name": "b.json", "size": path.stat().st_size, "offset": len(rows[0]) + 1}
    write(scene, claim(), {"number": 2, "kind": "commit", "epoch": 1, "cursor": cursor, "files_read": ["a.json"]})
    deliver(scene.folder_feed())
    assert scene.keys() == ["2", "3"]


def test_a_queue_goes_on_at_its_offsets_with_what_it_held(scene):
    write(
        scene,
        claim(offsets={"t": {"0": 0}}),
        {
            "number": 2,
            "kind": "commit",
            "epoch": 1,
            "offsets": {"t": {"0": 5}},
            "partitions": [{"stream": "t", "partition": 0, "watermark_ts": ts(20), "extension": True}],
            "checkpoint_ts": ts(20),
            "resolved_ts": ts(20),
        },
    )
    feed = scene.queue_feed(partitions=1)
    assert feed.offsets == {0: 5}
    queue = Queue(1)
    queue.next = {0: 5}
    feed.advance(queue.batch({0: [insert("orders", 1, ts(10)), insert("orders", 2, ts(30)), watermark(ts(40))]}), NOON)
    assert scene.keys() == ["2"]
    assert feed.delivery.view.totals.repeats_dropped == 1


def test_its_last_entry_is_published_by_the_next_owner(scene):
    staged = home(scene) / "staging" / "1-1-2"
    staged.mkdir()
    row = insert("orders", 1, ts(10)) + b"\r\n"
    (staged / "abc").write_bytes(row)
    folder = f"shop/orders/{ts(10)}/1970-01-01"
    record = {
        "staged": "1-1-2/abc", "path": f"{folder}/CDC000001.json", "rows": 1, "bytes": len(row),
        "first_ts": ts(10), "last_ts": ts(10),
    }  # fmt: skip
    schema = {"path": "shop/orders/meta/schema_1_0000000001.json", "content": SCHEMA_FILE % ts(10)}
    commit = {"number": 2, "kind": "commit", "epoch": 1, "files_read": ["a.json"], "checkpoint_ts": ts(10)}
    write(scene, claim(), {**commit, "files": [record], "schema_files": [schema]})
    scene.folder_feed()
    assert (scene.output / folder / "CDC000001.json").read_bytes() == row
    assert (scene.output / folder / "meta/CDC.index").read_bytes() == b"CDC000001.json\n"
    assert json.loads((scene.output / "metadata").read_bytes())["checkpoint-ts"] == ts(10)
