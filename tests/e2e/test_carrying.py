"""From every source to every format: what comes out is what went in."""

import json

import pytest

from tests.rig.upstream import GrowingFolder, Topics
from tests.rig.waiting import wait_for
from tests.rig.watch import Watch
from tests.rig.workload import SCHEMA, Workload
from tests.storage_reader import read_folder

SMALL_FILES = "&flush-interval=100ms&file-size=8192"
SINKS = {
    "canal-json": ("protocol=canal-json&enable-tidb-extension=true" + SMALL_FILES, {}),
    "csv": ("protocol=csv" + SMALL_FILES, {"csv": {"include_commit_ts": True}}),
}
STEPS = 600


def create(weir, source_uri, protocol, **replica_config):
    options, sink = SINKS[protocol]
    return weir.create(options, source_uri=source_uri, replica_config={"sink": sink, **replica_config})


@pytest.fixture(scope="module")
def from_topics(weir):
    """A workload in two topics of four partitions, and the changefeeds that carry it."""
    names = ("carried-1", "carried-2")
    upstream = Topics(weir.kafka, names, 4)
    workload = Workload(31, partitions=upstream.total)
    uri = weir.topic_uri(*names, options="&start=earliest&watermark=require")
    feeds = {protocol: create(weir, uri, protocol) for protocol in SINKS}
    feeds["filtered"] = create(weir, uri, "canal-json", filter={"rules": [f"{SCHEMA}.*", f"!{SCHEMA}.users"]})
    fill(workload, upstream)
    return workload, feeds


@pytest.fixture(scope="module")
def from_folder(weir):
    """The same kind of thing in a folder."""
    source = weir.source()
    workload = Workload(32)
    feeds = {protocol: create(weir, source.uri, protocol) for protocol in SINKS}
    fill(workload, GrowingFolder(source.path))
    return workload, feeds


def fill(workload, upstream):
    for _ in range(STEPS // 20):
        upstream.write([message for _ in range(20) for message in workload.next()])
    upstream.write(workload.finish())


@pytest.mark.parametrize("protocol", SINKS)
@pytest.mark.parametrize("source", ["from_topics", "from_folder"])
def test_everything_comes_out_once_with_its_full_values_in_the_order_of_its_row(source, protocol, request):
    workload, feeds = request.getfixturevalue(source)
    watch = Watch(feeds[protocol].output, workload.ledger, protocol)
    wait_for(watch.is_complete, "everything to be delivered")
    verdict = watch.judge()
    assert verdict.problems == []
    assert verdict.events == len(workload.ledger.changes) > STEPS
    last = max(change.commit_ts for change in workload.ledger.changes)
    feed = feeds[protocol]
    wait_for(lambda: feed.get("/checkpoint")["checkpoint_ts"] >= last, "the checkpoint to pass the last row")
    assert json.loads((feed.output / "metadata").read_bytes())["checkpoint-ts"] >= last


def test_a_filter_lets_the_rest_pass_untouched(from_topics):
    workload, feeds = from_topics
    wanted = [change for change in workload.ledger.changes if change.table != "users"]
    assert 0 < len(wanted) < len(workload.ledger.changes)
    feed = feeds["filtered"]
    wait_for(lambda: len(feed.keys()) >= len(wanted), "what passes the filter")
    folder = read_folder(feed.output, "canal-json")
    came = sorted((event.table, event.commit_ts, event.operation) for event in folder.all_events())
    assert came == sorted((change.table, change.commit_ts, change.operation) for change in wanted)
    assert folder.problems == []
    assert (SCHEMA, "users") not in folder.schemas


def test_what_the_api_says_of_it_is_what_came_out(from_topics):
    workload, feeds = from_topics
    feed = feeds["canal-json"]
    wait_for(lambda: feed.get("/checkpoint")["rows_total"] >= len(workload.ledger.changes), "the last rows to be told")
    progress = feed.get("/progress")
    assert progress["held_rows"] == 0
    rows = {table["table"]: table["rows"] for table in progress["tables"] if table["table"]}
    made = [change.table for change in workload.ledger.changes]
    assert rows == {table: made.count(table) for table in rows}
    assert sum(rows.values()) == len(made) == feed.get("/checkpoint")["rows_total"]
    assert progress["repeats_dropped"] >= workload.ledger.repeats
    assert feed.state == "normal"


def test_the_demo_delivers_exactly_what_its_generator_wrote(weir):
    """Read back by index files, while it goes on."""
    home = weir.folder / "home" / "demo"

    def written():
        lines = [line for path in sorted((home / "source").iterdir()) for line in path.read_bytes().splitlines()]
        messages = [json.loads(line) for line in lines]
        return {m["_tidb"]["commitTs"]: (m["table"], m["type"], m["data"]) for m in messages if not m["isDdl"]}

    wait_for(lambda: len(list((home / "output").glob("*/*/*/*/CDC*.json"))) > 5, "files of the demo")
    folder = read_folder(home / "output", "canal-json")
    came = list(folder.all_events())
    expected = written()
    kinds = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
    assert folder.problems == []
    assert len({event.commit_ts for event in came}) == len(came) > 10
    for event in came:
        image = event.before if event.operation == "D" else event.after
        assert expected[event.commit_ts] == (event.table, kinds[event.operation], [image])
    assert folder.checkpoint
    assert {ts for ts in expected if ts <= folder.checkpoint} <= {event.commit_ts for event in came}
