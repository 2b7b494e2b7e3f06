"""Reads CSV rows; the rules stand in ``csv.py``."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc import tso
from spark_jobs.cdc.codec import Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.csv.fields import Field, splitter
from spark_jobs.cdc.codecs.csv.format import FORMAT_OPTIONS, NAME, OPERATION_FIELD, CsvFormat, written_columns
from spark_jobs.cdc.codecs.csv.values import reader
from spark_jobs.cdc.errors import ConfigError, DecodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    Column,
    ColumnType,
    Row,
    RowChange,
    TableSchema,
    Value,
)
from spark_jobs.cdc.memory import MAX_COLUMNS, Living, Memory
from spark_jobs.cdc.storage import schema_file

DECODE_OPTIONS: Final = (
    *FORMAT_OPTIONS,
    Option("schema-file", "str", "", "the JSON text of the table's schema file; without it every column is text"),
)

_KINDS: Final = {"I": INSERT, "U": UPDATE, "D": DELETE}
_FLAGS: Final = {"true": True, "false": False}
_MAX_UINT64: Final = (1 << 64) - 1


class Decoder:
    """Reads the rows of one table, whose structure is given; or of any table, as text in columns ``c1``, ``c2`` …

    A message is one row; a line break behind it is passed over. An update that was written as two rows comes back as
    its two halves: ``join_halves`` makes one of neighbours.
    """

    def __init__(self, options: Mapping[str, str], /, table: TableSchema | None = None) -> None:
        given = Options(NAME, options, DECODE_OPTIONS)
        self.format = CsvFormat.of(given)
        self._split = splitter(self.format)
        self._table = _table_of(given.text("schema-file")) or table
        self._plans: Memory[tuple[str, str, int], _TablePlan] = Memory(MAX_COLUMNS)
        self._living = Living()

    def decode(self, message: bytes, /) -> Sequence[RowChange]:
        fields = self._split(message.decode("utf-8", "surrogateescape").rstrip("\r\n"))
        if self.format.output_field_header and str(fields[0]).lower() == OPERATION_FIELD:
            return ()
        head, columns = _head(fields, self.format)
        return (self._plan(head, len(columns)).event(head, columns),)

    def _plan(self, head: "_Head", count: int) -> "_TablePlan":
        key = (head.schema, head.table, count)
        plan = self._plans.get(key)
        if plan is None:
            plan = _TablePlan(self._living.one(self._structure(*key)), self.format)
            self._plans.remember(key, plan, count + 1)
        return plan

    def _structure(self, schema: str, table: str, count: int) -> TableSchema:
        if self._table is None:
            columns = tuple(Column(f"c{number}", ColumnType("text")) for number in range(1, count + 1))
            return TableSchema(str(schema), str(table), columns)  # a field without quotes is no plain str
        if (self._table.schema, self._table.table) != (schema, table):
            given = f"{self._table.schema}.{self._table.table}"
            raise DecodeError(NAME, f"a row of {schema}.{table}, but the structure given is that of {given}")
        expected = len(written_columns(self._table))
        if count != expected:
            raise DecodeError(NAME, f"the row has {count} columns, {schema}.{table} has {expected}")
        return self._table


def join_halves(events: Iterable[RowChange]) -> Iterator[RowChange]:
    """Makes one update of an old row and the new row that directly follows it."""
    old: RowChange | None = None
    for event in events:
        if old is not None and event.half == "after":
            yield msgspec.structs.replace(event, before=old.before, half="")
            old = None
            continue
        if old is not None:
            yield old
        old = event if event.half == "before" else None
        if old is None:
            yield event
    if old is not None:
        yield old


class _Head(msgspec.Struct, frozen=True, gc=False):
    """The fields before the columns."""

    operation: str
    table: str
    schema: str
    commit_ts: int
    is_update: bool


def _head(fields: list[Field], form: CsvFormat) -> tuple[_Head, list[Field]]:
    first = 3 + form.include_commit_ts + form.output_old_value + form.output_handle_key
    if len(fields) <= first:
        raise DecodeError(
            NAME, f"the row has {len(fields)} fields, with these options it must have {first + 1} or more"
        )
    operation, table, schema = fields[:3]
    if operation not in _KINDS or table is None or schema is None:
        raise DecodeError(NAME, f"a row begins with I, U or D, a table and a schema, not with {str(fields[:3])[:120]}")
    commit_ts = _commit_ts(fields[3]) if form.include_commit_ts else 0
    is_update = _is_update(fields[3 + form.include_commit_ts]) if form.output_old_value else False
    return _Head(operation, table, schema, commit_ts, is_update), fields[first:]


def _commit_ts(field: Field) -> int:
    if field and field.isascii() and field.isdigit() and len(field) <= 20 and (number := int(field)) <= _MAX_UINT64:
        return number
    raise DecodeError(NAME, f"the 4th field must be a commit-ts, it is {str(field)[:80]!r}")


def _is_update(field: Field) -> bool:
    found = _FLAGS.get(field or "")
    if found is None:
        raise DecodeError(NAME, f"the is-update field must be true or false, it is {str(field)[:80]!r}")
    return found


class _TablePlan:
    """What one table decided."""

    def __init__(self, table: TableSchema, form: CsvFormat) -> None:
        self._table = table
        columns = written_columns(table)
        self._names = [column.name for column in columns]
        self._readers = [reader(column.type, hexadecimal=form.hex) for column in columns]
        self._spread = _spreader(table)

    def event(self, head: _Head, fields: list[Field]) -> RowChange:
        kind = _KINDS[head.operation]
        row = self._row(fields)
        half = ""
        if head.is_update and kind is not UPDATE:
            half = "before" if kind is DELETE else "after"
        is_old = kind is DELETE
        return RowChange(
            kind=UPDATE if half else kind,
            table=self._table,
            before=row if is_old else None,
            after=None if is_old else row,
            commit_ts=head.commit_ts,
            es_ms=tso.physical_ms(head.commit_ts),
            half=half,
        )

    def _row(self, fields: list[Field]) -> Row:
        values: list[Value] = []
        for name, read, field in zip(self._names, self._readers, fields, strict=True):
            try:
                values.append(None if field is None else read(field))
            except ValueError as error:
                raise DecodeError(NAME, f"column {name!r}: {error}") from error
        return tuple(values) if self._spread is None else self._spread(values)


def _spreader(table: TableSchema) -> Callable[[list[Value]], Row] | None:
    """Puts the values that a row carries into their places among all columns; None where they are all."""
    written = [column.generated != "virtual" for column in table.columns]
    if all(written):
        return None

    def spread(values: list[Value]) -> Row:
        following = iter(values)
        return tuple(next(following) if there else ABSENT for there in written)

    return spread


def _table_of(content: str) -> TableSchema | None:
    if not content:
        return None
    try:
        return schema_file.parse(content.encode("utf-8", "surrogateescape")).table_schema()
    except DecodeError as error:
        raise ConfigError(f"option schema-file of {NAME}: {error.reason}") from error
