"""The demo: what its generator writes, and that the changefeed is made once."""

import itertools
import json

import pytest

from app import demo, demo_rows
from app.demo_generator import (
    MOST_FILES,
    QUICK_FILES,
    Progress,
    pause_seconds,
    read_progress,
    write_step,
)
from app.demo_rows import Row
from spark_jobs.cdc import tso
from tests.app.conftest import make_context

AT = 1_763_694_000_000
HEAD = ["id", "database", "table", "pkNames", "isDdl", "type", "es", "ts", "sql", "sqlType", "mysqlType"]
KEYS = {False: [*HEAD, "old", "data", "_tidb"], True: [*HEAD, "data", "old", "_tidb"]}


def messages(steps):
    return [json.loads(line) for step in steps for line in demo_rows.messages(step, AT + step)]


@pytest.fixture(scope="module")
def stream():
    return messages(range(400))


def test_a_step_is_always_the_same():
    assert demo_rows.messages(185, AT) == demo_rows.messages(185, AT)


def test_messages_have_ticdcs_keys_in_ticdcs_order(stream):
    for message in stream:
        assert list(message) == KEYS[message["isDdl"]]
        assert message["es"] == tso.physical_ms(message["_tidb"]["commitTs"])


def test_commit_ts_grow(stream):
    times = [message["_tidb"]["commitTs"] for message in stream]
    assert all(before < after for before, after in itertools.pairwise(times))


def test_rows_follow_from_one_another(stream):
    """Every insert is of a new row, every old image is the row as it stands, so is every deleted one."""
    tables: dict[str, dict[str, Row]] = {}
    columns: dict[str, list[str]] = {}
    for message in stream:
        table = message["table"]
        if message["isDdl"]:
            if message["sql"].startswith("ALTER"):
                added = "ADD" in message["sql"]
                for row in tables["orders"].values():
                    row.pop("note", None)
                    row.update({"note": None} if added else {})
            elif table:
                tables[table] = {}
            columns.pop(table, None)
            continue
        (row,) = message["data"]
        assert (
            columns.setdefault(table, list(row)) == list(row) == list(message["sqlType"]) == list(message["mysqlType"])
        )
        assert all(value is None or isinstance(value, str) for value in row.values())
        rows = tables[table]
        match message["type"]:
            case "INSERT":
                assert row["id"] not in rows
                assert message["old"] is None
                rows[row["id"]] = row
            case "UPDATE":
                assert message["old"] == [rows[row["id"]]]
                rows[row["id"]] = row
            case "DELETE":
                assert rows.pop(row["id"]) == row
                assert message["old"] is None
    assert {table: len(rows) > 50 for table, rows in tables.items()} == dict.fromkeys(tables, True)


def test_the_stream_has_every_kind_of_thing(stream):
    kinds = {message["type"] for message in stream}
    assert kinds == {"QUERY", "CREATE", "ALTER", "INSERT", "UPDATE", "DELETE"}
    values = [value for m in stream if m["data"] for value in m["data"][0].values()]
    assert None in values
    assert any(value and not value.isascii() for value in values)
    assert sum("DROP COLUMN" in message["sql"] for message in stream) >= 2


def test_the_rate_is_a_few_changes_a_second():
    assert 3 <= len(messages(range(100, 200))) / 100 <= 5


def test_the_generator_goes_on_where_it_was(tmp_path):
    for folder in ("source", "staging"):
        (tmp_path / folder).mkdir()
    progress = read_progress(tmp_path)
    assert progress == Progress()
    for _ in range(3):
        progress = write_step(tmp_path, progress, AT)
    assert read_progress(tmp_path) == progress == Progress(3, AT + 2)
    assert sorted(path.name for path in (tmp_path / "source").iterdir()) == [f"{n:08d}.json" for n in range(3)]
    assert list((tmp_path / "staging").iterdir()) == []
    assert (tmp_path / "source" / "00000002.json").read_bytes().splitlines() == demo_rows.messages(2, AT + 2)


def test_a_file_that_appeared_just_before_a_crash_is_not_written_again(tmp_path):
    for folder in ("source", "staging"):
        (tmp_path / folder).mkdir()
    write_step(tmp_path, Progress(), AT)
    (tmp_path / "generator.json").unlink()
    assert read_progress(tmp_path).step == 1


def test_times_do_not_go_back_with_the_clock(tmp_path):
    for folder in ("source", "staging"):
        (tmp_path / folder).mkdir()
    assert write_step(tmp_path, Progress(1, AT), AT - 5000).unix_ms == AT + 1


def test_the_generator_slows_down_and_stops():
    pauses = [pause_seconds(step) for step in (0, QUICK_FILES - 1, QUICK_FILES, MOST_FILES - 1, MOST_FILES)]
    assert pauses == [1.0, 1.0, 10.0, 10.0, None]


def test_the_demo_is_created_once_and_not_again_after_its_removal(context, api):
    assert demo.prepare(context)
    assert demo.prepare(context)
    (item,) = api.get("/api/v2/changefeeds").json()["items"]
    assert (item["id"], item["state"]) == ("demo", "normal")
    assert api.delete("/api/v2/changefeeds/demo").status_code == 200
    assert not demo.prepare(context)
    assert api.get("/api/v2/changefeeds").json()["total"] == 0


def test_no_demo_beside_other_changefeeds_or_when_it_is_not_wanted(sqlite, tmp_path, clock, context, api, order):
    assert not demo.prepare(make_context(sqlite, tmp_path / "home", clock, demo=False))
    api.post("/api/v2/changefeeds", json=order())
    assert not demo.prepare(context)


def test_a_demo_that_cannot_be_made_stops_nothing(context):
    output = context.settings.home / "demo" / "output"
    output.mkdir(parents=True)
    (output / "theirs").write_text("x")
    assert not demo.prepare(context)
