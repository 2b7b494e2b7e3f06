"""Our .proto files against Canal's field numbers and types: only these are the wire format."""

import pytest
from google.protobuf.descriptor import FieldDescriptor

from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.proto import canal_packet_pb2 as packets
from spark_jobs.cdc.proto import canal_view_pb2 as views

pytestmark = pytest.mark.usefixtures("both_ways")

# n: number, s: string, b: bytes, B: bool, e: enum, m: message; *: repeated, ?: presence counts
FIELDS = {
    "Entry": "1m header, 2e? entryType, 3b storeValue",
    "Header": "1n? version, 2s logfileName, 3n logfileOffset, 4n serverId, 5s serverenCode, 6n executeTime, "
    "7e? sourceType, 8s schemaName, 9s tableName, 10n eventLength, 11e? eventType, 12m* props, 13s gtid",
    "Column": "1n index, 2n sqlType, 3s name, 4B isKey, 5B updated, 6B? isNull, 7m* props, 8s value, "
    "9n length, 10s mysqlType",
    "RowData": "1m* beforeColumns, 2m* afterColumns, 3m* props",
    "RowChange": "1n tableId, 2e? eventType, 10B? isDdl, 11s sql, 12m* rowDatas, 13m* props, 14s ddlSchemaName",
    "TransactionBegin": "1n executeTime, 2s transactionId, 3m* props, 4n threadId",
    "TransactionEnd": "1n executeTime, 2s transactionId, 3m* props",
    "Pair": "1s key, 2s value",
    "Packet": "1n? magic_number, 2n? version, 3e type, 4e? compression, 5b body",
    "HeartBeat": "1n send_timestamp, 2n start_timestamp",
    "Handshake": "1s? communication_encoding, 2b seeds, 3e supported_compressions",
    "ClientAuth": "1s username, 2b password, 3n? net_read_timeout, 4n? net_write_timeout, 5s destination, "
    "6s client_id, 7s filter, 8n start_timestamp",
    "Ack": "1n? error_code, 2s error_message",
    "ClientAck": "1s destination, 2s client_id, 3n batch_id",
    "Sub": "1s destination, 2s client_id, 7s filter",
    "Unsub": "1s destination, 2s client_id, 7s filter",
    "Get": "1s destination, 2s client_id, 3n fetch_size, 4n? timeout, 5n? unit, 6B? auto_ack",
    "Messages": "1n batch_id, 2b* messages",
    "Dump": "1s journal, 2n position, 3n? timestamp",
    "ClientRollback": "1s destination, 2s client_id, 3n batch_id",
}
KINDS = {3: "n", 5: "n", 8: "B", 9: "s", 11: "m", 12: "b", 14: "e"}
LONG = {
    "logfileOffset",
    "serverId",
    "executeTime",
    "eventLength",
    "tableId",
    "threadId",
    "send_timestamp",
    "start_timestamp",
    "batch_id",
    "timeout",
    "position",
    "timestamp",
}


def described(message: str) -> str:
    module = entries if message in entries.DESCRIPTOR.message_types_by_name else packets
    fields = module.DESCRIPTOR.message_types_by_name[message].fields
    return ", ".join(
        f"{field.number}{KINDS[field.type]}{_sign(field)} {field.name}"
        for field in sorted(fields, key=lambda field: field.number)
    )


def _sign(field: FieldDescriptor) -> str:
    if field.is_repeated:
        return "*"
    return "?" if field.has_presence and KINDS[field.type] != "m" else ""


@pytest.mark.parametrize("message", FIELDS)
def test_fields_have_canals_numbers_types_and_presence(message: str):
    assert described(message) == FIELDS[message]


def test_every_message_is_compared():
    known = {*entries.DESCRIPTOR.message_types_by_name, *packets.DESCRIPTOR.message_types_by_name}
    assert known == set(FIELDS)


def test_numbers_have_canals_width():
    numbers = [
        field
        for module in (entries, packets)
        for message in module.DESCRIPTOR.message_types_by_name.values()
        for field in message.fields
        if KINDS[field.type] == "n"
    ]
    assert {field.name for field in numbers if field.type == 3} == LONG


ENUMS = {
    "EntryType": "TRANSACTIONBEGIN ROWDATA TRANSACTIONEND HEARTBEAT GTIDLOG",
    "EventType": "INSERT UPDATE DELETE CREATE ALTER ERASE QUERY TRUNCATE RENAME CINDEX DINDEX GTID XACOMMIT XAROLLBACK "
    "MHEARTBEAT",
    "SourceType": "ORACLE MYSQL PGSQL",
    "Compression": "NONE ZLIB GZIP LZF",
    "PacketType": "HANDSHAKE CLIENTAUTHENTICATION ACK SUBSCRIPTION UNSUBSCRIPTION GET MESSAGES CLIENTACK SHUTDOWN DUMP "
    "PACKET_HEARTBEAT CLIENTROLLBACK",
}


@pytest.mark.parametrize("enum", ENUMS)
def test_enums_count_from_one_as_canals_do(enum: str):
    module = entries if enum in entries.DESCRIPTOR.enum_types_by_name else packets
    values = module.DESCRIPTOR.enum_types_by_name[enum].values
    assert [value.number for value in values] == list(range(len(values)))
    assert [value.name for value in values[1:]] == ENUMS[enum].split()


VIEWS = [
    ("PacketView", packets.Packet),
    ("MessagesView", packets.Messages),
    ("EntryView", entries.Entry),
    ("HeaderView", entries.Header),
    ("RowChangeView", entries.RowChange),
    ("RowDataView", entries.RowData),
    ("ImageView", entries.Column),
    ("FlagsView", entries.Column),
    ("ZerosView", entries.Column),
]


@pytest.mark.parametrize(("view", "message"), VIEWS, ids=[case[0] for case in VIEWS])
def test_a_view_takes_its_fields_from_the_message_it_stands_for(view: str, message: type):
    fields = views.DESCRIPTOR.message_types_by_name[view].fields
    originals = message.DESCRIPTOR.fields_by_name  # type: ignore[attr-defined]

    assert {field.name: field.number for field in fields} == {
        field.name: originals[field.name].number for field in fields
    }


def test_every_view_is_compared():
    assert set(views.DESCRIPTOR.message_types_by_name) == {view for view, _ in VIEWS}
