"""Canal's messages as its server builds them, made with the generated classes: an independent writer for the tests."""

from typing import Any

from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.proto import canal_packet_pb2 as packets


def column(index: int, name: str, mysql_type: str, value: str | None, **fields: Any) -> entries.Column:
    given: dict[str, Any] = {"sqlType": 12, "isKey": False, "updated": False, "isNull": value is None} | fields
    if value is not None:
        given["value"] = value
    return entries.Column(index=index, name=name, mysqlType=mysql_type, **given)


def header(event_type: Any = None, **fields: Any) -> entries.Header:
    given: dict[str, Any] = {
        "version": 1,
        "logfileName": "mysql-bin.000007",
        "logfileOffset": 1234,
        "serverId": 11,
        "serverenCode": "UTF-8",
        "executeTime": 1_700_000_000_000,
        "sourceType": entries.MYSQL,
        "schemaName": "shop",
        "tableName": "orders",
        "eventLength": 88,
    }
    given |= fields
    return entries.Header(eventType=event_type, **given)


def row(before: list[entries.Column] | None = None, after: list[entries.Column] | None = None) -> entries.RowData:
    return entries.RowData(beforeColumns=before or [], afterColumns=after or [])


def rows_entry(event_type: Any, *rows: entries.RowData, **fields: Any) -> entries.Entry:
    """A rows event. ``fields`` are of the header."""
    props = [entries.Pair(key="rowsCount", value=str(len(rows))), *fields.pop("props", [])]
    change = entries.RowChange(tableId=77, eventType=event_type, isDdl=False, rowDatas=rows)
    return entry(entries.ROWDATA, change, header(event_type, props=props, **fields))


def statement_entry(event_type: Any, change: entries.RowChange, **fields: Any) -> entries.Entry:
    change.eventType = event_type
    return entry(entries.ROWDATA, change, header(event_type, **fields))


def entry(entry_type: Any, payload: Any, head: entries.Header | None = None) -> entries.Entry:
    data = payload if isinstance(payload, bytes) else payload.SerializeToString()
    return entries.Entry(header=head or header(schemaName="", tableName=""), entryType=entry_type, storeValue=data)


def messages(*listed: entries.Entry | bytes, batch_id: int = 0) -> packets.Messages:
    data = [one if isinstance(one, bytes) else one.SerializeToString() for one in listed]
    return packets.Messages(batch_id=batch_id, messages=data)


def packet(*listed: entries.Entry | bytes, batch_id: int = 0, **fields: Any) -> bytes:
    """A packet as on Canal's quick path: type and body only."""
    body = messages(*listed, batch_id=batch_id).SerializeToString()
    made: bytes = packets.Packet(type=packets.MESSAGES, body=body, **fields).SerializeToString()
    return made


def opened(message: bytes) -> list[entries.Entry]:
    """The entries of a packet, by the generated classes."""
    body = packets.Packet.FromString(message).body
    return [entries.Entry.FromString(data) for data in packets.Messages.FromString(body).messages]


def change_of(one: entries.Entry) -> entries.RowChange:
    change: entries.RowChange = entries.RowChange.FromString(one.storeValue)
    return change
