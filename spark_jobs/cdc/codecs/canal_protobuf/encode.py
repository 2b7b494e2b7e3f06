"""Events to Canal's messages: a ``Packet`` of type MESSAGES for each event, or for several.

Rules

1. The packet is as Canal's server writes it on its quick path: type, body, batch_id (also when 0), then the entries;
   no magic_number, no version, never compressed.
2. A batch has one batch_id, that of its events (``sequence``); a new one begins when it changes.
3. A row change is an entry of its own with ``rowsCount`` 1 in its props. Begin and end of transactions are entries
   where the stream has marks; none are made up.
4. Enum value 0 is never written: Java's classes do not know it. Begin and end have no eventType.
5. Heartbeats, GTID marks and watermarks have no form that leaves a Canal server: they give no message.
6. ``executeTime`` is the source's time, else the time in the commit-ts.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from google.protobuf.message import Message

from spark_jobs.cdc.codecs.canal_protobuf.entry import ROWS_COUNT, Props
from spark_jobs.cdc.codecs.canal_protobuf.rows import HeaderParts, TablePlan, plan_of, row_data
from spark_jobs.cdc.codecs.canal_protobuf.wire import LengthTable, number_field, varint
from spark_jobs.cdc.ddl import canal_type_of
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, Ddl, Event, Origin, RowChange, RowKind, TransactionMark
from spark_jobs.cdc.memory import Memory
from spark_jobs.cdc.proto import canal_entry_pb2 as entries
from spark_jobs.cdc.rows.key_only import refuse_key_only
from spark_jobs.cdc.tso import physical_ms

_EVENT_TYPES: Final[dict[RowKind, entries.EventType]] = {
    INSERT: entries.INSERT,
    UPDATE: entries.UPDATE,
    DELETE: entries.DELETE,
}
_CHANGE_HEADS: Final = {
    kind: number_field(2, number) + number_field(10, 0) + b"\x62" for kind, number in _EVENT_TYPES.items()
}
"""RowChange up to the length of its only row: eventType, isDdl false, the tag of rowDatas."""

_DB_TYPES: Final[dict[str, entries.SourceType]] = {"oracle": entries.ORACLE, "postgresql": entries.PGSQL}
_XA: Final = {"XACOMMIT": entries.XACOMMIT, "XAROLLBACK": entries.XAROLLBACK}
_STATEMENT_TYPES: Final = frozenset(entries.EventType.keys()) - {"EVENT_TYPE_UNSET", *_XA}
_MAX_PLANNED_COLUMNS: Final = 1 << 16
_MIN_INT64: Final = -(1 << 63)
_MAX_INT64: Final = (1 << 63) - 1
_ONE_ROW: Final = ((ROWS_COUNT, "1"),)

Listed: TypeAlias = tuple[tuple[bytes, ...], int]
"""An entry as an item of ``Messages``: its bytes in parts, and how many there are."""


class Encoder:
    """Writes packets of at most ``max_batch_size`` entries and about ``max_message_bytes``."""

    def __init__(self, max_batch_size: int = 1, max_message_bytes: int = 10 << 20) -> None:
        self._max_entries = max(max_batch_size, 1)
        self._max_bytes = max_message_bytes
        self._plans: Memory[int, TablePlan] = Memory(_MAX_PLANNED_COLUMNS)
        self._es_ms, self._es_field = 0, b""  # the last, since the rows of a transaction have the same
        self._parts: list[bytes] = []
        self._size = 0
        self._gathered = 0
        self._batch_id = 0

    def encode(self, event: Event, /) -> Sequence[bytes]:
        if type(event) is RowChange:
            entry = self._row(event)
        elif isinstance(event, Ddl):
            entry = _ddl(event)
        elif isinstance(event, TransactionMark) and event.kind != "GTID":
            entry = _mark(event)
        else:
            return ()
        sequence = event.sequence
        batch_id = sequence if _MIN_INT64 <= sequence <= _MAX_INT64 else 0
        if self._max_entries == 1:
            return (_packet(batch_id, *entry),)
        return self._gather(batch_id, *entry)

    def flush(self) -> Sequence[bytes]:
        if not self._gathered:
            return ()
        message = _packet(self._batch_id, self._parts, self._size)
        self._parts, self._size, self._gathered = [], 0, 0
        return (message,)

    def _gather(self, batch_id: int, parts: tuple[bytes, ...], size: int) -> Sequence[bytes]:
        finished: list[bytes] = []
        if batch_id != self._batch_id or self._size + size > self._max_bytes:
            finished += self.flush()
        self._batch_id = batch_id
        self._parts += parts
        self._size += size
        self._gathered += 1
        if self._gathered >= self._max_entries:
            finished += self.flush()
        return finished

    def _row(self, event: RowChange) -> Listed:
        if event.only_handle_key or event.claim_check:
            refuse_key_only(event, "canal")
        plan = self._plans.get(id(event.table))
        if plan is None or plan.table is not event.table:
            plan = self._plan(event)
        row = row_data(event, plan)
        return _entry(self._row_header(event, plan), _ROW_DATA, _CHANGE_HEADS[event.kind] + _LENGTHS[len(row)], row)

    def _plan(self, event: RowChange) -> TablePlan:
        plan = plan_of(event.table)
        self._plans.remember(id(event.table), plan, len(event.table.columns) + 1)
        return plan

    def _row_header(self, event: RowChange, plan: TablePlan) -> bytes:
        table, kind, origin = event.table, event.kind, event.origin
        key = (kind, origin.log_file, origin.server_id, origin.gtid, origin.props, origin.db_type)
        parts = plan.headers.get(key)
        if parts is None:
            parts = _header(table.schema, table.table, origin, _EVENT_TYPES[kind], _ONE_ROW + origin.props)
            plan.headers.remember(key, parts)
        es_ms = event.es_ms or physical_ms(event.commit_ts)
        try:
            if es_ms != self._es_ms:
                self._es_ms, self._es_field = es_ms, _number(6, es_ms)
            return _numbered(parts, origin, self._es_field)
        except ValueError as error:
            raise EncodeError("canal", f"the header of {table.schema}.{table.table}: {error}") from None


_LENGTHS: Final = LengthTable()
_ROW_DATA: Final = number_field(2, entries.ROWDATA) + b"\x1a"
_BEGIN: Final = number_field(2, entries.TRANSACTIONBEGIN) + b"\x1a"
_END: Final = number_field(2, entries.TRANSACTIONEND) + b"\x1a"
_PACKET: Final = b"\x18\x07\x2a"


def _packet(batch_id: int, parts: Iterable[bytes], size: int) -> bytes:
    """A packet of entries that are given in parts of so many bytes in all."""
    first = b"\x08" + (_LENGTHS[batch_id] if batch_id >= 0 else varint(batch_id))
    return b"".join((_PACKET, _LENGTHS[len(first) + size], first, *parts))


def _entry(header: bytes, kind: bytes, payload: bytes, rest: bytes = b"") -> Listed:
    """An entry of ``Messages``; its storeValue is the payload and the rest."""
    header_size, payload_size = len(header), len(payload) + len(rest)
    header_length, payload_length = _LENGTHS[header_size], _LENGTHS[payload_size]
    size = 1 + len(header_length) + header_size + len(kind) + len(payload_length) + payload_size
    length = _LENGTHS[size]
    parts = (b"\x12", length, b"\x0a", header_length, header, kind, payload_length, payload, rest)
    return parts, 1 + len(length) + size


def _header(
    schema: str, table: str, origin: Origin, event_type: "entries.EventType | None", props: Props
) -> HeaderParts:
    try:
        parts = (
            entries.Header(version=1, logfileName=origin.log_file),
            entries.Header(serverId=origin.server_id, serverenCode="UTF-8"),
            entries.Header(sourceType=_DB_TYPES.get(origin.db_type, entries.MYSQL), schemaName=schema, tableName=table),
            entries.Header(eventType=event_type, props=_pairs(props), gtid=origin.gtid),
        )
        before_offset, before_time, before_length, end = (part.SerializeToString() for part in parts)
    except ValueError as error:
        raise EncodeError("canal", f"the header of {schema}.{table}: {error}") from None
    return before_offset, before_time, before_length, end


def _numbered(parts: HeaderParts, origin: Origin, es_field: bytes) -> bytes:
    """A header with logfileOffset, executeTime and eventLength; ``ValueError`` if one is no number of 64 bits."""
    before_offset, before_time, before_length, end = parts
    offset, length = origin.log_offset, origin.event_length
    return b"".join(
        (
            before_offset,
            _number(3, offset) if offset else b"",
            before_time,
            es_field,
            before_length,
            _number(10, length) if length else b"",
            end,
        )
    )


def _number(field: int, number: int) -> bytes:
    """A field that is left out if it is 0."""
    if not _MIN_INT64 <= number <= _MAX_INT64:
        raise ValueError(f"{number} does not fit 64 bits")
    return number_field(field, number) if number else b""


def _dated(parts: HeaderParts, event: Ddl | TransactionMark) -> bytes:
    try:
        return _numbered(parts, event.origin, _number(6, event.es_ms or physical_ms(event.commit_ts)))
    except ValueError as error:
        raise EncodeError("canal", f"the header of {event.schema}.{event.table}: {error}") from None


def _pairs(props: Props) -> list[entries.Pair]:
    return [entries.Pair(key=key, value=value) for key, value in props]


def _written(kind: type[Message], what: str, **fields: object) -> bytes:
    try:
        data: bytes = kind(**fields).SerializeToString()
    except ValueError as error:
        raise EncodeError("canal", f"{what}: {error}") from None
    return data


def _ddl(event: Ddl) -> Listed:
    name = event.canal_type if event.canal_type in _STATEMENT_TYPES else canal_type_of(event.query)
    event_type = entries.EventType.Value(name)
    header = _header(event.schema, event.table, event.origin, event_type, event.origin.props)
    change = _written(
        entries.RowChange,
        "a statement",
        eventType=event_type,
        isDdl=event.is_ddl,
        sql=event.query,
        ddlSchemaName=event.origin.schema_name or event.schema,
    )
    return _entry(_dated(header, event), _ROW_DATA, change)


def _mark(event: TransactionMark) -> Listed:
    kind, event_type, payload = _MARKS[event.kind](event)
    header = _header(event.schema, event.table, event.origin, event_type, event.origin.props)
    return _entry(_dated(header, event), kind, payload)


Mark: TypeAlias = "tuple[bytes, entries.EventType | None, bytes]"
"""entryType with the tag of storeValue, eventType, storeValue."""


def _begin(event: TransactionMark) -> Mark:
    fields = {"threadId": event.thread_id, "transactionId": event.transaction_id, "props": _pairs(event.props)}
    return _BEGIN, None, _written(entries.TransactionBegin, "the begin of a transaction", **fields)


def _end(event: TransactionMark) -> Mark:
    fields = {"transactionId": event.transaction_id, "props": _pairs(event.props)}
    return _END, None, _written(entries.TransactionEnd, "the end of a transaction", **fields)


def _xa(event: TransactionMark) -> Mark:
    event_type = _XA[event.kind]
    fields = {"eventType": event_type, "sql": event.query, "props": _pairs(event.props)}
    return _ROW_DATA, event_type, _written(entries.RowChange, "an XA mark", **fields)


_MARKS: Final[dict[str, Callable[[TransactionMark], Mark]]] = {
    "BEGIN": _begin,
    "END": _end,
    "XACOMMIT": _xa,
    "XAROLLBACK": _xa,
}
