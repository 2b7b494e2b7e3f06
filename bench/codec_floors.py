"""The floor of a format: the fastest that its library can parse and write the same messages, one number changed."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from google.protobuf.internal import api_implementation

from spark_jobs.cdc.proto import canal_entry_pb2, canal_packet_pb2, tidb_binlog_pb2, tidb_binlog_view_pb2

Run = Callable[[Sequence[bytes]], object]


class _Extension(msgspec.Struct):
    commitTs: int


class _Message(msgspec.Struct):
    id: int
    database: str
    table: str
    pkNames: list[str] | None
    isDdl: bool
    type: str
    es: int
    ts: int
    sql: str
    sqlType: dict[str, int] | None
    mysqlType: dict[str, str] | None
    old: list[dict[str, str | None]] | None
    data: list[dict[str, str | None]] | None
    tidb: _Extension | None = msgspec.field(name="_tidb", default=None)


def canal_json() -> Run:
    """msgspec with one typed Struct and one reused encoder."""
    decode, encode = msgspec.json.Decoder(_Message).decode, msgspec.json.Encoder().encode

    def run(messages: Sequence[bytes]) -> None:
        for message in messages:
            event = decode(message)
            event.es += 1
            encode(event)

    return run


def canal() -> Run:
    """upb: every layer of a packet down to the row change."""
    _require_upb()
    packets, entries = canal_packet_pb2, canal_entry_pb2

    def run(messages: Sequence[bytes]) -> None:
        for message in messages:
            packet = packets.Packet.FromString(message)
            batch = packets.Messages.FromString(packet.body)
            for place, data in enumerate(batch.messages):
                entry = entries.Entry.FromString(data)
                change = entries.RowChange.FromString(entry.storeValue)
                entry.header.executeTime += 1
                entry.storeValue = change.SerializeToString()
                batch.messages[place] = entry.SerializeToString()
            packet.body = batch.SerializeToString()
            packet.SerializeToString()

    return run


def tidb_binlog() -> Run:
    """upb: one message."""
    _require_upb()
    parse = tidb_binlog_pb2.Binlog.FromString

    def run(messages: Sequence[bytes]) -> None:
        for message in messages:
            binlog = parse(message)
            binlog.commit_ts += 1
            binlog.SerializeToString()

    return run


def canal_read() -> Run:
    """upb: the same, and every column's value read from Python, as a program without a codec would."""
    _require_upb()
    packets, entries = canal_packet_pb2, canal_entry_pb2

    def run(messages: Sequence[bytes]) -> None:
        for message in messages:
            for data in packets.Messages.FromString(packets.Packet.FromString(message).body).messages:
                change = entries.RowChange.FromString(entries.Entry.FromString(data).storeValue)
                for row in change.rowDatas:
                    [column.value for column in row.beforeColumns]
                    [column.value for column in row.afterColumns]

    return run


def tidb_binlog_read() -> Run:
    """upb: the same, and every column's value read from Python."""
    _require_upb()
    parse = tidb_binlog_pb2.Binlog.FromString

    def run(messages: Sequence[bytes]) -> None:
        for message in messages:
            for table in parse(message).dml_data.tables:
                for mutation in table.mutations:
                    [column.string_value for column in mutation.row.columns]
                    [column.string_value for column in mutation.change_row.columns]

    return run


def tidb_binlog_lists() -> Run:
    """upb: the same, and every row's values as lists by kind, unchecked and in no order: fewer and larger steps."""
    _require_upb()
    views = tidb_binlog_view_pb2

    def run(messages: Sequence[bytes]) -> None:
        for message in messages:
            for table in views.BinlogView.FromString(message).dml_data.tables:
                for mutation in views.TableView.FromString(table).mutations:
                    for row in (mutation.row, mutation.change_row):
                        columns = views.MergedRowView.FromString(row).columns
                        columns.int64_value[:], columns.uint64_value[:]
                        columns.double_value[:], columns.string_value[:]

    return run


def _require_upb() -> None:
    if api_implementation.Type() != "upb":
        raise RuntimeError(f"protobuf runs on {api_implementation.Type()}, not on upb")


FLOORS: Final[dict[str, Callable[[], Run]]] = {"canal-json": canal_json, "canal": canal, "tidb-binlog": tidb_binlog}
READS: Final[dict[str, dict[str, Callable[[], Run]]]] = {
    "canal": {"upb, values read": canal_read},
    "tidb-binlog": {"upb, values read": tidb_binlog_read, "upb, values as lists": tidb_binlog_lists},
}
"""Parsing alone, but down to values: what decoding has to be compared with."""
