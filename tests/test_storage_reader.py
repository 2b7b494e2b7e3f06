"""The judge judged: folders made by hand, whole and with every kind of damage."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.storage_events import CsvStyle
from tests.storage_reader import read_folder

MAY_1 = int(datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp() * 1000) << 18
DAY = 86_400_000 << 18
TABLE = ("test", "table1")
# both hashes are asserted in TiCDC's own tests: of this structure, and of a database called schema1
HASH = 4192708364
DATABASE_HASH = 3233644819
COLUMNS = [
    {"ColumnName": "col1", "ColumnType": "INT", "ColumnPrecision": "11"},
    {"ColumnName": "col2", "ColumnType": "VARCHAR", "ColumnPrecision": "5", "ColumnLength": "5"},
]


def schema_text(version: int, query: str = "", **changes) -> str:
    document = {"Table": "table1", "Schema": "test", "Version": 1, "TableVersion": version, "Query": query, "Type": 0}
    return json.dumps(document | {"TableColumns": COLUMNS, "TableColumnsTotal": 2} | changes, indent=4)


def message(commit_ts: int, col1: int | None, kind: str = "INSERT", **changes) -> str:
    row = {"col1": None if col1 is None else str(col1), "col2": "x"}
    old = [{**row, "col2": "old"}] if kind == "UPDATE" else None
    head = {"id": 0, "database": "test", "table": "table1", "pkNames": [], "isDdl": False, "type": kind}
    return json.dumps(head | {"old": old, "data": [row], "_tidb": {"commitTs": commit_ts}} | changes)


class Made:
    """A folder made by hand."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, content: str | bytes) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def lines(self, path: str, *lines: str) -> None:
        self.write(path, "".join(line + "\r\n" for line in lines))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()


V1, V2 = MAY_1, MAY_1 + DAY + 5
FIRST, SECOND = f"test/table1/{V1}/2024-05-01", f"test/table1/{V1}/2024-05-02"
AFTER_DDL = f"test/table1/{V2}/2024-05-02"
SCHEMA_1 = f"test/table1/meta/schema_{V1}_{HASH}.json"


@pytest.fixture
def made(tmp_path) -> Made:
    """One table, two versions, two days; a row update, a delete, a NULL; a file that is not committed yet."""
    made = Made(tmp_path)
    made.write("metadata", f'{{"checkpoint-ts":{V2 + 9}}}')
    made.write(SCHEMA_1, schema_text(V1))
    made.write(f"test/table1/meta/schema_{V2}_{HASH}.json", schema_text(V2, "ALTER TABLE `t` COMMENT = 'x'", Type=38))
    made.lines(f"{FIRST}/CDC000001.json", message(V1, 1), message(V1 + 1, 2))
    made.lines(f"{FIRST}/CDC000002.json", message(V1 + 1, 1, "UPDATE"))
    made.write(f"{FIRST}/meta/CDC.index", "CDC000002.json\n")
    made.lines(f"{SECOND}/CDC000001.json", message(V1 + DAY, 2, "DELETE"))
    made.write(f"{SECOND}/meta/CDC.index", "CDC000001.json\n")
    made.lines(f"{AFTER_DDL}/CDC000001.json", message(V2 + 1, None))
    made.lines(f"{AFTER_DDL}/CDC000002.json", message(V2 + 2, 9))
    made.write(f"{AFTER_DDL}/meta/CDC.index", "CDC000001.json\n")
    made.write("_weir/feed/log/00000001", "not a part of the layout")
    database = {"Table": "", "Schema": "schema1", "TableColumns": None, "TableColumnsTotal": 0}
    made.write(
        f"schema1/meta/schema_{V1}_{DATABASE_HASH}.json", schema_text(V1, "CREATE DATABASE `schema1`", **database)
    )
    return made


def problems(made: Made, **how) -> list[str]:
    folder = read_folder(made.root, "canal-json", zone=UTC, **how)
    folder.check()
    return folder.problems


def test_a_whole_folder_has_no_problem(made):
    assert problems(made) == []


def test_events_come_in_a_consumers_order(made):
    folder = read_folder(made.root, "canal-json")
    events = list(folder.events(TABLE))
    assert [(event.operation, event.commit_ts) for event in events] == [
        ("I", V1),
        ("I", V1 + 1),
        ("U", V1 + 1),
        ("D", V1 + DAY),
        ("I", V2 + 1),
    ]
    assert events[2].before == {"col1": "1", "col2": "old"}
    assert events[2].after == {"col1": "1", "col2": "x"}
    assert (events[3].before, events[3].after) == ({"col1": "2", "col2": "x"}, None)
    assert events[4].after == {"col1": None, "col2": "x"}
    assert events[1].place == (f"{FIRST}/CDC000001.json", 2)
    assert [*folder.all_events()] == events


def test_the_checkpoint_is_read(made):
    assert read_folder(made.root, "canal-json").checkpoint == V2 + 9
    made.remove("metadata")
    folder = read_folder(made.root, "canal-json")
    assert (folder.checkpoint, folder.problems) == (None, [])


def test_what_no_index_covers_is_not_read_and_not_wrong(made):
    made.lines(f"test/table2/{V1}/CDC000001.json", "not even json")
    made.write("test/table1/.CDC000003.json.tmp", "half")
    folder = read_folder(made.root, "canal-json")
    assert folder.check() == 5
    assert sorted(folder.uncommitted) == sorted([f"{AFTER_DDL}/CDC000002.json", f"test/table2/{V1}/CDC000001.json"])
    assert folder.strangers == ["test/table1/.CDC000003.json.tmp"]
    assert folder.problems == []


def test_schema_files_are_read(made):
    folder = read_folder(made.root, "canal-json")
    assert [(file.version, file.query, file.action) for file in folder.schemas[TABLE]] == [
        (V1, "", 0),
        (V2, "ALTER TABLE `t` COMMENT = 'x'", 38),
    ]
    assert folder.schemas["schema1", ""][0].columns is None


@pytest.mark.parametrize(
    ("rest", "order"),
    [
        (["10", "9", "100"], ["9", "10", "100"]),
        (["9/30", "9/4", "9"], ["9", "9/4", "9/30"]),
        (["9/2024", "9/2023"], ["9/2023", "9/2024"]),
        (["9/4/2024-02", "9/4/2024-01", "9/3/2024-02"], ["9/3/2024-02", "9/4/2024-01", "9/4/2024-02"]),
    ],
    ids=["versions", "partitions", "years", "months"],
)
def test_folders_are_taken_by_version_partition_and_date(tmp_path, rest, order):
    made = Made(tmp_path)
    for part in rest:
        made.lines(f"test/table1/{part}/CDC000001.json", message(50, 1))
        made.write(f"test/table1/{part}/meta/CDC.index", "CDC000001.json\n")
    folder = read_folder(tmp_path, "canal-json")
    assert [data_dir.path for data_dir in folder.tables[TABLE]] == [f"test/table1/{part}" for part in order]


def test_numbers_may_outgrow_their_width(tmp_path):
    made = Made(tmp_path)
    made.write(f"test/table1/meta/schema_1_{HASH}.json", schema_text(1))
    for number in range(1, 12):
        made.lines(f"test/table1/1/CDC{number:06d}.json", message(number, number))
    made.write("test/table1/1/meta/CDC.index", "CDC0000011.json\n")
    (tmp_path / "test/table1/1/CDC000011.json").rename(tmp_path / "test/table1/1/CDC0000011.json")
    folder = read_folder(tmp_path, "canal-json")
    assert [event.commit_ts for event in folder.events(TABLE)] == list(range(1, 12))
    assert folder.problems == []


def test_a_table_is_called_what_its_schema_file_says(made):
    shutil.move(made.root / "test", made.root / "te%2Fst")
    for path in (made.root / "te%2Fst").rglob("schema_*.json"):
        path.unlink()
    text = schema_text(V1, Schema="te/st")
    made.write(f"te%2Fst/table1/meta/schema_{V1}_0000000001.json", text)
    folder = read_folder(made.root, "canal-json")
    assert list(folder.tables) == [("te/st", "table1")]


DAMAGES = {
    "metadata says nothing": (lambda made: made.write("metadata", "{}"), "metadata: "),
    "metadata is cut": (lambda made: made.write("metadata", '{"checkpoint-ts":12'), "metadata: "),
    "index names a missing file": (
        lambda made: made.remove(f"{FIRST}/CDC000002.json"),
        "CDC000002.json: named by the index",
    ),
    "a number is missing": (lambda made: made.remove(f"{FIRST}/CDC000001.json"), "no data file has the number 1"),
    "index is empty": (lambda made: made.write(f"{FIRST}/meta/CDC.index", ""), "names no data file"),
    "index has no line feed": (
        lambda made: made.write(f"{FIRST}/meta/CDC.index", "CDC000002.json"),
        "names no data file",
    ),
    "index names another format": (
        lambda made: made.write(f"{FIRST}/meta/CDC.index", "CDC000002.csv\n"),
        "names no data file",
    ),
    "index names number 0": (
        lambda made: made.write(f"{FIRST}/meta/CDC.index", "CDC000000.json\n"),
        "names no data file",
    ),
    "index in a wrong place": (
        lambda made: made.write("test/table1/x/meta/CDC.index", "CDC000001.json\n"),
        "not a folder that",
    ),
    "two files of one number": (
        lambda made: made.lines(f"{FIRST}/CDC0000001.json", message(V1, 1)),
        "have the same number",
    ),
    "data file is empty": (lambda made: made.write(f"{FIRST}/CDC000002.json", ""), "without a byte"),
    "data file is cut": (
        lambda made: made.write(f"{FIRST}/CDC000002.json", message(V1 + 1, 1)[:-9]),
        "event 1 cannot be read",
    ),
    "last terminator is missing": (
        lambda made: made.write(f"{FIRST}/CDC000002.json", message(V1 + 1, 1)),
        "not end with the term",
    ),
    "other terminator": (
        lambda made: made.write(f"{FIRST}/CDC000002.json", f"{message(V1 + 1, 1)}\n{message(V1 + 1, 2)}\n"),
        "event 1 cannot be read",
    ),
    "a watermark among the events": (
        lambda made: made.lines(f"{FIRST}/CDC000002.json", message(0, 1, "TIDB_WATERMARK")),
        "TIDB_WATERMARK message in a data file",
    ),
    "event of another table": (
        lambda made: made.lines(f"{FIRST}/CDC000002.json", message(V1 + 1, 1, table="table2")),
        "event 1 belongs to test.table2",
    ),
    "event with other columns": (
        lambda made: made.lines(f"{FIRST}/CDC000002.json", message(V1 + 1, 1, data=[{"col1": "1"}])),
        "other columns than its schema file",
    ),
    "commit-ts steps back": (
        lambda made: made.lines(f"{FIRST}/CDC000002.json", message(V1, 1)),
        f"has the commit-ts {V1} after {V1 + 1}",
    ),
    "commit-ts before the version": (
        lambda made: made.lines(f"{AFTER_DDL}/CDC000001.json", message(V2 - 1, 1)),
        f"has the commit-ts {V2 - 1} after {V2}",
    ),
    "event of another day": (
        lambda made: made.lines(f"{SECOND}/CDC000001.json", message(V1 + 2 * DAY, 1)),
        "which is not in 2024-05-02",
    ),
    "no schema file": (lambda made: made.remove(SCHEMA_1), f"no schema file for the version {V1}"),
    "wrong hash": (
        lambda made: made.write(
            SCHEMA_1, schema_text(V1, Table="table1", TableColumns=COLUMNS[::-1][:1], TableColumnsTotal=1)
        ),
        "its name says 4192708364",
    ),
    "wrong version inside": (lambda made: made.write(SCHEMA_1, schema_text(V1 + 1)), "TableVersion is"),
    "wrong total": (
        lambda made: made.write(SCHEMA_1, schema_text(V1, TableColumnsTotal="2")),
        "TableColumnsTotal is '2'",
    ),
    "wrong layout version": (lambda made: made.write(SCHEMA_1, schema_text(V1, Version=2)), "Version is 2"),
    "schema file is cut": (lambda made: made.write(SCHEMA_1, schema_text(V1)[:-5]), "not a schema file"),
    "two schema files of a version": (
        lambda made: made.write(SCHEMA_1.replace(str(HASH), "0000000001"), schema_text(V1)),
        "two schema files for the version",
    ),
    "schema file of another table": (
        lambda made: made.write(f"test/table1/meta/schema_1_{HASH}.json", schema_text(1, Table="table2")),
        "others beside it of",
    ),
    "database file in a table's folder": (
        lambda made: made.write(f"a/b/meta/schema_1_{DATABASE_HASH}.json", schema_text(1, Table="")),
        "a table's file must be in a table's folder",
    ),
}


@pytest.mark.parametrize(("damage", "problem"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_found(made, damage, problem):
    damage(made)
    assert any(problem in found for found in problems(made)), problems(made)


def test_order_and_dates_are_checked_only_where_asked(made):
    made.lines(f"{FIRST}/CDC000002.json", message(V1, 1))
    assert problems(made, ordered=False) == []
    made.lines(f"{SECOND}/CDC000001.json", message(V1 + 2, 1))
    folder = read_folder(made.root, "canal-json", ordered=False)
    folder.check()
    assert folder.problems == []


def test_the_day_is_that_of_the_zone(made):
    shanghai = ZoneInfo("Asia/Shanghai")
    midnight = int(datetime(2024, 5, 2, 0, 0, tzinfo=shanghai).timestamp() * 1000) << 18
    made.lines(f"{SECOND}/CDC000001.json", message(midnight, 1))
    folder = read_folder(made.root, "canal-json", zone=shanghai)
    folder.check()
    assert folder.problems == []
    made.lines(f"{SECOND}/CDC000001.json", message(midnight - 1, 1))
    folder = read_folder(made.root, "canal-json", zone=shanghai)
    folder.check()
    assert any("not in 2024-05-02" in problem for problem in folder.problems)


def csv_folder(root: Path, content: str | bytes) -> Made:
    made = Made(root)
    made.write(f"test/table1/meta/schema_5_{HASH}.json", schema_text(5))
    made.write("test/table1/5/CDC000001.csv", content)
    made.write("test/table1/5/meta/CDC.index", "CDC000001.csv\n")
    return made


def test_csv_rows_are_read(tmp_path):
    csv_folder(
        tmp_path,
        '"I","table1","test",5,1,"a,""b""\r\nc"\r\n"U","table1","test",6,1,\\N\r\n"D","table1","test",7,1,""\r\n',
    )
    folder = read_folder(tmp_path, "csv")
    events = list(folder.events(TABLE))
    assert [(event.operation, event.commit_ts, event.before, event.after) for event in events] == [
        ("I", 5, None, {"col1": "1", "col2": 'a,"b"\r\nc'}),
        ("U", 6, None, {"col1": "1", "col2": None}),
        ("D", 7, {"col1": "1", "col2": ""}, None),
    ]
    assert folder.problems == []


def test_csv_with_old_values_and_a_header_is_read(tmp_path):
    meta = ("operation", "table", "schema", "commit-ts", "is-update")
    header = ",".join([*(f"ticdc-meta${name}" for name in meta), "col1", "col2"]) + "\r\n"
    rows = (
        '"D","table1","test",5,true,1,"a"\r\n"I","table1","test",5,true,1,"b"\r\n"I","table1","test",6,false,2,"c"\r\n'
    )
    csv_folder(tmp_path, header + rows)
    folder = read_folder(tmp_path, "csv", csv=CsvStyle(old_value=True, header=True))
    assert [(event.operation, event.is_update) for event in folder.events(TABLE)] == [
        ("D", True),
        ("I", True),
        ("I", False),
    ]
    assert folder.problems == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('"I","table1","test",5,1\r\n', "event 1 cannot be read"),
        ('"I","table1","test",x,1,"a"\r\n', "event 1 cannot be read"),
        ('"I","table1","test",5,1,"a"\r\n"X","table1","test",5,1,"a"\r\n', "event 2 cannot be read"),
        ('"I","table1","test",5,1,"a\r\n', "event 1 cannot be read"),
        ('"I","table1","test",5,1,"a"b\r\n', "event 1 cannot be read"),
        ('"I","table1","test",5,1,"a"\r\n"I","table1","test",5,1,', "event 2 cannot be read"),
        ('"I","table1","test",5,1,"a"', "does not end with the terminator"),
        ('"I","table2","test",5,1,"a"\r\n', "belongs to test.table2"),
        ('"I","table1","test",4,1,"a"\r\n', "has the commit-ts 4 after 5"),
    ],
)
def test_damaged_csv_is_found(tmp_path, content, problem):
    csv_folder(tmp_path, content)
    folder = read_folder(tmp_path, "csv")
    folder.check()
    assert any(problem in found for found in folder.problems), folder.problems


def test_an_empty_folder_is_a_folder(tmp_path):
    folder = read_folder(tmp_path, "csv")
    assert (folder.check(), folder.tables, folder.checkpoint, folder.problems) == (0, {}, None, [])
