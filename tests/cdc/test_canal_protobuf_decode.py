"""Canal's protobuf messages, read. The messages are made by the generated classes, as Canal makes them."""

import pytest
from google.protobuf.internal import api_implementation

from spark_jobs.cdc.codecs.canal_protobuf import make_decoder
from spark_jobs.cdc.codecs.canal_protobuf.decode import Decoder
from spark_jobs.cdc.errors import ConfigError, DecodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Heartbeat,
    Origin,
    RowChange,
    TransactionMark,
    Value,
)
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.proto import canal_packet_pb2 as packets
from tests.cdc.canal_messages import column, entry, header, messages, packet, row, rows_entry, statement_entry

pytestmark = pytest.mark.usefixtures("both_ways")

KEY = column(0, "id", "bigint", "7", isKey=True)
NAME = column(1, "name", "varchar(20)", "Ann")
INSERTED = rows_entry(entries.INSERT, row(after=[KEY, NAME]))
ORIGIN = Origin(server_id=11, log_file="mysql-bin.000007", log_offset=1234, event_length=88)


def decode_one(message: bytes, **options: str) -> object:
    """The only event; read twice, so that the second time the caches know everything."""
    decoder = make_decoder(options)
    first, second = list(decoder.decode(message)), list(decoder.decode(message))
    assert first == second
    assert len(first) == 1
    return first[0]


def row_of(message: bytes) -> RowChange:
    event = decode_one(message)
    assert isinstance(event, RowChange)
    return event


def test_protobuf_runs_on_the_upb_implementation():
    assert api_implementation.Type() == "upb"


def test_an_insert_has_the_row_after_the_change_and_everything_the_header_says():
    event = row_of(packet(INSERTED, batch_id=42))

    assert event.kind is INSERT
    assert (event.before, event.after) == (None, (7, "Ann"))
    assert (event.table.schema, event.table.table) == ("shop", "orders")
    assert event.table.columns == (
        Column("id", ColumnType("bigint"), is_key=True, source_type="bigint", ordinal=0),
        Column("name", ColumnType("varchar", length=20), source_type="varchar(20)", ordinal=1),
    )
    assert (event.es_ms, event.sequence, event.commit_ts) == (1_700_000_000_000, 42, 0)
    assert event.origin == ORIGIN


def test_an_update_has_both_images_and_a_delete_only_the_one_before():
    renamed = column(1, "name", "varchar(20)", "Bob", updated=True)
    update = row_of(packet(rows_entry(entries.UPDATE, row([KEY, NAME], [KEY, renamed]))))
    delete = row_of(packet(rows_entry(entries.DELETE, row([KEY, NAME]))))

    assert (update.kind, update.before, update.after) == (UPDATE, (7, "Ann"), (7, "Bob"))
    assert (delete.kind, delete.before, delete.after) == (DELETE, (7, "Ann"), None)


def test_every_row_of_an_entry_is_an_event_and_rows_count_says_nothing_about_one():
    images = [row(after=[column(0, "id", "int", str(number), isKey=True)]) for number in range(3)]
    curt = entries.Pair(key="curtGtid", value="u:5")
    events = Decoder().decode(packet(rows_entry(entries.INSERT, *images, props=[curt], gtid="u:1-5")))

    assert [event.after for event in events if isinstance(event, RowChange)] == [(0,), (1,), (2,)]
    assert {event.origin.gtid for event in events if isinstance(event, RowChange)} == {"u:1-5"}
    assert {event.origin.props for event in events if isinstance(event, RowChange)} == {(("curtGtid", "u:5"),)}


@pytest.mark.parametrize("unit", ["auto", "packet"])
def test_both_of_canals_ways_to_write_a_record_are_read(unit: str):
    quick = packet(INSERTED, batch_id=3)
    by_objects = packet(INSERTED, version=1)
    spelled_out = packet(INSERTED, magic_number=17, version=1, compression=packets.NONE)

    assert [event.sequence for event in make_decoder({"unit": unit}).decode(quick)] == [3]  # type: ignore[union-attr]
    for message in (by_objects, spelled_out):
        event = decode_one(message, unit=unit)
        assert isinstance(event, RowChange)
        assert (event.sequence, event.after) == (0, (7, "Ann"))


@pytest.mark.parametrize("unit", ["auto", "messages", "entry"])
def test_bare_messages_and_bare_entries_are_read(unit: str):
    bare = {"messages": messages(INSERTED, batch_id=5).SerializeToString(), "entry": INSERTED.SerializeToString()}
    for message in bare.values() if unit == "auto" else [bare[unit]]:
        event = decode_one(message, unit=unit)
        assert isinstance(event, RowChange)
        assert event.after == (7, "Ann")


@pytest.mark.parametrize(
    "message",
    [packet(batch_id=-1), packet(batch_id=-1, version=1), messages(batch_id=-1).SerializeToString(), packet()],
    ids=["poll", "poll with version", "bare", "nothing at all"],
)
def test_an_answer_without_entries_has_no_events(message: bytes):
    assert list(Decoder().decode(message)) == []


def test_columns_that_an_image_leaves_out_are_absent_and_not_null():
    after = [column(2, "note", "text", None, updated=True)]
    event = row_of(packet(rows_entry(entries.UPDATE, row([KEY], after))))

    assert [(one.name, one.ordinal) for one in event.table.columns] == [("id", 0), ("note", 2)]
    assert (event.before, event.after) == ((7, ABSENT), (ABSENT, None))


def test_columns_stand_in_table_order_whatever_the_order_of_the_list():
    event = row_of(packet(rows_entry(entries.UPDATE, row([NAME, KEY], [KEY, NAME]))))

    assert [one.name for one in event.table.columns] == ["id", "name"]
    assert event.before == event.after == (7, "Ann")


def test_without_indexes_the_list_is_the_order():
    listed = [column(0, "b", "int", "1"), column(0, "a", "int", "2")]
    event = row_of(packet(rows_entry(entries.INSERT, row(after=listed))))

    assert [(one.name, one.ordinal) for one in event.table.columns] == [("b", 0), ("a", 1)]


def test_rows_of_one_structure_share_one_table_object_also_across_images_and_messages():
    renamed = column(1, "name", "varchar(20)", "Bob", updated=True)
    decoder = Decoder()
    tables = [
        event.table
        for message in (
            packet(INSERTED),
            packet(rows_entry(entries.UPDATE, row([KEY, NAME], [KEY, renamed]))),
            packet(rows_entry(entries.DELETE, row([KEY, column(1, "name", "varchar(20)", None)]))),
            packet(INSERTED, version=1),
        )
        for event in decoder.decode(message)
        if isinstance(event, RowChange)
    ]

    assert len(tables) == 4
    assert len({id(table) for table in tables}) == 1


def test_another_type_of_a_column_is_another_table_structure():
    wider = column(1, "name", "varchar(99)", "Ann")
    decoder = Decoder()
    [first] = decoder.decode(packet(INSERTED))
    [second] = decoder.decode(packet(rows_entry(entries.INSERT, row(after=[KEY, wider]))))

    assert isinstance(first, RowChange)
    assert isinstance(second, RowChange)
    assert first.table != second.table


VALUES: list[tuple[str, str | None, Value]] = [
    ("tinyint(1)", "1", 1),
    ("tinyint", "-128", -128),
    ("tinyint unsigned", "255", 255),
    ("bigint", "-9223372036854775808", -(1 << 63)),
    ("bigint unsigned", "18446744073709551615", (1 << 64) - 1),
    ("bit(64)", "18446744073709551615", (1 << 64) - 1),
    ("enum('a','b')", "2", 2),
    ("enum('a','b')", "0", 0),
    ("set('a','b','c')", "5", 5),
    ("year", "2024", 2024),
    ("year(4)", "0000", 0),
    ("decimal(10,2)", "1.50", "1.50"),
    ("float", "1.23456784E8", 123456784.0),
    ("double", "9.99E-4", 0.000999),
    ("date", "0000-00-00", "0000-00-00"),
    ("time(3)", "-838:59:59.000", "-838:59:59.000"),
    ("datetime(6)", "2024-01-02 03:04:05.000006", "2024-01-02 03:04:05.000006"),
    ("timestamp", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
    ("varchar(10)", "", ""),
    ("varchar(10)", "é😀\0", "é😀\0"),
    ("text", None, None),
    ("json", '{"a": 1, "b": [1, 2]}', '{"a": 1, "b": [1, 2]}'),
    ("json", None, None),
    ("blob", "\x00\x80ÿ", b"\x00\x80\xff"),
    ("varbinary(9)", "", b""),
    ("geometry", "\x00\x00\x00\x00\x01", b"\x00\x00\x00\x00\x01"),
    ("VARCHAR(10)", "as typed", "as typed"),
]


@pytest.mark.parametrize(("mysql_type", "text", "value"), VALUES, ids=[f"{kind} {text}" for kind, text, _ in VALUES])
def test_a_value_text_is_read_by_its_type(mysql_type: str, text: str | None, value: Value):
    listed = [KEY, column(1, "c", mysql_type, text), column(2, "d", "int", "3")]
    event = row_of(packet(rows_entry(entries.INSERT, row(after=listed))))

    assert event.after == (7, value, 3)
    assert type((event.after or ())[1]) is type(value)
    assert event.table.columns[1].source_type == mysql_type


def test_without_mysql_type_the_sql_type_gives_a_coarse_one():
    listed = [column(0, "a", "", "5", sqlType=-5), column(1, "b", "", "é", sqlType=2004), column(2, "c", "", "x")]
    event = row_of(packet(rows_entry(entries.INSERT, row(after=listed))))

    assert [one.type.name for one in event.table.columns] == ["bigint", "blob", "varchar"]
    assert event.after == (5, b"\xe9", "x")


def test_null_is_is_null_and_not_an_empty_value():
    listed = [
        column(0, "empty", "varchar(9)", ""),
        column(1, "null", "varchar(9)", None),
        column(2, "null with a value", "varchar(9)", "NULL", isNull=True),
    ]
    event = row_of(packet(rows_entry(entries.INSERT, row(after=listed))))

    assert event.after == ("", None, None)


def test_what_a_writer_leaves_out_belongs_to_its_own_column():
    """isKey once: the same fields in all, yet of another column."""
    decoder = Decoder()
    for key in (0, 1, 0, 1):
        listed = [column(at, name, "int", "1", isKey=at == key) for at, name in enumerate("ab")]
        [event] = decoder.decode(packet(rows_entry(entries.INSERT, row(after=listed))))
        assert isinstance(event, RowChange)
        assert event.table.key_columns == ("ab"[key],)


def test_a_value_never_slips_into_the_column_beside_it():
    """There are as many values as columns that are not NULL, yet one of them belongs to a column that is NULL."""
    decoder = Decoder()
    names = ("a", "b", "c")
    plain = [column(at, name, "varchar(9)", name) for at, name in enumerate(names)]
    odd = [column(0, "a", "varchar(9)", "NULL", isNull=True), column(1, "b", "varchar(9)", ""), plain[2]]
    decoder.decode(packet(rows_entry(entries.INSERT, row(after=plain))))
    for _ in range(3):
        [event] = decoder.decode(packet(rows_entry(entries.INSERT, row(after=odd))))
        assert isinstance(event, RowChange)
        assert event.after == (None, "", "c")


MARKS = [
    (
        "begin",
        entry(entries.TRANSACTIONBEGIN, entries.TransactionBegin(threadId=9)),
        TransactionMark(kind="BEGIN", thread_id=9, es_ms=1_700_000_000_000, origin=ORIGIN),
    ),
    (
        "XA start",
        entry(
            entries.TRANSACTIONBEGIN,
            entries.TransactionBegin(threadId=9, props=[entries.Pair(key="XA_TYPE", value="XA START")]),
        ),
        TransactionMark(
            kind="BEGIN",
            thread_id=9,
            es_ms=1_700_000_000_000,
            props=(("XA_TYPE", "XA START"),),
            origin=ORIGIN,
        ),
    ),
    (
        "end",
        entry(entries.TRANSACTIONEND, entries.TransactionEnd(transactionId="4711")),
        TransactionMark(kind="END", transaction_id="4711", es_ms=1_700_000_000_000, origin=ORIGIN),
    ),
    (
        "XA commit",
        statement_entry(
            entries.XACOMMIT,
            entries.RowChange(sql="XA COMMIT X'01'", props=[entries.Pair(key="XA_XID", value="1")]),
            schemaName="",
            tableName="",
        ),
        TransactionMark(
            kind="XACOMMIT",
            query="XA COMMIT X'01'",
            es_ms=1_700_000_000_000,
            props=(("XA_XID", "1"),),
            origin=ORIGIN,
        ),
    ),
    (
        "XA rollback",
        statement_entry(entries.XAROLLBACK, entries.RowChange(sql="XA ROLLBACK X'01'"), schemaName="", tableName=""),
        TransactionMark(kind="XAROLLBACK", query="XA ROLLBACK X'01'", es_ms=1_700_000_000_000, origin=ORIGIN),
    ),
    (
        "GTID",
        entry(
            entries.GTIDLOG, entries.Pair(key="gtid", value="0-1-5"), header(entries.GTID, schemaName="", tableName="")
        ),
        TransactionMark(kind="GTID", es_ms=1_700_000_000_000, props=(("gtid", "0-1-5"),), origin=ORIGIN),
    ),
    (
        "heartbeat of the master",
        entry(entries.HEARTBEAT, b"", header(entries.MHEARTBEAT, schemaName="", tableName="")),
        Heartbeat(es_ms=1_700_000_000_000, origin=ORIGIN),
    ),
    (
        "heartbeat of the timer",
        entry(entries.HEARTBEAT, b"", header(schemaName="", tableName="")),
        Heartbeat(es_ms=1_700_000_000_000, origin=ORIGIN),
    ),
]


@pytest.mark.parametrize(("made", "expected"), [case[1:] for case in MARKS], ids=[case[0] for case in MARKS])
def test_marks_are_read_by_entry_type_before_anything_else(made: entries.Entry, expected: object):
    assert decode_one(packet(made)) == expected


def test_begin_and_end_are_no_updates_though_java_shows_their_absent_event_type_as_update():
    head = header(entries.UPDATE, schemaName="", tableName="")
    made = entry(entries.TRANSACTIONEND, entries.TransactionEnd(transactionId="0"), head)

    event = decode_one(packet(made))
    assert isinstance(event, TransactionMark)
    assert (event.kind, event.transaction_id) == ("END", "0")


STATEMENTS = [
    ("create table", entries.CREATE, "create table t (a int)", True, ("shop", "orders")),
    ("drop table is ERASE", entries.ERASE, "drop table t", True, ("shop", "orders")),
    ("index DDL", entries.CINDEX, "create index i on t (a)", True, ("shop", "orders")),
    ("create database is QUERY and DDL", entries.QUERY, "create database d", True, ("d", "")),
    ("grant", entries.QUERY, "grant select on *.* to a", True, ("", "")),
    ("statement-format DML", entries.INSERT, "insert into t values (1)", False, ("shop", "orders")),
    ("statement-format update", entries.UPDATE, "update t set a=1", False, ("shop", "orders")),
]


@pytest.mark.parametrize(
    ("event_type", "sql", "is_ddl", "place"), [case[1:] for case in STATEMENTS], ids=[case[0] for case in STATEMENTS]
)
def test_row_data_without_rows_is_a_statement(event_type: int, sql: str, is_ddl: bool, place: tuple[str, str]):
    change = entries.RowChange(isDdl=is_ddl, sql=sql, ddlSchemaName=place[0])
    made = statement_entry(event_type, change, schemaName=place[0], tableName=place[1])

    assert decode_one(packet(made, batch_id=8)) == Ddl(
        schema=place[0],
        table=place[1],
        query=sql,
        canal_type=entries.EventType.Name(event_type),
        is_ddl=is_ddl,
        es_ms=1_700_000_000_000,
        sequence=8,
        origin=ORIGIN,
    )


def test_the_text_of_a_rows_query_event_is_a_query_that_is_no_ddl():
    made = statement_entry(entries.QUERY, entries.RowChange(sql="# comment"), schemaName="", tableName="")

    event = decode_one(packet(made))
    assert isinstance(event, Ddl)
    assert (event.schema, event.canal_type, event.is_ddl, event.query) == ("", "QUERY", False, "# comment")


def test_a_ddl_under_another_database_keeps_both_names():
    made = statement_entry(entries.ALTER, entries.RowChange(isDdl=True, sql="alter …", ddlSchemaName="elsewhere"))

    event = decode_one(packet(made))
    assert isinstance(event, Ddl)
    assert (event.schema, event.table, event.origin.schema_name) == ("shop", "orders", "elsewhere")


def test_absent_types_mean_row_data_and_update():
    made = entry(
        None,
        entries.RowChange(rowDatas=[row([KEY], [KEY])]),
        entries.Header(schemaName="shop", tableName="orders"),
    )
    event = decode_one(packet(made))
    assert isinstance(event, RowChange)
    assert event.kind is UPDATE


def test_enum_value_zero_means_absent():
    made = rows_entry(entries.DELETE, row([KEY]))
    made.entryType = entries.ENTRY_TYPE_UNSET
    event = decode_one(packet(made))
    assert isinstance(event, RowChange)
    assert event.kind is DELETE


def test_a_row_event_without_rows_and_without_text_carries_nothing():
    assert list(Decoder().decode(packet(rows_entry(entries.INSERT)))) == []


def test_events_keep_the_order_of_their_message():
    made = packet(
        entry(entries.TRANSACTIONBEGIN, entries.TransactionBegin(threadId=1)),
        INSERTED,
        rows_entry(entries.DELETE, row([KEY])),
        entry(entries.TRANSACTIONEND, entries.TransactionEnd(transactionId="5")),
    )
    decoder = Decoder()
    for _ in range(2):
        assert [event.kind for event in decoder.decode(made)] == ["BEGIN", "INSERT", "DELETE", "END"]  # type: ignore[union-attr]


def test_another_source_than_mysql_is_named():
    event = row_of(packet(rows_entry(entries.INSERT, row(after=[KEY]), sourceType=entries.ORACLE)))
    assert event.origin.db_type == "oracle"


def test_an_error_of_the_server_is_told_in_its_own_words():
    ack = packets.Ack(error_code=400, error_message="should subscribe first").SerializeToString()
    message = packets.Packet(type=packets.ACK, body=ack).SerializeToString()

    with pytest.raises(DecodeError, match="error 400: should subscribe first"):
        Decoder().decode(message)


def test_an_unknown_unit_is_refused():
    with pytest.raises(ConfigError, match="unit of canal is one of auto, packet, messages, entry"):
        make_decoder({"unit": "frame"})
