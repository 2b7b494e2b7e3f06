"""Values in TiDB Binlog's Kafka messages, and how they are read. They are written by ``tidb_binlog/cells``.

Rules

1. A column has exactly one field; which one says what it holds. 0, "" and empty bytes are written like any other
   value, NULL is ``is_null`` = true and nothing else. So presence decides, never truth.
2. The MySQL type says which field (``KINDS``):

   ==============================================  ============  ==================================================
   MySQL type                                      field         form
   ==============================================  ============  ==================================================
   tinyint smallint mediumint int bigint           int64_value   plain varint (not zig-zag: -1 takes 10 bytes)
   the same, UNSIGNED                              uint64_value  nothing but the field tells that it is unsigned
   enum set                                        uint64_value  1-based index; bit mask
   float double                                    double_value  float is the 32-bit value widened
   bit                                             bytes_value   big-endian, ceil(length / 8) bytes
   json                                            bytes_value   UTF-8 text
   binary varbinary blob                           bytes_value   the bytes
   year                                            string_value  ``2024``
   decimal date datetime timestamp time char text  string_value  the text; it need not be UTF-8
   geometry, anything unknown                      string_value
   without a name                                  any: the field alone says what it is
   ==============================================  ============  ==================================================

3. Drainer fills columns that a row does not have with the column's default, as whatever kind of value it holds it. So
   a reader takes every field for every type, and converts (``_CONVERT``).
"""

from collections.abc import Callable
from enum import StrEnum
from itertools import islice
from typing import Final

from google.protobuf.message import DecodeError as ProtobufError

from spark_jobs.cdc.events import BINARY_TYPES, CHOICE_TYPES, FLOAT_TYPES, INTEGER_TYPES, Value
from spark_jobs.cdc.memory import is_plain
from spark_jobs.cdc.mysql.values import read_double, read_integer
from spark_jobs.cdc.proto.tidb_binlog_view_pb2 import ColumnView

NULL, INT, UINT, DOUBLE, BYTES, STRING = 0x08, 0x10, 0x18, 0x21, 0x2A, 0x32
"""First byte of a sealed column: field number and wire type."""

FIELDS: Final = {
    INT: "int64_value",
    UINT: "uint64_value",
    DOUBLE: "double_value",
    BYTES: "bytes_value",
    STRING: "string_value",
}
"""In the order in which a reader picks when, against the rules, several are present."""


class Form(StrEnum):
    """How values of a type travel."""

    INTEGER = "integer"
    CHOICE = "choice"
    FLOAT = "float"
    BIT = "bit"
    JSON = "json"
    BINARY = "binary"
    GEOMETRY = "geometry"
    YEAR = "year"
    TEXT = "text"
    UNTYPED = "untyped"


_FORMS: Final[dict[str, Form]] = (
    dict.fromkeys(INTEGER_TYPES, Form.INTEGER)
    | dict.fromkeys(CHOICE_TYPES, Form.CHOICE)
    | dict.fromkeys(FLOAT_TYPES, Form.FLOAT)
    | dict.fromkeys(BINARY_TYPES, Form.BINARY)
    | {"bit": Form.BIT, "json": Form.JSON, "year": Form.YEAR, "geometry": Form.GEOMETRY, "": Form.UNTYPED}
)


KINDS: Final[dict[Form, frozenset[int]]] = {
    Form.INTEGER: frozenset({INT, UINT}),
    Form.CHOICE: frozenset({UINT}),
    Form.FLOAT: frozenset({DOUBLE}),
    Form.BIT: frozenset({BYTES}),
    Form.JSON: frozenset({BYTES}),
    Form.BINARY: frozenset({BYTES}),
    Form.GEOMETRY: frozenset({STRING}),
    Form.YEAR: frozenset({STRING}),
    Form.TEXT: frozenset({STRING}),
    Form.UNTYPED: frozenset(),
}
"""Rule 2: the fields that values of a form have, as far as the form tells."""


def form_of(type_name: str) -> Form:
    """The form of a base type name; text for every unknown one."""
    return _FORMS.get(type_name, Form.TEXT)


Raw = int | float | bytes
Convert = Callable[..., Value]


def to_text(raw: bytes) -> str:
    """Text that need not be UTF-8."""
    return raw.decode("utf-8", "surrogateescape")


def _integer_text(raw: bytes) -> int:
    return read_integer(to_text(raw))


def _float_text(raw: bytes) -> float:
    return read_double(to_text(raw))


def _bits(raw: bytes) -> int:
    if len(raw) > 8:
        raise ValueError(f"a bit value has {len(raw)} bytes, and 8 at most are allowed")
    return int.from_bytes(raw, "big")


def _by_field(number: Convert, raw: Convert) -> dict[int, Convert]:
    return {INT: number, UINT: number, BYTES: raw, STRING: raw}


_CONVERT: Final[dict[Form, dict[int, Convert]]] = {
    Form.INTEGER: _by_field(int, _integer_text),
    Form.YEAR: _by_field(int, _integer_text),
    Form.CHOICE: _by_field(int, to_text),
    Form.FLOAT: _by_field(float, _float_text) | {DOUBLE: float},
    Form.BIT: _by_field(int, _bits),
    Form.JSON: _by_field(str, to_text),
    Form.TEXT: _by_field(str, to_text) | {DOUBLE: repr},
    Form.BINARY: {BYTES: bytes, STRING: bytes},
    Form.GEOMETRY: {BYTES: bytes, STRING: bytes},
    Form.UNTYPED: {INT: int, UINT: int, DOUBLE: float, BYTES: bytes, STRING: to_text},
}


_SAME: Final = frozenset(
    {(form, field) for form in (Form.INTEGER, Form.YEAR, Form.CHOICE, Form.BIT) for field in (INT, UINT)}
    | {(Form.FLOAT, DOUBLE), (Form.BINARY, BYTES), (Form.GEOMETRY, BYTES)}
    | {(form, STRING) for form in (Form.TEXT, Form.JSON, Form.CHOICE)}
    | {(Form.UNTYPED, field) for field in FIELDS}
)


def converter(form: Form, field: int) -> Convert | None:
    """What makes a field's value (text as ``str``) one of the form; None if it is one, ``KeyError`` if it cannot be."""
    if (form, field) in _SAME:
        return None
    convert = _CONVERT[form][field]
    return (lambda text: convert(text.encode())) if field == STRING else convert


Open = Callable[[bytes], tuple[int, Raw]]
"""Opens a sealed value: its field, and what is in it; raises ``ValueError`` for damaged bytes."""


_REMEMBERED: Final = 8192
_REMEMBERED_BYTES: Final = 64


class Reader(dict[bytes, Value]):
    """Reads the sealed values of one form, and remembers the short ones: many repeat, above all in updates.

    Look-up raises ``ValueError`` for bytes that hold no value of this form.
    """

    __slots__ = ("_convert", "_open", "_remembered_bytes")

    def __init__(self, form: Form, open_: Open) -> None:
        super().__init__()
        self._open = open_
        self._convert = _CONVERT[form]
        self._remembered_bytes = 0 if is_plain() else _REMEMBERED_BYTES

    def __missing__(self, sealed: bytes) -> Value:
        value = self._read(sealed)
        if len(sealed) <= self._remembered_bytes:
            if len(self) >= _REMEMBERED:
                for old in list(islice(self, _REMEMBERED >> 3)):
                    del self[old]
            self[sealed] = value
        return value

    def _read(self, sealed: bytes) -> Value:
        field, raw = self._open(sealed)
        if field == NULL:
            return None
        convert = self._convert.get(field)
        if convert is None:
            raise ValueError(f"a column of this type holds a {FIELDS[field]}")
        return convert(raw)


def open_column(sealed: bytes) -> tuple[int, Raw]:
    """Field and content of a column. What is usual goes without protobuf: short text or bytes, a small number."""
    size = len(sealed)
    if 2 <= size < 130:
        field, second = sealed[0], sealed[1]
        if second == size - 2 and field in (BYTES, STRING):
            return field, sealed[2:]
        if size == 2 and second < 0x80 and field in (INT, UINT):
            return field, second
    return _open_any(sealed)


def _open_any(sealed: bytes) -> tuple[int, Raw]:
    try:
        column = ColumnView.FromString(sealed)
    except ProtobufError:
        raise ValueError("its bytes are not a protobuf message") from None
    if column.is_null:
        return NULL, 0
    for field, name in FIELDS.items():
        if column.HasField(name):
            return field, getattr(column, name)
    raise ValueError("it holds no value and is not NULL")
