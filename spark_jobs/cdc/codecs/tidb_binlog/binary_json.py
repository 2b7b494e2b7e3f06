"""TiDB's binary JSON → text, as TiDB prints it (``{"a": 1}``).

Rules: a type byte, then its data; numbers are little endian.

====  ===============  ========================================================================================
type  what             data
====  ===============  ========================================================================================
0x01  object           count (4), size (4), per key: offset (4), length (2); then per value as in an array
0x03  array            count (4), size (4), per value: type (1), and offset (4) or, for a literal, the literal
0x04  literal          0 null, 1 true, 2 false
0x09  integer          8 bytes; 0x0A unsigned, 0x0B double
0x0C  string           varint length, UTF-8
0x0D  opaque           MySQL type (1), varint length, bytes: printed as ``"base64:type<N>:…"``
====  ===============  ========================================================================================

Offsets are from the beginning of the object or array. They may lie, overlap and form rings: depth, the number of values
and the bytes of text are limited by what honest bytes of this length can hold. Dates inside of JSON are not read.
"""

import json
import struct
from base64 import b64encode
from typing import Final

_MAX_DEPTH: Final = 100
_LITERALS: Final = {0: "null", 1: "true", 2: "false"}
_NUMBERS: Final = {0x09: struct.Struct("<q"), 0x0A: struct.Struct("<Q"), 0x0B: struct.Struct("<d")}
_OBJECT, _ARRAY, _LITERAL, _STRING, _OPAQUE = 0x01, 0x03, 0x04, 0x0C, 0x0D
_HEAD: Final = struct.Struct("<II")
_KEY: Final = struct.Struct("<IH")
_VALUE: Final = struct.Struct("<BI")


def json_text(data: bytes) -> str:
    """The text of a value with its type byte; raises ``ValueError`` for damaged bytes."""
    if not data:
        raise ValueError("a JSON value has no type")
    try:
        return _Printer(len(data)).text(data[0], memoryview(data)[1:], 0)
    except struct.error:
        raise ValueError("a JSON value ends too early") from None


class _Printer:
    """Prints one document; ``_budget`` is how many bytes of it may still be looked at."""

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def text(self, kind: int, data: memoryview, depth: int) -> str:
        if depth > _MAX_DEPTH:
            raise ValueError(f"a JSON value is nested more than {_MAX_DEPTH} deep")
        if kind in _NUMBERS:
            (number,) = _NUMBERS[kind].unpack_from(data)
            return repr(number)
        if kind == _LITERAL and data and data[0] in _LITERALS:
            return _LITERALS[data[0]]
        if kind == _STRING:
            return self._quoted(bytes(self._sized(data)))
        if kind == _OPAQUE and data:
            return f'"base64:type{data[0]}:{b64encode(self._sized(data[1:])).decode()}"'
        if kind == _ARRAY:
            return f"[{', '.join(self._values(data, depth, 0))}]"
        if kind == _OBJECT:
            return self._object(data, depth)
        raise ValueError(f"a JSON value has the type 0x{kind:02x}, which is not read")

    def _object(self, data: memoryview, depth: int) -> str:
        count, _ = _HEAD.unpack_from(data)
        values = self._values(data, depth, count * _KEY.size)
        keys = [_KEY.unpack_from(data, _HEAD.size + at * _KEY.size) for at in range(count)]
        names = [self._quoted(bytes(self._spend(data[offset : offset + size], size))) for offset, size in keys]
        return "{" + ", ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True)) + "}"

    def _values(self, data: memoryview, depth: int, keys_bytes: int) -> list[str]:
        count, _ = _HEAD.unpack_from(data)
        begin = _HEAD.size + keys_bytes
        entries = self._spend(data[begin : begin + count * _VALUE.size], count * _VALUE.size)
        return [
            self.text(kind, entries[at * _VALUE.size + 1 :] if kind == _LITERAL else data[offset:], depth + 1)
            for at, (kind, offset) in enumerate(_VALUE.iter_unpack(entries))
        ]

    def _sized(self, data: memoryview) -> memoryview:
        size = 0
        for at, byte in enumerate(data[:5]):
            size |= (byte & 0x7F) << 7 * at
            if byte < 0x80:
                return self._spend(data[at + 1 : at + 1 + size], size)
        raise ValueError("a length inside of JSON is damaged")

    def _spend(self, found: memoryview, size: int) -> memoryview:
        self._budget -= size
        if len(found) != size or self._budget < 0:
            raise ValueError("a JSON value points outside of itself or at itself")
        return found

    def _quoted(self, raw: bytes) -> str:
        return json.dumps(raw.decode("utf-8", "surrogateescape"), ensure_ascii=False)
