"""What is written is read back as it was; and the quick reader says what the exact one says.

Canal cannot carry: text that is not UTF-8; commit-ts (only whole messages' times); what a table's structure says beyond
name, type text, key and ordinal of its columns; ``before`` of nothing else than updates and deletes.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_protobuf.decode import Decoder
from spark_jobs.cdc.codecs.canal_protobuf.encode import Encoder
from spark_jobs.cdc.codecs.canal_protobuf.entry import EntryReader
from spark_jobs.cdc.codecs.canal_protobuf.envelope import AUTO, open_envelope
from spark_jobs.cdc.codecs.canal_protobuf.images import Images
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    Ddl,
    Event,
    Origin,
    Row,
    RowChange,
    TableSchema,
    TransactionMark,
    Value,
)
from spark_jobs.cdc.mysql.types import parse_type
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from tests.cdc.canal_messages import column, packet, rows_entry

Values = st.SearchStrategy[Value]


def whole(low: int, high: int) -> Values:
    return st.sampled_from([low, high, 0]) | st.integers(low, high)


TEXT: Values = st.text(st.characters(codec="utf-8"), max_size=300) | st.sampled_from(["", "\0", "😀", "x" * 20_000])
BYTES: Values = st.binary(max_size=20) | st.sampled_from([b"", b"\0", bytes(range(256))])
FLOAT64: Values = st.floats(allow_nan=False, allow_infinity=False)
FLOAT32: Values = st.floats(width=32, allow_nan=False, allow_infinity=False)

VALUES: dict[str, Values] = {
    "tinyint(4)": whole(-128, 127),
    "tinyint unsigned": whole(0, 255),
    "smallint": whole(-32768, 32767),
    "SMALLINT(5) UNSIGNED": whole(0, 65535),
    "mediumint unsigned": whole(0, (1 << 24) - 1),
    "int": whole(-(1 << 31), (1 << 31) - 1),
    "int(10) unsigned zerofill": whole(0, (1 << 32) - 1),
    "bigint": whole(-(1 << 63), (1 << 63) - 1),
    "bigint unsigned": whole(0, (1 << 64) - 1),
    "bit(64)": whole(0, (1 << 64) - 1),
    "year": st.sampled_from([0, 1901, 2155]),
    "enum('a','b''c')": st.integers(0, 2),
    "set('a','b','c')": st.integers(0, 7),
    "float": FLOAT32,
    "double": FLOAT64,
    "decimal(30,3)": st.decimals(-(10**20), 10**20, places=3).map(lambda number: format(number, "f")),
    "date": st.sampled_from(["0000-00-00", "2024-02-29", "9999-12-31"]),
    "time(6)": st.sampled_from(["-838:59:59.000000", "00:00:00.000001", "838:59:59.000000"]),
    "datetime(3)": st.sampled_from(["0000-00-00 00:00:00.000", "2024-01-02 03:04:05.678"]),
    "timestamp": st.sampled_from(["0000-00-00 00:00:00", "2038-01-19 03:14:07"]),
    "char(9)": TEXT,
    "varchar(255)": TEXT,
    "longtext": TEXT,
    "json": st.sampled_from(["null", '{"a": [1, "é"]}']),
    "varbinary(20)": BYTES,
    "mediumblob": BYTES,
    "geometry": BYTES,
}
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
PROPS = st.lists(st.tuples(NAMES.filter(lambda key: key != "rowsCount"), NAMES), max_size=2).map(tuple)
ORIGINS = st.builds(
    Origin,
    db_type=st.sampled_from(["", "oracle", "postgresql"]),
    server_id=INT64,
    log_file=NAMES,
    log_offset=INT64,
    event_length=INT64,
    gtid=NAMES,
    props=PROPS,
)
TIMES = st.integers(1, tso.MAX_MS)


def _column(name: str, kind: str, is_key: bool, ordinal: int) -> Column:
    return Column(name, parse_type(kind), is_key=is_key, source_type=kind, ordinal=ordinal)


@st.composite
def tables(draw: st.DrawFn) -> TableSchema:
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    kinds = [draw(st.sampled_from(sorted(VALUES))) for _ in names]
    columns = tuple(_column(name, kinds[at], draw(st.booleans()), at) for at, name in enumerate(names))
    return TableSchema(draw(NAMES), draw(NAMES), columns)


@st.composite
def rows_of(draw: st.DrawFn, table: TableSchema) -> Row:
    return tuple(draw(st.none() | VALUES[column.source_type]) for column in table.columns)


@st.composite
def row_changes(draw: st.DrawFn) -> RowChange:
    table, kind = draw(tables()), draw(st.sampled_from([INSERT, UPDATE, DELETE]))
    before = None if kind is INSERT else draw(rows_of(table))
    after = None if kind is DELETE else draw(rows_of(table))
    if kind is UPDATE and draw(st.booleans()):
        before, after = _partial(draw, before or (), after or ())
    return RowChange(
        kind=kind,
        table=table,
        before=before,
        after=after,
        es_ms=draw(TIMES),
        sequence=draw(INT64),
        origin=draw(ORIGINS),
    )


def _partial(draw: st.DrawFn, before: Row, after: Row) -> tuple[Row, Row]:
    """Both images with columns left out, each column in one of them at least."""
    where = [draw(st.sampled_from(["both", "before", "after"])) for _ in before]
    return (
        tuple(ABSENT if at == "after" else value for at, value in zip(where, before, strict=True)),
        tuple(ABSENT if at == "before" else value for at, value in zip(where, after, strict=True)),
    )


DDL = st.builds(
    Ddl,
    schema=NAMES,
    table=NAMES,
    query=NAMES,
    canal_type=st.sampled_from(["CREATE", "ALTER", "ERASE", "QUERY", "TRUNCATE", "RENAME", "CINDEX", "DINDEX"]),
    is_ddl=st.booleans(),
    es_ms=TIMES,
    sequence=INT64,
    origin=ORIGINS,
)
MARKS = (
    st.builds(
        TransactionMark,
        kind=st.just("BEGIN"),
        thread_id=INT64,
        es_ms=TIMES,
        sequence=INT64,
        props=PROPS,
        origin=ORIGINS,
    )
    | st.builds(TransactionMark, kind=st.just("END"), transaction_id=NAMES, es_ms=TIMES, props=PROPS, origin=ORIGINS)
    | st.builds(
        TransactionMark,
        kind=st.sampled_from(["XACOMMIT", "XAROLLBACK"]),
        query=NAMES,
        schema=NAMES,
        table=NAMES,
        es_ms=TIMES,
        props=PROPS,
        origin=ORIGINS,
    )
)


def exactly(message: bytes) -> list[Event]:
    envelope, reader = open_envelope(message, AUTO), EntryReader(Images())
    numbered = enumerate(envelope.entries, 1)
    return [event for number, data in numbered for event in reader.read(data, number, envelope.batch_id)]


def quickly(message: bytes) -> list[Event]:
    """Reads it with full caches, and makes sure that nothing is left to the exact reader."""
    decoder = Decoder()
    decoder.decode(message)
    decoder.opener.reader.exact = None  # type: ignore[assignment,misc]
    return list(decoder.decode(message))


@settings(max_examples=150, deadline=None)
@given(row_changes())
def test_a_row_change_comes_back(event: RowChange):
    [message] = Encoder().encode(event)
    assert exactly(message) == [event]
    decoder = Decoder()
    for _ in range(2):
        assert list(decoder.decode(message)) == [event]
    if ABSENT not in (*(event.before or ()), *(event.after or ())):
        assert quickly(message) == [event]


@settings(max_examples=60, deadline=None)
@given(DDL | MARKS)
def test_a_statement_or_mark_comes_back(event: Event):
    [message] = Encoder().encode(event)
    assert list(Decoder().decode(message)) == [event]


@settings(max_examples=40, deadline=None)
@given(st.lists(row_changes() | DDL | MARKS, max_size=6), st.integers(1, 4))
def test_a_stream_comes_back_in_order_whatever_the_batches(events: list[Event], size: int):
    encoder, decoder = Encoder(size), Decoder()
    messages = [message for event in events for message in encoder.encode(event)] + [*encoder.flush()]

    assert [event for message in messages for event in decoder.decode(message)] == events


TEXTS = st.text(st.characters(codec="utf-8"), max_size=4)


@st.composite
def written_columns(draw: st.DrawFn) -> entries.Column:
    """A column as any writer may have made it: fields there or not, values where none should be."""
    column = entries.Column(name=draw(st.sampled_from("abcd")), mysqlType=draw(st.sampled_from(["int", "text", ""])))
    text = draw(st.sampled_from(["5", "007", "-1", ""])) if column.mysqlType == "int" else draw(TEXTS)
    for name, value in (("index", draw(st.integers(0, 3))), ("updated", True), ("isKey", True), ("value", text)):
        if draw(st.booleans()):
            setattr(column, name, value)
    if draw(st.booleans()):
        column.isNull = draw(st.booleans())
    return column


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(written_columns(), min_size=1, max_size=3), min_size=1, max_size=4))
def test_the_quick_reader_agrees_with_the_exact_one_whatever_the_writer(images: list[list[entries.Column]]):
    """One decoder reads all images in turn, so that each meets what the others left in the caches."""
    decoder = Decoder()
    head = entries.Header(schemaName="s", tableName="t", eventType=entries.INSERT)
    for listed in images * 2:
        change = entries.RowChange(eventType=entries.INSERT, rowDatas=[entries.RowData(afterColumns=listed)])
        message = packet(entries.Entry(header=head, entryType=entries.ROWDATA, storeValue=change.SerializeToString()))
        assert _outcome(decoder.decode, message) == _outcome(exactly, message)


INTEGERS = [
    "",
    "007",
    "+5",
    "-0",
    " 5",
    "5\n",
    "1_0",
    "1.0",
    "1e2",
    "1,2",
    "٣",
    "null",
    "9" * 30,
    "9" * 5000,
    str(2**63),
]
DOUBLES = [
    "",
    "0.0",
    "-0.0",
    "-0",
    "1",
    "1E7",
    "1e400",
    "nan",
    "NaN",
    "inf",
    "Infinity",
    "1_0.0",
    " 1.5",
    "1.5,2",
    ".5",
]


@pytest.mark.parametrize("columns", [1, 12], ids=["few", "many"])
@pytest.mark.parametrize(
    ("kind", "usual", "text"),
    [("bigint", "-7", text) for text in INTEGERS] + [("double", "7.25", text) for text in DOUBLES],
)
def test_the_quick_reader_takes_numbers_as_the_exact_one_does(kind: str, usual: str, text: str, columns: int):
    decoder = Decoder()
    for value in (usual, text):
        listed = [column(at, f"c{at}", kind, usual) for at in range(columns - 1)]
        row = entries.RowData(afterColumns=[*listed, column(columns - 1, "last", kind, value)])
        message = packet(rows_entry(entries.INSERT, row))
        assert repr(_outcome(decoder.decode, message)) == repr(_outcome(exactly, message))


def _outcome(read: object, message: bytes) -> object:
    try:
        return list(read(message))  # type: ignore[operator]
    except Exception as error:
        return type(error), str(error)


def test_the_extremes_are_among_the_cases():
    kinds = {parse_type(kind).name for kind in VALUES}
    assert kinds >= {"bigint", "bit", "year", "enum", "set", "float", "double", "decimal", "time", "json", "geometry"}
    for kind, extreme in (("bigint unsigned", (1 << 64) - 1), ("bigint", -(1 << 63)), ("tinyint unsigned", 255)):
        found = []

        @settings(max_examples=50, database=None, derandomize=True)
        @given(VALUES[kind])
        def draw(value: Value) -> None:
            found.append(value)  # noqa: B023

        draw()
        assert extreme in found
