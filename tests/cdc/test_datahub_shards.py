"""Which shard a record goes to."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.cdc.errors import EncodeError, EnvironmentFault
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Heartbeat,
    RowChange,
    TableSchema,
)
from spark_jobs.cdc.routing.shards import Router, Shard, Shards, fnv1a_32, md5_key, row_key, table_key

KEYED = TableSchema("d", "t", (Column("id", ColumnType("bigint"), is_key=True), Column("v", ColumnType("varchar"))))
KEYLESS = TableSchema("d", "t", (Column("id", ColumnType("bigint")), Column("v", ColumnType("varchar"))))
THIRDS = [
    Shard("2", "A" * 32, "F" * 32),
    Shard("0", "0" * 32, "5" * 32),
    Shard("1", "5" * 32, "A" * 32),
]


@pytest.mark.parametrize(
    ("text", "digest"), [("", 0x811C9DC5), ("a", 0xE40C292C), ("foobar", 0xBF9CF968)], ids=["empty", "a", "foobar"]
)
def test_fnv1a_has_its_published_values(text, digest):
    assert fnv1a_32(text.encode()) == digest


def test_the_hash_key_is_md5_in_upper_case():
    assert md5_key(b"abc") == "900150983CD24FB0D6963F7D28E17F72"


@pytest.mark.parametrize(("key", "shard"), [("abc", "1"), ("", "2"), ("a", "0")])
def test_a_key_belongs_to_the_shard_whose_range_holds_its_hash(key, shard):
    # MD5: abc → 9001…, empty → D41D…, a → 0CC1…
    assert Shards(THIRDS).of(key) == shard


@given(st.text(st.characters(codec="utf-8")))
def test_every_key_has_a_shard(key):
    assert Shards(THIRDS).of(key) in {"0", "1", "2"}


@pytest.mark.parametrize(("digest", "shard"), [("5" * 32, "1"), ("4" + "F" * 31, "0"), ("F" * 32, "2")])
def test_ranges_begin_inclusive_and_end_exclusive_but_for_the_last(digest, shard):
    assert Shards(THIRDS).of_hash(digest) == shard


def test_a_topic_that_is_only_extended_counts_its_shards_by_number():
    shards = [Shard(str(number)) for number in (10, 9, 2)]
    assert Shards(shards, extend_only=True).of("a") == ["2", "9", "10"][0xE40C292C % 3]


def test_a_hole_between_the_ranges_is_a_fault_of_the_world():
    with pytest.raises(EnvironmentFault, match=hashlib.md5(b"abc").hexdigest().upper()):
        Shards([THIRDS[0], THIRDS[1]]).of("abc")


def test_a_topic_without_active_shards_is_a_fault_of_the_world():
    with pytest.raises(EnvironmentFault, match="no active shard"):
        Shards([])


def test_chance_comes_from_outside():
    numbers = iter([2, 0, 1])
    asked = []

    def below(limit: int) -> int:
        asked.append(limit)
        return next(numbers)

    assert [Shards(THIRDS).at_random(below) for _ in range(3)] == ["2", "0", "1"]
    assert asked == [3, 3, 3]


CHANGED_KEY = RowChange(kind=UPDATE, table=KEYED, before=(1, "a"), after=(2, "a"))
OLD, NEW = '["d","t","1"]', '["d","t","2"]'
BLOB, TUPLE = Router(by_table=True), Router(by_table=False)


@pytest.mark.parametrize(
    ("router", "event", "keys"),
    [
        (BLOB, CHANGED_KEY, (OLD, NEW)),
        (Router(by_table=True, both_by_old_key=True), CHANGED_KEY, (OLD, OLD)),
        (TUPLE, RowChange(kind=INSERT, table=KEYED, after=(2, None)), (NEW,)),
        (TUPLE, RowChange(kind=DELETE, table=KEYED, before=(1, ABSENT)), (OLD,)),
        (BLOB, RowChange(kind=UPDATE, table=KEYED, before=(1, "a"), half="before"), (OLD,)),
        (BLOB, RowChange(kind=UPDATE, table=KEYLESS, before=(1, "a"), after=(2, "a")), ('["d","t"]',) * 2),
        (TUPLE, RowChange(kind=UPDATE, table=KEYLESS, before=(1, "a"), after=(2, "a")), (None, None)),
        (
            Router(by_table=False, key_columns=("v",)),
            RowChange(kind=INSERT, table=KEYLESS, after=(2, "x")),
            ('["d","t","x"]',),
        ),
        (BLOB, Ddl(schema="d", table="t", query="q"), ('["d","t"]',)),
        (BLOB, Heartbeat(), ("",)),
    ],
    ids=[
        "changed key: each half by its own",
        "changed key: both by the old",
        "insert",
        "delete",
        "half",
        "blob without key: by table",
        "tuple without key: anywhere",
        "the user's key",
        "ddl: by table",
        "heartbeat",
    ],
)
def test_records_are_routed(router, event, keys):
    assert router.keys(event) == keys


@pytest.mark.parametrize("row", [(ABSENT, "a")])
def test_a_row_without_its_key_is_refused(row):
    with pytest.raises(EncodeError, match="'id'"):
        row_key(KEYED, row, ("id",))


def test_a_key_column_that_the_table_does_not_have_is_refused():
    with pytest.raises(EncodeError, match="'nope'"):
        Router(by_table=True, key_columns=("nope",)).keys(RowChange(kind=INSERT, table=KEYED, after=(1, "a")))


def test_no_two_keys_read_alike():
    pairs = TableSchema("d", "t", (Column("a", ColumnType("char")), Column("b", ColumnType("char"))))
    rows = [("x", "y,z"), ("x,y", "z"), ("x", ""), ("x", None), ("x", '"'), ("x", b"\x00")]
    assert len({row_key(pairs, row, ("a", "b")) for row in rows} | {table_key("d", "t")}) == len(rows) + 1
