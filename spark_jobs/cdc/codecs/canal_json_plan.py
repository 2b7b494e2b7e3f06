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
from typing import Final, NoReturn

import msgspec

from spark_jobs.cdc.bounded_cache import remember
from spark_jobs.cdc.codecs.canal_json_envelope import PROTOCOL
from spark_jobs.cdc.codecs.canal_json_layout import canal_row_template, ticdc_row_template
from spark_jobs.cdc.codecs.canal_json_options import EncodeOptions
from spark_jobs.cdc.codecs.canal_json_rows import Conversion, object_maker
from spark_jobs.cdc.codecs.canal_json_text import JSON, go_escaped, json_of
from spark_jobs.cdc.eligibility import handle_key
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
from spark_jobs.cdc.mysql_types import (
    CANAL_NULL_CODES,
    Dialect,
    canal_text,
    full_text,
    short_text,
    sql_code,
    sql_code_of,
    wider_code,
)
from spark_jobs.cdc.mysql_values import to_text

_WRONG_VALUE: Final = (ValueError, TypeError, AttributeError)


def written_columns(table: TableSchema, options: EncodeOptions) -> tuple[int, ...]:
    """Indexes of the columns that a message of this table holds."""
    everything = options.dialect is Dialect.CANAL
    return tuple(index for index, column in enumerate(table.columns) if everything or column.generated != "virtual")


class RowPlan:
    """How rows of one kind and one table that carry the columns ``indexes`` are written."""

    def __init__(self, kind: RowKind, table: TableSchema, indexes: tuple[int, ...], options: EncodeOptions) -> None:
        self.table = table
        self.indexes = indexes
        self.kind = kind
        self._dialect = options.dialect
        self._extension = options.extension
        self._escapes = options.dialect is Dialect.TICDC
        self._pk_names = json_of(_key_names(table, options.dialect), options.dialect)
        self._columns = [table.columns[index] for index in indexes]
        names = [column.name for column in self._columns]
        conversions = [_conversion(column.type, options.dialect) for column in table.columns]
        self._object = object_maker(conversions, indexes, _json_object(names))
        self._codes = _varying_codes(table, indexes, options.dialect)
        self._mysql_types = json_of(
            {column.name: _mysql_type(column, options) for column in self._columns}, self._dialect
        )
        self._templates: dict[tuple[int, ...], bytes] = {}
        self.varying = tuple(index for index, _ in self._codes)
        limits = [(index, wider_code(table.columns[index].type)) for index in self.varying]
        self._limits = [(index, wider[0]) for index, wider in limits if wider]
        self._null_codes = [index for index, wider in limits if not wider]
        self._usual = self.template_of(tuple(sql_code(table.columns[index].type) for index in self.varying))

    def template(self, row: Row) -> bytes:
        """The message without its times and rows: see ``ticdc_row_template`` and ``canal_row_template``."""
        try:
            for index, limit in self._limits:
                value = row[index]
                if value is None or value > limit:  # type: ignore[operator]
                    return self.template_of(self._codes_of(row))
        except TypeError:
            self._explain(row)
        for index in self._null_codes:
            if row[index] is None:
                return self.template_of(self._codes_of(row))
        return self._usual

    def _codes_of(self, row: Row) -> tuple[int, ...]:
        return tuple([code(row[index]) for index, code in self._codes])

    def template_of(self, codes: tuple[int, ...]) -> bytes:
        """The same for these codes of the columns ``varying``, in ``sqlType``."""
        found = self._templates.get(codes)
        if found is None:
            names = json_of(self.table.schema, self._dialect), json_of(self.table.table, self._dialect), self._pk_names
            types = self._sql_types(codes), self._mysql_types
            found = (
                ticdc_row_template(self.kind, *names, *types, self._extension)
                if self._dialect is Dialect.TICDC
                else canal_row_template(self.kind, *names, *types)
            )
            remember(self._templates, codes, found)
        return found

    def row(self, row: Row) -> bytes | None:
        """A member of ``data`` or ``old``; None where the row lacks one of the columns."""
        try:
            made = self._object(row)
            if made is None:
                return None
            json = JSON.encode(made)
            # the test of ``go_escaped``, here because nearly every row passes it
            plain = 60 not in json and 62 not in json and 38 not in json and 92 not in json and 0xE2 not in json
            return json if plain or not self._escapes else go_escaped(json)
        except UnicodeEncodeError:
            return json_of(made, self._dialect)
        except _WRONG_VALUE:
            return self._explain(row)

    def cells(self, row: Row) -> bytes:
        """The columns that the row has."""
        return json_of({name: text for _, name, text in self._texts(row)}, self._dialect)

    def changes(self, before: Row, after: Row) -> bytes:
        """The columns whose old value is not the new one."""
        changed = {name: text for index, name, text in self._texts(before) if _differ(before[index], after[index])}
        return json_of(changed, self._dialect)

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
        except _WRONG_VALUE as error:
            return self._refuse(f"column {column.name!r} ({column.type.name}): {error}")

    def _explain(self, row: Row) -> NoReturn:
        self.cells(row)
        self._refuse("a value is not of its column's type")

    def _refuse(self, reason: str) -> NoReturn:
        raise EncodeError(PROTOCOL, f"{self.table.schema}.{self.table.table}: {reason}")

    def _sql_types(self, codes: tuple[int, ...]) -> bytes:
        varying = dict(zip(self.varying, codes, strict=True))
        columns = zip(self.indexes, self._columns, strict=True)
        return json_of(
            {column.name: varying.get(index, sql_code(column.type)) for index, column in columns}, self._dialect
        )


def _differ(old: Value, new: Value) -> bool:
    return old != new or (old == 0 and str(old) != str(new))  # 0.0 == -0.0, and they are not the same


def _conversion(type_: ColumnType, dialect: Dialect) -> Conversion:
    return None if VALUE_FORMS.get(type_.name, str) is str else to_text(type_, dialect)


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

    def __init__(self, table: TableSchema, options: EncodeOptions) -> None:
        indexes = written_columns(table, options)
        handle = handle_key(table) if options.delete_only_handle_key else ()
        self._table = table
        self._options = options
        self.insert = RowPlan(INSERT, table, indexes, options)
        self.update = RowPlan(UPDATE, table, indexes, options)
        self.delete = RowPlan(DELETE, table, handle or indexes, options)
        self._partial: dict[tuple[RowKind, tuple[int, ...]], RowPlan] = {}

    def partial(self, plan: RowPlan, row: Row) -> RowPlan:
        """For a row that lacks some of the columns of ``plan``."""
        indexes = tuple([index for index in plan.indexes if row[index] is not ABSENT])
        found = self._partial.get((plan.kind, indexes))
        if found is None:
            found = RowPlan(plan.kind, self._table, indexes, self._options)
            remember(self._partial, (plan.kind, indexes), found)
        return found
