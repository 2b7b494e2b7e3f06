"""Row images of Canal: columns as a message lists them, against the columns of a table.

Rules

1. A column's place in the table is ``index``; an image may leave columns out (binlog_row_image MINIMAL or NOBLOB),
   and then the indexes have gaps. What the other image of the row has and this one has not is ABSENT.
2. A writer that gives no indexes (all 0) means the order of the list.
3. NULL is ``isNull``, whatever ``value`` holds; a column without value that is not NULL is the empty text.
4. ``mysqlType`` is the type. Where it is missing (very old servers) the ``sqlType`` gives a coarse one.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.codecs.canal_protobuf.envelope import refuse
from spark_jobs.cdc.events import ABSENT, Column, ColumnType, Row, TableSchema, Value
from spark_jobs.cdc.memory import Living, Memory
from spark_jobs.cdc.mysql.types import parse_type
from spark_jobs.cdc.mysql.values import from_text, read_text
from spark_jobs.cdc.proto import canal_entry_pb2 as entries

_MAX_CACHED_COLUMNS: Final = 1 << 17

_COARSE_TYPES: Final[dict[int, str]] = {
    -7: "bit",
    -6: "tinyint",
    -5: "bigint",
    -4: "longblob",
    -3: "varbinary",
    -2: "binary",
    1: "char",
    3: "decimal",
    4: "int",
    5: "smallint",
    7: "float",
    8: "double",
    91: "date",
    92: "time",
    93: "datetime",
    2004: "blob",
    2005: "text",
}
"""Base names for java.sql.Types codes; any other code is read as varchar."""

Read = Callable[[str], Value]


class Image(msgspec.Struct, frozen=True, eq=False):
    """The columns that an image lists, in table order, as a table of their own. Compared by identity.

    ``reads``: position and conversion of the columns whose values are more than their text.
    """

    table: TableSchema
    reads: tuple[tuple[int, Read], ...]


class Pair(msgspec.Struct, frozen=True, eq=False):
    """Both images of a row that list different columns, and the table that has the columns of both.

    ``before`` and ``after``: for each column of the table its position in the image, -1 if it is not there.
    """

    table: TableSchema
    before: tuple[int, ...]
    after: tuple[int, ...]


class Images:
    """Makes one ``Image`` of one structure, and one ``Pair`` of two images, again and again the same object."""

    def __init__(self) -> None:
        self._images: Memory[tuple[str, str, tuple[Column, ...]], Image] = Memory(_MAX_CACHED_COLUMNS)
        self._pairs: Memory[tuple[int, int], tuple[Image, Image, Pair]] = Memory(_MAX_CACHED_COLUMNS)
        self._living = Living()

    def read(self, listed: Sequence[entries.Column], schema: str, table: str, where: str) -> tuple[Image, list[Value]]:
        """An image and its values, in table order."""
        columns = columns_of(listed, where)
        image = self.image(schema, table, tuple(sorted(columns, key=_ordinal)))
        if image.table.columns != columns:
            listed = [
                column for _, column in sorted(zip(columns, listed, strict=True), key=lambda both: both[0].ordinal)
            ]
        return image, _values(listed, image, where)

    def image(self, schema: str, table: str, columns: tuple[Column, ...]) -> Image:
        """The image with these columns, which are in table order."""
        key = (schema, table, columns)
        found = self._images.get(key)
        if found is None:
            found = Image(self._living.one(TableSchema(schema, table, columns)), _reads(columns))
            self._images.remember(key, found, len(columns) + 1)
        return found

    def pair(self, before: Image, after: Image) -> Pair:
        key = (id(before), id(after))
        found = self._pairs.get(key)
        if found is None:
            found = before, after, self._merged(before.table, after.table)
            self._pairs.remember(key, found, len(found[2].table.columns) + 1)
        return found[2]

    def _merged(self, before: TableSchema, after: TableSchema) -> Pair:
        # a column is the same in both if it has the same name; the later image describes it
        columns = {column.name: column for column in (*before.columns, *after.columns)}
        ordered = tuple(sorted(columns.values(), key=_ordinal))
        whole = self.image(after.schema, after.table, ordered).table
        return Pair(whole, _positions(ordered, before.columns), _positions(ordered, after.columns))


def _ordinal(column: Column) -> int:
    return column.ordinal


def _reads(columns: tuple[Column, ...]) -> tuple[tuple[int, Read], ...]:
    reads = ((position, from_text(column.type)) for position, column in enumerate(columns))
    return tuple((position, read) for position, read in reads if read is not read_text)


def _positions(table: tuple[Column, ...], image: tuple[Column, ...]) -> tuple[int, ...]:
    found = {column.name: position for position, column in enumerate(image)}
    return tuple(found.get(column.name, -1) for column in table)


def spread(values: Sequence[Value], positions: tuple[int, ...]) -> Row:
    """The values of an image as a row of the whole table."""
    return tuple(ABSENT if position < 0 else values[position] for position in positions)


def columns_of(listed: Sequence[entries.Column], where: str) -> tuple[Column, ...]:
    """The structure of an image, in the order of the list."""
    indexed = any(column.index for column in listed)
    columns = tuple(_column(column, column.index if indexed else at, where) for at, column in enumerate(listed))
    if len({column.name for column in columns}) < len(columns):
        refuse(f"{where}: a column is listed twice")
    return columns


def _column(column: entries.Column, ordinal: int, where: str) -> Column:
    return Column(
        name=column.name,
        type=_type(column, where),
        is_key=column.isKey,
        source_type=column.mysqlType,
        ordinal=ordinal,
    )


def _type(column: entries.Column, where: str) -> ColumnType:
    if not column.mysqlType:
        return ColumnType(_COARSE_TYPES.get(column.sqlType, "varchar"))
    try:
        return parse_type(column.mysqlType)
    except ValueError as error:
        refuse(f"{where}, column {column.name[:80]!r}: {error}")


def _values(listed: Sequence[entries.Column], image: Image, where: str) -> list[Value]:
    values: list[Value] = [None if column.isNull else column.value for column in listed]
    for position, read in image.reads:
        text = values[position]
        if text is not None:
            values[position] = _converted(read, str(text), image.table.columns[position].name, where)
    return values


def _converted(read: Read, text: str, name: str, where: str) -> Value:
    try:
        return read(text)
    except ValueError as error:
        refuse(f"{where}, column {name[:80]!r}: {error}")
