"""Whole Canal-JSON messages from their parts: the order of the keys, and nothing else.

======================= ==============================================================================================
TiCDC, rows             id database table pkNames isDdl type es ts sql sqlType mysqlType *old data* [_tidb]
TiCDC, everything else  the same with *data old*
TiCDC, ``_tidb``        rows: commitTs [onlyHandleKey] [claimCheckLocation] [rowkey]; else what is not zero
Canal                   data database es gtid id isDdl mysqlType old pkNames sql sqlType table ts type
======================= ==============================================================================================

A row message is a struct that msgspec writes. Its members of type ``Raw`` are what rows of one kind and structure have
in common: JSON text that begins with the value of the member and goes on with all members up to the next of the struct.
"""

import binascii
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from spark_jobs.cdc.codecs.canal_json_text import JSON, go_escaped, json_of
from spark_jobs.cdc.events import RowKind
from spark_jobs.cdc.mysql_types import Dialect

JsonRows: TypeAlias = list[Any] | list[Raw]
"""The rows of ``data`` or ``old``: whatever msgspec writes as objects."""


class CommitTs(msgspec.Struct, gc=False):
    """``_tidb`` of nearly all rows."""

    commitTs: int


class TicdcRow(msgspec.Struct, gc=False, rename={"head": "id", "middle": "sql", "tidb": "_tidb"}):
    """A row message of TiCDC's; ``_tidb`` is left out unless it is given."""

    head: Raw
    es: int
    ts: int
    middle: Raw
    old: JsonRows | None
    data: JsonRows
    tidb: CommitTs | Raw | UnsetType = UNSET


class CanalRow(msgspec.Struct, gc=False, rename={"middle": "isDdl", "names": "pkNames"}):
    """A row message of Canal's own server."""

    data: JsonRows
    database: Raw
    es: int
    gtid: Raw
    id: int
    middle: Raw
    old: JsonRows | None
    names: Raw
    ts: int
    type: Raw


M = TypeVar("M", TicdcRow, CanalRow)


def ticdc_json(message: TicdcRow) -> bytes:
    """The message with Go's escapes."""
    try:
        json = JSON.encode(message)
    except UnicodeEncodeError:
        json = JSON.encode(_with_replaced_bytes(message, Dialect.TICDC))
    # the test of ``go_escaped``, here because nearly every message passes it
    plain = 60 not in json and 62 not in json and 38 not in json and 92 not in json and 0xE2 not in json
    return json if plain else go_escaped(json)


def canal_json(message: CanalRow) -> bytes:
    """Likewise, without escapes."""
    try:
        return JSON.encode(message)
    except UnicodeEncodeError:
        return JSON.encode(_with_replaced_bytes(message, Dialect.CANAL))


def _with_replaced_bytes(message: M, dialect: Dialect) -> M:
    data = [Raw(json_of(row, dialect)) for row in message.data]
    old = None if message.old is None else [Raw(json_of(row, dialect)) for row in message.old]
    return replace(message, data=data, old=old)


class RowParts(NamedTuple):
    """JSON text of what all rows of one kind and structure have in common."""

    kind: RowKind
    schema: bytes
    table: bytes
    pk_names: bytes
    sql_types: bytes
    mysql_types: bytes


def ticdc_row_parts(parts: RowParts) -> tuple[Raw, Raw]:
    """``head`` and ``middle`` of ``TicdcRow``."""
    kind, schema, table, pk_names, sql_types, mysql_types = parts
    head = b'0,"database":%b,"table":%b,"pkNames":%b,"isDdl":false,"type":"%b"'
    return (
        Raw(head % (schema, table, pk_names, kind.encode())),
        Raw(b'"","sqlType":%b,"mysqlType":%b' % (sql_types, mysql_types)),
    )


def canal_row_parts(parts: RowParts) -> tuple[Raw, Raw, Raw, Raw]:
    """``database``, ``middle``, ``names`` and ``type`` of ``CanalRow``."""
    kind, schema, table, pk_names, sql_types, mysql_types = parts
    return (
        Raw(schema),
        Raw(b'false,"mysqlType":%b' % mysql_types),
        Raw(b'%b,"sql":"","sqlType":%b,"table":%b' % (pk_names, sql_types, table)),
        Raw(b'"%b"' % kind.encode()),
    )


def marked_extension(commit_ts: int, only_handle_key: bool, claim_check: str, row_key: bytes) -> Raw:
    """``_tidb`` of a row that has more in it than its commit-ts."""
    handle = b',"onlyHandleKey":true' if only_handle_key else b""
    claim = b',"claimCheckLocation":' + json_of(claim_check, Dialect.TICDC) if claim_check else b""
    key = b',"rowkey":"%b"' % binascii.b2a_base64(row_key, newline=False) if row_key else b""
    return Raw(b'{"commitTs":%d%b}' % (commit_ts, handle + claim + key))


def ticdc_rowless(
    kind: str, is_ddl: bool, names: tuple[str, str], es: int, ts: int, sql: str, extension: bytes
) -> bytes:
    """TiCDC's message for a statement or a watermark; ``extension`` is that of ``rowless_extension`` or empty."""
    schema, table, type_, text = (json_of(part, Dialect.TICDC) for part in (*names, kind, sql))
    return (
        b'{"id":0,"database":%b,"table":%b,"pkNames":null,"isDdl":%b,"type":%b,"es":%d,"ts":%d,"sql":%b,'
        b'"sqlType":null,"mysqlType":null,"data":null,"old":null%b}'
    ) % (schema, table, _bool(is_ddl), type_, es, ts, text, extension)


def rowless_extension(commit_ts: int = 0, watermark_ts: int = 0) -> bytes:
    """``_tidb`` of a statement or a watermark."""
    members = (b'"commitTs":%d' % commit_ts, b'"watermarkTs":%d' % watermark_ts)
    chosen = [member for member, ts in zip(members, (commit_ts, watermark_ts), strict=True) if ts]
    return b',"_tidb":{%b}' % b",".join(chosen)


def canal_rowless(
    kind: str, is_ddl: bool, names: tuple[str, str], sql: str, times: tuple[int, int], gtid: str, batch_id: int
) -> bytes:
    """Canal's message for a statement; ``times`` are es and ts."""
    schema, table, type_, text, gtid_text = (json_of(part, Dialect.CANAL) for part in (*names, kind, sql, gtid))
    return (
        b'{"data":null,"database":%b,"es":%d,"gtid":%b,"id":%d,"isDdl":%b,"mysqlType":null,"old":null,"pkNames":null,'
        b'"sql":%b,"sqlType":null,"table":%b,"ts":%d,"type":%b}'
    ) % (schema, times[0], gtid_text, batch_id, _bool(is_ddl), text, table, times[1], type_)


def _bool(value: bool) -> bytes:
    return b"true" if value else b"false"
