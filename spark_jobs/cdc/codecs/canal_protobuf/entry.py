"""One Entry of Canal as events: the exact reader, which says what is wrong and where.

Rules

1. ``entryType`` decides first: begin and end of a transaction have no ``eventType`` (Java's classes then show UPDATE,
   which means nothing). An entryType that is absent is ROWDATA.
2. For ROWDATA the header's ``eventType`` decides, then the RowChange's; absent in both it is UPDATE. Value 0 is
   "absent".
3. ROWDATA does not always carry rows. Without rows it is a statement: DDL (isDdl), a QUERY that Canal could not read,
   statement-format DML, or the text of a Rows_query event (isDdl absent); XACOMMIT and XAROLLBACK are marks.
4. One event for each row. ``rowsCount`` counts the rows of the entry, says nothing about any of them and is left out.
5. ``executeTime`` is in milliseconds (whole seconds), as many as a TSO holds; Canal knows no commit-ts.
   ``logfileOffset`` is the event's start.
6. ``header.gtid`` is the whole executed set; the one of the transaction is in props as ``curtGtid`` (MySQL only).
7. A statement's ``schema`` is the header's, that of the object it changes; where the session's database
   (ddlSchemaName) is another one, it is ``origin.schema_name``.
8. HEARTBEAT and GTIDLOG never leave a Canal server; they are read all the same.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

import msgspec

from spark_jobs.cdc.codecs.canal_protobuf.envelope import parse, refuse
from spark_jobs.cdc.codecs.canal_protobuf.images import Image, Images, spread
from spark_jobs.cdc.events import (
    DELETE,
    INSERT,
    UPDATE,
    Ddl,
    Event,
    Heartbeat,
    Origin,
    Row,
    RowChange,
    RowKind,
    TableSchema,
    TransactionMark,
    Value,
)
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.tso import MAX_MS

Props = tuple[tuple[str, str], ...]
MarkKind = Literal["BEGIN", "END", "XACOMMIT", "XAROLLBACK", "GTID"]

ROW_KINDS: Final[dict[int, RowKind]] = {entries.INSERT: INSERT, entries.UPDATE: UPDATE, entries.DELETE: DELETE}
_EVENT_TYPES: Final[dict[int, str]] = {
    number: name for name, number in entries.EventType.items() if number != entries.EVENT_TYPE_UNSET
}
_XA_MARKS: Final[dict[int, MarkKind]] = {entries.XACOMMIT: "XACOMMIT", entries.XAROLLBACK: "XAROLLBACK"}
ROWS_COUNT: Final = "rowsCount"
SOURCE_TYPES: Final[dict[int, str]] = {
    entries.SOURCE_TYPE_UNSET: "",
    entries.ORACLE: "oracle",
    entries.MYSQL: "",
    entries.PGSQL: "postgresql",
}
"""``Origin.db_type`` for the header's sourceType; MySQL is what Canal reads unless it says otherwise."""


class Head(msgspec.Struct, frozen=True):
    """What an entry says besides its payload. ``event_type`` is 0 where absent; ``where`` names the entry in errors."""

    schema: str
    table: str
    event_type: int
    es_ms: int
    sequence: int
    origin: Origin
    where: str


class EntryReader:
    """Reads entries; keeps the table structures it has seen."""

    def __init__(self, images: Images) -> None:
        self._images = images

    def read(self, data: bytes, number: int, batch_id: int) -> Sequence[Event]:
        """The events of the entry with this number (from 1) in its message."""
        where = f"entry {number}"
        entry = parse(entries.Entry, data, where)
        kind = entry.entryType or entries.ROWDATA
        payload: bytes = entry.storeValue
        head = _head(entry.header, where, batch_id)
        if kind == entries.ROWDATA:
            return self._row_data(payload, head)
        read_mark = _MARKS.get(kind)
        if read_mark is None:
            refuse(f"{where} has the unknown entryType {kind}")
        return (read_mark(payload, head),)

    def _row_data(self, payload: bytes, head: Head) -> Sequence[Event]:
        change = parse(entries.RowChange, payload, f"storeValue of {head.where}, a RowChange,")
        kind = head.event_type or change.eventType or entries.UPDATE
        if kind not in _EVENT_TYPES:
            refuse(f"{head.where} has the unknown eventType {kind}")
        if change.rowDatas:
            return self._rows(change, kind, head)
        if kind in ROW_KINDS and not change.sql and not change.isDdl:
            return ()
        return (_statement(change, kind, head),)

    def _rows(self, change: entries.RowChange, event_type: int, head: Head) -> list[Event]:
        kind = ROW_KINDS.get(event_type)
        if kind is None:
            refuse(f"{head.where} has rows, but its eventType is {_EVENT_TYPES[event_type]}")
        return [self._row(row, kind, head, f"{head.where}, row {at}") for at, row in enumerate(change.rowDatas, 1)]

    def _row(self, row: entries.RowData, kind: RowKind, head: Head, where: str) -> RowChange:
        table, before, after = self._images_of(row, kind, head, where)
        return RowChange(
            kind=kind,
            table=table,
            before=before,
            after=after,
            es_ms=head.es_ms,
            sequence=head.sequence,
            origin=head.origin,
        )

    def _images_of(
        self, row: entries.RowData, kind: RowKind, head: Head, where: str
    ) -> tuple[TableSchema, Row | None, Row | None]:
        lacking = _lacking(row, kind)
        if lacking:
            refuse(f"{where}: a row of {kind} without {lacking}")
        if kind is INSERT:
            new, values = self._images.read(row.afterColumns, head.schema, head.table, f"{where}, after the change")
            return new.table, None, tuple(values)
        old, old_values = self._images.read(row.beforeColumns, head.schema, head.table, f"{where}, before the change")
        if kind is DELETE:
            return old.table, tuple(old_values), None
        new, new_values = self._images.read(row.afterColumns, head.schema, head.table, f"{where}, after the change")
        return joined(self._images, old, old_values, new, new_values)


def joined(
    images: Images, old: Image, old_values: Sequence[Value], new: Image, new_values: Sequence[Value]
) -> tuple[TableSchema, Row, Row]:
    """The table of an update and its row before and after."""
    if old is new:
        return new.table, tuple(old_values), tuple(new_values)
    pair = images.pair(old, new)
    return pair.table, spread(old_values, pair.before), spread(new_values, pair.after)


def _lacking(row: entries.RowData, kind: RowKind) -> str:
    if kind is INSERT:
        return "" if row.afterColumns else "afterColumns"
    if kind is DELETE:
        return "" if row.beforeColumns else "beforeColumns"
    return "" if row.beforeColumns or row.afterColumns else "columns"


def pairs_of(props: Iterable[entries.Pair]) -> Props:
    return tuple((pair.key, pair.value) for pair in props)


def origin_of(header: entries.Header, where: str) -> Origin:
    """Where the event came from, by the entry's header."""
    db_type = SOURCE_TYPES.get(header.sourceType)
    if db_type is None:
        refuse(f"{where} has the unknown sourceType {header.sourceType}")
    return Origin(
        db_type=db_type,
        server_id=header.serverId,
        log_file=header.logfileName,
        log_offset=header.logfileOffset,
        event_length=header.eventLength,
        gtid=header.gtid,
        props=tuple(pair for pair in pairs_of(header.props) if pair[0] != ROWS_COUNT),
    )


def _head(header: entries.Header, where: str, batch_id: int) -> Head:
    if abs(header.executeTime) > MAX_MS:
        refuse(f"{where} has the executeTime {header.executeTime}, which is more milliseconds than a TSO holds")
    return Head(
        schema=header.schemaName,
        table=header.tableName,
        event_type=header.eventType,
        es_ms=header.executeTime,
        sequence=batch_id,
        origin=origin_of(header, where),
        where=where,
    )


def _statement(change: entries.RowChange, kind: int, head: Head) -> Ddl | TransactionMark:
    if kind in _XA_MARKS:
        return _mark(_XA_MARKS[kind], head, query=change.sql, props=pairs_of(change.props))
    origin = head.origin
    if change.ddlSchemaName not in ("", head.schema):
        origin = msgspec.structs.replace(origin, schema_name=change.ddlSchemaName)
    return Ddl(
        schema=head.schema,
        table=head.table,
        query=change.sql,
        canal_type=_EVENT_TYPES[kind],
        is_ddl=change.isDdl,
        es_ms=head.es_ms,
        sequence=head.sequence,
        origin=origin,
    )


def _mark(
    kind: MarkKind,
    head: Head,
    *,
    transaction_id: str = "",
    thread_id: int = 0,
    query: str = "",
    props: Props = (),
) -> TransactionMark:
    return TransactionMark(
        kind=kind,
        transaction_id=transaction_id,
        thread_id=thread_id,
        query=query,
        es_ms=head.es_ms,
        sequence=head.sequence,
        schema=head.schema,
        table=head.table,
        props=props,
        origin=head.origin,
    )


def _begin(payload: bytes, head: Head) -> TransactionMark:
    begin = parse(entries.TransactionBegin, payload, f"storeValue of {head.where}, a TransactionBegin,")
    return _mark(
        "BEGIN",
        head,
        transaction_id=begin.transactionId,
        thread_id=begin.threadId,
        props=pairs_of(begin.props),
    )


def _end(payload: bytes, head: Head) -> TransactionMark:
    end = parse(entries.TransactionEnd, payload, f"storeValue of {head.where}, a TransactionEnd,")
    return _mark("END", head, transaction_id=end.transactionId, props=pairs_of(end.props))


def _gtid(payload: bytes, head: Head) -> TransactionMark:
    pair = parse(entries.Pair, payload, f"storeValue of {head.where}, a Pair,")
    return _mark("GTID", head, props=((pair.key, pair.value),))


def _heartbeat(payload: bytes, head: Head) -> Heartbeat:
    return Heartbeat(es_ms=head.es_ms, origin=head.origin)


_MARKS: Final[dict[int, Callable[[bytes, Head], Event]]] = {
    entries.TRANSACTIONBEGIN: _begin,
    entries.TRANSACTIONEND: _end,
    entries.HEARTBEAT: _heartbeat,
    entries.GTIDLOG: _gtid,
}
