"""A row written by its table's function is the cells of its columns, one behind the other."""

from collections.abc import Sequence

import pytest

from spark_jobs.cdc.codecs.tidb_binlog.cells import NULL_CELL, cell_writer
from spark_jobs.cdc.codecs.tidb_binlog.writers import row_writer
from spark_jobs.cdc.events import ABSENT, Value
from spark_jobs.cdc.mysql.types import parse_type

pytestmark = pytest.mark.usefixtures("both_ways")

EDGES = [0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**28 - 1, 2**28, 2**31, 2**63 - 1]
LENGTHS = [0, 1, 124, 125, 126, 127, 128, 4095, 4096, 16382, 16383, 16384, 70_000]
VALUES: dict[str, Sequence[Value]] = {
    "bigint": [*EDGES, -1, -(2**63), True],
    "bigint unsigned": [*EDGES, 2**64 - 1],
    "varchar(20)": ["x" * length for length in LENGTHS] + ["größer", "\U0001f600" * 40],
    "json": ["1" * length for length in LENGTHS],
    "blob": [b"\0" * length for length in LENGTHS],
    "double": [0.0, -0.0, 1.5],
    "enum('a','b')": [1, 2],
    "bit(8)": [0, 255],
    "year": [0, 2155],
    "datetime": ["0000-00-00 00:00:00"],
}
WRONG: dict[str, Sequence[Value]] = {
    "bigint": ["1", 1.0, 2**64, ABSENT, b"1"],
    "bigint unsigned": [-1, 2**64],
    "varchar(20)": [b"x", 1, "\ud800", ABSENT],
    "json": [b"{}", 1],
    "blob": ["x", 1],
    "double": [1, "1"],
}


def writer(*types):
    return row_writer(types, [cell_writer(type_) for type_ in types])


@pytest.mark.parametrize(("text", "value"), [(text, value) for text, values in VALUES.items() for value in values])
def test_a_value_is_written_as_its_cell(text, value):
    type_ = parse_type(text)
    assert writer(type_)((value,)) == cell_writer(type_)(value)


@pytest.mark.parametrize(("text", "value"), [(text, value) for text, values in WRONG.items() for value in values])
def test_a_value_of_another_type_is_left_to_its_cell(text, value):
    type_ = parse_type(text)
    with pytest.raises((TypeError, ValueError, AttributeError, LookupError)):
        writer(type_)((value,))
    with pytest.raises(ValueError, match=r"."):
        cell_writer(type_)(value)


def test_columns_stand_in_their_order_and_null_is_a_cell_of_its_own():
    number, text = parse_type("int"), parse_type("text")
    cells = cell_writer(number)(7) + NULL_CELL + cell_writer(text)("x")
    assert writer(number, number, text)((7, None, "x")) == cells
    assert writer()(()) == b""


@pytest.mark.parametrize("row", [(), (1, 2), None], ids=str)
def test_a_row_of_another_length_is_left_to_the_cells(row):
    with pytest.raises((TypeError, ValueError)):
        writer(parse_type("int"))(row)
