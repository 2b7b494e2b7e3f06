"""DataHub Tuple records: typed columns and DataWorks' metadata columns (fact sheet §2 and §8).

Rules

1. A record holds the columns of the table, then the metadata columns; every value is text or null. The metadata
   columns, under the names that DataWorks gives them (its spelling included; all can be renamed, an empty name leaves
   a column out):

   ================== ======== ======================================================================
   ``_sequence_id_``    STRING   digits; one number for each event, shared by both records of an update
   ``_operation_type_`` STRING   ``I``, ``U`` or ``D``
   ``_excute_time_``    BIGINT   time of the change, milliseconds
   ``_source_table_``   STRING   table name
   ``_before_image_``   STRING   ``Y`` in the old row of an update and in a delete, else ``N``
   ``_after_image_``    STRING   ``Y`` in the new row of an update and in an insert, else ``N``
   ================== ======== ======================================================================
2. An UPDATE is two records, old row first. Read, they are halves; ``spark_jobs/cdc/rows/halves.py`` joins halves.
3. The format has no DDL, heartbeat, watermark or transaction mark: these are dropped and counted.
4. Null and absent are one thing here. A column that the event does not carry is null in an old row, where nobody
   writes it back; in a new row it would overwrite a value, so that is refused.
5. On the service a record is a list of texts, and the topic knows names and types. Where a record must stand alone
   (files, ``weir convert``) it is one JSON object a line::

       {"database": "shop", "table": "orders", "primaryKey": ["id"],
        "fields": [{"name": "id", "type": "bigint"}, …], "data": ["7", …]}

   ``fields`` is the topic's schema with the metadata columns, ``data`` is parallel to it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc import tso
from spark_jobs.cdc.codec import Codec, Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.datahub.sequence import SEQUENCE_OPTIONS, Numbering
from spark_jobs.cdc.codecs.datahub.tuple_values import READ_AS, WRITE_OPTIONS, Read, Rules, Write, readers, writer
from spark_jobs.cdc.codecs.opened import DecodedOpener
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError
from spark_jobs.cdc.events import ABSENT, DELETE, INSERT, UPDATE, Column, Event, Row, RowChange, RowKind, TableSchema
from spark_jobs.cdc.memory import MAX_COLUMNS, Living, Memory
from spark_jobs.cdc.rows.key_only import refuse_key_only

NAME: Final = "datahub-tuple"
_CACHED_SHAPE_BYTES = 1 << 25
_ENTRY_BYTES = 1 << 9
_MAX_SEQUENCE_DIGITS = 100
_MAX_MS = 1 << 45

_META: Final[dict[str, tuple[str, str, str]]] = {
    "sequence-column": ("_sequence_id_", "string", "the number that both records of an update share"),
    "operation-column": ("_operation_type_", "string", "I, U or D"),
    "time-column": ("_excute_time_", "bigint", "milliseconds"),
    "table-column": ("_source_table_", "string", "the table"),
    "before-column": ("_before_image_", "string", "Y in old rows"),
    "after-column": ("_after_image_", "string", "Y in new rows"),
}
"""Option → the metadata column's default name, its type, its meaning. Order of the columns."""

_META_OPTIONS: Final = tuple(
    Option(option, "str", name, f"name of the metadata column: {meaning}")
    for option, (name, _, meaning) in _META.items()
)
DECODE_OPTIONS: Final = (Option("time-zone", "str", "UTC", "zone of the datetime columns read"), *_META_OPTIONS)
ENCODE_OPTIONS: Final = (*WRITE_OPTIONS, *SEQUENCE_OPTIONS, *_META_OPTIONS)

_RECORDS: Final = {INSERT: ("after",), UPDATE: ("before", "after"), DELETE: ("before",)}
_LETTERS: Final = {INSERT: "I", UPDATE: "U", DELETE: "D"}
_READ_KINDS: Final[dict[tuple[str, str, str], tuple[RowKind, str]]] = {
    ("I", "N", "Y"): (INSERT, ""),
    ("U", "Y", "N"): (UPDATE, "before"),
    ("U", "N", "Y"): (UPDATE, "after"),
    ("D", "Y", "N"): (DELETE, ""),
}
"""(operation, before image, after image) → kind and half."""


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column of a topic; the type in lower case."""

    name: str
    type: str
    comment: str = ""


class TupleRecord(msgspec.Struct, frozen=True):
    """A record as the service takes it: texts and nulls, parallel to the fields of the topic."""

    fields: tuple[Field, ...]
    values: tuple[str | None, ...]


class _Line(msgspec.Struct):
    """A record that stands alone."""

    database: str
    table: str
    primaryKey: tuple[str, ...]
    fields: tuple[Field, ...]
    data: tuple[str | None, ...]


class _Plan(msgspec.Struct, frozen=True):
    table: TableSchema
    fields: tuple[Field, ...]
    writers: tuple[tuple[str, Write], ...]


class Encoder:
    """Writes records; ``dropped`` counts the events that have no form here, by kind.

    ``records`` and ``schema_json`` are for the service, ``encode`` is for lines. ``numbering.last`` is the state to
    keep across restarts.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        given = Options(NAME, options, ENCODE_OPTIONS)
        self._rules = Rules.of(given)
        self._names = {option: given.text(option) for option in _META}
        _check_names(self._names)
        self._json = msgspec.json.Encoder()
        self._plans: Memory[int, _Plan] = Memory(MAX_COLUMNS)
        self.numbering = Numbering.of(given)
        self.dropped: Counter[str] = Counter()

    def encode(self, event: Event, /) -> Sequence[bytes]:
        if not isinstance(event, RowChange):
            self.dropped[type(event).__name__] += 1
            return ()
        table = event.table
        return [
            self._line(_Line(table.schema, table.table, table.key_columns, record.fields, record.values))
            for record in self.records(event)
        ]

    def flush(self) -> Sequence[bytes]:
        return ()

    def schema_json(self, table: TableSchema) -> str:
        """The schema with which a topic for this table is created, as the service takes it: JSON text."""
        return self._json.encode({"fields": self._plan(table).fields}).decode()

    def records(self, event: RowChange) -> list[TupleRecord]:
        """The records of a row change, old row first."""
        if event.only_handle_key or event.claim_check:
            refuse_key_only(event, NAME)
        plan = self._plan(event.table)
        sides = [side for side in _RECORDS[event.kind] if _is_written(event, side)]
        rows = [_values(event, side, plan) for side in sides]
        sequence = str(self.numbering.number(event))
        return [
            TupleRecord(plan.fields, (*row, *self._meta(event, side, sequence)))
            for side, row in zip(sides, rows, strict=True)
        ]

    def _meta(self, event: RowChange, side: str, sequence: str) -> list[str]:
        values = {
            "sequence-column": sequence,
            "operation-column": _LETTERS[event.kind],
            "time-column": str(event.es_ms or tso.physical_ms(event.commit_ts)),
            "table-column": event.table.table,
            "before-column": "Y" if side == "before" else "N",
            "after-column": "Y" if side == "after" else "N",
        }
        return [values[option] for option, name in self._names.items() if name]

    def _plan(self, table: TableSchema) -> _Plan:
        plan = self._plans.get(id(table))
        if plan is None:
            plan = self._make_plan(table)
            self._plans.remember(id(table), plan, len(table.columns) + 1)
        return plan

    def _make_plan(self, table: TableSchema) -> _Plan:
        typed = [(column, *writer(column.type, self._rules)) for column in table.columns]
        columns = tuple(Field(column.name, type_.lower(), column.comment) for column, type_, _ in typed)
        meta = tuple(Field(name, _META[option][1]) for option, name in self._names.items() if name)
        taken = {field.name.lower() for field in columns} & {field.name.lower() for field in meta}
        if taken:
            raise EncodeError(
                NAME, f"{table.schema}.{table.table} has a column named like the metadata column {taken.pop()!r}"
            )
        return _Plan(table, columns + meta, tuple((column.name, write) for column, _, write in typed))

    def _line(self, line: _Line) -> bytes:
        try:
            return self._json.encode(line)
        except UnicodeEncodeError as error:
            raise EncodeError(NAME, f"a text is not UTF-8 (at its character {error.start})") from None


def _check_names(names: Mapping[str, str]) -> None:
    given = [name.lower() for name in names.values() if name]
    if len(set(given)) < len(given):
        raise ConfigError(f"two metadata columns of {NAME} have the same name")


def _is_written(event: RowChange, side: str) -> bool:
    if event.half:
        return event.half == side
    return not (event.kind is UPDATE and side == "before" and event.before is None)


def _values(event: RowChange, side: str, plan: _Plan) -> list[str | None]:
    where = f"{event.table.schema}.{event.table.table}"
    row = event.before if side == "before" else event.after
    if row is None:
        raise EncodeError(NAME, f"{event.kind} of {where} without its {side} image")
    values: list[str | None] = []
    name = ""
    try:
        for (name, write), value in zip(plan.writers, row, strict=True):  # noqa: B007 - the message below names it
            if value is ABSENT and side == "after":
                raise ValueError("the event does not carry it, and null would overwrite it")
            values.append(None if value is None or value is ABSENT else write(value))
    except (ValueError, TypeError, OverflowError) as error:
        raise EncodeError(NAME, f"column {name!r} of {where}: {error}") from None
    return values


class _Shape(msgspec.Struct, frozen=True):
    """What the fields of a record decided. ``meta``: option → position. ``columns``: (position, name, reader)."""

    table: TableSchema
    meta: dict[str, int]
    columns: tuple[tuple[int, str, Read], ...]


class Decoder:
    """Reads records that stand alone. ``_source_table_`` and ``_excute_time_`` may be missing."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = Options(NAME, options, DECODE_OPTIONS)
        self._readers = readers(given.zone("time-zone"))
        self._options = {given.text(option): option for option in _META if given.text(option)}
        _check_names({option: given.text(option) for option in _META})
        self._json = msgspec.json.Decoder(_Line)
        self._living = Living()
        self._shapes: Memory[tuple[object, ...], _Shape] = Memory(_CACHED_SHAPE_BYTES)

    def decode(self, message: bytes, /) -> Sequence[Event]:
        try:
            line = self._json.decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(NAME, "nested too deeply" if isinstance(error, RecursionError) else str(error)) from None
        if len(line.data) != len(line.fields):
            raise DecodeError(NAME, f"data has {len(line.data)} values for {len(line.fields)} fields")
        return (_row_change(line.data, self._shape(line)),)

    def _shape(self, line: _Line) -> _Shape:
        key = (line.database, line.table, line.primaryKey, line.fields)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._make_shape(line)
            size = sum(len(field.name) + len(field.type) + len(field.comment) for field in line.fields)
            self._shapes.remember(key, shape, size + _ENTRY_BYTES * (len(line.fields) + 1))
        return shape

    def _make_shape(self, line: _Line) -> _Shape:
        names = [field.name for field in line.fields]
        if len(set(names)) < len(names):
            raise DecodeError(NAME, "fields names a column twice")
        meta = {self._options[name]: position for position, name in enumerate(names) if name in self._options}
        for option in ("sequence-column", "operation-column", "before-column", "after-column"):
            if option not in meta:
                raise DecodeError(NAME, f"no metadata column {_META[option][0]}; is it named by the option {option}?")
        columns = [(position, field) for position, field in enumerate(line.fields) if field.name not in self._options]
        typed = tuple(_column(field, field.name in line.primaryKey) for _, field in columns)
        return _Shape(
            self._living.one(TableSchema(line.database, line.table, typed)),
            meta,
            tuple((position, field.name, self._readers[field.type.upper()]) for position, field in columns),
        )


def _column(field: Field, is_key: bool) -> Column:
    type_ = READ_AS.get(field.type.upper())
    if type_ is None:
        raise DecodeError(
            NAME, f"column {field.name!r} has type {field.type[:40]!r}, which is none of {', '.join(READ_AS)}"
        )
    return Column(field.name, type_, is_key=is_key, comment=field.comment)


def _row_change(data: tuple[str | None, ...], shape: _Shape) -> RowChange:
    meta = {option: data[position] or "" for option, position in shape.meta.items()}
    marks = (meta["operation-column"], meta["before-column"], meta["after-column"])
    found = _READ_KINDS.get(marks)
    if found is None:
        raise DecodeError(NAME, f"operation, before and after image are {marks}, which fit no kind of change")
    kind, half = found
    row = _row(data, shape)
    is_new = marks[2] == "Y"
    return RowChange(
        kind=kind,
        table=shape.table,
        before=None if is_new else row,
        after=row if is_new else None,
        es_ms=_number(meta.get("time-column", "") or "0", "time", _MAX_MS),
        sequence=_number(meta["sequence-column"], "sequence id", 10**_MAX_SEQUENCE_DIGITS),
        half=half,
    )


def _row(data: tuple[str | None, ...], shape: _Shape) -> Row:
    name = ""
    values = []
    try:
        for position, name, read in shape.columns:  # noqa: B007 - the message below names it
            text = data[position]
            values.append(None if text is None else read(text))
    except ValueError as error:
        raise DecodeError(NAME, f"column {name!r}: {error}") from None
    return tuple(values)


def _number(text: str, what: str, limit: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_SEQUENCE_DIGITS and int(text) < limit):
        raise DecodeError(NAME, f"the {what} is {text[:40]!r}, not a number in its range")
    return int(text)


def opener(options: Mapping[str, str], /) -> DecodedOpener:
    """Opens records that stand alone."""
    return DecodedOpener(NAME, Decoder(options), timed=False, halves=True)


CODEC: Final = Codec(
    name=NAME,
    opener=opener,
    decoder=Decoder,
    encoder=Encoder,
    decode_options=DECODE_OPTIONS,
    encode_options=ENCODE_OPTIONS,
    text=True,
)
