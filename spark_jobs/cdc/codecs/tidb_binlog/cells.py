"""Writes values for TiDB Binlog's Kafka messages. Which field takes which type: ``tidb_binlog/values``.

A *cell* is one value as an element of ``Row.columns``: tag, length, and the ``Column`` with its one field.
"""

import struct
from collections.abc import Callable
from typing import Final, TypeVar

from spark_jobs.cdc.codecs.protobuf_bytes import delimited, varint
from spark_jobs.cdc.codecs.tidb_binlog.values import BYTES, DOUBLE, INT, STRING, UINT, Form, form_of
from spark_jobs.cdc.events import ABSENT, ColumnType, Value
from spark_jobs.cdc.mysql.values import choice_number

Cell = Callable[[Value], bytes]

_COLUMN: Final = 0x0A
_MIN_INT: Final = -(1 << 63)
_MAX_INT: Final = (1 << 63) - 1
_MAX_UINT: Final = (1 << 64) - 1
_SHORT: Final = 126
"""Lengths below it take one byte each, of the field and of the column around it."""

NULL_CELL: Final = bytes((_COLUMN, 2, 0x08, 1))


def from_text(text: str) -> bytes:
    """The bytes of text that need not be UTF-8; raises ``ValueError`` for a surrogate that stands for no byte."""
    return text.encode("utf-8", "surrogateescape")


V = TypeVar("V", int, float, str, bytes)


def expect(value: Value, kind: type[V]) -> V:
    """The value, known to be of that kind; ``ValueError`` if it is not."""
    if isinstance(value, kind):
        return value
    if value is ABSENT:
        raise ValueError("the image does not have it, and rows here are always full")
    raise ValueError(f"{kind.__name__} is expected and not {value!r:.80}")


def _raw_cell(field: int) -> Callable[[bytes], bytes]:
    heads = [bytes((_COLUMN, size + 2, field, size)) for size in range(_SHORT)]
    tag, column = bytes((field,)), bytes((_COLUMN,))

    def cell(raw: bytes) -> bytes:
        size = len(raw)
        return heads[size] + raw if size < _SHORT else delimited(column, delimited(tag, raw))

    return cell


def _text_cell(field: int) -> Cell:
    raw_cell = _raw_cell(field)

    def cell(value: Value) -> bytes:
        if type(value) is str and value.isascii():
            return raw_cell(value.encode())
        return raw_cell(from_text(expect(value, str)))

    return cell


def _number_cell(field: int) -> Callable[[int], bytes]:
    heads = [bytes((_COLUMN, size + 1, field)) for size in range(11)]

    def cell(number: int) -> bytes:
        content = varint(number)
        return heads[len(content)] + content

    return cell


_text, _json = _text_cell(STRING), _text_cell(BYTES)
_string, _bytes = _raw_cell(STRING), _raw_cell(BYTES)
_int64, _uint64 = _number_cell(INT), _number_cell(UINT)
_DOUBLE: Final = struct.Struct("<BBBd").pack


def _binary(value: Value) -> bytes:
    return _bytes(expect(value, bytes))


def _geometry(value: Value) -> bytes:
    return _string(expect(value, bytes))


def _year(value: Value) -> bytes:
    return _string(b"%04d" % expect(value, int))


def _float(value: Value) -> bytes:
    return _DOUBLE(_COLUMN, 9, DOUBLE, expect(value, float))


def _signed(value: Value) -> bytes:
    number = value if type(value) is int else expect(value, int)
    if 0 <= number <= _MAX_INT:
        return _int64(number)
    if number > _MAX_INT:
        return _unsigned(number)
    if number < _MIN_INT:
        raise ValueError(f"{number} does not fit 64 bits")
    return _int64(number & _MAX_UINT)


def _unsigned(value: Value) -> bytes:
    number = expect(value, int)
    if not 0 <= number <= _MAX_UINT:
        raise ValueError(f"{number} is not an unsigned number of 64 bits")
    return _uint64(number)


def _bit(type_: ColumnType) -> Cell:
    """BIT(n) has a fixed number of bytes; as few as possible where n is not known, or is no number of bits."""
    fixed = (type_.length + 7) // 8 if type_.length and type_.length <= 64 else 0

    def cell(value: Value) -> bytes:
        number = expect(value, int)
        if not 0 <= number <= _MAX_UINT:
            raise ValueError(f"{number} is not a bit value of 64 bits at most")
        return _bytes(number.to_bytes(max(fixed, (number.bit_length() + 7) // 8, 1), "big"))

    return cell


def _by_kind(value: Value) -> bytes:
    """The value says what it is, since the type does not."""
    write = _KINDS.get(type(value))
    if write is None:
        raise ValueError(f"{value!r:.80} has no form in a column without a type")
    return write(value)


def _choice(type_: ColumnType) -> Cell:
    number = choice_number(type_)
    return lambda value: _unsigned(number(value))


_KINDS: Final[dict[type, Cell]] = {int: _signed, float: _float, bytes: _binary, str: _text}

_CELLS: Final[dict[Form, Callable[[ColumnType], Cell]]] = {
    Form.INTEGER: lambda type_: _unsigned if type_.unsigned else _signed,
    Form.CHOICE: _choice,
    Form.YEAR: lambda _: _year,
    Form.FLOAT: lambda _: _float,
    Form.BIT: _bit,
    Form.JSON: lambda _: _json,
    Form.TEXT: lambda _: _text,
    Form.BINARY: lambda _: _binary,
    Form.GEOMETRY: lambda _: _geometry,
    Form.UNTYPED: lambda _: _by_kind,
}


def cell_writer(type_: ColumnType) -> Cell:
    """A function from a value that is not NULL to its cell; it raises ``ValueError`` for a value of another type."""
    return _CELLS[form_of(type_.name)](type_)
