"""Events of every kind over columns of every MySQL type at its extremes, for tests that run over all codecs.

``FEATURES`` names what the generators promise to produce; ``features(event)`` says which of them an event shows.
"""

import struct
from collections.abc import Iterator

from hypothesis import strategies as st

from spark_jobs.cdc import tso
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Event,
    Heartbeat,
    Row,
    RowChange,
    TableSchema,
    TransactionMark,
    Value,
    Watermark,
)

Values = st.SearchStrategy[Value]

MAX_UNSIGNED = 2**64 - 1
INVALID_TEXT = "a\udcff\udc80"
"""Text whose bytes are not UTF-8, as ``surrogateescape`` shows it."""


def whole(low: int, high: int) -> Values:
    return st.sampled_from([low, high, 0]) | st.integers(low, high)


def signed(bits: int) -> Values:
    return whole(-(1 << bits - 1), (1 << bits - 1) - 1)


def unsigned(bits: int) -> Values:
    return whole(0, (1 << bits) - 1)


def float32(value: float) -> float:
    widened: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return widened


def extremes(*values: Value) -> Values:
    return st.sampled_from(values)


TEXTS: Values = extremes("", "\0", "😀", " é ", "null", "\\N", 'it\'s "q",\r\n\t\\', "<&>\u2028") | st.text(
    st.characters(codec="utf-8"), max_size=12
)
BYTES: Values = extremes(b"", b"\0", b"\xff\xfe", bytes(range(256)), b"\xc3\x28") | st.binary(max_size=12)
INVALID_TEXTS: Values = TEXTS | st.just(INVALID_TEXT)
DOUBLES: Values = extremes(0.0, 5e-324, 1.7976931348623157e308, -1e20, 0.1, 1e-7) | st.floats(
    allow_nan=False, allow_infinity=False
).map(lambda value: value + 0.0)
FLOATS: Values = extremes(*map(float32, (0.1, 3.4028234e38, 1e-45, -1e20, 16777216.0))) | st.floats(
    width=32, allow_nan=False, allow_infinity=False
).map(lambda value: value + 0.0)

TYPES: list[tuple[ColumnType, Values]] = [
    (ColumnType("tinyint", length=4), signed(8)),
    (ColumnType("tinyint", unsigned=True, length=3), unsigned(8)),
    (ColumnType("smallint", length=6), signed(16)),
    (ColumnType("smallint", unsigned=True, length=5), unsigned(16)),
    (ColumnType("mediumint", length=9), signed(24)),
    (ColumnType("mediumint", unsigned=True, length=8), unsigned(24)),
    (ColumnType("int", length=11), signed(32)),
    (ColumnType("int", unsigned=True, length=10), unsigned(32)),
    (ColumnType("bigint", length=20), signed(64)),
    (ColumnType("bigint", unsigned=True, length=20), unsigned(64)),
    (ColumnType("year", length=4), extremes(0, 1901, 2024, 2155)),
    (ColumnType("bit", length=1), extremes(0, 1)),
    (ColumnType("bit", length=64), unsigned(64)),
    (ColumnType("float"), FLOATS),
    (ColumnType("double"), DOUBLES),
    (ColumnType("decimal", length=65, scale=2), extremes("0.00", "-0.01", "1.50", "-" + "9" * 63 + ".99")),
    (ColumnType("decimal", length=10, scale=0), extremes("0", "-9999999999", "9999999999")),
    (ColumnType("date"), extremes("0000-00-00", "2024-00-10", "9999-12-31", "2024-02-29")),
    (ColumnType("datetime"), extremes("0000-00-00 00:00:00", "1000-01-01 00:00:00", "9999-12-31 23:59:59")),
    (
        ColumnType("datetime", scale=6),
        extremes("0000-00-00 00:00:00.000000", "2024-02-29 13:14:15.123456", "9999-12-31 23:59:59.999999"),
    ),
    (
        ColumnType("timestamp", scale=3),
        extremes("0000-00-00 00:00:00.000", "1970-01-01 00:00:01.000", "2038-01-19 03:14:07.999"),
    ),
    (ColumnType("time"), extremes("-838:59:59", "838:59:59", "00:00:00", "-00:00:01", "25:00:00")),
    (ColumnType("time", scale=6), extremes("-838:59:59.000000", "00:00:00.000001", "24:00:00.500000")),
    (ColumnType("char", length=255), TEXTS),
    (ColumnType("varchar", length=255), INVALID_TEXTS),
    (ColumnType("tinytext"), TEXTS),
    (ColumnType("text"), INVALID_TEXTS),
    (ColumnType("mediumtext"), TEXTS),
    (ColumnType("longtext"), TEXTS),
    (ColumnType("json"), extremes("null", "[]", '{"a": [1, "é\\n"]}', '"😀"')),
    (ColumnType("binary", length=3), extremes(b"\0\0\0", b"a\0\0", b"\xff\xfe\xfd")),
    (ColumnType("varbinary", length=255), BYTES),
    (ColumnType("tinyblob"), BYTES),
    (ColumnType("blob"), BYTES),
    (ColumnType("mediumblob"), BYTES),
    (ColumnType("longblob"), BYTES),
    (ColumnType("geometry"), BYTES),
    (ColumnType("enum", elements=("a", "b,c", "it's")), extremes(0, 1, 2, 3)),
    (ColumnType("set", elements=("a", "b", "c")), st.integers(0, 7)),
    (ColumnType("set", elements=tuple(f"m{at}" for at in range(64))), unsigned(64)),
]
"""A type and its values; every base type that the event model names."""

VECTOR: tuple[ColumnType, Values] = (ColumnType("vector", length=3), extremes("[1,2.5,-3]", "[0,0,0]"))
KEYS = [pair for pair in TYPES if pair[0].name in ("int", "bigint", "varchar", "varbinary", "datetime", "decimal")]

NAMES = st.sampled_from(["t", "Orders", "a b", "订单", "q'`\"", "x.y", "back\\slash"])
MILLISECONDS = st.sampled_from([1, 1_700_000_000_123]) | st.integers(1, 2**42)
COMMIT_TS = st.builds(tso.compose, MILLISECONDS, st.sampled_from([0, 1, 2**18 - 1]))


@st.composite
def tables(draw: st.DrawFn) -> tuple[TableSchema, list[Values]]:
    """A table and, for each column, its values."""
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=2))
    others = draw(st.lists(st.sampled_from([*TYPES, VECTOR]), min_size=0 if keys else 1, max_size=5))
    columns = [
        Column(f"{name}{at}", type_, is_key=at < len(keys), nullable=at >= len(keys), ordinal=-1)
        for at, ((type_, _), name) in enumerate(zip([*keys, *others], ["id", "C", "数", "b c"] * 2, strict=False))
    ]
    table = TableSchema(draw(NAMES), draw(NAMES), tuple(columns))
    return table, [values for _, values in [*keys, *others]]


@st.composite
def row_changes(draw: st.DrawFn, *, partial: bool = True) -> RowChange:
    """A row change; ``partial``: some old rows lack columns, and some updates the whole old row."""
    table, values = draw(tables())
    kind = draw(st.sampled_from([INSERT, UPDATE, DELETE]))
    lacking = draw(st.sampled_from(["nothing", "columns", "everything"])) if partial else "nothing"
    before, after = draw(_row(table, values)), draw(_row(table, values))
    if lacking == "columns":
        before = _with_holes(table, before, draw(st.integers(1, 127)))
    no_old = kind is INSERT or (kind is UPDATE and lacking == "everything")
    commit_ts = draw(COMMIT_TS)
    return RowChange(
        kind=kind,
        table=table,
        before=None if no_old else before,
        after=None if kind is DELETE else after,
        commit_ts=commit_ts,
        es_ms=tso.physical_ms(commit_ts),
        ts_ms=draw(MILLISECONDS),
    )


def _row(table: TableSchema, values: list[Values]) -> st.SearchStrategy[Row]:
    return st.tuples(
        *(one if column.is_key else one | st.none() for column, one in zip(table.columns, values, strict=True))
    )


def _with_holes(table: TableSchema, row: Row, holes: int) -> Row:
    """The row without some columns: never its key, nor its first column, for a row without columns is none."""
    return tuple(
        ABSENT if at and not column.is_key and holes >> (at - 1) & 1 else value
        for at, (column, value) in enumerate(zip(table.columns, row, strict=True))
    )


@st.composite
def ddls(draw: st.DrawFn) -> Ddl:
    """A statement with the word that Canal has for it."""
    word, query = draw(
        st.sampled_from(
            [
                ("CREATE", "CREATE TABLE `t` (`id` INT PRIMARY KEY, `v` VARCHAR(10) DEFAULT 'é😀')"),
                ("ALTER", "ALTER TABLE `t` ADD COLUMN `c` INT"),
                ("ERASE", "DROP TABLE `db`.`t`"),
                ("TRUNCATE", "TRUNCATE TABLE `t`"),
                ("CINDEX", "CREATE INDEX `i` ON `t` (`v`)"),
                ("QUERY", "CREATE DATABASE `db`"),
            ]
        )
    )
    commit_ts = draw(COMMIT_TS)
    return Ddl(
        schema=draw(NAMES),
        table="" if word == "QUERY" else draw(NAMES),
        query=query,
        canal_type=word,
        commit_ts=commit_ts,
        es_ms=tso.physical_ms(commit_ts),
        ts_ms=draw(MILLISECONDS),
    )


@st.composite
def watermarks(draw: st.DrawFn) -> Watermark:
    watermark_ts = draw(COMMIT_TS)
    return Watermark(watermark_ts=watermark_ts, es_ms=tso.physical_ms(watermark_ts), ts_ms=draw(MILLISECONDS))


def heartbeats() -> st.SearchStrategy[Heartbeat]:
    return st.builds(Heartbeat, es_ms=MILLISECONDS, ts_ms=MILLISECONDS)


def marks() -> st.SearchStrategy[TransactionMark]:
    return st.builds(
        TransactionMark,
        kind=st.sampled_from(["BEGIN", "END", "XACOMMIT", "XAROLLBACK", "GTID"]),
        transaction_id=st.sampled_from(["", "7", "0b1c:1-7"]),
        es_ms=MILLISECONDS,
    )


def events() -> st.SearchStrategy[Event]:
    """An event of any kind; most are row changes."""
    rows = [row_changes(), row_changes(), row_changes(partial=False), row_changes(partial=False)]
    return st.one_of(*rows, ddls(), watermarks(), heartbeats(), marks())


FEATURES = frozenset(
    {
        *(type_.name + " unsigned" * type_.unsigned for type_, _ in [*TYPES, VECTOR]),
        *("INSERT", "UPDATE", "DELETE", "Ddl", "Watermark", "Heartbeat", "TransactionMark"),
        "maximum unsigned 64-bit",
        "negative time",
        "over-24-hour time",
        "zero date",
        "NUL",
        "4-byte UTF-8",
        "invalid bytes in a text",
        "invalid bytes in a binary",
        "null",
        "empty text",
        "empty bytes",
        "absent",
        "key of two columns",
        "no key",
        "update without its old row",
    }
)


def features(event: Event) -> Iterator[str]:
    """Which of ``FEATURES`` the event shows."""
    if not isinstance(event, RowChange):
        yield type(event).__name__
        return
    yield event.kind.value
    keys = len(event.table.key_columns)
    yield from ["update without its old row"] * (event.kind is UPDATE and event.before is None)
    yield from ["no key"] * (keys == 0) + ["key of two columns"] * (keys == 2)
    for row in filter(None, (event.before, event.after)):
        for column, value in zip(event.table.columns, row, strict=True):
            yield from _features_of(column.type, value)


def _features_of(type_: ColumnType, value: Value) -> Iterator[str]:
    if value is None:
        yield "null"
    elif value is ABSENT:
        yield "absent"
    else:
        yield type_.name + " unsigned" * type_.unsigned
    if value == MAX_UNSIGNED:
        yield "maximum unsigned 64-bit"
    if isinstance(value, bytes):
        yield from ["empty bytes"] * (not value) + ["invalid bytes in a binary"] * (b"\xff" in value)
    if isinstance(value, str):
        yield from _features_of_text(type_, value)


def _features_of_text(type_: ColumnType, text: str) -> Iterator[str]:
    shown = {
        "empty text": text == "",
        "NUL": "\0" in text,
        "4-byte UTF-8": any(char > "\uffff" for char in text),
        "invalid bytes in a text": "\udcff" in text,
        "zero date": type_.name in ("date", "datetime", "timestamp") and text.startswith("0000-00-00"),
        "negative time": type_.name == "time" and text.startswith("-"),
        "over-24-hour time": type_.name == "time" and text.lstrip("-")[:2] not in ("00",) and text[0] != "0",
    }
    yield from (name for name, is_shown in shown.items() if is_shown)
