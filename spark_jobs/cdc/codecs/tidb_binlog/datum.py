"""TiDB's datum codec: one flag byte and data. Drainer's files hold every value so.

Rules

====================  ==================================================================  ==========================
flag                  data                                                                written by Drainer for
====================  ==================================================================  ==========================
0x00 NULL             –                                                                   NULL
0x01 bytes            groups of 8, zero padded, each with the marker 0xFF - padding; the  –
                      last group is the one whose marker is below 0xFF
0x02 compact bytes    zig-zag varint length, bytes                                        text, binary, decimal,
                                                                                          dates, times, json (text)
0x03 int, 0x04 uint   8 bytes big endian; int with its sign bit flipped                   –
0x05 float            8 bytes big endian; sign bit set: clear it; else invert all bits    float, double
0x06 decimal          precision, fraction, MySQL's packed decimal                         –
0x07 duration         8 bytes of nanoseconds, like int                                    –
0x08 varint           zig-zag varint                                                      signed integers, year
0x09 uvarint          plain varint                                                        unsigned, enum, set, bit
0x0A json             type byte, TiDB's binary JSON                                       –
====================  ==================================================================  ==========================

What Drainer does not write, reparo reads; so does this. ``open_datum`` answers in the fields of ``tidb_binlog/values``,
so that both formats convert alike; values that have no field of their own are text. All of the bytes must be used.
"""

import struct
from collections.abc import Callable
from typing import Final

from spark_jobs.cdc.codecs.protobuf_bytes import varint
from spark_jobs.cdc.codecs.tidb_binlog.binary_json import json_text
from spark_jobs.cdc.codecs.tidb_binlog.values import BYTES, DOUBLE, INT, NULL, STRING, UINT, Raw

NIL, COMPARABLE_BYTES, COMPACT_BYTES, COMPARABLE_INT, COMPARABLE_UINT, FLOAT = 0, 1, 2, 3, 4, 5
DECIMAL, DURATION, VARINT, UVARINT, JSON = 6, 7, 8, 9, 0x0A

_SIGN: Final = 1 << 63
_ALL_ONES: Final = (1 << 64) - 1
_UINT64: Final = struct.Struct(">Q")
_DOUBLE: Final = struct.Struct(">d")


def open_datum(datum: bytes) -> tuple[int, Raw]:
    """Field and content; raises ``ValueError`` for damaged bytes."""
    if not datum:
        raise ValueError("it holds no value")
    read = _READ.get(datum[0])
    if read is None:
        raise ValueError(f"it has the unknown flag 0x{datum[0]:02x}")
    field, convert = read
    return field, convert(datum[1:])


def _nothing(data: bytes) -> int:
    if data:
        raise ValueError("NULL is followed by bytes")
    return 0


def _uint64(data: bytes) -> int:
    if len(data) != 8:
        raise ValueError(f"a number of 8 bytes has {len(data)}")
    return int.from_bytes(data, "big")


def _int64(data: bytes) -> int:
    return _uint64(data) - _SIGN


def _float(data: bytes) -> float:
    stored = _uint64(data)
    bits = stored ^ _SIGN if stored & _SIGN else stored ^ _ALL_ONES
    (number,) = _DOUBLE.unpack(_UINT64.pack(bits))
    return float(number)


def read_uvarint(data: bytes) -> tuple[int, int]:
    """A varint of at most 64 bits at the beginning, and how many bytes it takes."""
    number = 0
    for at, byte in enumerate(data[:10]):
        number |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            if number > _ALL_ONES:
                break
            return number, at + 1
    raise ValueError("a varint does not end or is longer than 64 bits")


def _uvarint(data: bytes) -> int:
    number, size = read_uvarint(data)
    if size != len(data):
        raise ValueError("a varint is followed by bytes")
    return number


def _zigzag(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def _varint(data: bytes) -> int:
    return _zigzag(_uvarint(data))


def _compact_bytes(data: bytes) -> bytes:
    number, size = read_uvarint(data)
    if _zigzag(number) != len(data) - size:
        raise ValueError(f"bytes say that they are {_zigzag(number)} and are {len(data) - size}")
    return data[size:]


_GROUP: Final = 8


def _comparable_bytes(data: bytes) -> bytes:
    markers = data[_GROUP :: _GROUP + 1]
    padding = 0xFF - markers[-1] if markers else 0
    whole = len(data) % (_GROUP + 1) == 0 and markers.count(0xFF) == len(markers) - 1
    if not whole or not 0 < padding <= _GROUP:
        raise ValueError("the groups of comparable bytes are damaged")
    groups = b"".join(data[at : at + _GROUP] for at in range(0, len(data), _GROUP + 1))
    if any(groups[len(groups) - padding :]):
        raise ValueError("comparable bytes are not padded with zeros")
    return groups[: len(groups) - padding]


def _duration_text(data: bytes) -> bytes:
    """Duration has no fraction digits of its own: six where there is a fraction, none where there is none."""
    nanoseconds = _int64(data)
    seconds, rest = divmod(abs(nanoseconds), 10**9)
    text = f"{'-' * (nanoseconds < 0)}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return (f"{text}.{rest // 1000:06d}" if rest else text).encode()


_DIGITS_PER_WORD: Final = 9
_WORD: Final = 4
_BYTES_OF_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_MAX_PRECISION: Final = 81


def _decimal_text(data: bytes) -> bytes:
    """MySQL's packed decimal: words of nine digits, odd digits outside; sign bit flipped, negative ones inverted."""
    if len(data) < 3 or not 0 < data[0] <= _MAX_PRECISION or data[1] > data[0]:
        raise ValueError("precision and fraction of a decimal are impossible")
    whole, fraction = _groups(data[0] - data[1]), _groups(data[1])[::-1]
    body = data[2:]
    if len(body) != sum(_BYTES_OF_DIGITS[digits] for digits in (*whole, *fraction)):
        raise ValueError("a decimal has not the bytes that its precision needs")
    negative = not body[0] & 0x80
    body = bytes((body[0] ^ 0x80, *body[1:]))
    if negative:
        body = bytes(byte ^ 0xFF for byte in body)
    digits = _packed_digits(body, (*whole, *fraction))
    point = len(digits) - data[1]
    integer = digits[:point].lstrip("0") or "0"
    return f"{'-' * negative}{integer}{'.' * bool(data[1])}{digits[point:]}".encode()


def _groups(digits: int) -> tuple[int, ...]:
    words, odd = divmod(digits, _DIGITS_PER_WORD)
    return (odd,) * bool(odd) + (_DIGITS_PER_WORD,) * words


def _packed_digits(body: bytes, groups: tuple[int, ...]) -> str:
    digits, at = [], 0
    for count in groups:
        size = _BYTES_OF_DIGITS[count]
        group = f"{int.from_bytes(body[at : at + size], 'big'):0{count}d}"
        if len(group) > count:
            raise ValueError("a decimal has a group with too many digits")
        digits.append(group)
        at += size
    return "".join(digits)


def _json(data: bytes) -> bytes:
    return json_text(data).encode("utf-8", "surrogateescape")


_READ: Final[dict[int, tuple[int, Callable[[bytes], Raw]]]] = {
    NIL: (NULL, _nothing),
    COMPARABLE_BYTES: (BYTES, _comparable_bytes),
    COMPACT_BYTES: (BYTES, _compact_bytes),
    COMPARABLE_INT: (INT, _int64),
    COMPARABLE_UINT: (UINT, _uint64),
    FLOAT: (DOUBLE, _float),
    DECIMAL: (STRING, _decimal_text),
    DURATION: (STRING, _duration_text),
    VARINT: (INT, _varint),
    UVARINT: (UINT, _uvarint),
    JSON: (STRING, _json),
}


# --- writing: what Drainer writes


def write_bytes(raw: bytes) -> bytes:
    return b"\x02" + varint(len(raw) << 1) + raw


def write_int(number: int) -> bytes:
    return b"\x08" + varint(number << 1 if number >= 0 else ~number << 1 | 1)


def write_uint(number: int) -> bytes:
    return b"\x09" + varint(number)


def write_float(number: float) -> bytes:
    (bits,) = _UINT64.unpack(_DOUBLE.pack(number))
    return b"\x05" + _UINT64.pack(bits ^ _ALL_ONES if bits & _SIGN else bits ^ _SIGN)
