"""What a message with DDL means for tables."""

import pytest

from spark_jobs.cdc.ddl.effects import Effect, effects, named
from spark_jobs.cdc.events import Column, ColumnType, Ddl, TableSchema

ID = Column("id", ColumnType("bigint"), is_key=True)
NAME = Column("name", ColumnType("varchar", length=20))


def table(name: str, *columns: Column, schema: str = "shop") -> TableSchema:
    return TableSchema(schema, name, columns or (ID, NAME))


def ddl(query: str, schema: str = "shop", name: str = "") -> Ddl:
    return Ddl(schema=schema, table=name, query=query)


def known(*tables: TableSchema) -> dict[tuple[str, str], TableSchema]:
    return {(one.schema, one.table): one for one in tables}


def said(effect: Effect) -> tuple[str, int, bool, bool, list[str] | None]:
    names = None if effect.structure is None else [column.name for column in effect.structure.columns]
    return f"{effect.schema}.{effect.table}", effect.action, effect.dropped, effect.quiet, names


CASES = {
    "CREATE TABLE t (a INT)": [("shop.t", 3, False, False, ["a"])],
    "ALTER TABLE orders ADD COLUMN x INT": [("shop.orders", 5, False, False, ["id", "name", "x"])],
    "ALTER TABLE other ADD COLUMN x INT": [("shop.other", 5, False, False, None)],
    "DROP TABLE orders": [("shop.orders", 4, True, False, ["id", "name"])],
    "RENAME TABLE orders TO o": [
        ("shop.orders", 14, True, True, None),
        ("shop.o", 14, False, False, ["id", "name"]),
    ],
    "CREATE TABLE t LIKE orders": [("shop.t", 3, False, False, ["id", "name"])],
    "DROP DATABASE shop": [
        ("shop.", 2, False, False, None),
        ("shop.orders", 2, True, True, None),
        ("shop.items", 2, True, True, None),
    ],
    "CREATE VIEW v AS SELECT 1": [("shop.v", 21, False, False, None)],
    "ALTER TABLE orders EXCHANGE PARTITION p WITH TABLE items": [
        ("shop.items", 42, False, False, ["id"]),
        ("shop.orders", 0, False, False, ["id", "name"]),
    ],
    "TRUNCATE TABLE orders": [("shop.orders", 11, False, False, ["id", "name"])],
    "ANALYZE TABLE orders": [],
    "USE shop": [],
}


@pytest.mark.parametrize("query", CASES)
def test_a_message_has_these_effects(query):
    made = effects(ddl(query), known(table("orders"), table("items", ID)))
    assert [said(one) for one in made.each] == CASES[query]
    assert made.unparsed == 0


def test_a_statement_that_cannot_be_parsed_makes_its_table_unknown_and_is_counted():
    made = effects(ddl("ALTER TABLE orders FROBNICATE", name="orders"), known(table("orders")))
    (effect,) = made.each
    assert (effect.table, effect.structure, made.unparsed) == ("orders", None, 1)


def test_statements_of_one_message_see_what_those_before_them_left():
    made = effects(
        ddl("ALTER TABLE orders ADD COLUMN x INT; ALTER TABLE orders DROP COLUMN name"), known(table("orders"))
    )
    assert [said(one)[-1] for one in made.each] == [["id", "name", "x"], ["id", "x"]]


def test_names_come_out_as_the_known_table_has_them():
    made = effects(ddl("ALTER TABLE ORDERS ADD COLUMN x INT"), _AnyCase(known(table("Orders"))))
    assert [said(one)[0] for one in made.each] == ["shop.Orders"]


class _AnyCase(dict[tuple[str, str], TableSchema]):
    def get(self, key, default=None):
        return next((value for name, value in self.items() if name[1].lower() == key[1].lower()), default)


def test_what_does_not_pass_is_left_out():
    made = effects(ddl("RENAME TABLE orders TO o"), known(table("orders")), lambda schema, name: name == "o")
    assert [said(one)[0] for one in made.each] == ["shop.o"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("RENAME TABLE a TO b, c TO d", {"a", "b", "c", "d"}),
        ("CREATE TABLE a LIKE b", {"a"}),
        ("DROP DATABASE shop", {""}),
        ("ALTER TABLE a EXCHANGE PARTITION p WITH TABLE b", {"a", "b"}),
        ("ANALYZE TABLE a", set()),
    ],
)
def test_a_message_separates_the_rows_of_the_tables_that_it_names(query, names):
    assert named(ddl(query)) == {("shop", name) for name in names}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("ALTER TABLE t ADD x INT", "ALTER TABLE `t_raw` ADD COLUMN `x` INT"),
        ("ALTER TABLE shop.t ADD x INT", "ALTER TABLE `lake`.`t_raw` ADD COLUMN `x` INT"),
        ("DROP TABLE t", "DROP TABLE `lake`.`t_raw`"),
        ("RENAME TABLE t TO elsewhere.u", "RENAME TABLE `lake`.`t_raw` TO `elsewhere`.`u`"),
        ("CREATE TABLE t LIKE u", "CREATE TABLE `t_raw` LIKE `u_raw`"),
        ("CREATE DATABASE shop", "CREATE DATABASE `lake`"),
        ("ALTER TABLE t FROBNICATE", "ALTER TABLE t FROBNICATE"),
    ],
)
def test_texts_have_the_names_that_tables_are_routed_to(query, text):
    def route(schema: str, name: str) -> tuple[str, str]:
        return ("lake", name and f"{name}_raw") if schema == "shop" else (schema, name)

    assert effects(ddl(query), {}, route=route).each[-1].query == text
