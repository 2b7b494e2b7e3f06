"""The JSON of a DataHub Blob record, as structs for both directions, in the key order of the documented samples."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from spark_jobs.cdc.codecs.datahub.streamx import Json
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, RowKind

NAME: Final = "datahub-blob"
VERSION: Final = "0.0.1"
CHECKPOINT_TIME: Final = "checkpointTime"
"""Property of an origin: the message's ``checkpointTime`` where it differs from ``eventTime``."""

ROW_OPS: Final[dict[str, tuple[RowKind, str]]] = {
    "INSERT": (INSERT, ""),
    "DELETE": (DELETE, ""),
    "UPDATE_BEFOR": (UPDATE, "before"),
    "UPDATE_BEFORE": (UPDATE, "before"),
    "UPDATE_AFTER": (UPDATE, "after"),
    "UPDATE": (UPDATE, ""),
}
"""What is read as a row: its kind, and which half of an update it is."""

DDL_OPS: Final = frozenset({"CREATE", "ALTER", "ERASE", "QUERY", "TRUNCATE", "RENAME", "CINDEX", "DINDEX"})

MarkKind = Literal["BEGIN", "END", "XACOMMIT", "XAROLLBACK", "GTID"]
MARK_OPS: Final[dict[str, MarkKind]] = {
    "TRANSACTION_BEGIN": "BEGIN",
    "TRANSACTION_END": "END",
    "GTID": "GTID",
    "XACOMMIT": "XACOMMIT",
    "XAROLLBACK": "XAROLLBACK",
}

# 45 bits of milliseconds are what a TSO holds; it also tells microseconds from milliseconds
Milliseconds = Annotated[int, Meta(ge=0, lt=1 << 45)]


class DataColumn(msgspec.Struct):
    name: str
    type: str


class Source(msgspec.Struct):
    dbName: str | None = None
    dbType: str | UnsetType | None = UNSET
    tableName: str | None = None
    dbVersion: str | UnsetType | None = UNSET
    schemaName: str | UnsetType | None = UNSET


class Schema(msgspec.Struct):
    dataColumn: list[DataColumn] | UnsetType | None = UNSET
    source: Source | UnsetType | None = UNSET
    primaryKey: list[str] | UnsetType | None = UNSET


class Image(msgspec.Struct):
    dataColumn: dict[str, Json]


class ImageOut(msgspec.Struct):
    dataColumn: dict[str, Json | Raw]


class Statement(msgspec.Struct):
    text: str
    ddlMeta: str | None = None


class Timestamp(msgspec.Struct, kw_only=True):
    eventTime: Milliseconds
    systemTime: Milliseconds | UnsetType | None = UNSET
    checkpointTime: Milliseconds | UnsetType | None = UNSET


class Payload(msgspec.Struct, kw_only=True):
    op: str
    before: Image | UnsetType | None = UNSET
    after: Image | UnsetType | None = UNSET
    sequenceId: int | str | UnsetType | None = UNSET
    ddl: Statement | UnsetType | None = UNSET
    timestamp: Timestamp


class PayloadOut(msgspec.Struct, kw_only=True):
    op: str
    before: ImageOut | UnsetType = UNSET
    after: ImageOut | UnsetType = UNSET
    sequenceId: str | UnsetType = UNSET
    ddl: Statement | UnsetType = UNSET
    timestamp: Timestamp


class Message(msgspec.Struct):
    """``schema`` repeats for every row of a table: it is kept raw, and parsed once for each text."""

    payload: Payload
    schema: Raw = Raw(b"{}")


class MessageOut(msgspec.Struct):
    schema: Raw
    payload: PayloadOut
    version: str = VERSION
