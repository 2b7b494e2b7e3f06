"""Whole Canal-JSON messages from their parts: the order of the keys, and nothing else.

======================= ==============================================================================================
TiCDC, rows             id database table pkNames isDdl type es ts sql sqlType mysqlType *old data* [_tidb]
TiCDC, everything else  the same with *data old*
TiCDC, ``_tidb``        rows: commitTs [onlyHandleKey] [claimCheckLocation] [rowkey]; else what is not zero
Canal                   data database es gtid id isDdl mysqlType old pkNames sql sqlType table ts type
======================= ==============================================================================================

Bytes are JSON already. A row template is everything that rows of one kind and structure have in common, for the ``%``
operator of bytes.
"""

import binascii
from typing import Final

from spark_jobs.cdc.codecs.canal_json_text import json_of
from spark_jobs.cdc.events import RowKind
from spark_jobs.cdc.mysql_types import Dialect

NULL: Final = b"null"


def ticdc_row_template(
    kind: RowKind, schema: bytes, table: bytes, pk_names: bytes, sql_types: bytes, mysql_types: bytes, extension: bool
) -> bytes:
    """To be filled with (es, ts, old, row): ``old`` is the member, ``row`` the one in data.

    With the extension also with (commit_ts, marks): ``marks`` are those of ``extension_marks`` or empty.
    """
    head = b'{"id":0,"database":%b,"table":%b,"pkNames":%b,"isDdl":false,"type":"%b","es":'
    types = b',"sql":"","sqlType":%b,"mysqlType":%b,"old":' % (sql_types, mysql_types)
    start = head % (schema, table, pk_names, kind.encode())
    end = b',"_tidb":{"commitTs":%d%b}}' if extension else b"}"
    return _literal(start) + b'%d,"ts":%d' + _literal(types) + b'%b,"data":[%b]' + end


def extension_marks(only_handle_key: bool, claim_check: str, row_key: bytes) -> bytes:
    """What follows commitTs in the ``_tidb`` of a row."""
    handle = b',"onlyHandleKey":true' if only_handle_key else b""
    claim = b',"claimCheckLocation":' + json_of(claim_check, Dialect.TICDC) if claim_check else b""
    key = b',"rowkey":"%b"' % binascii.b2a_base64(row_key, newline=False) if row_key else b""
    return handle + claim + key


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


_CANAL = (
    b'{"data":%%b,"database":%b,"es":%%d,"gtid":%%b,"id":%%d,"isDdl":%b,"mysqlType":%b,"old":%%b,"pkNames":%b,'
    b'"sql":%b,"sqlType":%b,"table":%b,"ts":%%d,"type":%b}'
)


def canal_row_template(
    kind: RowKind, schema: bytes, table: bytes, pk_names: bytes, sql_types: bytes, mysql_types: bytes
) -> bytes:
    """To be filled with (data, es, gtid, id, old, ts): ``data`` and ``old`` are the members."""
    parts = (schema, b"false", mysql_types, pk_names, b'""', sql_types, table, b'"%b"' % kind.encode())
    return _CANAL % tuple(map(_literal, parts))


def canal_rowless_template(kind: str, is_ddl: bool, names: tuple[str, str], sql: str) -> bytes:
    """Likewise for a statement."""
    schema, table, type_, text = (json_of(part, Dialect.CANAL) for part in (*names, kind, sql))
    parts = (schema, _bool(is_ddl), NULL, NULL, text, NULL, table, type_)
    return _CANAL % tuple(map(_literal, parts))


def _literal(json: bytes) -> bytes:
    return json.replace(b"%", b"%%")


def _bool(value: bool) -> bytes:
    return b"true" if value else b"false"
