"""Protobuf's wire format, written: fields as bytes. Only what the encoder's hot path builds by hand.

A field is a tag (number << 3 | wire type) and a value: a varint (wire type 0), or a length and so many bytes (type 2).
Field numbers here are below 16, so that every tag is one byte.
"""

from typing import Final

from spark_jobs.cdc.codecs.protobuf_bytes import varint as unsigned_varint


def varint(number: int) -> bytes:
    """A number of up to 64 bits; a negative one as its two's complement, in ten bytes."""
    return unsigned_varint(number & 0xFFFF_FFFF_FFFF_FFFF)


_TAGS: Final = tuple(bytes((number,)) for number in range(0x80))


def number_field(field: int, number: int) -> bytes:
    return _TAGS[field << 3] + varint(number)


def bytes_field(field: int, value: bytes) -> bytes:
    return _TAGS[field << 3 | 2] + varint(len(value)) + value


class LengthTable(dict[int, bytes]):
    """Varints of lengths; remembers the short ones."""

    def __missing__(self, length: int) -> bytes:
        made = varint(length)
        if length < 1 << 14:
            self[length] = made
        return made
