"""The schema file of the storage layout: a table's structure under one version, as JSON, and its hash.

Rules

1. Indented by 4 spaces, no line feed at the end. Keys: ``Table, Schema, Version, TableVersion, Query, Type,
   TableColumns, TableColumnsTotal``. ``Version`` is 1, the layout's; ``TableVersion`` is the TSO in the file's name;
   ``Query`` and ``Type`` are the DDL's text and action number, "" and 0 where no DDL led to the file. Of a database:
   ``Table`` is "" and the columns are null.
2. Keys of a column, empty ones left out: ``ColumnId, ColumnName, ColumnType, ColumnDefault, ColumnPrecision,
   ColumnLength, ColumnScale, ColumnNullable, ColumnIsPk, ColumnElems``. All values are text. Nullable is only ever
   "false" and IsPk only ever "true".
3. ``ColumnType`` is the upper-case base name, with UNSIGNED behind it. A length that the source does not tell is the
   type's own.
4. ``ColumnLength`` is for readers of TiCDC's document; TiCDC itself gives a string's as ``ColumnPrecision`` only.
   ``ColumnElems`` is the new architecture's, for enum and set whose elements are known.
5. Hash: CRC-32 of the same kind of JSON with the keys ``Table, Schema, Version, TableColumns, TableColumnsTotal``:
   ``Version`` is 0; the columns are sorted by the bytes of their names, stand without ``ColumnLength``, and are ``[]``
   if there are none. So it knows nothing of the columns' order, nor of the DDL.
6. Text is escaped as Go's encoder does it: ``< > &`` and the two Unicode line separators as ``\\u003c`` and so on.
   Bytes that are not UTF-8 become U+FFFD, so that a reader who checks the hash has the text that was hashed.
"""

import re
import zlib
from typing import Final

import msgspec

from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import INTEGER_TYPES, TIME_TYPES, Column, ColumnType, TableSchema
from spark_jobs.cdc.mysql.types import DEFAULT_WIDTHS
from spark_jobs.cdc.storage.paths import SchemaPath

PROTOCOL: Final = "schema file"
LAYOUT_VERSION: Final = 1

DEFAULT_LENGTHS: Final = {
    "bit": 1,
    "year": 4,
    "float": 12,
    "double": 22,
    "decimal": 10,
    "char": 1,
    "binary": 1,
    "varchar": 5,
    "varbinary": 5,
    "tinytext": 255,
    "tinyblob": 255,
    "text": 65535,
    "blob": 65535,
    "mediumtext": 16777215,
    "mediumblob": 16777215,
    "longtext": 4294967295,
    "longblob": 4294967295,
}
"""``ColumnPrecision`` where the source does not tell a length; integers have ``mysql_types.DEFAULT_WIDTHS``."""

STRING_TYPES: Final = frozenset(DEFAULT_LENGTHS) - {"bit", "year", "float", "double", "decimal"}
"""Types that get ``ColumnLength`` as well."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NEVER_UNSIGNED: Final = frozenset({"bit", "year"})
_GO_ESCAPES: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)

Scalar = str | int | float | bool | None


class FileColumn(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """One element of ``TableColumns``. Numbers are text, as the file has them; "" is "not there"."""

    id: str = msgspec.field(name="ColumnId", default="")
    name: str = msgspec.field(name="ColumnName")
    type: str = msgspec.field(name="ColumnType")
    default: Scalar = msgspec.field(name="ColumnDefault", default=None)
    precision: str = msgspec.field(name="ColumnPrecision", default="")
    length: str = msgspec.field(name="ColumnLength", default="")
    scale: str = msgspec.field(name="ColumnScale", default="")
    nullable: str = msgspec.field(name="ColumnNullable", default="")
    is_key: str = msgspec.field(name="ColumnIsPk", default="")
    elements: tuple[str, ...] | None = msgspec.field(name="ColumnElems", default=None)


class SchemaFile(msgspec.Struct, frozen=True, kw_only=True):
    """A schema file. ``columns`` is None in that of a database; ``total`` may be text in files of other hands."""

    table: str = msgspec.field(name="Table")
    schema: str = msgspec.field(name="Schema")
    layout_version: int = msgspec.field(name="Version", default=LAYOUT_VERSION)
    version: int = msgspec.field(name="TableVersion")
    query: str = msgspec.field(name="Query", default="")
    action: int = msgspec.field(name="Type", default=0)
    columns: tuple[FileColumn, ...] | None = msgspec.field(name="TableColumns", default=None)
    total: int | str = msgspec.field(name="TableColumnsTotal", default=0)

    @property
    def checksum(self) -> int:
        """The hash in the file's name, by rule 5."""
        columns = [msgspec.structs.replace(column, length="") for column in self.columns or ()]
        columns.sort(key=lambda column: column.name.encode())
        return zlib.crc32(_go_json(_Hashed(table=self.table, schema=self.schema, columns=columns, total=len(columns))))

    @property
    def path(self) -> str:
        """Where it belongs, relative to the sink's folder."""
        return SchemaPath(self.version, self.schema, self.table, self.checksum).path

    def encode(self) -> bytes:
        """The file's content."""
        return _go_json(self)

    def table_schema(self) -> TableSchema:
        """The structure it describes. Keys beyond the primary key, and charsets, are not in the file."""
        return TableSchema(self.schema, self.table, tuple(map(_column, self.columns or ())))


class _Hashed(msgspec.Struct, frozen=True, kw_only=True):
    table: str = msgspec.field(name="Table")
    schema: str = msgspec.field(name="Schema")
    layout_version: int = msgspec.field(name="Version", default=0)
    columns: list[FileColumn] = msgspec.field(name="TableColumns")
    total: int = msgspec.field(name="TableColumnsTotal")


def of_table(table: TableSchema, version: int, query: str = "", action: int = 0) -> SchemaFile:
    """The schema file of a table under one version. ``query`` and ``action``: the DDL that led to it, if one did."""
    columns = tuple(map(_file_column, table.columns))
    return SchemaFile(
        table=unicode_text(table.table),
        schema=unicode_text(table.schema),
        version=version,
        query=unicode_text(query),
        action=action,
        columns=columns,
        total=len(columns),
    )


def of_database(schema: str, version: int, query: str, action: int) -> SchemaFile:
    """The schema file of a statement about a whole database."""
    return SchemaFile(table="", schema=unicode_text(schema), version=version, query=unicode_text(query), action=action)


def parse(content: bytes) -> SchemaFile:
    """Reads a schema file, also in the spelling of TiCDC's document; ``DecodeError`` for anything else."""
    try:
        file = msgspec.json.decode(content, type=SchemaFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(PROTOCOL, str(error)) from error
    if str(file.total) != str(len(file.columns or ())):
        raise DecodeError(
            PROTOCOL, f"TableColumnsTotal says {file.total!r}, there are {len(file.columns or ())} columns"
        )
    for column in file.columns or ():
        _column(column)
    return file


def unicode_text(text: str) -> str:
    """The text with U+FFFD for every byte that was not UTF-8 (rule 6)."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _file_column(column: Column) -> FileColumn:
    kind = column.type
    precision = _precision(kind)
    return FileColumn(
        name=unicode_text(column.name),
        type=kind.name.upper() + (" UNSIGNED" if _is_unsigned(kind) else ""),
        default=_default(column.default),
        precision=precision,
        length=precision if kind.name in STRING_TYPES else "",
        scale=_scale(kind),
        nullable="false" if column.nullable is False or column.is_key else "",
        is_key="true" if column.is_key else "",
        elements=kind.elements and tuple(map(unicode_text, kind.elements)),
    )


def _is_unsigned(kind: ColumnType) -> bool:
    return (kind.unsigned or kind.zerofill) and kind.name not in _NEVER_UNSIGNED


def _default(default: str | bytes | None) -> str | None:
    if isinstance(default, bytes):
        default = default.decode("utf-8", "surrogateescape")
    return default if default is None else unicode_text(default)


def _precision(kind: ColumnType) -> str:
    if kind.name in INTEGER_TYPES:
        length = DEFAULT_WIDTHS[kind.name][_is_unsigned(kind)]
    elif kind.name in DEFAULT_LENGTHS:
        length = DEFAULT_LENGTHS[kind.name]
    else:
        return ""
    return str(length if kind.length is None else kind.length)


def _scale(kind: ColumnType) -> str:
    if kind.name == "decimal":
        return str(kind.scale or 0)
    if kind.name in TIME_TYPES or kind.name in ("float", "double"):
        return str(kind.scale) if kind.scale else ""
    return ""


def _column(column: FileColumn) -> Column:
    name, _, suffix = column.type.lower().partition(" ")
    if not name or suffix not in ("", "unsigned"):
        raise DecodeError(PROTOCOL, f"column {column.name!r} has the type {column.type!r}")
    kind = ColumnType(
        name,
        unsigned=suffix == "unsigned",
        length=_number(column, column.precision or column.length),
        scale=_number(column, column.scale),
        elements=column.elements,
    )
    default = None if column.default is None else str(column.default)
    return Column(column.name, kind, column.is_key == "true", column.nullable != "false", default)


def _number(column: FileColumn, digits: str) -> int | None:
    if not digits:
        return None
    if not digits.isascii() or not digits.isdigit() or len(digits) > 10:
        raise DecodeError(PROTOCOL, f"column {column.name!r} has a length or scale of {digits!r}")
    return int(digits)


def _go_json(value: SchemaFile | _Hashed) -> bytes:
    text = msgspec.json.format(msgspec.json.encode(value), indent=4)
    for raw, escaped in _GO_ESCAPES:
        # these characters stand only inside strings of JSON
        text = text.replace(raw, escaped)
    return text
