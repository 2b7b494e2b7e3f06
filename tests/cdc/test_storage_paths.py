"""The storage layout's paths, against TiCDC's own cases and names of every kind."""

import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError
from spark_jobs.cdc.storage import paths
from spark_jobs.cdc.storage.paths import CommitDate, DataDir, DataFile, DateSeparator, SchemaPath

CASES = json.loads((Path(__file__).parents[1] / "data" / "storage_paths.json").read_text())
DISPATCHER = "5123456789012345678908765432109876543210"
SHANGHAI = ZoneInfo("Asia/Shanghai")

separators = st.sampled_from(list(DateSeparator))
names = st.text(min_size=1, max_size=20).filter(lambda name: len(name.encode()) < 60) | st.sampled_from(
    ["..", ".", "metadata", "_weir", "%2F", "%", "a/b", "a\0b", "%252F", "%6Detadata", "meta", "5", "2024-01-02"]
)


@pytest.mark.parametrize(
    "case", CASES["data_paths_tiflow"], ids=lambda case: f"{case['date_separator']} {case['clock']}"
)
def test_data_paths_are_ticdcs(case):
    date = CommitDate(DateSeparator(case["date_separator"]), UTC)
    commit_ts = tso.from_datetime(datetime.fromisoformat(case["clock"] or "2022-01-01T00:00:00Z"))
    folder = DataDir(5, 0, date(commit_ts), "test", "table1")
    for number, path in enumerate(case["seq"], 1):
        extension = case["extension"].removeprefix(".")
        assert DataFile(folder, number, extension, case["file_index_width"]).path == path


def test_the_commit_date_is_that_of_the_zone():
    commit_ts = tso.from_datetime(datetime(2024, 2, 29, 16, 0, 0, tzinfo=UTC))
    before = commit_ts - 1
    day = CommitDate(DateSeparator.DAY, SHANGHAI)
    assert [day(before), day(commit_ts), day(before)] == ["2024-02-29", "2024-03-01", "2024-02-29"]
    assert CommitDate(DateSeparator.MONTH, SHANGHAI)(commit_ts) == "2024-03"
    assert CommitDate(DateSeparator.YEAR, SHANGHAI)(commit_ts) == "2024"
    assert CommitDate(DateSeparator.NONE, SHANGHAI)(commit_ts) == ""


def test_every_tso_has_a_date():
    assert CommitDate(DateSeparator.DAY, UTC)(0) == "1970-01-01"
    assert CommitDate(DateSeparator.DAY, UTC)(tso.MAX_TSO) == "3084-12-12"


@pytest.mark.parametrize("text", ["none", "Year", "MONTH", "day"])
def test_a_date_separator_is_read_in_any_case(text):
    assert DateSeparator.of(text) == text.lower()


def test_an_unknown_date_separator_names_the_known_ones():
    with pytest.raises(ConfigError, match="none, year, month, day"):
        DateSeparator.of("week")


@pytest.mark.parametrize(("given", "width"), [(None, 6), (6, 6), (19, 19), (20, 20), (5, 20), (21, 20), (0, 20)])
def test_the_file_index_width(given, width):
    assert paths.file_index_width(given) == width


@pytest.mark.parametrize("case", CASES["file_names"], ids=lambda case: case["name"])
def test_names_of_data_files(case):
    content = paths.index_content(case["name"])
    if case["ok"]:
        indexed = paths.parse_index(content, "json")
        assert paths.data_name(indexed.number, "json", indexed.width) == case["name"]
    else:
        with pytest.raises(DecodeError):
            paths.parse_index(content, "json")


@pytest.mark.parametrize(("path", "content"), CASES["index_file_content"].items())
def test_an_index_file_names_the_last_data_file(path, content):
    folder = paths.parse_index_path(path, DateSeparator.DAY)
    assert folder == DataDir(5, 0, "2023-03-09", "test", "table1")
    assert folder.index_path == path
    assert paths.index_content(paths.data_name(5, "json")) == content.encode()
    assert paths.parse_index(content.encode(), "json").number == 5


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"CDC00001.json\n",
        b"CDC000001.csv\n",
        b"CDC000001.json\nCDC000002.json\n",
        b"CDC\xff00001.json",
        b"CDC-00001.json",
        b"CDC" + b"9" * 40 + b".json",
        b"CDC" + b"9" * 4000 + b".json",
        "CDC००००११.json".encode(),
    ],
)
def test_an_index_file_with_anything_else_is_an_error(content):
    with pytest.raises(DecodeError):
        paths.parse_index(content, "json")


@pytest.mark.parametrize(
    "case", CASES["restart_tiflow"], ids=lambda case: f"{case['index'].strip()} {case.get('data_file_5')}"
)
def test_the_next_number_after_a_folder_that_was_indexed_first(case):
    indexed = 0 if case["index"] == "absent" else paths.parse_index(case["index"].encode(), "json").number
    taken = {1, 2, 3, 4, 5} if case.get("data_file_5") == "non-empty" else {1, 2, 3, 4} if indexed else set()
    assert paths.data_name(paths.next_number(indexed, taken), "json") == case["next"]


@pytest.mark.parametrize(("indexed", "taken", "following"), [(5, {1, 2, 3, 4, 5}, 6), (1, {1, 2}, 3), (0, {1}, 2)])
def test_the_next_number_after_a_folder_that_was_indexed_last(indexed, taken, following):
    assert paths.next_number(indexed, taken) == following


@pytest.mark.parametrize("case", CASES["is_schema_file"], ids=lambda case: case["path"])
def test_what_a_schema_file_is_called(case):
    assert paths.is_schema_file(case["path"]) is case["ok"]


@pytest.mark.parametrize("case", CASES["schema_path_parse"], ids=lambda case: case["path"])
def test_schema_paths_are_read(case):
    assert paths.parse_schema_path(case["path"]) == SchemaPath(
        case["version"], case["schema"], case["table"], case["checksum"]
    )


@pytest.mark.parametrize(
    "path",
    [
        "",
        "meta/schema_1_0000000002.json",
        "a/b/c/meta/schema_1_0000000002.json",
        "a/b/schema_1_0000000002.json",
        "a/meta/schema_99999999999999999999_0000000002.json",
        "a/meta/schema_1_0000000002.json\n",
        "a/meta/schema_x_1.json",
    ],
)
def test_other_paths_are_not_read_as_schema_paths(path):
    with pytest.raises(DecodeError):
        paths.parse_schema_path(path)


@pytest.mark.parametrize("case", CASES["dml_path_parse"], ids=lambda case: case["path"])
def test_data_paths_are_read(case):
    path = case["path"].replace("<id>", DISPATCHER)
    file = paths.parse_data_path(
        path, DateSeparator(case["date_separator"]), table_ids=case.get("use_table_id_as_path", False)
    )
    assert file.number == 10
    assert file.width == 20
    assert file.dispatcher == (DISPATCHER if "<id>" in case["path"] else "")
    assert file.folder.partition_id == case.get("partition", 0)
    assert file.folder.table == str(case.get("tableID", "table1"))
    assert file.folder.date == case.get("date", file.folder.date)
    assert file.folder.version == case.get("version", 123456)
    assert file.folder.schema == ("" if "tableID" in case else "schema1")
    if file.folder.schema:
        assert file.path == path


@pytest.mark.parametrize("case", CASES["index_path_reject_new_arch"], ids=lambda case: case["path"])
def test_other_paths_are_not_read_as_index_paths(case):
    with pytest.raises(DecodeError):
        paths.parse_index_path(case["path"], DateSeparator(case["date_separator"]))


def test_a_year_and_a_partition_are_told_apart_by_the_separator():
    path = "s/t/5/2022/CDC000001.csv"
    assert paths.parse_data_path(path, DateSeparator.YEAR).folder == DataDir(5, 0, "2022", "s", "t")
    assert paths.parse_data_path(path, DateSeparator.NONE).folder == DataDir(5, 2022, "", "s", "t")


def test_expired_day_folders():
    checkpoint_ts = tso.from_datetime(
        datetime.fromisoformat(CASES["expiry"]["checkpoint_local_time"]).replace(tzinfo=SHANGHAI)
    )
    days = CASES["expiry"]["file_expiration_days"]
    assert all(paths.is_expired(path, checkpoint_ts, days, SHANGHAI) for path in CASES["expiry"]["removed"])
    assert not any(paths.is_expired(path, checkpoint_ts, days, SHANGHAI) for path in CASES["expiry"]["kept"])


def test_metadata_states_the_checkpoint():
    content = CASES["metadata"]["content"].encode()
    assert paths.metadata_content(CASES["metadata"]["checkpoint"]) == content
    assert paths.parse_metadata(content) == CASES["metadata"]["checkpoint"]
    assert paths.parse_metadata(b'{ "checkpoint-ts":433305438660591626 }') == 433305438660591626


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"checkpoint-ts":"1"}', b'{"checkpoint-ts":1.5}', b"\xff", b"{" * 99999]
)
def test_other_metadata_is_an_error(content):
    with pytest.raises(DecodeError):
        paths.parse_metadata(content)


@pytest.mark.parametrize(
    ("schema", "table", "path"),
    [
        ("a/b", "..", "a%2Fb/%2E%2E/1"),
        ("..", ".", "%2E%2E/%2E/1"),
        ("metadata", "metadata", "%6Detadata/metadata/1"),
        ("_weir", "_weir", "%5Fweir/_weir/1"),
        ("50%", "100%x", "50%/100%x/1"),
        ("%2F", "a\0b", "%252F/a%00b/1"),
        ("库", "tä ble;*?", "库/tä ble;*?/1"),
    ],
)
def test_an_unsafe_name_is_escaped_and_a_safe_one_is_not(schema, table, path):
    assert DataDir(1, schema=schema, table=table).path == path


@pytest.mark.parametrize(
    ("schema", "table"), [("", "t"), ("s", ""), ("s", "x" * 256), ("s", "库" * 86), ("\udcff", "t")]
)
def test_a_name_that_no_folder_can_have_is_an_error(schema, table):
    with pytest.raises(EncodeError):
        _ = DataDir(1, schema=schema, table=table).path


@settings(max_examples=200)
@given(
    names, names, st.integers(0, paths.MAX_UINT64), st.integers(0, paths.MAX_UINT64), separators, st.integers(1, 10**22)
)
def test_data_paths_read_back_as_they_were_and_stay_in_the_folder(
    schema, table, version, partition_id, separator, number
):
    folder = DataDir(version, partition_id, CommitDate(separator, UTC)(450253245302439944), schema, table)
    if number > paths.MAX_UINT64:
        number //= 10**4
    file = DataFile(folder, number, "csv")
    assert paths.parse_data_path(file.path, separator) == DataFile(folder, number, "csv", max(6, len(str(number))))
    assert paths.parse_index_path(folder.index_path, separator) == folder
    parts = file.path.split("/")
    assert {"", ".", ".."}.isdisjoint(parts)
    assert "\0" not in file.path
    assert parts[0] not in paths.RESERVED_AT_TOP


@given(names, names | st.just(""), st.integers(0, paths.MAX_UINT64), st.integers(0, (1 << 32) - 1))
def test_schema_paths_read_back_as_they_were(schema, table, version, checksum):
    path = SchemaPath(version, schema, table, checksum)
    assert paths.is_schema_file(path.path)
    assert paths.parse_schema_path(path.path) == path


@given(names, names)
def test_different_names_never_share_a_folder(one, other):
    assert (paths.escape(one) == paths.escape(other)) is (one == other)


def test_folders_sort_as_a_consumer_replays_them():
    written = [DataDir(10, 0, "2024-01-01"), DataDir(9, 2), DataDir(9, 1, "2024-01-02"), DataDir(9, 1, "2024-01-01")]
    assert sorted(written) == written[::-1]
