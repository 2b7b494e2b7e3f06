"""Events, written as Canal writes them; what is written is read back by the generated classes."""

import pytest
from hypothesis import given

from spark_jobs.cdc.codecs.canal_protobuf import make_encoder
from spark_jobs.cdc.codecs.canal_protobuf.encode import Encoder
from spark_jobs.cdc.codecs.canal_protobuf.rows import ROWS_BEFORE_WRITERS, plan_of, row_data
from spark_jobs.cdc.codecs.canal_protobuf.wire import bytes_field, number_field, varint
from spark_jobs.cdc.errors import ConfigError, EncodeError
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
    Origin,
    Row,
    RowChange,
    RowKind,
    TableSchema,
    TransactionMark,
    Value,
    Watermark,
)
from spark_jobs.cdc.mysql.types import parse_type
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.proto import canal_packet_pb2 as packets
from tests.cdc.canal_messages import change_of, opened
from tests.cdc.event_strategies import row_changes

pytestmark = pytest.mark.usefixtures("both_ways")

TABLE = TableSchema(
    "shop",
    "orders",
    (
        Column("id", ColumnType("bigint"), is_key=True, source_type="BIGINT(20)", ordinal=0),
        Column("name", ColumnType("varchar", length=20), ordinal=3),
    ),
)
ORIGIN = Origin(server_id=11, log_file="mysql-bin.000007", log_offset=1234, event_length=88)


def change(kind: RowKind, before: Row | None, after: Row | None, table: TableSchema = TABLE) -> RowChange:
    return RowChange(
        kind=kind, table=table, before=before, after=after, es_ms=1_700_000_000_000, sequence=5, origin=ORIGIN
    )


def only_entry(event: Event) -> entries.Entry:
    [message] = Encoder().encode(event)
    [entry] = opened(message)
    return entry


def only_row(event: RowChange) -> entries.RowData:
    row: entries.RowData
    [row] = change_of(only_entry(event)).rowDatas
    return row


def of_type(text: str, value: Value) -> RowChange:
    table = TableSchema("s", "t", (Column("c", parse_type(text), source_type=text),))
    return change(INSERT, None, (value,), table)


def test_an_event_is_one_packet_as_on_canals_quick_path():
    [message] = Encoder().encode(change(INSERT, None, (7, "Ann")))
    packet = packets.Packet.FromString(message)

    assert message[:3] == b"\x18\x07\x2a"
    assert packet.type == packets.MESSAGES
    absent = ("magic_number", "version", "compression")
    assert [name for name in absent if packet.HasField(name)] == []
    assert packets.Messages.FromString(packet.body).batch_id == 5


def test_batch_id_zero_is_written_too():
    [message] = Encoder().encode(Ddl(schema="s", table="", query="create database s"))
    assert packets.Packet.FromString(message).body.startswith(b"\x08\x00\x12")


def test_the_header_is_canals():
    entry = only_entry(change(INSERT, None, (7, "Ann")))

    assert entry.entryType == entries.ROWDATA
    assert entry.header == entries.Header(
        version=1,
        logfileName="mysql-bin.000007",
        logfileOffset=1234,
        serverId=11,
        serverenCode="UTF-8",
        executeTime=1_700_000_000_000,
        sourceType=entries.MYSQL,
        schemaName="shop",
        tableName="orders",
        eventLength=88,
        eventType=entries.INSERT,
        props=[entries.Pair(key="rowsCount", value="1")],
    )


def test_gtid_and_props_go_into_the_header():
    event = RowChange(
        kind=INSERT, table=TABLE, after=(1, "x"), origin=Origin(gtid="u:1-5", props=(("curtGtid", "u:5"),))
    )
    header = only_entry(event).header

    assert header.gtid == "u:1-5"
    assert [(pair.key, pair.value) for pair in header.props] == [("rowsCount", "1"), ("curtGtid", "u:5")]


def test_without_a_source_time_the_commit_ts_gives_it():
    event = RowChange(kind=INSERT, table=TABLE, after=(1, "x"), commit_ts=1_700_000_000_123 << 18 | 5)
    assert only_entry(event).header.executeTime == 1_700_000_000_123


def test_a_column_spells_out_every_field_but_its_length():
    [message] = Encoder().encode(change(INSERT, None, (7, "")))
    minus_five = b"\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    first = b"\x08\x00\x10" + minus_five + b"\x1a\x02id\x20\x01\x28\x01\x30\x00\x42\x017\x52\x0aBIGINT(20)"
    second = b"\x08\x03\x10\x0c\x1a\x04name\x20\x00\x28\x01\x30\x00\x42\x00\x52\x0bvarchar(20)"

    for column in (first, second):
        assert b"\x12" + bytes((len(column),)) + column in message


def test_a_null_has_no_value():
    [message] = Encoder().encode(change(INSERT, None, (7, None)))
    null = b"\x08\x03\x10\x0c\x1a\x04name\x20\x00\x28\x01\x30\x01\x52\x0bvarchar(20)"
    assert b"\x12" + bytes((len(null),)) + null in message


def test_the_row_change_spells_out_its_kind_and_that_it_is_no_ddl():
    row_change = change_of(only_entry(change(DELETE, (7, "Ann"), None)))

    assert row_change.eventType == entries.DELETE
    assert row_change.HasField("isDdl")
    assert row_change.isDdl is False


@pytest.mark.parametrize(
    ("kind", "before", "after", "listed_before", "listed_after"),
    [
        (INSERT, None, (7, "Ann"), [], ["7", "Ann"]),
        (UPDATE, (7, "Ann"), (7, "Bob"), ["7", "Ann"], ["7", "Bob"]),
        (DELETE, (7, "Ann"), None, ["7", "Ann"], []),
    ],
    ids=["insert", "update", "delete"],
)
def test_each_kind_lists_the_images_that_it_has(
    kind: RowKind, before: Row | None, after: Row | None, listed_before: list[str], listed_after: list[str]
):
    row = only_row(change(kind, before, after))
    assert [column.value for column in row.beforeColumns] == listed_before
    assert [column.value for column in row.afterColumns] == listed_after


UPDATED = [
    ("nothing changed", (7, "Ann"), (7, "Ann"), [False, False]),
    ("one changed", (7, "Ann"), (7, "Bob"), [False, True]),
    ("to null", (7, "Ann"), (7, None), [False, True]),
    ("from null", (7, None), (7, "Bob"), [False, True]),
    ("null stays null", (7, None), (8, None), [True, False]),
    ("null is not the empty text", (7, None), (7, ""), [False, True]),
    ("not known before", (7, ABSENT), (7, "Ann"), [False, True]),
    ("no image before", None, (7, "Ann"), [True, True]),
]


@pytest.mark.parametrize(
    ("before", "after", "updated"), [case[1:] for case in UPDATED], ids=[case[0] for case in UPDATED]
)
def test_updated_is_what_differs_from_the_image_before(before: Row | None, after: Row, updated: list[bool]):
    row = only_row(change(UPDATE, before, after))

    assert [column.updated for column in row.afterColumns] == updated
    assert not any(column.updated for column in row.beforeColumns)


def test_in_an_insert_every_column_is_updated():
    row = only_row(change(INSERT, None, (7, None)))
    assert [column.updated for column in row.afterColumns] == [True, True]


def test_minus_zero_differs_from_zero_because_their_texts_do():
    table = TableSchema("s", "t", (Column("d", ColumnType("double")),))
    row = only_row(change(UPDATE, (0.0,), (-0.0,), table))
    assert [(column.value, column.updated) for column in row.afterColumns] == [("-0.0", True)]


def test_an_absent_column_is_not_listed_and_the_others_keep_their_index():
    row = only_row(change(UPDATE, (7, ABSENT), (ABSENT, "Bob")))

    assert [(column.index, column.name, column.value) for column in row.beforeColumns] == [(0, "id", "7")]
    assert [(column.index, column.name, column.value) for column in row.afterColumns] == [(3, "name", "Bob")]


def test_without_ordinals_the_index_is_the_place_in_the_table():
    table = TableSchema("s", "t", (Column("a", ColumnType("int")), Column("b", ColumnType("int"))))
    row = only_row(change(INSERT, None, (1, 2), table))
    assert [column.index for column in row.afterColumns] == [0, 1]


# fact sheet §5: MySQL type, value, Canal's text, java.sql.Types code
VALUES: list[tuple[str, Value, str, int]] = [
    ("tinyint(4)", -128, "-128", -6),
    ("tinyint(1)", 1, "1", -6),
    ("smallint", 32767, "32767", 5),
    ("mediumint", -1, "-1", 4),
    ("int(11)", 5, "5", 4),
    ("bigint", -(1 << 63), "-9223372036854775808", -5),
    ("tinyint unsigned", 127, "127", -6),
    ("tinyint unsigned", 128, "128", 5),
    ("tinyint unsigned", None, "", -6),
    ("smallint unsigned", 32767, "32767", 5),
    ("smallint unsigned", 32768, "32768", 4),
    ("mediumint unsigned", 16777215, "16777215", 4),
    ("int unsigned", 2147483647, "2147483647", 4),
    ("int unsigned", 2147483648, "2147483648", -5),
    ("bigint unsigned", (1 << 63) - 1, "9223372036854775807", -5),
    ("bigint unsigned", 1 << 63, "9223372036854775808", 3),
    ("int(10) unsigned zerofill", 5, "5", 4),
    ("decimal(10,2)", "1.50", "1.50", 3),
    ("float", 1.100000023841858, "1.1", 7),
    ("float", 1.0, "1.0", 7),
    ("double", 0.000999, "9.99E-4", 8),
    ("double", 1e7, "1.0E7", 8),
    ("double", 0.001, "0.001", 8),
    ("bit(64)", (1 << 64) - 1, "18446744073709551615", -7),
    ("enum('a','b')", 2, "2", 4),
    ("enum('a','b')", "b", "2", 4),
    ("enum('a','b')", 0, "0", 4),
    ("set('a','b','c')", 5, "5", -7),
    ("set('a','b','c')", "a,c", "5", -7),
    ("set('a','b','c')", None, "", 2004),
    ("char(3)", "abc", "abc", 1),
    ("varchar(10)", "é😀", "é😀", 12),
    ("tinytext", "x", "x", 2005),
    ("longtext", "x" * 300, "x" * 300, 2005),
    ("text", "x" * 20_000, "x" * 20_000, 2005),
    ("blob", b"\x00\x80\xff", "\x00\x80ÿ", 2004),
    ("varbinary(9)", b"\xe9", "é", 2004),
    ("json", '{"a": 1}', '{"a": 1}', 12),
    ("json", None, "", 1111),
    ("geometry", b"\x00\x01", "\x00\x01", 2004),
    ("date", "0000-00-00", "0000-00-00", 91),
    ("time(1)", "-838:59:59.0", "-838:59:59.0", 92),
    ("datetime(3)", "2024-01-02 03:04:05.000", "2024-01-02 03:04:05.000", 93),
    ("timestamp", "0000-00-00 00:00:00", "0000-00-00 00:00:00", 93),
    ("year(4)", 2024, "2024", 12),
    ("year", 0, "0000", 12),
]


@pytest.mark.parametrize(
    ("mysql_type", "value", "text", "sql_type"), VALUES, ids=[f"{kind} {str(value)[:20]}" for kind, value, *_ in VALUES]
)
def test_a_value_has_canals_text_and_code(mysql_type: str, value: Value, text: str, sql_type: int):
    [column] = only_row(of_type(mysql_type, value)).afterColumns

    assert (column.value, column.sqlType, column.isNull) == (text, sql_type, value is None)
    assert (column.mysqlType, column.length) == (mysql_type, 0)


def test_the_code_follows_the_value_in_both_images_of_an_update():
    table = TableSchema("s", "t", (Column("a", parse_type("tinyint unsigned")), Column("b", ColumnType("int"))))
    row = only_row(change(UPDATE, (200, 1), (100, 1), table))

    assert [column.sqlType for column in row.beforeColumns] == [5, 4]
    assert [column.sqlType for column in row.afterColumns] == [-6, 4]


def test_a_type_from_elsewhere_is_written_in_canals_manner():
    [column] = only_row(
        change(
            INSERT,
            None,
            ("1.50",),
            TableSchema("s", "t", (Column("c", ColumnType("decimal", unsigned=True, length=10, scale=2)),)),
        )
    ).afterColumns
    assert column.mysqlType == "decimal(10,2) unsigned"


def test_two_tables_of_the_same_name_do_not_mix():
    other = TableSchema("shop", "orders", (Column("id", ColumnType("int")),))
    encoder = Encoder()
    for table, after, width in ((TABLE, (1, "a"), 2), (other, (1,), 1), (TABLE, (1, "a"), 2)):
        [message] = encoder.encode(change(INSERT, None, after, table))
        [entry] = opened(message)
        assert len(change_of(entry).rowDatas[0].afterColumns) == width


def test_a_begin_and_an_end_have_no_event_type():
    begin = only_entry(TransactionMark(kind="BEGIN", thread_id=9, props=(("XA_TYPE", "XA START"),), es_ms=5))
    end = only_entry(TransactionMark(kind="END", transaction_id="4711"))

    assert (begin.entryType, end.entryType) == (entries.TRANSACTIONBEGIN, entries.TRANSACTIONEND)
    assert not begin.header.HasField("eventType")
    assert not end.header.HasField("eventType")
    assert begin.header.executeTime == 5
    assert entries.TransactionBegin.FromString(begin.storeValue) == entries.TransactionBegin(
        threadId=9, props=[entries.Pair(key="XA_TYPE", value="XA START")]
    )
    assert entries.TransactionEnd.FromString(end.storeValue) == entries.TransactionEnd(transactionId="4711")


@pytest.mark.parametrize("kind", ["XACOMMIT", "XAROLLBACK"])
def test_an_xa_mark_is_row_data_without_rows(kind: str):
    event = TransactionMark(kind=kind, query="XA …", props=(("XA_XID", "1"),))  # type: ignore[arg-type]
    entry = only_entry(event)
    row_change = change_of(entry)

    assert entry.entryType == entries.ROWDATA
    assert entry.header.eventType == row_change.eventType == entries.EventType.Value(kind)
    assert (row_change.sql, list(row_change.rowDatas)) == ("XA …", [])


STATEMENTS = [
    ("ddl", Ddl(schema="s", table="t", query="alter …", canal_type="ALTER"), entries.ALTER, True, "s"),
    (
        "another database",
        Ddl(schema="s", table="t", query="alter …", canal_type="ALTER", origin=Origin(schema_name="u")),
        entries.ALTER,
        True,
        "u",
    ),
    ("no type given, a table", Ddl(schema="s", table="t", query="drop table t"), entries.ERASE, True, "s"),
    ("no type given", Ddl(schema="s", table="", query="create database s"), entries.QUERY, True, "s"),
    ("a type Canal has not", Ddl(schema="s", table="", query="x", canal_type="MULTI"), entries.QUERY, True, "s"),
    ("rows query", Ddl(schema="", table="", query="# x", canal_type="QUERY", is_ddl=False), entries.QUERY, False, ""),
    (
        "statement DML",
        Ddl(schema="s", table="t", query="delete …", canal_type="DELETE", is_ddl=False),
        entries.DELETE,
        False,
        "s",
    ),
]


@pytest.mark.parametrize(
    ("event", "event_type", "is_ddl", "session_schema"),
    [case[1:] for case in STATEMENTS],
    ids=[case[0] for case in STATEMENTS],
)
def test_a_statement_is_row_data_without_rows(event: Ddl, event_type: int, is_ddl: bool, session_schema: str):
    entry = only_entry(event)
    row_change = change_of(entry)

    assert entry.entryType == entries.ROWDATA
    assert entry.header.eventType == row_change.eventType == event_type
    assert (entry.header.schemaName, entry.header.tableName) == (event.schema, event.table)
    assert (row_change.isDdl, row_change.sql, row_change.ddlSchemaName) == (is_ddl, event.query, session_schema)
    assert len(row_change.rowDatas) == 0


@pytest.mark.parametrize(
    "event",
    [Watermark(watermark_ts=5), Heartbeat(es_ms=5), TransactionMark(kind="GTID", props=(("gtid", "x"),))],
    ids=["watermark", "heartbeat", "GTID mark"],
)
def test_what_never_leaves_a_canal_server_gives_no_message(event: Event):
    assert list(Encoder().encode(event)) == []


def test_no_enum_is_written_as_zero():
    for event in (
        change(INSERT, None, (7, "Ann")),
        Ddl(schema="s", table="t", query="x"),
        TransactionMark(kind="BEGIN"),
        TransactionMark(kind="XACOMMIT"),
    ):
        entry = only_entry(event)
        assert entry.entryType != 0
        assert entry.header.sourceType != 0
        assert not entry.header.HasField("eventType") or entry.header.eventType != 0


def test_the_default_gathers_nothing():
    encoder = make_encoder({})
    assert len(encoder.encode(change(INSERT, None, (1, "x")))) == 1
    assert list(encoder.flush()) == []


def inserts(*batch_ids: int) -> list[RowChange]:
    return [RowChange(kind=INSERT, table=TABLE, after=(at, "x"), sequence=id_) for at, id_ in enumerate(batch_ids)]


@pytest.mark.parametrize(
    ("options", "events", "sizes"),
    [
        ({"max-batch-size": "3"}, inserts(1, 1, 1, 1, 1, 1, 1), [3, 3, 1]),
        ({"max-batch-size": "9"}, inserts(1, 1, 2, 2, 2), [2, 3]),
        ({"max-batch-size": "9", "max-message-bytes": "1"}, inserts(1, 1, 1), [1, 1, 1]),
        ({"max-batch-size": "9", "max-message-bytes": "300"}, inserts(0, 0, 0, 0, 0), [2, 2, 1]),
    ],
    ids=["by entries", "by batch id", "every entry too big", "by bytes"],
)
def test_batches_end_where_they_must(options: dict[str, str], events: list[RowChange], sizes: list[int]):
    encoder = make_encoder(options)
    made = [message for event in events for message in encoder.encode(event)]
    made += encoder.flush()

    assert [len(opened(message)) for message in made] == sizes
    texts = [change_of(entry).rowDatas[0].afterColumns[0].value for message in made for entry in opened(message)]
    assert texts == [str(at) for at in range(len(events))]
    assert list(encoder.flush()) == []


REFUSED = [
    ("a surrogate", change(INSERT, None, (1, "\udcff")), "shop.orders: column 'name': the text is not UTF-8"),
    ("text for a number", change(INSERT, None, ("seven", "x")), "column 'id' of type bigint: 'seven' is no value"),
    ("bytes for text", change(UPDATE, (1, "a"), (1, b"x")), "column 'name' of type varchar"),
    ("no image", change(INSERT, None, None), "an INSERT needs the row after the change"),
    ("half an update", change(UPDATE, (1, "a"), None), "an UPDATE needs the row after the change"),
    ("no image before", change(DELETE, None, (1, "a")), "a DELETE needs the row before the change"),
    ("too few values", change(INSERT, None, (1,)), "1 values for 2 columns"),
    ("too many values", change(UPDATE, (1, "a"), (1, "a", 3)), "3 values for 2 columns"),
    ("too few values, one unsigned", change(INSERT, None, (), of_type("int unsigned", 1).table), "0 values for 1"),
    ("a DELETE of no column", change(DELETE, (), None, TableSchema("s", "t", ())), "its DELETE carries no column"),
    ("an INSERT of no column", change(INSERT, None, (), TableSchema("s", "t", ())), "its INSERT carries no column"),
    ("an UPDATE of no column", change(UPDATE, (), (), TableSchema("s", "t", ())), "its UPDATE carries no column"),
    ("every column absent", change(DELETE, (ABSENT, ABSENT), None), "its DELETE carries no column"),
    ("an unknown element", of_type("enum", "a"), "column 'c' of type enum"),
    ("a query with a surrogate", Ddl(schema="s", table="t", query="\udcff"), "a statement"),
    ("a table with a surrogate", Ddl(schema="s", table="\udcff", query=""), "header of s."),
    (
        "a column name with a surrogate",
        change(INSERT, None, (1,), TableSchema("s", "t", (Column("\udcff", ColumnType("int")),))),
        "a column name or type of s.t is not UTF-8",
    ),
    ("a time beyond 64 bits", Ddl(schema="s", table="t", query="", es_ms=1 << 63), "header of s.t"),
    ("a thread beyond 64 bits", TransactionMark(kind="BEGIN", thread_id=1 << 63), "begin of a transaction"),
]


@pytest.mark.parametrize(("event", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_cannot_be_written_is_refused_and_nothing_of_it_is_gathered(event: Event, reason: str):
    encoder = Encoder(max_batch_size=5)
    with pytest.raises(EncodeError, match=reason):
        encoder.encode(event)
    assert list(encoder.flush()) == []


def written(event: RowChange, rows: int) -> bytes | str:
    """The row, or why not, when its table has had so many rows before."""
    try:
        plan = plan_of(event.table)
        plan.rows = rows
        return row_data(event, plan)
    except EncodeError as error:
        return error.reason


@given(row_changes())
def test_a_table_with_many_rows_is_written_like_one_with_few(event: RowChange):
    assert written(event, ROWS_BEFORE_WRITERS) == written(event, 0)


@pytest.mark.parametrize("event", [case[1] for case in REFUSED if isinstance(case[1], RowChange)])
def test_a_table_with_many_rows_refuses_what_one_with_few_does(event: RowChange):
    assert written(event, ROWS_BEFORE_WRITERS) == written(event, 0)


@pytest.mark.parametrize("numbers", [(1, 2**32 - 1), (2**32 - 1, 1), (None, 2**31), (2**31, 2**31), (None, None)])
def test_a_table_with_many_rows_has_the_same_wider_codes(numbers: tuple[int | None, int | None]):
    table = TableSchema("s", "t", (Column("c", ColumnType("int", unsigned=True)),))
    event = change(UPDATE, (numbers[0],), (numbers[1],), table)
    assert written(event, ROWS_BEFORE_WRITERS) == written(event, 0)


def test_a_table_gets_functions_of_its_own_after_many_rows():
    event = change(INSERT, None, (7, "Ann"))
    plan = plan_of(event.table)
    rows = {row_data(event, plan) for _ in range(ROWS_BEFORE_WRITERS)}
    assert plan.writers is None
    rows.add(row_data(event, plan))
    assert plan.writers is not None
    assert len(rows) == 1


def test_a_sequence_that_is_no_batch_id_is_left_out():
    [message] = Encoder().encode(RowChange(kind=INSERT, table=TABLE, after=(1, "x"), sequence=10**30))
    assert packets.Messages.FromString(packets.Packet.FromString(message).body).batch_id == 0


def test_an_unknown_option_is_refused():
    with pytest.raises(ConfigError, match="did you mean 'max-batch-size'"):
        make_encoder({"max-batch-sizes": "3"})


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 16383, 16384, (1 << 63) - 1, -1, -5, -(1 << 63)])
def test_numbers_are_written_as_protobuf_writes_them(number: int):
    assert number_field(1, number) == b"\x08" + varint(number)
    made = packets.Messages.FromString(number_field(1, number))
    assert made.batch_id == number
    assert number == 0 or made.SerializeToString() == number_field(1, number)


def test_bytes_are_written_as_protobuf_writes_them():
    for size in (0, 1, 127, 128, 20_000):
        made = packets.Messages(messages=[b"x" * size]).SerializeToString()
        assert bytes_field(2, b"x" * size) == made
