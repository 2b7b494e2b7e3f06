"""What each format carries, as data: the contract suite checks it, ``docs/formats.md`` shows it.

A ``Carrier`` is a codec with options, and the ``Loss``es and ``Refusal``s of that combination. A loss says what a
reader gets instead of what was written; a refusal says what cannot be written at all. Everything that is in neither
must come back as it was. ``fact`` names the part of the format's description that says so.
"""

import base64

import msgspec

from spark_jobs.cdc.events import (
    BINARY_TYPES,
    CHOICE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    UPDATE,
    Column,
    ColumnType,
    Ddl,
    Event,
    Heartbeat,
    RowChange,
    TableSchema,
    TransactionMark,
    Value,
    Watermark,
)
from spark_jobs.cdc.mysql.values import to_names
from spark_jobs.cdc.storage.schema_file import of_table
from tests.cdc.carrier_views import (
    Carrier,
    Loss,
    Refusal,
    RowView,
    View,
    bare,
    has_invalid_text,
    is_partial,
    is_partial_in_the_last_row,
    is_partial_update,
    is_without_old_row,
    no_form_for,
    null_for_absent,
    old_from_new,
    replaced_bytes,
    types,
    values,
    without,
)

REPLACED_TEXT = Loss(
    "bytes of a text that are not UTF-8: each becomes U+FFFD",
    "ticdc_formats §1.4, string escaping",
    values(replaced_bytes),
)
FILLED_OLD = Loss(
    "which columns the old row of an update did not carry: they are read as unchanged",
    "ticdc_formats §1.3, only-output-updated-columns; canal §4.2, old",
    old_from_new,
)
NO_COMMIT_TS = Loss(
    "the commit-ts: only its milliseconds remain", "ticdc_formats §1.2; canal §1.1", without(commit_ts=0)
)
NO_BUILD_TIME = Loss("the time when the message was built", "canal §1.1; tidb_binlog §1", without(ts_ms=0))
BARE_TYPES = Loss(
    "in types, length and scale, and the elements of enum and set", "ticdc_formats §1.5, default mode", types(bare)
)


def loses(what: str, fact: str, *kinds: type) -> Loss:
    return Loss(what, fact, no_form_for(*kinds))


NO_MARKS = loses("transaction marks and heartbeats", "ticdc_formats §1.1", TransactionMark, Heartbeat)
NO_WATERMARK = loses("watermarks", "ticdc_formats §1.2; canal §1.1", Watermark)

NO_OLD_ROW = Refusal("an update without its old row", "ticdc_formats §1.1, old", is_without_old_row)

# canal-json

TICDC = (NO_MARKS, REPLACED_TEXT, FILLED_OLD)


def only_xa(seen: View) -> View | None:
    """XA marks alone, without the number of their transaction."""
    if not isinstance(seen, TransactionMark):
        return seen
    xa = seen.kind in ("XACOMMIT", "XAROLLBACK")
    return msgspec.structs.replace(seen, transaction_id="", ts_ms=seen.ts_ms or seen.es_ms) if xa else None


# canal


def no_gtid_mark(seen: View) -> View | None:
    if not isinstance(seen, TransactionMark):
        return seen
    if seen.kind == "GTID":
        return None
    return msgspec.structs.replace(seen, transaction_id="") if seen.kind.startswith("XA") else seen


# tidb-binlog and drainer


def unsigned_if_seen(seen: View) -> View:
    """UNSIGNED is known of columns that hold a value in one of the images."""
    if not isinstance(seen, RowView):
        return seen
    held = {name for one in (seen.before, seen.after) for name, value in (one or {}).items() if value is not None}
    known = {
        name: type_ if name in held else msgspec.structs.replace(type_, unsigned=False)
        for name, type_ in seen.types.items()
    }
    return msgspec.structs.replace(seen, types=known)


def without_elements(type_: ColumnType) -> ColumnType:
    return msgspec.structs.replace(type_, elements=None)


UNSIGNED_IF_SEEN = Loss("UNSIGNED of a column that is NULL in every image", "tidb_binlog §3", unsigned_if_seen)
BINLOG_EVENTS = loses(
    "watermarks, heartbeats and transaction marks", "tidb_binlog §1", Watermark, Heartbeat, TransactionMark
)
NO_CANAL_TYPE = Loss("Canal's word for the kind of a DDL", "tidb_binlog §1", without(canal_type=""))


def renamed_database(seen: View) -> View:
    """The text of a statement begins with its schema; of CREATE DATABASE the name in the text is its schema."""
    if not isinstance(seen, Ddl):
        return seen
    return msgspec.structs.replace(
        seen, table="", schema="db" if seen.query.startswith("CREATE DATABASE") else seen.schema
    )


def without_size(type_: ColumnType) -> ColumnType:
    return msgspec.structs.replace(type_, length=None, scale=None, elements=None)


# datahub

DATES = ("date", "datetime", "timestamp")


def by_name(type_: ColumnType, value: Value) -> Value:
    return to_names(type_)(value) if type_.name in CHOICE_TYPES else value


def is_zero_date(type_: ColumnType, value: Value) -> bool:
    """A date that no calendar has: its year, month or day is 0."""
    return isinstance(value, str) and type_.name in DATES and 0 in map(int, value[:10].split("-"))


def blob_type(type_: ColumnType) -> ColumnType:
    """BOOLEAN, LONG, DOUBLE, DATE, BYTES or STRING, as it is read."""
    if type_.name == "bit" and type_.length == 1:
        return ColumnType("bit", length=1)
    if type_.name in (INTEGER_TYPES | {"year"}):
        return ColumnType("bigint")
    if type_.name in DATES:
        return ColumnType("datetime", scale=3)
    if type_.name in FLOAT_TYPES:
        return ColumnType("double")
    return ColumnType("varbinary" if type_.name in BINARY_TYPES else "varchar")


def blob_value(type_: ColumnType, value: Value) -> Value:
    if is_zero_date(type_, value):
        return None
    if type_.name in DATES:
        whole, _, fraction = str(value).partition(".")
        return f"{whole if ' ' in whole else whole + ' 00:00:00'}.{fraction[:3].ljust(3, '0')}"
    return str(value) if type_.name == "bit" and type_.length == 64 else by_name(type_, value)


def blob_types(seen: View) -> View:
    """A column of which a message holds a number above 2**63 - 1 is read as unsigned."""
    seen = types(blob_type)(seen)
    if not isinstance(seen, RowView):
        return seen
    held = [(name, value) for one in (seen.before, seen.after) for name, value in (one or {}).items()]
    large = {name for name, value in held if isinstance(value, int) and value >= 1 << 63}
    unsigned = ColumnType("bigint", unsigned=True)
    return msgspec.structs.replace(
        seen, types={name: unsigned if name in large else type_ for name, type_ in seen.types.items()}
    )


def as_heartbeat(seen: View) -> View:
    if isinstance(seen, Watermark):
        return Heartbeat(es_ms=seen.es_ms, ts_ms=0)
    return seen


def tuple_type(type_: ColumnType) -> ColumnType:
    if type_.name == "bit":
        return ColumnType("bit", length=1) if type_.length == 1 else ColumnType("decimal")
    if type_.name == "bigint" and type_.unsigned:
        return ColumnType("decimal")
    if type_.name in (INTEGER_TYPES | {"year"}):
        return ColumnType("bigint")
    if type_.name in DATES:
        return ColumnType("datetime", scale=6)
    if type_.name in FLOAT_TYPES:
        return ColumnType("double")
    return ColumnType("decimal" if type_.name == "decimal" and (type_.length or 0) <= 38 else "varchar")


def tuple_value(type_: ColumnType, value: Value) -> Value:
    if is_zero_date(type_, value):
        return None
    if type_.name in DATES:
        whole, _, fraction = str(value).partition(".")
        return f"{whole if ' ' in whole else whole + ' 00:00:00'}.{fraction.ljust(6, '0')}"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if tuple_type(type_).name == "decimal" else by_name(type_, value)


def is_long_decimal(event: Event) -> bool:
    """A value of a decimal column without a precision has more than 38 digits."""
    return isinstance(event, RowChange) and any(
        column.type == ColumnType("decimal") and isinstance(value, str) and len(value.strip("-").replace(".", "")) > 38
        for row in (event.before, event.after)
        for column, value in zip(event.table.columns, row or (), strict=row is not None)
    )


def beyond_timestamp(event: Event) -> bool:
    """A date and time after the last one that a TIMESTAMP field takes."""
    if not isinstance(event, RowChange):
        return False
    return any(
        isinstance(value, str) and column.type.name in DATES and value > "9999-12-31 15:59:59"
        for row in (event.before, event.after)
        for column, value in zip(event.table.columns, row or (), strict=row is not None)
    )


# csv


def schema_of(event: Event) -> dict[str, str]:
    if not isinstance(event, RowChange):
        return {}
    return {"schema-file": of_table(event.table, 1).encode().decode()}


def file_type(type_: ColumnType) -> ColumnType:
    """A type as a schema file shows it, where TiDB's default stands for what was not given."""
    shown = of_table(TableSchema("", "", (Column("c", type_),)), 1).table_schema()
    return shown.columns[0].type


def new_row_only(seen: View) -> View:
    if isinstance(seen, RowView) and seen.kind == UPDATE:
        return msgspec.structs.replace(seen, before=None)
    return seen


CSV_EVENTS = loses(
    "DDL, watermarks, heartbeats and transaction marks",
    "ticdc_formats §1.8",
    Ddl,
    Watermark,
    Heartbeat,
    TransactionMark,
)
CSV_PARTIAL = Refusal("an image that lacks a column", "ticdc_formats §2", is_partial)
CSV_TYPES = Loss(
    "which types had no length: TiDB's defaults stand there", "ticdc_formats §3.4, ColumnPrecision", types(file_type)
)
CSV_OPTIONS = {"output-old-value": "true", "include-commit-ts": "true"}


CARRIERS: tuple[Carrier, ...] = (
    Carrier(
        codec="canal-json",
        options={"enable-tidb-extension": "true"},
        losses=(*TICDC, BARE_TYPES),
        refusals=(NO_OLD_ROW,),
    ),
    Carrier(
        codec="canal-json",
        losses=(*TICDC, BARE_TYPES, NO_COMMIT_TS, NO_WATERMARK),
        refusals=(NO_OLD_ROW,),
    ),
    Carrier(
        codec="canal-json",
        options={"enable-tidb-extension": "true", "content-compatible": "true"},
        losses=TICDC,
        refusals=(NO_OLD_ROW,),
    ),
    Carrier(
        codec="canal-json",
        options={"dialect": "canal"},
        losses=(
            REPLACED_TEXT,
            FILLED_OLD,
            NO_COMMIT_TS,
            loses("watermarks and heartbeats", "canal §4.2", Watermark, Heartbeat),
            Loss("BEGIN, END and GTID marks, and the number of an XA transaction", "canal §4.2", only_xa),
        ),
        refusals=(NO_OLD_ROW,),
    ),
    Carrier(
        codec="canal",
        losses=(
            NO_COMMIT_TS,
            NO_BUILD_TIME,
            loses("watermarks and heartbeats", "canal §13.13", Watermark, Heartbeat),
            Loss("GTID marks, and the number of an XA transaction", "canal §1.2", no_gtid_mark),
        ),
        refusals=(Refusal("a text that is not UTF-8", "canal §1.1, Column.value is a string", has_invalid_text),),
    ),
    Carrier(
        codec="tidb-binlog",
        losses=(
            BINLOG_EVENTS,
            NO_BUILD_TIME,
            NO_CANAL_TYPE,
            Loss("the elements of enum and set", "tidb_binlog §3", types(without_elements)),
            UNSIGNED_IF_SEEN,
        ),
        refusals=(
            Refusal("an image that lacks a column", "tidb_binlog §1, columns by position", is_partial),
            NO_OLD_ROW,
        ),
    ),
    Carrier(
        codec="drainer",
        losses=(
            BINLOG_EVENTS,
            NO_BUILD_TIME,
            Loss("the table of a DDL, which its text still names", "tidb_binlog §6, ddl_query", renamed_database),
            NO_CANAL_TYPE,
            Loss("in types, length and scale, and the elements of enum and set", "tidb_binlog §6", types(without_size)),
            UNSIGNED_IF_SEEN,
            Loss("which columns are keys", "tidb_binlog §6", without(keys=())),
        ),
        refusals=(
            Refusal("an update of which an image lacks a column", "tidb_binlog §6", is_partial_update),
            NO_OLD_ROW,
        ),
    ),
    Carrier(
        codec="datahub-blob",
        losses=(
            NO_COMMIT_TS,
            Loss("watermarks: they become heartbeats of their time", "datahub §6", as_heartbeat),
            Loss("the number of a transaction", "datahub §4", without(transaction_id="")),
            Loss(
                "numbers of enum and set (names remain), times below the millisecond, zero dates (they become NULL)",
                "datahub §3",
                values(blob_value),
            ),
            Loss("MySQL's types: six remain, and UNSIGNED only where a value needs it", "datahub §3", blob_types),
        ),
        refusals=(Refusal("a text that is not UTF-8", "datahub §3, JSON", has_invalid_text),),
    ),
    Carrier(
        codec="datahub-tuple",
        losses=(
            NO_COMMIT_TS,
            NO_BUILD_TIME,
            loses(
                "DDL, watermarks, heartbeats and transaction marks",
                "datahub §2",
                Ddl,
                Watermark,
                Heartbeat,
                TransactionMark,
            ),
            Loss("which columns an old row did not carry: they become NULL", "datahub §8", null_for_absent),
            Loss(
                "numbers of enum and set (names remain), bytes (base64 text remains), zero dates (they become NULL)",
                "datahub §8",
                values(tuple_value),
            ),
            Loss("MySQL's types: those of DataHub's fields remain", "datahub §8", types(tuple_type)),
        ),
        refusals=(
            Refusal("a text that is not UTF-8", "datahub §2", has_invalid_text),
            Refusal("a date after 9999-12-31 15:59:59", "datahub §8, TIMESTAMP", beyond_timestamp),
            Refusal(
                "a decimal of more than 38 digits, where the source did not tell its precision",
                "datahub §8, DECIMAL",
                is_long_decimal,
                True,
            ),
        ),
    ),
    Carrier(
        codec="csv",
        reading=schema_of,
        losses=(
            CSV_EVENTS,
            Loss("the old row of an update", "ticdc_formats §2", new_row_only),
            Loss("the commit-ts and all times", "ticdc_formats §2", without(commit_ts=0, es_ms=0, ts_ms=0)),
            CSV_TYPES,
        ),
        refusals=(Refusal("a row that lacks a column", "ticdc_formats §2", is_partial_in_the_last_row),),
    ),
    Carrier(
        codec="csv",
        options=CSV_OPTIONS,
        reading=lambda event: schema_of(event) | CSV_OPTIONS,
        losses=(CSV_EVENTS, NO_BUILD_TIME, CSV_TYPES),
        refusals=(CSV_PARTIAL,),
    ),
)
