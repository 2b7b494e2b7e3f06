"""Canal's own choice of topic and partition; the figures are those that Java gives."""

import pytest

from spark_jobs.cdc.errors import ConfigError, DataError
from spark_jobs.cdc.routing.canal_partition import (
    DynamicTopic,
    PartitionHash,
    java_hash,
    partition_of_hashes,
    partitions_of_topic,
)
from tests.cdc.routing_tables import column, delete, insert, table, update

JAVA_HASHES = [
    ("", 0),
    ("test", 3556498),
    ("user", 3599307),
    ("1", 49),
    ("订单", 1129459),
    ("polygenelubricants", -(2**31)),
    ("\U0001f600", 0xD83D * 31 + 0xDE00),
]
PARTITIONS = [
    ("test", ["1"], 3, True, 0),
    ("test", ["1"], 3, False, 1),
    ("test", ["1", "bob"], 8, True, 6),
    ("test", ["12345"], 16, True, 1),
]
TABLES = [("user", 3, 0), ("orders", 8, 3)]
USER = table(column("id", "bigint", key=True), column("Name", "varchar", nullable=True), name="test.user")


@pytest.mark.parametrize(("text", "expected"), JAVA_HASHES)
def test_a_text_has_javas_hash(text, expected):
    assert java_hash(text) == expected


@pytest.mark.parametrize(("schema", "keys", "partitions", "with_schema", "expected"), PARTITIONS)
def test_values_choose_the_partition_that_canal_chooses(schema, keys, partitions, with_schema, expected):
    columns = [column(f"k{at}", "varchar") for at in range(len(keys))]
    rule = PartitionHash(".*\\..*:" + "^".join(one.name for one in columns), database_hash=with_schema)
    assert rule.partition(insert(table(*columns, name=f"{schema}.t"), tuple(keys)), partitions) == expected


@pytest.mark.parametrize(("name", "partitions", "expected"), TABLES)
def test_without_keys_the_table_chooses_the_partition(name, partitions, expected):
    assert (
        PartitionHash(f"test.{name}").partition(insert(table(column("a"), name=f"test.{name}"), (1,)), partitions)
        == expected
    )


def test_the_least_number_has_an_amount_all_the_same():
    assert partition_of_hashes(0, ["polygenelubricants"], 3) == 2


def test_the_new_row_decides_and_of_a_delete_the_old_one():
    rule = PartitionHash("test.user:$pk$")
    chosen = [partition_of_hashes(java_hash("test"), [text], 7) for text in ("1", "2")]
    assert chosen[0] != chosen[1]
    assert rule.partition(update(USER, (1, None), (2, None)), 7) == chosen[1]
    assert rule.partition(delete(USER, (1, None)), 7) == chosen[0]


def test_null_hashes_as_the_empty_text():
    rule = PartitionHash("test.user:Name")
    assert rule.partition(insert(USER, (1, None)), 7) == rule.partition(insert(USER, (1, "")), 7) == 3556498 % 7


def test_a_name_of_an_enum_whose_elements_are_not_known_has_no_partition():
    with pytest.raises(DataError, match="has no partition: the enum value 'red' is a name"):
        PartitionHash(".*:c").partition(insert(table(column("c", "enum")), ("red",)), 4)


def test_a_primary_key_that_is_not_there_leaves_the_schema():
    keyless = table(column("a"), name="test.t")
    assert PartitionHash("test.t:$pk$").partition(insert(keyless, (1,)), 7) == 3556498 % 7


def test_the_first_rule_that_matches_decides_and_none_means_partition_0():
    rule = PartitionHash("TEST.USER:id;test\\..*")
    assert rule.partition(insert(USER, (1, None)), 2**31) == 3556498 ^ 49
    assert rule.partition(insert(table(column("a"), name="test.orders"), (1,)), 8) == 3
    assert rule.partition(insert(table(column("a"), name="Other.t"), (1,)), 8) == 0


@pytest.mark.parametrize(("ignore_case", "expected"), [(False, 3556498), (True, 3556498 ^ java_hash("bob"))])
def test_names_of_columns_are_told_apart_by_case_in_flat_messages_only(ignore_case, expected):
    rule = PartitionHash("test.user:NAME", ignore_column_case=ignore_case)
    assert rule.partition(insert(USER, (1, "bob")), 2**31) == expected


def test_what_go_does_not_take_is_refused():
    with pytest.raises(ConfigError, match="cannot be used to choose a partition or topic"):
        PartitionHash("(?=a).*")


@pytest.mark.parametrize(
    ("rules", "schema", "name", "topic"),
    [
        ("test", "test", "user", "test"),
        ("Test", "TEST", "user", "test"),
        ("test.user", "test", "User", "test_user"),
        ("test\\..*", "test", "user", "test_user"),
        (".*", "a.b", "t", "a_b"),
        ("mine:test\\.user", "test", "user", "mine"),
        ("mine:test", "test", "user", "mine"),
        ("mine:test,other:test\\.user", "test", "user", "other"),
        ("mine:other", "test", "user", "default"),
        ("mine:.*", "test", "", "default"),
        ("", "test", "user", "default"),
    ],
)
def test_a_dynamic_topic_is_the_one_that_canal_chooses(rules, schema, name, topic):
    assert DynamicTopic(rules, "default").topic(schema, name) == topic


def test_the_number_of_partitions_may_depend_on_the_topic():
    assert partitions_of_topic("test_.*:4,mine:6", "TEST_a", 2) == 4
    assert partitions_of_topic("test_.*:4,mine:6", "else", 2) == 2
    with pytest.raises(ConfigError, match="is not pattern:number"):
        partitions_of_topic("mine:x", "mine", 2)
