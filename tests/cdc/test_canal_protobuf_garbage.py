"""Bytes that are no Canal message: a DecodeError that says what and where, and nothing else."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs.canal_protobuf.decode import Decoder
from spark_jobs.cdc.codecs.canal_protobuf.envelope import UNITS
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.proto import canal_packet_pb2 as packets
from tests.cdc.canal_messages import column, entry, header, messages, packet, row, rows_entry, statement_entry

KEY = column(0, "id", "bigint", "7", isKey=True)
GOOD = rows_entry(entries.INSERT, row(after=[KEY, column(1, "name", "varchar(20)", "Ann")]))
ROW_HEADER = header(entries.INSERT)


def typed(number: Any, body: bytes = b"") -> bytes:
    made: bytes = packets.Packet(type=number, body=body).SerializeToString()
    return made


def insert_of(*listed: entries.Column) -> bytes:
    return packet(GOOD, rows_entry(entries.INSERT, row(after=[KEY]), row(after=list(listed))))


CASES = [
    ("nothing", b"", "neither a Packet nor"),
    ("text", b'{"id":1}', "at byte 1: wire type 3"),
    ("a tag alone", b"\x18", "the packet is broken"),
    ("half a number", b"\x08\xff", "a number is cut off"),
    ("a number without end", b"\x08" + b"\xff" * 20, "too long"),
    ("a length that lies", b"\x18\x07\x2a\xff\xff\xff\xff\x07", "the packet is broken"),
    ("a frame's length before the packet", (50).to_bytes(4, "big") + packet(GOOD), "the packet is broken"),
    ("zlib", packet(GOOD, compression=packets.ZLIB), "compressed \\(ZLIB\\)"),
    (
        "gzip of something",
        packets.Packet(type=packets.MESSAGES, compression=packets.GZIP, body=b"\x1f\x8b\x08").SerializeToString(),
        "GZIP",
    ),
    ("an unknown compression", packet(GOOD, compression=99), "compressed \\(99\\)"),
    ("a negative compression", packet(GOOD, compression=-1), "compressed \\(-1\\)"),
    ("a handshake", typed(packets.HANDSHAKE), "type HANDSHAKE carries no entries"),
    ("an unknown packet type", typed(77), "type 77 carries no entries"),
    ("an empty acknowledgement", typed(packets.ACK), "acknowledgement without entries"),
    ("an acknowledgement of junk", typed(packets.ACK, b"\xff"), "acknowledgement is broken"),
    ("an error", typed(packets.ACK, packets.Ack(error_code=401, error_message="no").SerializeToString()), "401: no"),
    ("a packet of junk", typed(packets.MESSAGES, b"\xff\xff"), "the message list is broken"),
    ("junk instead of an entry", packet(GOOD, GOOD, b"\xff\xff"), "entry 3 is broken"),
    ("an unknown entryType", packet(GOOD, entry(99, b"")), "entry 2 has the unknown entryType 99"),
    ("a negative entryType", packet(entry(-1, b"")), "entry 1 has the unknown entryType -1"),
    (
        "an unknown eventType",
        packet(rows_entry(99, row(after=[KEY]))),
        "entry 1 has the unknown eventType 99",
    ),
    (
        "a time in microseconds",
        packet(GOOD, rows_entry(entries.INSERT, row(after=[KEY]), executeTime=1_700_000_000_000_000)),
        "entry 2 has the executeTime 1700000000000000, which is more milliseconds than a TSO holds",
    ),
    ("an unknown sourceType", packet(entry(1, b"", header(sourceType=9))), "entry 1 has the unknown sourceType 9"),
    (
        "a broken storeValue of rows",
        packet(GOOD, entry(entries.ROWDATA, b"\x62\xff\x7f", ROW_HEADER)),
        "storeValue of entry 2, a RowChange, is broken",
    ),
    (
        "a broken storeValue of a begin",
        packet(GOOD, entry(entries.TRANSACTIONBEGIN, b"\x1a\x05")),
        "storeValue of entry 2, a TransactionBegin, is broken",
    ),
    (
        "a column cut off inside a row",
        packet(GOOD, entry(entries.ROWDATA, b"\x10\x01\x62\x04\x12\x02\x1a\x05", ROW_HEADER)),
        "storeValue of entry 2, a RowChange, is broken",
    ),
    (
        "a name that is not UTF-8",
        packet(entry(entries.ROWDATA, b"\x10\x01\x62\x06\x12\x04\x1a\x02\xff\xfe", ROW_HEADER)),
        "storeValue of entry 1, a RowChange, is broken",
    ),
    (
        "a value that is not UTF-8",
        packet(entry(entries.ROWDATA, b"\x10\x01\x62\x06\x12\x04\x42\x02\xff\xfe", ROW_HEADER)),
        "storeValue of entry 1, a RowChange, is broken",
    ),
    (
        "text in a number",
        insert_of(column(0, "id", "bigint", "seven")),
        "entry 2, row 2, after the change, column 'id': 'seven' is not a 64-bit number",
    ),
    ("a number with a sign of its own", insert_of(column(0, "id", "int", "1_0")), "'1_0' is not a 64-bit number"),
    ("a number of other digits", insert_of(column(0, "id", "int", "١")), "is not a 64-bit number"),
    ("a number with spaces", insert_of(column(0, "id", "int", " 1")), "' 1' is not a 64-bit number"),
    ("65 bits", insert_of(column(0, "id", "bigint", "18446744073709551616")), "is not a 64-bit number"),
    ("a huge number", insert_of(column(0, "id", "bigint", "9" * 100_000)), "is not a 64-bit number"),
    ("an empty number", insert_of(column(0, "id", "bigint", "")), "'' is not a 64-bit number"),
    ("text in a double", insert_of(column(0, "d", "double", "1,5")), "column 'd'"),
    ("text in a blob", insert_of(column(0, "b", "blob", "€")), "column 'b': the text of a binary value"),
    ("a type that is none", insert_of(column(0, "x", "(((", "1")), "column 'x': '\\(\\(\\(' is not a MySQL type"),
    ("a column listed twice", insert_of(KEY, KEY), "entry 2, row 2, after the change: a column is listed twice"),
    ("an insert without columns", insert_of(), "entry 2, row 2: a row of INSERT without afterColumns"),
    ("a delete without columns", packet(rows_entry(entries.DELETE, row(after=[KEY]))), "without beforeColumns"),
    ("an update without columns", packet(rows_entry(entries.UPDATE, row())), "a row of UPDATE without columns"),
    (
        "rows under a statement's type",
        packet(rows_entry(entries.ALTER, row(after=[KEY]))),
        "entry 1 has rows, but its eventType is ALTER",
    ),
]


@pytest.mark.parametrize(("message", "reason"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("warm", [False, True], ids=["new decoder", "used decoder"])
def test_what_is_wrong_and_where_is_said(message: bytes, reason: str, warm: bool):
    decoder = Decoder()
    if warm:
        decoder.decode(packet(GOOD))
        decoder.decode(insert_of(column(0, "id", "bigint", "1")))
    with pytest.raises(DecodeError, match=reason) as caught:
        decoder.decode(message)
    assert caught.value.protocol == "canal"


WHOLE = packet(
    entry(entries.TRANSACTIONBEGIN, entries.TransactionBegin(threadId=1)),
    GOOD,
    rows_entry(entries.UPDATE, row([KEY], [KEY, column(1, "n", "double", None)])),
    statement_entry(entries.QUERY, entries.RowChange(isDdl=True, sql="create database d", ddlSchemaName="d")),
    entry(entries.TRANSACTIONEND, entries.TransactionEnd(transactionId="5")),
    batch_id=9,
)


def decodes_or_refuses(decoder: Decoder, message: bytes) -> bool:
    try:
        decoder.decode(message)
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize("unit", UNITS)
def test_a_message_cut_anywhere_is_read_or_refused(unit: str):
    whole = {"messages": messages(GOOD).SerializeToString(), "entry": GOOD.SerializeToString()}.get(unit, WHOLE)
    decoder = Decoder(unit)
    assert decodes_or_refuses(decoder, whole)
    read = [decodes_or_refuses(decoder, whole[:size]) for size in range(len(whole))]
    assert not all(read)


def outcome(decoder: Decoder, message: bytes) -> object:
    try:
        return list(decoder.decode(message))
    except DecodeError as error:
        return str(error)


def test_of_a_damaged_message_a_used_decoder_says_what_a_new_one_says():
    chance = random.Random(4)
    used = Decoder()
    used.decode(WHOLE)
    outcomes = []
    for at in range(len(WHOLE)):
        for value in (0, 0xFF, WHOLE[at] ^ 0x80, chance.randrange(256)):
            message = WHOLE[:at] + bytes((value,)) + WHOLE[at + 1 :]
            outcomes.append(outcome(used, message))
            assert outcomes[-1] == outcome(Decoder(), message)
    assert {type(one) for one in outcomes} == {list, str}


BEGIN = entry(entries.TRANSACTIONBEGIN, entries.TransactionBegin(threadId=1))
TWICE = entries.RowChange(rowDatas=[row(after=[KEY])]).SerializeToString()
GIVEN_TWICE = [
    ("a body", packet(GOOD) + packet(GOOD, BEGIN), 2),
    ("a body, the second without entries", packet(GOOD) + packet(), 1),
    (
        "a storeValue",
        packet(GOOD.SerializeToString() + entry(entries.ROWDATA, TWICE, ROW_HEADER).SerializeToString()),
        None,
    ),
]


@pytest.mark.parametrize(("message", "most"), [case[1:] for case in GIVEN_TWICE], ids=[case[0] for case in GIVEN_TWICE])
def test_a_field_given_twice_is_read_somehow(message: bytes, most: int | None):
    decoder = Decoder()
    events = [len(decoder.decode(message)) for _ in range(3)]
    assert most is None or max(events) <= most


def test_an_image_that_the_kind_of_change_does_not_have_is_not_looked_at():
    twice = rows_entry(entries.INSERT, row(before=[KEY, KEY], after=[KEY]))
    decoder = Decoder()
    for _ in range(2):
        assert len(decoder.decode(packet(twice))) == 1


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(UNITS))
def test_random_bytes_are_read_or_refused(message: bytes, unit: str):
    decodes_or_refuses(Decoder(unit), message)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80), st.sampled_from([0, *entries.EntryType.values()]))
def test_a_random_store_value_is_read_or_refused(payload: bytes, entry_type: int):
    decodes_or_refuses(Decoder(), packet(GOOD, entry(entry_type, payload, ROW_HEADER)))


def test_deep_nesting_is_refused():
    groups_in_groups = 100_000
    assert not decodes_or_refuses(Decoder("packet"), b"\x2b" * groups_in_groups)
    assert not decodes_or_refuses(Decoder(), b"\x0b" * groups_in_groups)


def test_many_structures_do_not_fill_the_memory():
    decoder = Decoder()
    for number in range(300):
        listed = [column(at, f"column {number} {at} {'x' * 100}", "int", "1") for at in range(500)]
        decoder.decode(packet(rows_entry(entries.INSERT, row(after=listed))))
    assert sum(len(key) for table in decoder.opener.reader._tables.values() for key in table.images) < 1 << 24
    assert sum(len(image.table.columns) for image in decoder.opener.reader.images._images.values()) <= 1 << 17
