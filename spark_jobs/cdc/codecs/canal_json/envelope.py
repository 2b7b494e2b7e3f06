"""The envelope of a Canal-JSON message: read without its rows, which stay raw JSON.

Rules of the format, for reading

1. One JSON object. Keys come in any order; unknown ones are passed over; ``type`` is the only one that must be there.
2. ``pkNames``, ``sqlType``, ``mysqlType`` and the members of ``data`` and ``old`` are kept as they stand. They are
   checked to be JSON all the same, and the whole message to be UTF-8, so that raw JSON may be written on as it is.
3. ``_tidb`` (TiCDC with enable-tidb-extension) holds 64-bit TSOs: integers, never floats.
4. ``es`` is milliseconds that a TSO holds: from it a commit-ts is made where there is none, and later ones are greater,
   so that one time in nanoseconds would spoil all that follows.
5. What a message is (``Kind``) follows from ``isDdl``, ``type`` and whether there are rows: Canal also sends statements
   that are no DDL (type QUERY), and DML in statement format (type INSERT, ``sql``, no rows).
"""

import re
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Raw

from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.tso import MAX_MS

PROTOCOL: Final = "canal-json"

Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Milliseconds = Annotated[int, msgspec.Meta(ge=-MAX_MS, le=MAX_MS)]
Tso = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]

NULL: Final = Raw(b"null")
WATERMARK_TYPE: Final = "TIDB_WATERMARK"
HEARTBEAT_TYPE: Final = "MHEARTBEAT"
ROW_TYPES: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
MARK_TYPES: Final = frozenset({"GTID", "XACOMMIT", "XAROLLBACK"})
STATEMENT_TYPES: Final = frozenset({"CREATE", "ALTER", "ERASE", "QUERY", "TRUNCATE", "RENAME", "CINDEX", "DINDEX"})


class Kind(StrEnum):
    """What a message is. NOTHING: a blank line, or rows of which there are none."""

    ROWS = "rows"
    STATEMENT = "statement"
    WATERMARK = "watermark"
    HEARTBEAT = "heartbeat"
    MARK = "mark"
    NOTHING = "nothing"


class TidbExtension(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """``_tidb``. ``rowkey`` is base64; a member that is missing is 0, False or empty."""

    commit_ts: Tso = 0
    watermark_ts: Tso = 0
    only_handle_key: bool = False
    claim_check_location: str = ""
    rowkey: str = ""


NO_EXTENSION: Final = TidbExtension()


class Envelope(
    msgspec.Struct,
    frozen=True,
    gc=False,
    kw_only=True,
    rename={
        "pk_names": "pkNames",
        "is_ddl": "isDdl",
        "sql_type": "sqlType",
        "mysql_type": "mysqlType",
        "extension": "_tidb",
    },
):
    """A message; ``es`` and ``ts`` in milliseconds. ``id`` is Canal's batch id; TiCDC writes 0.

    The fields are in the order in which TiCDC writes them, where the reader looks for each first.
    """

    id: Int64 = 0
    database: str = ""
    table: str = ""
    pk_names: Raw = NULL
    is_ddl: bool = False
    type: str
    es: Milliseconds = 0
    ts: Int64 = 0
    sql: str | None = ""
    sql_type: Raw = NULL
    mysql_type: Raw = NULL
    old: list[Raw] | None = None
    data: list[Raw] | None = None
    extension: TidbExtension | None = None
    gtid: str | None = ""

    @property
    def kind(self) -> Kind:
        """Raises ``DecodeError`` for a type that no dialect has, and for row changes without rows."""
        return Kind.ROWS if self.is_row else _other_kind(self)

    @property
    def is_row(self) -> bool:
        """It has rows."""
        return bool(self.data) and self.type in ROW_TYPES and not self.is_ddl

    @property
    def commit_ts(self) -> int:
        """TSO of the change; 0 if the source does not say."""
        return self.extension.commit_ts if self.extension is not None else 0

    @property
    def watermark_ts(self) -> int:
        """TSO of a watermark; 0 for everything else."""
        return self.extension.watermark_ts if self.extension is not None else 0

    @property
    def is_partial(self) -> bool:
        """The source says that the rows hold handle key columns only.

        With delete-only-output-handle-key-columns TiCDC does not say so: such a DELETE just has fewer columns.
        """
        tidb = self.extension
        return tidb is not None and (tidb.only_handle_key or tidb.claim_check_location != "")

    @property
    def structure_key(self) -> tuple[bytes, bytes, bytes]:
        """Equal for messages of one table with the same structure and codes (not the other way round)."""
        return bytes(self.sql_type), bytes(self.mysql_type), bytes(self.pk_names)


def _other_kind(envelope: Envelope) -> Kind:
    kind = envelope.type
    if envelope.is_ddl or kind in STATEMENT_TYPES:
        return Kind.STATEMENT
    if kind == WATERMARK_TYPE:
        return Kind.WATERMARK
    if kind in ROW_TYPES:
        return _rowless_kind(envelope)
    if kind in MARK_TYPES:
        return Kind.MARK
    if kind == HEARTBEAT_TYPE:
        return Kind.HEARTBEAT
    raise DecodeError(PROTOCOL, f"no message has the type {kind[:80]!r}")


def _rowless_kind(envelope: Envelope) -> Kind:
    if envelope.sql:
        return Kind.STATEMENT
    if envelope.data is None:
        raise DecodeError(PROTOCOL, f"{envelope.type} has no data")
    return Kind.NOTHING


read_envelope: Final = msgspec.json.Decoder(Envelope).decode
"""Reads one message but for the UTF-8 of what it passes over; raises what ``UNREADABLE`` names."""

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_BYTE = re.compile(r" \(byte (\d+)\)$")


def open_envelope(message: bytes) -> Envelope:
    """The envelope of one message; raises ``DecodeError``."""
    try:
        if not message.isascii():
            check_utf8(message)
        return read_envelope(message)
    except UNREADABLE as error:
        raise unreadable(error) from None


def check_utf8(text: bytes) -> None:
    """Raises ``UnicodeDecodeError``; the JSON reader does not look into strings that it passes over."""
    str(text, "utf-8")


def unreadable(error: Exception) -> DecodeError:
    """The error of a JSON reader as ours, with the byte where it says one."""
    if isinstance(error, UnicodeDecodeError):
        return DecodeError(PROTOCOL, f"invalid UTF-8: {error.reason}", offset=error.start)
    if isinstance(error, RecursionError):
        return DecodeError(PROTOCOL, "JSON is nested too deeply")
    text = str(error)
    found = _BYTE.search(text)
    return DecodeError(PROTOCOL, _BYTE.sub("", text), offset=int(found[1]) if found else None)
