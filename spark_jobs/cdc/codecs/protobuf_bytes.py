"""Protobuf's wire format by hand, where building messages field by field would be slow."""

from typing import Final

_BITS: Final = 14
_MASK: Final = (1 << _BITS) - 1


def _slow_varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


LAST: Final = [_slow_varint(number) for number in range(1 << _BITS)]
MORE: Final = [bytes((number & 0x7F | 0x80, number >> 7 | 0x80)) for number in range(1 << _BITS)]


def varint(number: int) -> bytes:
    """A number of 0 and more as a varint: two bytes a step, from tables."""
    if number <= _MASK:
        return LAST[number]
    return MORE[number & _MASK] + varint(number >> _BITS)


def delimited(tag: bytes, content: bytes) -> bytes:
    """A length-delimited field."""
    return tag + varint(len(content)) + content
