"""What of a Canal-JSON row message is the same for all rows of a table, decided once.

Rules of both dialects

1. ``sqlType``, ``data`` and ``old`` are in table column order (so is ``mysqlType``, where the order means nothing).
2. Values are texts, or null for NULL; a NULL column keeps its keys everywhere.
3. A column that the event does not carry (``ABSENT``) has no key anywhere.

TiCDC's

4. Virtual generated columns are left out. A table without primary key has ``pkNames`` [].
5. ``mysqlType`` is the short text; with content-compatible the full one.
6. A byte that is not UTF-8 becomes U+FFFD, as in TiCDC: Canal-JSON has no form for it.

Canal's

7. ``mysqlType`` is the text of the table definition, where the source gave it. ``pkNames`` is null without a key.
8. NULL has its own code in ``sqlType`` for some types.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final, NoReturn

import msgspec

from spark_jobs.cdc.codecs.canal_json.envelope import PROTOCOL
from spark_jobs.cdc.codecs.canal_json.layout import RowParts, Times, canal_row_parts, ticdc_row_parts
from spark_jobs.cdc.codecs.canal_json.options import EncodeOptions
from spark_jobs.cdc.codecs.canal_json.rows import Conversion
from spark_jobs.cdc.codecs.canal_json.text import json_of
from spark_jobs.cdc.codecs.canal_json.writers import Pattern, message_writer, parts_finder, usual_row
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import (
    ABSENT,
    DELETE,
    INSERT,
    UPDATE,
    VALUE_FORMS,
    Column,
    ColumnType,
    Row,
    RowKind,
    TableSchema,
    Value,
)
from spark_jobs.cdc.memory import Memory
from spark_jobs.cdc.mysql.types import (
    CANAL_NULL_CODES,
    Dialect,
    canal_text,
    full_text,
    short_text,
    sql_code,
    sql_code_of,
    wider_code,
)
from spark_jobs.cdc.mysql.values import to_text
from spark_jobs.cdc.rows.eligibility import handle_key

_MAX_VARIANTS: Final = 4096
"""Of one table: sets of codes, or of columns that rows carry."""

WRONG_VALUE: Final = (ValueError, TypeError, AttributeError)


class RowPlan:
    """How rows of one kind and one table that carry the columns ``indexes`` are written."""

    def __init__(
        self, kind: RowKind, table: TableSchema, indexes: tuple[int, ...], options: EncodeOptions, times: Times
    ) -> None:
        self.table = table
        self.indexes = indexes
        self.kind = kind
        self._dialect = options.dialect
        self._has_old = kind is UPDATE or (kind is DELETE and options.delete_old)
        self._pk_names = json_of(_key_names(table, options.dialect), options.dialect)
        self._columns = [table.columns[index] for index in indexes]
        self._codes = _varying_codes(table, indexes, options.dialect)
        self._mysql_types = json_of(
            {column.name: _mysql_type(column, options) for column in self._columns}, self._dialect
        )
        self._parts: Memory[tuple[int, ...], tuple[Any, ...]] = Memory(_MAX_VARIANTS)
        form = self._form(options, times)
        self.write: Final = message_writer(form)
        """The message of a change: see ``message_writer``."""
        self.parts: Final = parts_finder(form)
        """What the message of a row has in common with others: see ``ticdc_row_parts`` and ``canal_row_parts``.

        Raises what ``WRONG_VALUE`` names.
        """

    def _form(self, options: EncodeOptions, times: Times) -> Pattern:
        wider = [(index, wider_code(self.table.columns[index].type)) for index, _ in self._codes]
        return Pattern(
            kind=self.kind,
            options=options,
            conversions=[_conversion(column.type, options.dialect) for column in self.table.columns],
            indexes=self.indexes,
            make=_json_object([column.name for column in self._columns]),
            is_usual=usual_row(
                [(index, limit_code[0]) for index, limit_code in wider if limit_code],
                [index for index, limit_code in wider if not limit_code],
            ),
            usual=self._parts_of(tuple([sql_code(self.table.columns[index].type) for index, _ in self._codes])),
            unusual=lambda row: self._parts_of(tuple([code(row[index]) for index, code in self._codes])),
            changes=self.changes,
            cells=self.cells,
            times=times,
        )

    def _parts_of(self, codes: tuple[int, ...]) -> tuple[Any, ...]:
        """For these codes, in ``sqlType``, of the columns whose codes vary."""
        found = self._parts.get(codes)
        if found is None:
            names = json_of(self.table.schema, self._dialect), json_of(self.table.table, self._dialect), self._pk_names
            parts = RowParts(self.kind, self._has_old, *names, self._sql_types(codes), self._mysql_types)
            found = ticdc_row_parts(parts) if self._dialect is Dialect.TICDC else canal_row_parts(parts)
            self._parts.remember(codes, found)
        return found

    def cells(self, row: Row) -> dict[str, str | None]:
        """The columns that the row has; raises ``EncodeError``."""
        return {name: text for _, name, text in self._texts(row)}

    def changes(self, before: Row, after: Row) -> dict[str, str | None]:
        """The columns whose old value is not the new one; raises ``EncodeError``."""
        return {name: text for index, name, text in self._texts(before) if _differ(before[index], after[index])}

    def explain(self, *rows: Row | None) -> NoReturn:
        """Raises the ``EncodeError`` of rows of which one has a wrong value."""
        for row in rows:
            if row is not None:
                self.cells(row)
        self._refuse("a value is not of its column's type")

    def _texts(self, row: Row) -> Iterator[tuple[int, str, str | None]]:
        if len(row) != len(self.table.columns):
            self._refuse(f"the row has {len(row)} values and the table {len(self.table.columns)} columns")
        for index, column in zip(self.indexes, self._columns, strict=True):
            value = row[index]
            if value is None:
                yield index, column.name, None
            elif value is not ABSENT:
                yield index, column.name, self._text(column, value)

    def _text(self, column: Column, value: Value) -> str:
        try:
            return to_text(column.type, self._dialect)(value)
        except WRONG_VALUE as error:
            return self._refuse(f"column {column.name!r} ({column.type.name}): {error}")

    def _refuse(self, reason: str) -> NoReturn:
        raise EncodeError(PROTOCOL, f"{self.table.schema}.{self.table.table}: {reason}")

    def _sql_types(self, codes: tuple[int, ...]) -> bytes:
        varying = {index: code for (index, _), code in zip(self._codes, codes, strict=True)}
        columns = zip(self.indexes, self._columns, strict=True)
        return json_of(
            {column.name: varying.get(index, sql_code(column.type)) for index, column in columns}, self._dialect
        )


def _differ(old: Value, new: Value) -> bool:
    return old != new or (old == 0 and str(old) != str(new))  # 0.0 == -0.0, and they are not the same


def _conversion(type_: ColumnType, dialect: Dialect) -> Conversion:
    return None if type_.name and VALUE_FORMS.get(type_.name, str) is str else to_text(type_, dialect)


def _json_object(names: list[str]) -> Callable[..., object]:
    """A function from the texts of all columns to what JSON writes as an object with these names."""
    fields = [f"c{index}" for index in range(len(names))]
    try:
        return msgspec.defstruct("Row", fields, rename=dict(zip(fields, names, strict=True)), gc=False)
    except ValueError:  # names with quotes or backslashes
        return lambda *cells: dict(zip(names, cells, strict=True))


def _varying_codes(
    table: TableSchema, indexes: tuple[int, ...], dialect: Dialect
) -> tuple[tuple[int, Callable[[Value], int]], ...]:
    null_codes = CANAL_NULL_CODES if dialect is Dialect.CANAL else {}
    return tuple(
        (index, sql_code_of(table.columns[index].type, dialect))
        for index in indexes
        if wider_code(table.columns[index].type) or table.columns[index].type.name in null_codes
    )


def _key_names(table: TableSchema, dialect: Dialect) -> tuple[str, ...] | None:
    return table.key_columns or (() if dialect is Dialect.TICDC else None)


def _mysql_type(column: Column, options: EncodeOptions) -> str:
    if options.dialect is Dialect.CANAL:
        return column.source_type or canal_text(column.type)
    return full_text(column.type) if options.content_compatible else short_text(column.type)


class TablePlans:
    """The plans of one table, for rows that carry every column that is written.

    It keeps the table alive, because plans are found by the table's identity.
    """

    def __init__(self, table: TableSchema, options: EncodeOptions, times: Times) -> None:
        self.table = table
        self._options = options
        self._times = times
        self._partial: Memory[tuple[RowKind, tuple[int, ...]], RowPlan] = Memory(_MAX_VARIANTS)

    @cached_property
    def insert(self) -> RowPlan:
        return self._plan(INSERT, self._written)

    @cached_property
    def update(self) -> RowPlan:
        return self._plan(UPDATE, self._written)

    @cached_property
    def delete(self) -> RowPlan:
        handle = handle_key(self.table) if self._options.delete_only_handle_key else ()
        return self._plan(DELETE, handle or self._written)

    def partial(self, plan: RowPlan, row: Row) -> RowPlan:
        """For a row that lacks some of the columns of ``plan``."""
        indexes = tuple([index for index in plan.indexes if row[index] is not ABSENT])
        found = self._partial.get((plan.kind, indexes))
        if found is None:
            found = self._plan(plan.kind, indexes)
            self._partial.remember((plan.kind, indexes), found)
        return found

    @property
    def _written(self) -> tuple[int, ...]:
        """Indexes of the columns that a message of this table holds."""
        everything = self._options.dialect is Dialect.CANAL
        columns = enumerate(self.table.columns)
        return tuple(index for index, column in columns if everything or column.generated != "virtual")

    def _plan(self, kind: RowKind, indexes: tuple[int, ...]) -> RowPlan:
        return RowPlan(kind, self.table, indexes, self._options, self._times)
