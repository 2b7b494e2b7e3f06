"""Table versions of the storage sink: rows and statements in, folders and schema files out."""

import msgspec
import pytest

from spark_jobs.cdc.errors import ConfigError, EncodeError
from spark_jobs.sinks.storage.numbers import UnknownOrigin
from tests.pipeline.messages import COLUMNS, WIDER, ddl, insert, row, ts
from tests.sinks.storage_scene import Choice, Scene

CREATE = "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))"
ADD_AGE = "ALTER TABLE `orders` ADD COLUMN `age` INT"


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def wide(key: int, commit_ts: int, table: str = "orders") -> bytes:
    return row(table, {"id": str(key), "name": "n", "age": "3"}, commit_ts, columns=WIDER)


def create(commit_ts: int, table: str = "orders") -> bytes:
    return ddl(table, CREATE.replace("orders", table), commit_ts, kind="CREATE")


def test_the_first_row_gives_a_table_its_version_and_a_schema_file(scene):
    scene.deliver(insert("orders", 1, ts(1000, 5)), insert("orders", 2, ts(2000)))
    assert scene.versions() == [ts(1000, 5)]
    assert scene.schemas() == [(ts(1000, 5), 0, ["id", "name"])]
    assert scene.log.tables["shop", "orders"].ddl_ts == 0


def test_an_image_with_other_columns_starts_a_new_version(scene):
    scene.deliver(insert("orders", 1, ts(1000)), wide(2, ts(2000)))
    assert scene.versions() == [ts(1000), ts(2000)]


def test_a_statement_separates_versions_and_its_file_says_what_it_was(scene):
    scene.deliver(create(ts(500)), insert("orders", 1, ts(1000)), ddl("orders", ADD_AGE, ts(1500)), wide(2, ts(2000)))
    assert scene.versions() == [ts(500), ts(1500)]
    assert scene.schemas() == [(ts(500), 3, ["id", "name"]), (ts(1500), 5, ["id", "name", "age"])]
    assert scene.log.tables["shop", "orders"].ddl_ts == ts(1500)


def test_counts_tell_what_was_delivered_of_each_table(scene):
    prepared = scene.deliver(insert("orders", 1, ts(1)), insert("orders", 2, ts(2)), insert("items", 1, ts(3)))
    counts = {count.table: (count.rows, count.last_ts) for count in prepared.counts}
    assert counts == {"orders": (2, ts(2)), "items": (1, ts(3))}


def test_a_delete_with_handle_keys_only_defines_nothing(scene):
    scene.deliver(
        insert("orders", 1, ts(1000)),
        row("orders", {"id": "1"}, ts(2000), kind="DELETE"),
        insert("orders", 2, ts(3000)),
    )
    assert scene.versions() == [ts(1000)]
    assert scene.keys() == ["1", "1", "2"]


def test_in_csv_a_delete_with_handle_keys_only_is_refused(tmp_path):
    scene = Scene(tmp_path, "protocol=csv&date-separator=none")
    only_key = row("orders", {"id": "1"}, ts(2000), kind="DELETE")
    with pytest.raises(EncodeError, match=rf"DELETE of shop.orders at commit-ts {ts(2000)} holds only id,"):
        scene.deliver(insert("orders", 1, ts(1000)), only_key, insert("orders", 2, ts(3000)))
    assert scene.tree() == {}


def test_in_csv_a_delete_with_other_columns_than_the_rows_before_has_a_version_of_its_own(tmp_path):
    scene = Scene(tmp_path, "protocol=csv&date-separator=none")
    gone = row("orders", {"id": "1", "name": "n1"}, ts(2000), kind="DELETE")
    scene.deliver(wide(1, ts(1000)), gone)
    files = {path.parent.name: path.read_bytes() for path in scene.root.glob("shop/orders/*/CDC*.csv")}
    assert files == {
        f"{ts(1000)}": b'"I","orders","shop",1,"n",3\r\n',
        f"{ts(2000)}": b'"D","orders","shop",1,"n1"\r\n',
    }


def test_a_dropped_table_that_comes_back_has_a_new_version(scene):
    scene.deliver(
        create(ts(500)),
        insert("orders", 1, ts(1000)),
        ddl("orders", "DROP TABLE `shop`.`orders`", ts(1500), kind="ERASE"),
        create(ts(1600)),
        insert("orders", 1, ts(2000)),
    )
    assert scene.versions() == [ts(500), ts(1600)]
    assert [action for _, action, _ in scene.schemas()] == [3, 4, 3]


def test_a_statement_that_cannot_be_parsed_is_delivered_with_the_columns_that_were_known_and_counted(scene):
    prepared = scene.deliver(insert("orders", 1, ts(1000)), ddl("orders", "ALTER TABLE orders FROBNICATE", ts(1500)))
    assert prepared.unparsed_statements == 1
    assert "FROBNICATE" in scene.read().schemas["shop", "orders"][-1].query
    scene.deliver(insert("orders", 2, ts(2000)), wide(3, ts(3000)))
    assert scene.schemas()[1:] == [(ts(1500), 61, ["id", "name"]), (ts(3000), 0, ["id", "name", "age"])]


def test_database_statements_write_files_of_the_database_also_two_at_one_time(scene):
    both = "CREATE DATABASE `shop`; ALTER DATABASE `shop` CHARACTER SET utf8mb4"
    scene.deliver(ddl("", both, ts(400), kind="QUERY"))
    scene.deliver(ddl("", both, ts(400), kind="QUERY"))
    files = scene.read().schemas["shop", ""]
    assert [(file.version, file.action, file.columns) for file in files] == [
        (ts(400), 1, None),
        (ts(400) + 1, 26, None),
    ]


def test_statements_at_or_below_the_floor_teach_and_are_not_delivered(tmp_path):
    scene = Scene(tmp_path, floor_ts=ts(1000))
    scene.deliver(create(ts(500)), insert("orders", 1, ts(1000)), insert("orders", 2, ts(1001)))
    assert scene.keys() == ["2"]
    (schema,) = scene.read().schemas["shop", "orders"]
    assert schema.columns is not None
    assert (schema.query, schema.columns[1]["ColumnPrecision"]) == ("", "20")


def test_csv_rows_carry_the_names_that_held_in_their_place(tmp_path):
    scene = Scene(tmp_path, "protocol=csv&date-separator=none")
    columns = {"id": COLUMNS["id"], "size": ("enum", 4)}
    make = "CREATE TABLE `shirts` (`id` BIGINT PRIMARY KEY,`size` ENUM('S','M','L'))"
    modify = "ALTER TABLE `shirts` MODIFY COLUMN `size` ENUM('XS','S','M','L')"
    scene.deliver(
        ddl("shirts", make, ts(500), kind="CREATE"),
        row("shirts", {"id": "1", "size": "2"}, ts(1000), columns=columns),
        ddl("shirts", modify, ts(1500)),
        row("shirts", {"id": "1", "size": "2"}, ts(2000), columns=columns),
    )
    scene.deliver(row("shirts", {"id": "1", "size": "1"}, ts(3000), columns=columns))
    lines = [path.read_bytes() for path in sorted(scene.root.glob("shop/shirts/*/CDC*"))]
    assert [line.rsplit(b",", 1)[1] for line in lines] == [b'"M"\r\n', b'"S"\r\n', b'"XS"\r\n']


def test_a_csv_file_begins_with_the_names_of_its_columns_where_that_is_asked_for(tmp_path):
    config = {"sink": {"csv": {"output_field_header": True}}}
    scene = Scene(tmp_path, "protocol=csv&date-separator=none", config=config)
    scene.deliver(insert("orders", 1, ts(1)), wide(2, ts(2)))
    heads = [path.read_bytes().split(b"\r\n")[0] for path in sorted(scene.root.glob("shop/orders/*/CDC*"))]
    assert [head.split(b",")[3:] for head in heads] == [[b"id", b"name"], [b"id", b"name", b"age"]]


def test_one_rename_may_swap_the_names_of_two_tables(scene):
    scene.deliver(create(ts(1)), ddl("items", CREATE.replace("orders", "items").replace("name", "what"), ts(2)))
    swap = "RENAME TABLE `orders` TO `x`, `items` TO `orders`, `x` TO `items`"
    columns = {"id": ("bigint", -5), "what": ("varchar", 12)}
    scene.deliver(
        insert("orders", 1, ts(5)),
        ddl("orders", swap, ts(10), kind="RENAME"),
        row("orders", {"id": "2", "what": "w"}, ts(11), columns=columns),
        insert("items", 3, ts(12)),
    )
    assert scene.keys() == ["1", "2"]
    assert scene.keys("items") == ["3"]
    assert scene.versions() == [ts(1), ts(10)]
    assert scene.schemas()[-1] == (ts(10), 14, ["id", "what"])
    assert scene.schemas("items")[-1] == (ts(10), 14, ["id", "name"])
    assert scene.log.repeated == 0


def test_an_exchange_of_partitions_gives_both_tables_a_new_version_and_the_plain_one_the_text(scene):
    parts = "PARTITION BY RANGE (`id`) (PARTITION p0 VALUES LESS THAN (10))"
    scene.deliver(ddl("orders", f"{CREATE} {parts}", ts(1), kind="CREATE"), create(ts(2), "items"))
    exchange = "ALTER TABLE `orders` EXCHANGE PARTITION `p0` WITH TABLE `items`"
    scene.deliver(ddl("orders", exchange, ts(5), kind="QUERY"))
    assert [(version, action) for version, action, _ in scene.schemas("items")] == [(ts(2), 3), (ts(5), 42)]
    assert [(version, action) for version, action, _ in scene.schemas()] == [(ts(1), 3), (ts(5), 0)]


def test_create_like_takes_the_model_as_it_is_and_leaves_it_alone(scene):
    scene.deliver(create(ts(1)), ddl("items", "CREATE TABLE `items` LIKE `orders`", ts(5), kind="CREATE"))
    assert scene.schemas("items") == [(ts(5), 3, ["id", "name"])]
    assert scene.schemas() == [(ts(1), 3, ["id", "name"])]


def test_a_dropped_database_ends_its_tables(scene):
    scene.deliver(create(ts(1)), insert("orders", 1, ts(2)))
    scene.deliver(ddl("", "DROP DATABASE `shop`", ts(5), kind="QUERY"), insert("orders", 2, ts(9)))
    assert scene.versions() == [ts(1), ts(9)]


# statements and what is known of them


def test_a_statement_that_comes_again_is_a_repeat_and_one_below_a_version_of_rows_is_not(scene):
    scene.deliver(insert("orders", 1, ts(1000)))
    scene.deliver(create(ts(500)))
    assert scene.schemas() == [(ts(500), 3, ["id", "name"]), (ts(1000), 0, ["id", "name"])]
    scene.deliver(create(ts(500)), insert("orders", 2, ts(1100)))
    assert scene.log.repeated == 1
    assert scene.versions() == [ts(1000)]
    assert len(scene.schemas()) == 2


def test_a_late_statement_that_changes_the_columns_takes_the_next_version(scene):
    scene.deliver(create(ts(500)), insert("orders", 1, ts(600)))
    scene.deliver(wide(2, ts(2000)))
    scene.deliver(ddl("orders", "ALTER TABLE `orders` ADD COLUMN `x` INT", ts(1500)))
    assert scene.schemas()[-1] == (ts(2000) + 1, 5, ["id", "name", "age", "x"])
    assert scene.log.tables["shop", "orders"].version == ts(2000) + 1
    scene.deliver(ddl("orders", "ALTER TABLE `orders` ADD COLUMN `x` INT", ts(1500)))
    assert scene.log.repeated == 1


def test_two_statements_on_one_table_at_one_time_both_come_out_once(scene):
    both = "ALTER TABLE `orders` ADD COLUMN `age` INT; ALTER TABLE `orders` DROP COLUMN `name`"
    scene.deliver(create(ts(1)), ddl("orders", both, ts(5)))
    scene.deliver(ddl("orders", both, ts(5)))
    assert scene.log.repeated == 2
    assert [(version, columns) for version, _, columns in scene.schemas()] == [
        (ts(1), ["id", "name"]),
        (ts(5), ["id", "name", "age"]),
        (ts(5) + 1, ["id", "age"]),
    ]


def test_a_first_message_that_is_an_alter_waits_for_the_columns_and_writes_no_empty_schema_file(scene):
    scene.deliver(ddl("orders", "ALTER TABLE `orders` DROP COLUMN `x`", ts(500)), ddl("orders", ADD_AGE, ts(600)))
    assert scene.tree() == {}
    scene.deliver(wide(1, ts(1000)), wide(2, ts(1100)))
    assert scene.schemas() == [(ts(500), 6, ["id", "name", "age"]), (ts(600), 5, ["id", "name", "age"])]
    assert scene.versions() == [ts(600)]
    scene.deliver(ddl("orders", ADD_AGE, ts(600)), wide(3, ts(1200)))
    assert (scene.log.repeated, scene.keys()) == (1, ["1", "2", "3"])


def test_a_drop_of_a_table_that_nobody_knew_is_delivered(scene):
    scene.deliver(ddl("orders", ADD_AGE, ts(400)), ddl("orders", "DROP TABLE `orders`", ts(500), kind="ERASE"))
    assert scene.schemas() == [(ts(500), 4, [])]


def test_a_renamed_table_of_which_late_rows_come_has_a_schema_file_for_them(scene):
    scene.deliver(create(ts(1)), insert("orders", 1, ts(2)))
    scene.deliver(ddl("items", "RENAME TABLE `orders` TO `items`", ts(5), kind="RENAME"))
    scene.deliver(row("orders", {"id": "1"}, ts(4), kind="DELETE"), insert("items", 2, ts(9)))
    assert scene.versions() == [ts(1)]
    assert scene.versions("items") == [ts(5)]


# structures that alternate


def test_old_and_new_structure_from_two_partitions_do_not_make_a_version_each_time(scene):
    scene.deliver(create(ts(10)), insert("orders", 1, ts(20)))
    scene.deliver(ddl("orders", ADD_AGE, ts(100)), wide(2, ts(110)))
    for n in range(10):
        scene.deliver(insert("orders", 10 + n, ts(50 + n)))
        scene.deliver(wide(30 + n, ts(120 + n)))
    assert len(scene.keys(ordered=False)) == 22
    assert len(scene.schemas()) <= 4
    assert len(scene.versions(ordered=False)) <= 4
    assert scene.log.sink["late_rows"] >= 8
    newest = max(version for version, action, _ in scene.schemas() if action)
    late = [path for path in scene.root.glob("shop/orders/*/CDC*") if b'"1' in path.read_bytes()]
    assert late
    late_versions = {int(path.parent.name) for path in scene.root.glob("shop/orders/*/CDC000002.json")}
    assert min(late_versions) >= newest


def test_structures_that_alternate_with_growing_times_stop_making_versions(scene):
    for n in range(12):
        scene.deliver(insert("orders", n, ts(10 + n)) if n % 2 else wide(n, ts(10 + n)))
    assert len(scene.schemas()) == 3
    assert len(scene.keys(ordered=False)) == 12


def test_a_structure_that_comes_back_once_in_order_starts_a_version(scene):
    scene.deliver(insert("orders", 1, ts(1)), wide(2, ts(2)), insert("orders", 3, ts(3)))
    assert scene.versions() == [ts(1), ts(2), ts(3)]
    assert scene.keys() == ["1", "2", "3"]


# filters and routing


def test_a_statement_that_an_event_filter_leaves_out_still_teaches_the_columns(tmp_path):
    scene = Scene(tmp_path, select=Choice(ignored="ADD COLUMN"))
    scene.deliver(create(ts(1)), insert("orders", 1, ts(2)))
    scene.deliver(ddl("orders", "ALTER TABLE `orders` ADD COLUMN `age` INT(7) NOT NULL", ts(5)), wide(2, ts(9)))
    assert scene.versions() == [ts(1), ts(5)]
    schema = scene.read().schemas["shop", "orders"][-1]
    assert schema.columns is not None
    assert (schema.query, schema.action, schema.columns[2]["ColumnPrecision"]) == ("", 0, "7")


def test_tables_go_on_under_their_name_in_the_sink_also_in_statements(tmp_path):
    scene = Scene(tmp_path, select=Choice(route=lambda schema, table: ("lake", f"{table}_raw" if table else "")))
    scene.deliver(create(ts(1)), insert("orders", 1, ts(2)), ddl("orders", ADD_AGE, ts(5)), wide(2, ts(9)))
    assert scene.log.tables.keys() == {("lake", "orders_raw")}
    assert [names for _, _, names in scene.schemas("orders_raw", "lake")] == [["id", "name"], ["id", "name", "age"]]


def test_a_table_that_does_not_pass_leaves_nothing(tmp_path):
    scene = Scene(tmp_path, select=Choice(rules=("*.*", "!shop.items")))
    scene.deliver(create(ts(1)), create(ts(2), "items"), ddl("items", "RENAME TABLE `orders` TO `items`", ts(3)))
    assert scene.schemas("items") == []


# numbers and names


def test_files_go_on_numbering_over_batches_and_owners(scene):
    for n in range(3):
        scene.deliver(insert("orders", n, ts(10 + n)))
        scene.owner()
    assert scene.keys() == ["0", "1", "2"]
    assert scene.log.sink["folders"] == {f"shop/orders/{ts(10)}": 3}


def test_a_folder_that_was_forgotten_goes_on_after_its_index_file_though_consumers_removed_the_data(scene):
    scene.deliver(insert("orders", 1, ts(10)))
    scene.deliver(insert("orders", 2, ts(11)))
    scene.log.sink["folders"].clear()
    for path in scene.root.glob("shop/orders/*/CDC*"):
        path.unlink()
    scene.deliver(insert("orders", 3, ts(12)))
    assert [path.name for path in scene.root.glob("shop/orders/*/CDC*")] == ["CDC000003.json"]


def test_the_log_keeps_only_the_newest_folders_of_what_is_alive(tmp_path):
    scene = Scene(tmp_path, "protocol=canal-json&date-separator=day")
    day = 86_400_000
    for n in range(60):
        scene.deliver(insert("orders", n, ts(1 + n * day)))
        if n % 10 == 9:
            scene.committer.settle(scene.log)
    assert len(scene.log.sink["folders"]) <= 32
    assert len(scene.keys(ordered=False)) == 60
    scene.deliver(insert("orders", 99, ts(2)))
    assert sorted(path.name for path in scene.root.glob("shop/orders/*/1970-01-01/CDC*")) == [
        "CDC000001.json",
        "CDC000002.json",
    ]


def test_files_of_unknown_origin_are_refused_unless_they_are_adopted(tmp_path):
    folder = tmp_path / "output" / "shop" / "orders" / str(ts(5))
    scene = Scene(tmp_path)
    folder.mkdir(parents=True)
    (folder / "CDC000007.json").write_bytes(b"{}\r\n")
    with pytest.raises(UnknownOrigin, match=r"up to number 7 .*adopt=restart"):
        scene.deliver(insert("orders", 1, ts(5)))
    adopting = Scene(tmp_path, "protocol=canal-json&date-separator=none&adopt=restart")
    adopting.deliver(insert("orders", 1, ts(5)))
    assert (folder / "CDC000008.json").exists()


@pytest.mark.parametrize("what", ["a file of that number", "a link to nowhere"])
def test_a_name_that_somebody_took_is_refused_before_the_entry_with_the_path(scene, what):
    scene.deliver(insert("orders", 1, ts(5)))
    stray = scene.root / "shop/orders" / str(ts(5)) / "CDC000002.json"
    stray.write_bytes(b"{}") if what.startswith("a file") else stray.symlink_to("/nowhere/else")
    number = scene.log.number
    with pytest.raises(ConfigError, match=r"CDC000002.json is there already.*move it away"):
        scene.deliver(insert("orders", 2, ts(6)))
    assert scene.log.number == number
    stray.unlink()
    scene.deliver(insert("orders", 2, ts(6)))
    assert scene.keys() == ["1", "2"]


@pytest.mark.parametrize("place", ["shop", "shop/orders", "shop/orders/meta", f"shop/orders/{ts(5)}/meta"])
def test_a_file_where_a_folder_must_be_is_refused_before_the_entry(scene, place):
    path = scene.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    with pytest.raises(ConfigError, match=rf"{place} cannot be written: Not a directory"):
        scene.deliver(insert("orders", 1, ts(5)))
    assert scene.log.number == 0
    path.unlink()
    scene.deliver(insert("orders", 1, ts(5)))
    assert scene.keys() == ["1"]


def test_a_schema_file_of_another_content_is_refused_before_the_entry(scene, tmp_path):
    scene.deliver(create(ts(5)))
    (path,) = scene.root.glob("shop/orders/meta/*")
    (tmp_path / "other").mkdir()
    other = Scene(tmp_path / "other")
    stray = other.root / path.relative_to(scene.root)
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"{}")
    with pytest.raises(ConfigError, match=r"schema_.* is there already with another content"):
        other.deliver(create(ts(5)))
    assert other.log.number == 0


def test_a_name_that_no_folder_can_have_is_refused_where_the_row_is_read(scene):
    scene.owner()
    with pytest.raises(EncodeError, match="300 bytes long"):
        scene.items([insert("t" * 300, 1, ts(5))])


def test_rows_with_a_partition_id_have_a_folder_and_a_file_of_their_own(scene):
    scene.owner()
    items = scene.items([insert("orders", 1, ts(5))], 11) + scene.items([insert("orders", 2, ts(6))], 12)
    prepared = scene.committer.prepare(items, scene.log)
    paths = [file.path for step in prepared.steps for file in step.files]
    assert paths == [f"shop/orders/{ts(5)}/{partition}/CDC000001.json" for partition in (11, 12)]


def test_what_a_batch_adds_to_the_log_is_json(scene):
    prepared = scene.commit(create(ts(1)), insert("orders", 1, ts(2)), wide(2, ts(3)))
    assert msgspec.json.decode(msgspec.json.encode(prepared), type=type(prepared)) == prepared
