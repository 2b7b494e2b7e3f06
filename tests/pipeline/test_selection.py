"""``replica_config`` takes effect, whatever the source and the sink: filters, selectors, names.

The same few changes, written in each protocol that can be a source; what a format loses of them is no matter here.
"""

import json
from collections.abc import Mapping, Sequence

import pytest

from spark_jobs.cdc.errors import ConfigError, WeirError
from spark_jobs.cdc.events import (
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Event,
    RowChange,
    TableSchema,
    Watermark,
)
from spark_jobs.cdc.framing import FRAMINGS
from tests.pipeline.scene import NOON, Queue, Scene, deliver
from tests.pipeline.stream import BEGIN_MS, written
from tests.pipeline.test_contract import SOURCES, _printed
from tests.storage_events import Event as Delivered
from tests.storage_reader import Folder, read_folder

COLUMNS = (
    Column("id", ColumnType("bigint"), is_key=True, nullable=False),
    Column("name", ColumnType("varchar", length=20)),
    Column("qty", ColumnType("bigint")),
)
ORDERS, ITEMS = (TableSchema("shop", name, COLUMNS) for name in ("orders", "items"))
CREATE = "CREATE TABLE `{}` (`id` BIGINT NOT NULL,`name` VARCHAR(20),`qty` BIGINT,PRIMARY KEY(`id`))"
every_source = pytest.mark.parametrize("protocol", SOURCES)
SINKS = ("canal-json", "csv")


def times(second: int) -> dict[str, int]:
    ms = BEGIN_MS + 1000 * second
    return {"commit_ts": ms << 18, "es_ms": ms, "ts_ms": ms}


def row(second: int, kind: object, before: object, after: object, table: TableSchema = ORDERS) -> RowChange:
    return RowChange(kind, table, before, after, **times(second))  # type: ignore[arg-type]


def ddl(second: int, table: str, query: str, kind: str = "CREATE") -> Ddl:
    at = times(second)
    return Ddl(
        schema="shop", table=table, query=query, canal_type=kind, commit_ts=at["commit_ts"], es_ms=at["es_ms"], ts_ms=0
    )


CHANGES: list[Event] = [
    ddl(1, "orders", CREATE.format("orders")),
    row(2, INSERT, None, (1, "tea", 5)),
    row(3, INSERT, None, (2, "milk", 50)),
    row(4, INSERT, None, (3, "salt", 6), ITEMS),
    row(5, UPDATE, (1, "tea", 5), (1, "tea", 7)),
    row(6, UPDATE, (2, "milk", 50), (2, "cream", 50)),
    ddl(7, "orders", "ALTER TABLE `orders` COMMENT = 'x'", "ALTER"),
    row(8, DELETE, (1, "tea", 7), None),
]


class Shop:
    """Delivers events under a configuration, from a folder in some protocol into storage or to standard output."""

    def __init__(self, scene: Scene, protocol: str) -> None:
        self.scene = scene
        framing = {"drainer": "drainer", "canal-json": "lines", "datahub-blob": "lines"}.get(protocol, "length")
        self._frame = FRAMINGS[framing].write
        self._protocol = protocol
        self._number = 0

    def send(self, events: Sequence[Event], options: Mapping[str, str] | None = None) -> None:
        if options is None and self._protocol == "canal-json":
            options = {"enable-tidb-extension": "true"}
        content = b"".join(map(self._frame, written(self._protocol, options or {}, events)))
        self._number += 1
        self.scene.put(f"{self._number}.bin", content, end=b"")
        deliver(self.scene.folder_feed())

    def send_apart(self, events: Sequence[Event]) -> None:
        """The last one in a batch of its own, by the same owner."""
        feed = None
        for number, part in enumerate((events[:-1], events[-1:])):
            self.scene.put(f"{number}.bin", b"".join(map(self._frame, written(self._protocol, {}, part))), end=b"")
            feed = feed or self.scene.folder_feed()
            deliver(feed)
            assert feed.delivery.view.totals.rows == len(events) - 1

    @property
    def output(self) -> Folder:
        folder = read_folder(self.scene.output, "canal-json")
        folder.check()
        assert folder.problems == []
        return folder

    def came(self, table: str = "orders", schema: str = "shop") -> list[str]:
        """``I1``, ``U2`` … of a table."""
        return [shown(event) for event in self.output.events((schema, table))]


def shown(event: Delivered) -> str:
    return event.operation + str((event.after or event.before or {})["id"])


def shop(tmp_path, protocol, replica_config, sink="protocol=canal-json&enable-tidb-extension=true") -> Shop:
    return Shop(Scene(tmp_path, sink=sink, protocol=protocol, replica_config=replica_config), protocol)


def event_filter(**rule: object) -> dict[str, object]:
    return {"filter": {"event_filters": [{"matcher": ["shop.orders"], **rule}]}}


def dispatchers(*rules: tuple[str, str, str]) -> dict[str, object]:
    return {
        "sink": {
            "dispatchers": [
                {"matcher": [matcher], "target-schema": schema, "target-table": table}
                for matcher, schema, table in rules
            ]
        }
    }


ALL = ["I1", "I2", "U1", "U2", "D1"]


@every_source
def test_without_rules_everything_comes(tmp_path, protocol):
    made = shop(tmp_path, protocol, {"filter": {"ignore_txn_start_ts": [1, 2]}})
    made.send(CHANGES)
    assert (made.came(), made.came("items")) == (ALL, ["I3"])


@every_source
@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ({"ignore_event": ["insert"]}, ["U1", "U2", "D1"]),
        ({"ignore_event": ["delete", "update"]}, ["I1", "I2"]),
        ({"ignore_event": ["all dml"]}, []),
        ({"ignore_insert_value_expr": "qty > 10"}, ["I1", "U1", "U2", "D1"]),
        ({"ignore_update_old_value_expr": "qty < 10"}, ["I1", "I2", "U2", "D1"]),
        ({"ignore_update_new_value_expr": "name = 'cream'"}, ["I1", "I2", "U1", "D1"]),
        ({"ignore_delete_value_expr": "name = 'tea'"}, ["I1", "I2", "U1", "U2"]),
        ({"ignore_update_only_columns": ["qty"]}, ["I1", "I2", "U2", "D1"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_event_filters_leave_rows_out(tmp_path, protocol, rule, left):
    made = shop(tmp_path, protocol, event_filter(**rule))
    made.send(CHANGES)
    assert (made.came(), made.came("items")) == (left, ["I3"])


@every_source
@pytest.mark.parametrize(
    "rule",
    [{"ignore_event": ["modify table comment"]}, {"ignore_event": ["alter table"]}, {"ignore_sql": ["comment\\s*="]}],
    ids=["event", "group", "sql"],
)
@pytest.mark.parametrize("routed", [False, True], ids=["", "routed"])
def test_event_filters_leave_statements_out(tmp_path, protocol, rule, routed):
    names = dispatchers(("shop.orders", "archive", "bestellungen")) if routed else {}
    made = shop(tmp_path, protocol, {**event_filter(**rule), **names})
    made.send(CHANGES)
    key = ("archive", "bestellungen") if routed else ("shop", "orders")
    assert made.came(key[1], key[0]) == ALL
    assert [bool(file.query) for file in made.output.schemas[key]] == [True]


@every_source
def test_rules_about_texts_go_by_the_names_of_the_source(tmp_path, protocol):
    config = {**event_filter(ignore_sql=["create table `orders`"]), **dispatchers(("shop.orders", "", "o_{table}"))}
    made = shop(tmp_path, protocol, config)
    made.send(CHANGES)
    queries = [file.query for file in made.output.schemas["shop", "o_orders"]]
    assert [query.split("`")[0] for query in queries] == ["", "ALTER TABLE "]


@every_source
@pytest.mark.parametrize("sink", SINKS)
def test_column_selectors_keep_some_columns_of_rows_and_schema_files(tmp_path, protocol, sink):
    config = {"sink": {"column_selectors": [{"matcher": ["shop.orders"], "columns": ["id", "q*"]}]}}
    made = shop(tmp_path, protocol, config, f"protocol={sink}")
    made.send(CHANGES[1:6])
    folder = read_folder(made.scene.output, sink)
    assert {tuple(file.names) for file in folder.schemas["shop", "orders"]} == {("id", "qty")}
    assert {tuple(file.names) for file in folder.schemas["shop", "items"]} == {("id", "name", "qty")}
    (place,) = folder.tables["shop", "orders"]
    content = b"".join((folder.path / place.path / name).read_bytes() for name in place.files)
    assert b"tea" not in content
    assert content.count(b"\r\n") == 4


def test_a_selector_that_drops_the_key_is_refused_with_the_table(tmp_path):
    config = {"sink": {"column_selectors": [{"matcher": ["shop.orders"], "columns": ["name"]}]}}
    with pytest.raises(ConfigError, match=r"column selector of shop\.orders keeps neither"):
        shop(tmp_path, "canal-json", config).send(CHANGES)


@every_source
def test_names_in_paths_rows_and_statements_are_those_of_the_sink(tmp_path, protocol):
    made = shop(tmp_path, protocol, dispatchers(("shop.orders", "archive", "{schema}_{table}")))
    made.send(CHANGES)
    assert made.came("shop_orders", "archive") == ALL
    assert sorted(made.output.tables) == [("archive", "shop_orders"), ("shop", "items")]
    created, altered = made.output.schemas["archive", "shop_orders"]
    assert "TABLE `archive`.`shop_orders`" in created.query
    assert "`shop_orders` COMMENT" in altered.query
    assert (made.scene.output / "archive" / "shop_orders").is_dir()
    assert not (made.scene.output / "shop" / "orders").exists()


@every_source
def test_a_rule_for_one_table_leaves_its_database_where_it_is(tmp_path, protocol):
    made = shop(tmp_path, protocol, dispatchers(("shop.orders", "archive", ""), ("all.*", "everything", "")))
    made.send([ddl(1, "", "CREATE DATABASE `shop`", "QUERY"), ddl(2, "", "CREATE DATABASE `all`", "QUERY")])
    assert sorted(made.output.schemas) == [("everything", ""), ("shop", "")]


@every_source
def test_standard_output_shows_what_is_selected_under_its_names(tmp_path, protocol):
    config = {
        "filter": {"rules": ["shop.orders"], **event_filter(ignore_sql=["comment"])["filter"]},  # type: ignore[dict-item]
        **dispatchers(("shop.orders", "archive", "")),
    }
    with _printed() as printed:
        more = [ddl(9, "items", CREATE.format("items")), ddl(10, "items", "DROP TABLE `items`,`orders`", "ERASE")]
        shop(tmp_path, protocol, config, "stdout:?protocol=canal-json").send([*CHANGES, *more])
    lines = [json.loads(line) for line in printed.getvalue().splitlines()]
    assert {(line["database"], line["table"]) for line in lines} == {("archive", "orders")}
    statements = [line["sql"] for line in lines if line["isDdl"]]
    assert [text.split("(")[0].strip() for text in statements] == [
        "CREATE TABLE `archive`.`orders`",
        "DROP TABLE `archive`.`orders`",
    ]
    assert len(lines) == 5 + 2


@every_source
@pytest.mark.parametrize("sensitive", [True, False])
def test_names_in_rules_are_compared_by_case_if_asked(tmp_path, protocol, sensitive):
    config = {"case_sensitive": sensitive, "filter": {"rules": ["SHOP.Orders"]}}
    made = shop(tmp_path, protocol, config)
    made.send(CHANGES)
    assert made.came() == ([] if sensitive else ALL)


@every_source
@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "one after the other"])
def test_two_tables_under_one_name_are_refused(tmp_path, protocol, together):
    made = shop(tmp_path, protocol, dispatchers(("shop.*", "shop", "all")))
    deliver_them = made.send if together else made.send_apart
    with pytest.raises(WeirError, match=r"shop\.orders and shop\.items|shop\.items and shop\.orders") as caught:
        deliver_them(CHANGES[1:4])
    assert caught.value.code == "CDC:ErrTableRouteConflict"


@every_source
def test_a_table_that_was_renamed_or_dropped_lets_go_of_its_name(tmp_path, protocol):
    made = shop(tmp_path, protocol, dispatchers(("shop.*", "shop", "all")))
    things = TableSchema("shop", "things", COLUMNS)
    made.send(
        [
            ddl(1, "orders", CREATE.format("orders")),
            row(2, INSERT, None, (1, "tea", 5)),
            ddl(3, "orders", "RENAME TABLE `orders` TO `things`", "RENAME"),
            row(4, INSERT, None, (2, "tea", 5), things),
            ddl(5, "things", "DROP TABLE `things`", "ERASE"),
        ]
    )
    made.send([row(6, INSERT, None, (3, "tea", 5), ITEMS)])
    assert made.came("all") == ["I1", "I2", "I3"]


def test_rules_hold_for_what_waits_for_watermarks(tmp_path):
    config = {**event_filter(ignore_event=["update"]), **dispatchers(("shop.orders", "", "o"))}
    scene = Scene(tmp_path, replica_config=config)
    feed, queue = scene.queue_feed("&watermark=require", partitions=1), Queue(1)
    options = {"enable-tidb-extension": "true"}
    feed.advance(queue.batch({0: written("canal-json", options, CHANGES)}), NOON)
    assert feed.delivery.view.totals.held_rows == len(CHANGES)
    last = Watermark(watermark_ts=(BEGIN_MS + 9000) << 18, es_ms=1, ts_ms=1)
    feed.advance(queue.batch({0: written("canal-json", options, [last])}), NOON)
    assert [shown(event) for event in scene.read().events(("shop", "o"))] == ["I1", "I2", "D1"]
