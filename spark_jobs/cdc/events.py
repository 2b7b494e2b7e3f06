"""The one event model; it loses nothing that any of the formats carries.

Rules

1. A row image is a tuple that is parallel to ``TableSchema.columns``. ``None`` is SQL NULL; ``ABSENT`` is a column that
   the message did not carry.
2. Values are Python values of one form per MySQL type, whatever format they came from (``VALUE_FORMS``):

   ==============================================  =========  =====================================================
   MySQL type                                      Python     form
   ==============================================  =========  =====================================================
   tinyint smallint mediumint int bigint year bit  int        the number; unsigned up to 2**64 - 1
   enum                                            int        1-based index, 0 for the error value; ``str`` (the
                                                              element) where the source gives names and the elements
                                                              are not known
   set                                             int        bit mask; ``str`` (names joined by comma) likewise
   float double                                    float      float is the 32-bit value widened
   decimal                                         str        exact text, scale kept
   date datetime timestamp time                    str        MySQL's text, with exactly fsp fraction digits; zero
                                                              dates and negative or over-24-hour times included
   json char varchar text vector                   str        the text; bytes that are not UTF-8 as lone surrogates
                                                              (``surrogateescape``)
   binary varbinary blob geometry                  bytes      the bytes
   of no name: the source tells none               any        number, bytes or text, as the source has it
   ==============================================  =========  =====================================================

3. ``*_ts`` is a TSO, ``*_ms`` milliseconds since 1970. 0 means that the source did not say.
4. Everything is frozen. A decoder returns the *same* ``TableSchema`` object for the rows of one table as long as its
   structure stays, so that "decide once per schema" is a dictionary look-up by identity.
"""

from enum import Enum, StrEnum
from typing import Final, Literal, TypeAlias

import msgspec


class _Absent(Enum):
    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent.ABSENT
"""A column that the message did not carry (as opposed to NULL)."""

Value: TypeAlias = int | float | str | bytes | Literal[_Absent.ABSENT] | None
Row: TypeAlias = tuple[Value, ...]


class ColumnType(msgspec.Struct, frozen=True, gc=False):
    """A MySQL column type as far as the source tells it.

    ``name`` is the lower-case base name with TiDB's spelling (``int``, ``varchar``, ``blob``, ``vector`` …);
    text/blob and char/binary are told apart by name. ``length``: display width, characters, bits or precision M;
    ``scale``: D, or fsp of time types; both None when not known. ``sign_known`` is False for an integer type of which
    the source shows in its values alone whether it is unsigned, and has shown none.
    """

    name: str
    unsigned: bool = False
    zerofill: bool = False
    length: int | None = None
    scale: int | None = None
    elements: tuple[str, ...] | None = None
    charset: str = ""
    collation: str = ""
    sign_known: bool = True


class Column(msgspec.Struct, frozen=True, gc=False):
    """A column. ``nullable`` and ``default`` are None where the source does not tell.

    A default is text, also a number's; that of a BIT or binary column is its bytes as code points U+0000 to U+00FF.

    ``source_type`` is the type text exactly as the source wrote it (Canal's ``mysqlType``), for relaying; "" else.
    ``generated``: "", ``virtual`` or ``stored``. ``ordinal``: position in the table where the source tells (-1 else).
    ``default_is_expression``: ``default`` is SQL, ``CURRENT_TIMESTAMP`` included, and not a value.
    """

    name: str
    type: ColumnType
    is_key: bool = False
    nullable: bool | None = None
    default: str | None = None
    comment: str = ""
    generated: str = ""
    auto_increment: bool = False
    on_update: str = ""
    source_type: str = ""
    ordinal: int = -1
    default_is_expression: bool = False


class Index(msgspec.Struct, frozen=True, gc=False):
    """An index; ``name`` is ``PRIMARY`` for the primary key. ``columns`` in index order."""

    name: str
    columns: tuple[str, ...]
    unique: bool = True
    visible: bool = True


class TableSchema(msgspec.Struct, frozen=True, weakref=True):
    """A table's structure as far as it is known. Column order is table order.

    ``indexes`` is None where the source tells nothing about keys beyond ``Column.is_key``.
    """

    schema: str
    table: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] | None = None
    comment: str = ""
    charset: str = ""
    collation: str = ""
    partitioned: bool = False

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Names of the primary key columns, in table order."""
        return tuple(column.name for column in self.columns if column.is_key)


class SourcePosition(msgspec.Struct, frozen=True, gc=False):
    """Where a message stood: topic, partition, offset of a queue; or file, 0, line/record number of a folder."""

    stream: str = ""
    partition: int = 0
    offset: int = -1


class Origin(msgspec.Struct, frozen=True, gc=False):
    """What a format says about where an event came from, beyond the table; all of it optional."""

    db_type: str = ""
    db_version: str = ""
    schema_name: str = ""
    server_id: int = 0
    log_file: str = ""
    log_offset: int = 0
    event_length: int = 0
    gtid: str = ""
    props: tuple[tuple[str, str], ...] = ()


NO_ORIGIN: Final = Origin()


class RowKind(StrEnum):
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


INSERT: Final = RowKind.INSERT
UPDATE: Final = RowKind.UPDATE
DELETE: Final = RowKind.DELETE


class RowChange(msgspec.Struct, frozen=True, tag=True, gc=False):
    """One row that changed. ``before`` for UPDATE and DELETE, ``after`` for INSERT and UPDATE; else None.

    ``es_ms``: commit time at the source; ``ts_ms``: when the source built the message. ``sequence``: the source's own
    ordering number (DataHub's sequenceId, Canal's batch id), 0 if none. ``half``: for formats that cut an update in
    two messages, which half this is ("before" or "after"); "" for a whole event. ``only_handle_key``: the message holds
    handle key columns only, by the source's own word. ``claim_check``: location of the full message, "" if none.
    ``partition_id``: physical partition id of a partitioned table, 0 if none. ``row_key``: TiDB's raw row key.
    """

    kind: RowKind
    table: TableSchema
    before: Row | None = None
    after: Row | None = None
    commit_ts: int = 0
    es_ms: int = 0
    ts_ms: int = 0
    sequence: int = 0
    half: str = ""
    only_handle_key: bool = False
    claim_check: str = ""
    row_key: bytes = b""
    partition_id: int = 0
    transaction_id: str = ""
    origin: Origin = NO_ORIGIN


class Ddl(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A statement that is not a row change. ``query`` is the text as the source gave it.

    ``schema``: the current database when it ran; ``table`` "" for database-level statements. ``canal_type``: CREATE,
    ALTER, ERASE, QUERY … where the source says so, "" else. ``is_ddl`` is False for the few statements that Canal sends
    as QUERY without being DDL. ``ddl_meta``: DataWorks' opaque base64 string, relayed and never opened.
    """

    schema: str
    table: str
    query: str
    canal_type: str = ""
    is_ddl: bool = True
    commit_ts: int = 0
    es_ms: int = 0
    ts_ms: int = 0
    sequence: int = 0
    ddl_meta: str | None = None
    origin: Origin = NO_ORIGIN


class Watermark(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Everything with commit-ts <= ``watermark_ts`` in this partition has been sent (TiCDC's TIDB_WATERMARK)."""

    watermark_ts: int
    es_ms: int = 0
    ts_ms: int = 0


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The source is alive; no promise about order (Canal, DataHub)."""

    es_ms: int = 0
    ts_ms: int = 0
    checkpoint_ms: int = 0
    origin: Origin = NO_ORIGIN


class TransactionMark(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Begin or end of a transaction, an XA mark or a GTID mark.

    ``kind``: BEGIN, END, XACOMMIT, XAROLLBACK or GTID. ``thread_id`` belongs to BEGIN.
    """

    kind: Literal["BEGIN", "END", "XACOMMIT", "XAROLLBACK", "GTID"]
    transaction_id: str = ""
    thread_id: int = 0
    query: str = ""
    commit_ts: int = 0
    es_ms: int = 0
    ts_ms: int = 0
    sequence: int = 0
    schema: str = ""
    table: str = ""
    props: tuple[tuple[str, str], ...] = ()
    origin: Origin = NO_ORIGIN


Event: TypeAlias = RowChange | Ddl | Watermark | Heartbeat | TransactionMark

INTEGER_TYPES: Final = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
NUMBER_TYPES: Final = INTEGER_TYPES | {"year", "bit"}
FLOAT_TYPES: Final = frozenset({"float", "double"})
BINARY_TYPES: Final = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry"})
TIME_TYPES: Final = frozenset({"date", "datetime", "timestamp", "time"})
CHOICE_TYPES: Final = frozenset({"enum", "set"})

VALUE_FORMS: Final[dict[str, type]] = (
    dict.fromkeys(NUMBER_TYPES | CHOICE_TYPES, int)
    | dict.fromkeys(FLOAT_TYPES, float)
    | dict.fromkeys(BINARY_TYPES, bytes)
)
"""Python type of a base type name; whatever is not listed is ``str``."""
