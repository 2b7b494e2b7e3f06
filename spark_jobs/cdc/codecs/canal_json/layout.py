"""Whole Canal-JSON messages from their parts: the order of the keys, and nothing else.

======================= ==============================================================================================
TiCDC, rows             id database table pkNames isDdl type es ts sql sqlType mysqlType *old data* [_tidb]
TiCDC, everything else  the same with *data old*
TiCDC, ``_tidb``        rows: commitTs [onlyHandleKey] [claimCheckLocation] [rowkey]; else what is not zero
Canal                   data database es gtid id isDdl mysqlType old pkNames sql sqlType table ts type
======================= ==============================================================================================

A row message is put together of what rows of one kind and structure have in common and what they have not:

======================= ==============================================================================================
TiCDC                   head times middle [old ``NEXT_ROW``] new tail
Canal                   ``CANAL_ROW``, filled
======================= ==============================================================================================
"""

import binascii
from typing import Final, NamedTuple

from spark_jobs.cdc.codecs.canal_json.text import json_of
from spark_jobs.cdc.events import RowKind
from spark_jobs.cdc.mysql.types import Dialect

NEXT_ROW: Final = b'],"data":['
TAIL: Final = b"]}"
"""Of a message without ``_tidb``."""

CANAL_ROW: Final = (
    b'{"data":[%b],"database":%b,"es":%d,"gtid":%b,"id":%d,"isDdl":%b,"old":%b,"pkNames":%b,"ts":%d,"type":%b}'
)
"""``old`` is null or a list."""


class Times:
    """The times of a message as text. The last ones are remembered, since the rows of a transaction have the same.

    Whoever wants ``times`` or ``tail`` looks whether what he has is what they are made of, and sets it if not.
    """

    __slots__ = ("commit_ts", "es", "tail", "times", "ts")

    def __init__(self) -> None:
        self.set(0, 0)
        self.set_commit_ts(0)

    def set(self, es: int, ts: int) -> None:
        self.es, self.ts = es, ts
        self.times = b'%d,"ts":%d' % (es, ts)

    def set_commit_ts(self, commit_ts: int) -> None:
        self.commit_ts = commit_ts
        self.tail = b'],"_tidb":{"commitTs":%d}}' % commit_ts


class RowParts(NamedTuple):
    """JSON text of what all rows of one kind and structure have in common. ``has_old``: there are rows in ``old``."""

    kind: RowKind
    has_old: bool
    schema: bytes
    table: bytes
    pk_names: bytes
    sql_types: bytes
    mysql_types: bytes


def ticdc_row_parts(parts: RowParts) -> tuple[bytes, bytes]:
    """``head`` and ``middle``: up to the value of ``es``, and from behind that of ``ts`` up to the first row."""
    kind, has_old, schema, table, pk_names, sql_types, mysql_types = parts
    return (
        b'{"id":0,"database":%b,"table":%b,"pkNames":%b,"isDdl":false,"type":"%b","es":'
        % (schema, table, pk_names, kind.encode()),
        b',"sql":"","sqlType":%b,"mysqlType":%b,"old":%b'
        % (sql_types, mysql_types, b"[" if has_old else b'null,"data":['),
    )


def canal_row_parts(parts: RowParts) -> tuple[bytes, bytes, bytes, bytes]:
    """Of ``CANAL_ROW`` what goes into ``database``, ``isDdl``, ``pkNames`` and ``type``, with what follows each."""
    kind, _, schema, table, pk_names, sql_types, mysql_types = parts
    return (
        schema,
        b'false,"mysqlType":%b' % mysql_types,
        b'%b,"sql":"","sqlType":%b,"table":%b' % (pk_names, sql_types, table),
        b'"%b"' % kind.encode(),
    )


def marked_tail(commit_ts: int, only_handle_key: bool, claim_check: str, row_key: bytes) -> bytes:
    """The end of a message that has more in ``_tidb`` than its commit-ts."""
    handle = b',"onlyHandleKey":true' if only_handle_key else b""
    claim = b',"claimCheckLocation":' + json_of(claim_check, Dialect.TICDC) if claim_check else b""
    key = b',"rowkey":"%b"' % binascii.b2a_base64(row_key, newline=False) if row_key else b""
    return b'],"_tidb":{"commitTs":%d%b}}' % (commit_ts, handle + claim + key)


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
