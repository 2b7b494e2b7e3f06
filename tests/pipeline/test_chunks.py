"""Chunks between the stages of a queue."""

from array import array

import pytest

from spark_jobs.cdc.events import Column, ColumnType, TableSchema
from spark_jobs.pipeline.chunks import ChunkFile, load
from spark_jobs.pipeline.merged import Chunk
from spark_jobs.store.durable import StorageFault

ORDERS = TableSchema("shop", "orders", (Column("id", ColumnType("bigint"), is_key=True),))
ITEMS = TableSchema("shop", "items", (Column("id", ColumnType("bigint"), is_key=True),))


def chunk(structure, *rows):
    numbers = array("q", range(len(rows))).tobytes()
    lengths = array("i", map(len, rows)).tobytes()
    return Chunk(structure, True, "t", 3, numbers, numbers, lengths, memoryview(b"".join(rows)))


def test_chunks_are_read_as_they_were_written_in_any_order(tmp_path):
    chunks = [chunk(ORDERS, b"one", b""), chunk(ITEMS, b"two" * 1000), chunk(ORDERS)]
    with ChunkFile(str(tmp_path)) as file:
        for item in chunks:
            file.add(item)
    assert [place.table for place in file.places] == ["orders", "items", "orders"]
    assert load(str(tmp_path), reversed(file.places)) == chunks[::-1]


def test_tasks_that_run_twice_do_not_meet(tmp_path):
    for rows in (b"first", b"second"):
        with ChunkFile(str(tmp_path)) as file:
            file.add(chunk(ORDERS, rows))
        assert bytes(load(str(tmp_path), file.places)[0].payload) == rows


def test_a_folder_that_is_gone_is_a_storage_fault(tmp_path):
    with ChunkFile(str(tmp_path)) as file:
        file.add(chunk(ORDERS, b"row"))
    with pytest.raises(StorageFault, match="cannot be read"):
        load(str(tmp_path / "gone"), file.places)
    with pytest.raises(StorageFault, match="cannot be written"), ChunkFile(str(tmp_path / "gone")):
        pass
