"""Bounded memories, structures that are one object as long as they live, generated functions, the switch."""

import gc

import pytest
from msgspec.structs import replace

from spark_jobs.cdc import memory
from spark_jobs.cdc.codecs.canal_json import structure
from spark_jobs.cdc.codecs.canal_json.opener import Opener
from spark_jobs.cdc.events import Column, ColumnType, TableSchema
from spark_jobs.cdc.memory import Living, Memory, define, remember
from tests.cdc.canal_json_cases import message

TABLE = TableSchema("s", "t", (Column("id", ColumnType("int")),))


@pytest.fixture
def plain():
    memory.plain(True)
    yield
    memory.plain(False)


def test_a_full_memory_forgets_its_oldest():
    found: Memory[int, int] = Memory(80)
    for number in range(80):
        found.remember(number, number)
    found.remember(0, 0)  # the youngest now
    assert len(found) == 80
    found.remember(80, 80)
    assert sorted(found) == [0, *range(12, 81)]


def test_entries_weigh_what_they_weigh():
    found: Memory[str, int] = Memory(100)
    found.remember("a", 1, 60)
    found.remember("a", 2, 30)
    found.remember("b", 3, 70)
    assert found == {"a": 2, "b": 3}
    found.remember("c", 4, 1)
    assert found == {"b": 3, "c": 4}
    found.remember("too heavy", 5, 101)
    assert not found


def test_a_plain_dict_forgets_its_oldest():
    cache: dict[int, int] = {}
    for number in range(memory.MAX_ENTRIES + 1):
        remember(cache, number, number)
    assert (len(cache), min(cache)) == (memory.MAX_ENTRIES * 7 // 8 + 1, memory.MAX_ENTRIES // 8)


def test_equal_structures_are_one_object_as_long_as_one_is_held():
    living, first = Living(), replace(TABLE)
    assert living.one(first) is first
    assert living.one(replace(TABLE)) is first
    assert living.one(replace(TABLE, table="u")) is not first
    del first
    gc.collect()
    other = replace(TABLE)
    assert living.one(other) is other


@pytest.mark.usefixtures("plain")
def test_nothing_is_remembered_without_memories():
    found: Memory[int, int] = Memory()
    cache: dict[int, int] = {}
    found.remember(1, 1)
    remember(cache, 1, 1)
    assert (found, cache) == ({}, {})
    living, held = Living(), replace(TABLE)
    assert living.one(held) is living.one(replace(TABLE)) is held


def test_a_function_is_made_of_its_text():
    assert define("def made(value):\n    return value + one\n", {"one": 1})(2) == 3


def test_five_thousand_tables_in_turn_are_built_once_each(monkeypatch):
    built = []
    make = structure.Structure

    def counted(table):
        built.append(table.table)
        return make(table)

    monkeypatch.setattr(structure, "Structure", counted)
    opener = Opener({})
    messages = [message(table=f"t{number}") for number in range(5000)]
    for _ in range(2):
        for one in messages:
            opener.open(one)
    assert len(built) == 5000
