"""Versions of tables, and the statements that make them: from a source folder to a storage folder, without Spark."""

import pytest

from spark_jobs.cdc.errors import EncodeError
from tests.pipeline.messages import COLUMNS, WIDER, ddl, insert, row, ts
from tests.pipeline.scene import Scene, deliver, leftovers

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def test_the_first_row_gives_a_table_its_version_and_a_schema_file(scene):
    scene.put("a.json", insert("orders", 1, ts(1000, 5)), insert("orders", 2, ts(2000)))
    deliver(scene.folder_feed())
    assert scene.versions() == [ts(1000, 5)]
    (schema,) = scene.read().schemas["shop", "orders"]
    assert (schema.query, schema.action, schema.names) == ("", 0, ["id", "name"])


def test_an_image_with_other_columns_starts_a_new_version(scene):
    scene.put(
        "a.json",
        insert("orders", 1, ts(1000)),
        row("orders", {"id": "2", "name": "n", "age": "3"}, ts(2000), columns=WIDER),
    )
    deliver(scene.folder_feed())
    assert scene.versions() == [ts(1000), ts(2000)]


def test_a_statement_separates_versions_and_its_file_says_what_it_was(scene):
    scene.put(
        "a.json",
        ddl("orders", "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))", ts(500), kind="CREATE"),
        insert("orders", 1, ts(1000)),
        ddl("orders", "ALTER TABLE `orders` ADD COLUMN `age` INT", ts(1500)),
        row("orders", {"id": "2", "name": "n", "age": "3"}, ts(2000), columns=WIDER),
    )
    deliver(scene.folder_feed())
    assert scene.versions() == [ts(500), ts(1500)]
    created, altered = scene.read().schemas["shop", "orders"]
    assert (created.action, created.names) == (3, ["id", "name"])
    assert (altered.action, altered.names) == (5, ["id", "name", "age"])
    assert altered.query == "ALTER TABLE `orders` ADD COLUMN `age` INT"


def test_a_delete_with_handle_keys_only_defines_nothing(scene):
    scene.put(
        "a.json",
        insert("orders", 1, ts(1000)),
        row("orders", {"id": "1"}, ts(2000), kind="DELETE"),
        insert("orders", 2, ts(3000)),
    )
    deliver(scene.folder_feed())
    assert scene.versions() == [ts(1000)]
    assert scene.keys() == ["1", "1", "2"]


def test_in_csv_a_delete_with_handle_keys_only_is_refused_and_nothing_of_its_batch_comes_out(tmp_path):
    scene = Scene(tmp_path, sink="protocol=csv&date-separator=none")
    only_key = row("orders", {"id": "1"}, ts(2000), kind="DELETE")
    scene.put("a.json", insert("orders", 1, ts(1000)), only_key, insert("orders", 2, ts(3000)))
    with pytest.raises(EncodeError, match=rf"DELETE of shop.orders at commit-ts {ts(2000)} holds only id,"):
        deliver(scene.folder_feed())
    assert not list(scene.output.rglob("CDC*.csv"))


def test_in_csv_a_delete_with_other_columns_than_the_rows_before_has_a_version_of_its_own(tmp_path):
    scene = Scene(tmp_path, sink="protocol=csv&date-separator=none")
    wider = {"id": "1", "name": "n1", "age": "3"}
    gone = row("orders", {"id": "1", "name": "n1"}, ts(2000), kind="DELETE")
    scene.put("a.json", row("orders", wider, ts(1000), columns=WIDER), gone)
    deliver(scene.folder_feed())
    files = {path.parent.name: path.read_bytes() for path in scene.output.glob("shop/orders/*/CDC*.csv")}
    assert files == {
        f"{ts(1000)}": b'"I","orders","shop",1,"n1",3\r\n',
        f"{ts(2000)}": b'"D","orders","shop",1,"n1"\r\n',
    }


def test_a_dropped_table_that_comes_back_has_a_new_version(scene):
    create = "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))"
    scene.put(
        "a.json",
        ddl("orders", create, ts(500), kind="CREATE"),
        insert("orders", 1, ts(1000)),
        ddl("orders", "DROP TABLE `shop`.`orders`", ts(1500), kind="ERASE"),
        ddl("orders", create, ts(1600), kind="CREATE"),
        insert("orders", 1, ts(2000)),
    )
    deliver(scene.folder_feed())
    assert scene.versions() == [ts(500), ts(1600)]
    assert [schema.action for schema in scene.read().schemas["shop", "orders"]] == [3, 4, 3]


def test_a_statement_that_cannot_be_parsed_is_kept_and_counted(scene):
    scene.put("a.json", insert("orders", 1, ts(1000)), ddl("orders", "ALTER TABLE orders FROBNICATE", ts(1500)))
    feed = scene.folder_feed()
    deliver(feed)
    assert feed.delivery.view.totals.ddl_unparsed == 1
    assert "FROBNICATE" in scene.read().schemas["shop", "orders"][-1].query


def test_a_database_statement_writes_a_file_of_the_database(scene):
    scene.put("a.json", ddl("", "CREATE DATABASE `shop`", ts(400), kind="QUERY"))
    deliver(scene.folder_feed())
    (schema,) = scene.read().schemas["shop", ""]
    assert (schema.action, schema.columns) == (1, None)


def test_rows_at_or_below_the_start_are_not_delivered_but_their_statements_teach(scene):
    scene.put(
        "a.json",
        ddl("orders", "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))", ts(500), kind="CREATE"),
        insert("orders", 1, ts(1000)),
        insert("orders", 2, ts(1001)),
    )
    deliver(scene.folder_feed(floor_ts=ts(1000)))
    assert scene.keys() == ["2"]
    (schema,) = scene.read().schemas["shop", "orders"]
    assert (schema.query, schema.columns[1]["ColumnPrecision"]) == ("", "20")


def test_csv_rows_carry_names_of_enum_elements_that_the_statement_told(tmp_path):
    scene = Scene(tmp_path, sink="protocol=csv&date-separator=none")
    columns = {"id": COLUMNS["id"], "size": ("enum", 4)}
    scene.put(
        "a.json",
        ddl(
            "shirts", "CREATE TABLE `shirts` (`id` BIGINT PRIMARY KEY,`size` ENUM('S','M','L'))", ts(500), kind="CREATE"
        ),
    )
    feed = scene.folder_feed()
    deliver(feed)
    scene.put("b.json", row("shirts", {"id": "1", "size": "2"}, ts(1000), columns=columns))
    deliver(feed)
    (path,) = scene.output.glob("shop/shirts/*/CDC000001.csv")
    assert path.read_bytes() == b'"I","shirts","shop",1,"M"\r\n'


@pytest.mark.parametrize("workers", [1, 4])
def test_csv_rows_carry_the_names_that_held_in_their_place_though_a_statement_of_their_batch_changed_them(
    tmp_path, monkeypatch, workers
):
    monkeypatch.setattr("spark_jobs.sources.folder.enumerator.SMALLEST_SPLIT", 200)
    scene = Scene(tmp_path, sink="protocol=csv&date-separator=none")
    columns = {"id": COLUMNS["id"], "size": ("enum", 4)}
    create = "CREATE TABLE `shirts` (`id` BIGINT PRIMARY KEY,`size` ENUM('S','M','L'))"
    modify = "ALTER TABLE `shirts` MODIFY COLUMN `size` ENUM('XS','S','M','L')"
    scene.put(
        "a.json",
        ddl("shirts", create, ts(500), kind="CREATE"),
        *(row("shirts", {"id": str(key), "size": "2"}, ts(1000 + key), columns=columns) for key in range(5)),
        ddl("shirts", modify, ts(1500)),
        *(row("shirts", {"id": str(key), "size": "2"}, ts(2000 + key), columns=columns) for key in range(5)),
    )
    deliver(scene.folder_feed(workers=workers))
    names = {
        version: {line.rsplit(b",", 1)[1] for path in folder.glob("CDC*") for line in path.read_bytes().split()}
        for version in (500, 1500)
        for folder in scene.output.glob(f"shop/shirts/{ts(version)}")
    }
    assert names == {500: {b'"M"'}, 1500: {b'"S"'}}
    assert leftovers(scene) == []


def test_a_statement_without_a_commit_ts_is_no_repeat_wherever_the_batch_is_split(tmp_path, monkeypatch):
    """Of a source with whole seconds the statement has the same time as the table's first row."""
    monkeypatch.setattr("spark_jobs.sources.folder.enumerator.SMALLEST_SPLIT", 500)
    scene = Scene(tmp_path, sink="protocol=canal-json")
    alter = ddl("orders", "ALTER TABLE `orders` ADD COLUMN `age` INT", ts(1000), extension=False)
    wide = row("orders", {"id": "99", "name": "n", "age": "1"}, ts(1000), columns=WIDER, extension=False)
    scene.put("a.json", *(insert("orders", key, ts(1000), extension=False) for key in range(30)), alter, wide)
    feed = scene.folder_feed(workers=4)
    deliver(feed)
    assert [schema.action for schema in scene.read().schemas["shop", "orders"]] == [0, 5]
    assert feed.delivery.view.totals.repeats_dropped == 0


def test_rows_of_other_tables_around_a_statement_all_come_out(scene):
    scene.put(
        "a.json",
        insert("items", 1, ts(100)),
        ddl("orders", "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))", ts(500), kind="CREATE"),
        insert("items", 2, ts(600)),
    )
    deliver(scene.folder_feed())
    assert scene.keys("items") == ["1", "2"]
