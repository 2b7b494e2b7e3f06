"""Rows with every type at its extremes, for the tests of CSV."""

from hypothesis import strategies as st

from spark_jobs.cdc.events import Column, ColumnType
from spark_jobs.cdc.mysql.float_text import float32

INTEGERS = st.integers(-(2**63), 2**64 - 1)
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\"',\\\r\n%[*]N\0\udcff\udc80😀"), max_size=12)
ENUM = ColumnType("enum", elements=("a,", 'b"', "ç"))
SET = ColumnType("set", elements=("a", 'b"', "ç", "d"))
VALUES = {
    ColumnType("bigint"): INTEGERS,
    ColumnType("bit"): st.integers(0, 2**64 - 1),
    ColumnType("year"): st.sampled_from([0, 1901, 2155]),
    ColumnType("double"): st.floats(allow_nan=False, allow_infinity=False),
    ColumnType("float"): st.floats(allow_nan=False, allow_infinity=False, width=32).map(float32),
    ColumnType("decimal"): st.sampled_from(["-0.00", "99999999999999999999.000", "1"]),
    ColumnType("time", scale=3): st.sampled_from(["-838:59:59.000", "25:00:00.123", "00:00:00.000"]),
    ColumnType("datetime"): st.sampled_from(["0000-00-00 00:00:00", "9999-12-31 23:59:59"]),
    ColumnType("blob"): st.binary(max_size=12),
    ColumnType("varchar"): TEXTS,
    ColumnType("json"): TEXTS,
    ENUM: st.integers(0, 3),
    SET: st.integers(0, 15),
}
COLUMNS = tuple(Column(f"c{at}", kind) for at, kind in enumerate(VALUES))
ROWS = st.tuples(*(st.none() | values for values in VALUES.values()))
