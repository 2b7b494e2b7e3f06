"""The quick way to write CSV against the slow one: the bytes must be the same."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs.csv.format import csv_format
from spark_jobs.cdc.codecs.csv.json_rows import JsonRows, suits
from spark_jobs.cdc.codecs.csv.shapes import TableRows, TemplateRows
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import Column, ColumnType, TableSchema
from tests.cdc.csv_cases import COLUMNS, ROWS, VALUES

TABLE = TableSchema('a%d"s', "%.0at\\", COLUMNS)
NOTHING_BUT_NULL = (None,) * len(COLUMNS)


@settings(max_examples=300)
@given(
    row=ROWS,
    commit_ts=st.integers(0, 2**63),
    include=st.sampled_from(["true", "false"]),
    old_value=st.sampled_from(["true", "false"]),
    binary=st.sampled_from(["hex", "base64"]),
    null=st.sampled_from([r"\N", "NULL", '"', "\\\\", "n,l", "%s"]),
)
@example(NOTHING_BUT_NULL, 1, "true", "true", "hex", r"\N")
def test_both_ways_write_the_same(row, commit_ts, include, old_value, binary, null):
    options = {
        "include-commit-ts": include,
        "output-old-value": old_value,
        "binary-encoding-method": binary,
        "null": null,
    }
    rows = TableRows(TABLE, csv_format(options))
    assert suits(rows)
    quick = JsonRows(rows, "I", is_update="true").line(commit_ts, row)
    assert quick == TemplateRows(rows, "I", is_update="true").line(commit_ts, row)


EXTREMES = [
    ("double", [0.0, -0.0, 1.0, -3.0, 0.1, 0.001, 0.00099, 99999.5, 1e5, 100000.5, 1e16, 1.5e300, 5e-324]),
    ("float", [0.0, 0.10000000149011612, 3.4028234663852886e38, 1.401298464324817e-45]),
    ("bigint", [0, -(2**63), 2**63, 2**64 - 1]),
    ("varchar", ["", '"', "\\", "\0", "\x1f", "\x7f", "\r\n", "é", "\u2028", "😀", "\udcff", "</&>", "\\N"]),
    ("blob", [b"", b"\0", b"\xff\xfe\xfd", b'"']),
]


@pytest.mark.parametrize(("kind", "values"), EXTREMES, ids=[kind for kind, _ in EXTREMES])
def test_both_ways_write_the_same_of_every_extreme(kind, values):
    table = TableSchema("s", "t", (Column("a", ColumnType(kind)), Column("b", ColumnType("int"))))
    rows = TableRows(table, csv_format({}))
    for value in values:
        row = (value, None)
        assert JsonRows(rows, "D", is_update="false").line(7, row) == TemplateRows(rows, "D", is_update="false").line(
            7, row
        )


@pytest.mark.parametrize(
    "options",
    [{"delimiter": ";"}, {"quote": "'"}, {"quote": ""}, {"null": ""}, {"output-handle-key": "true"}],
    ids=str,
)
def test_other_formats_go_the_slow_way(options):
    assert not suits(TableRows(TABLE, csv_format(options)))


def test_a_row_without_columns_goes_the_slow_way_and_is_refused():
    rows = TableRows(TableSchema("s", "t", ()), csv_format({}))
    assert not suits(rows)
    with pytest.raises(EncodeError, match="carries no column"):
        TemplateRows(rows, "I", is_update="false").line(1, ())


def test_the_first_row_is_refused_if_it_has_no_values():
    rows = TableRows(TABLE, csv_format({}))
    with pytest.raises(EncodeError, match="carries no column"):
        JsonRows(rows, "I", is_update="false").line(1, ())


def test_the_rows_hold_every_kind_of_value():
    kinds = {kind.name for kind in VALUES}
    assert kinds >= {
        "bigint",
        "bit",
        "year",
        "double",
        "float",
        "decimal",
        "time",
        "datetime",
        "blob",
        "json",
        "enum",
        "set",
    }
