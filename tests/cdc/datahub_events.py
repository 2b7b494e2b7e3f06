"""Row changes of every MySQL type at its extremes, for the DataHub tests."""

from hypothesis import strategies as st

from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Origin,
    RowChange,
    TableSchema,
    Value,
)

Values = st.SearchStrategy[Value]

TEXT: Values = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(["", "\0", "😀", 'é"\\'])
BYTES: Values = st.binary(max_size=12) | st.sampled_from([b"", b"\0", b"\xff\xfe"])
DATETIME_MS: Values = st.datetimes().map(lambda at: at.isoformat(" ", "milliseconds"))
DATETIME_US: Values = st.datetimes().map(lambda at: at.isoformat(" ", "microseconds"))
DATE: Values = st.dates().map(str) | st.sampled_from(["0000-00-00", "2020-00-10", "9999-12-31"])
FLOAT32: Values = st.floats(width=32, allow_nan=False, allow_infinity=False)
FLOAT64: Values = st.floats(allow_nan=False, allow_infinity=False)
DECIMAL: Values = st.decimals(-(10**30), 10**30, places=3).map(lambda number: format(number, "f"))


def ints(bits: int, unsigned: bool = False) -> Values:
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return st.integers(low, high) | st.sampled_from([low, high])


MYSQL_VALUES: list[tuple[ColumnType, Values]] = [
    (ColumnType("tinyint"), ints(8)),
    (ColumnType("tinyint", length=1), ints(8)),
    (ColumnType("smallint", unsigned=True), ints(16, True)),
    (ColumnType("mediumint"), ints(24)),
    (ColumnType("int", unsigned=True), ints(32, True)),
    (ColumnType("bigint"), ints(64)),
    (ColumnType("bigint", unsigned=True), ints(64, True)),
    (ColumnType("bit", length=1), ints(1, True)),
    (ColumnType("bit", length=63), ints(63, True)),
    (ColumnType("bit", length=64), ints(64, True)),
    (ColumnType("year"), st.sampled_from([0, 1901, 2155])),
    (ColumnType("float"), FLOAT32),
    (ColumnType("double"), FLOAT64),
    (ColumnType("decimal", length=34, scale=3), DECIMAL),
    (ColumnType("date"), DATE),
    (ColumnType("datetime", scale=6), DATETIME_US),
    (ColumnType("timestamp", scale=3), DATETIME_MS | st.just("0000-00-00 00:00:00.000")),
    (ColumnType("time", scale=1), st.sampled_from(["-838:59:59.0", "00:00:00.5", "838:59:59.0"])),
    (ColumnType("char"), TEXT),
    (ColumnType("longtext"), TEXT),
    (ColumnType("json"), st.sampled_from(["null", '{"a": [1, "é"]}'])),
    (ColumnType("enum", elements=("a", "b,c")), st.integers(0, 2)),
    (ColumnType("enum"), st.integers(0, 9) | st.sampled_from(["a", ""])),
    (ColumnType("set", elements=("a", "b", "c")), st.integers(0, 7)),
    (ColumnType("varbinary"), BYTES),
    (ColumnType("longblob"), BYTES),
    (ColumnType("geometry"), BYTES),
]
"""A MySQL type and its values."""


@st.composite
def changes(draw: st.DrawFn, kinds: list[tuple[ColumnType, Values]], partial: bool = True) -> RowChange:
    """A row change over columns of these types; keys are neither NULL nor absent."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=6))
    keys = draw(st.integers(0, 1))
    table = TableSchema(
        draw(st.sampled_from(["shop", "库"])),
        draw(st.sampled_from(["orders", "t é"])),
        tuple(Column(f"c{i}", type_, is_key=i < keys) for i, (type_, _) in enumerate(chosen)),
    )
    hole = st.sampled_from([None, ABSENT] if partial else [None])
    row = st.tuples(*(values if i < keys else values | hole for i, (_, values) in enumerate(chosen)))
    kind = draw(st.sampled_from([INSERT, UPDATE, DELETE]))
    return RowChange(
        kind=kind,
        table=table,
        before=None if kind is INSERT else draw(row),
        after=None if kind is DELETE else draw(row),
        es_ms=draw(st.integers(1, (1 << 45) - 1)),
        ts_ms=draw(st.integers(0, (1 << 45) - 1)),
        sequence=draw(st.integers(1, 10**20)),
        origin=Origin(db_type=draw(st.sampled_from(["MySQL", "mysql"]))),
    )
