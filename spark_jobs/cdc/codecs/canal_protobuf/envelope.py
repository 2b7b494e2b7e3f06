"""Canal's envelopes: a message is a ``Packet``, a ``Messages`` or a single ``Entry``.

    Packet{type=MESSAGES, body}  ->  Messages{batch_id, messages…}  ->  Entry bytes, one binlog event each

Rules

1. Canal writes a Kafka record in two ways: type, body and batch_id; or version=1, type and body without batch_id. A
   batch_id that is absent or 0 is no fault; -1 belongs to an answer without entries.
2. A packet of type ACK instead of MESSAGES is the server's error; its text is the reason of the ``DecodeError``.
3. Nobody compresses: any compression but NONE or absent is refused.
4. The three envelopes are told apart by the wire types of their top-level fields: only an Entry has bytes in field 1,
   only Messages has bytes in field 2, only a Packet has a number in field 3 or anything in field 5.
"""

from typing import Final, NoReturn, TypeVar

import msgspec
from google.protobuf.message import DecodeError as WireError
from google.protobuf.message import Message

from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.proto import canal_packet_pb2 as packets

PROTOCOL: Final = "canal"
PACKET: Final = "packet"
MESSAGES: Final = "messages"
ENTRY: Final = "entry"
AUTO: Final = "auto"
UNITS: Final = (AUTO, PACKET, MESSAGES, ENTRY)

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TELLING: Final = {
    (1, _BYTES): ENTRY,
    (2, _BYTES): MESSAGES,
    (3, _BYTES): ENTRY,
    (3, _VARINT): PACKET,
    (5, _BYTES): PACKET,
}
_ONLY_NUMBERS: Final = {1: MESSAGES, 2: ENTRY}
_MAX_VARINT_BYTES = 10

M = TypeVar("M", bound=Message)


class Envelope(msgspec.Struct, frozen=True):
    """What was in the envelope: serialised entries, and Canal's batch id (0 if it gave none)."""

    entries: tuple[bytes, ...]
    batch_id: int = 0


def refuse(reason: str) -> NoReturn:
    raise DecodeError(PROTOCOL, reason)


def parse(kind: type[M], data: bytes, what: str) -> M:
    """The message in these bytes; ``DecodeError`` says what was broken."""
    try:
        found: M = kind.FromString(data)
        return found
    except WireError:
        refuse(f"{what} is broken: {len(data)} bytes that are no {kind.DESCRIPTOR.name}")


def open_envelope(message: bytes, unit: str) -> Envelope:
    """The entries of a message."""
    unit = unit_of(message) if unit == AUTO else unit
    if unit == ENTRY:
        return Envelope((message,))
    return _messages(message if unit == MESSAGES else _packet_body(message))


def _messages(data: bytes) -> Envelope:
    messages = parse(packets.Messages, data, "the message list")
    return Envelope(tuple(messages.messages), messages.batch_id)


def _packet_body(message: bytes) -> bytes:
    packet = parse(packets.Packet, message, "the packet")
    if packet.compression not in (packets.COMPRESSION_UNSET, packets.NONE):
        refuse(f"it is compressed ({_name(packets.Compression, packet.compression)}), which no Canal server does")
    if packet.type == packets.ACK:
        _refuse_ack(packet.body)
    if packet.type != packets.MESSAGES:
        refuse(f"a packet of type {_name(packets.PacketType, packet.type)} carries no entries")
    body: bytes = packet.body
    return body


def _refuse_ack(body: bytes) -> NoReturn:
    ack = parse(packets.Ack, body, "the server's acknowledgement")
    if ack.error_code == 0 and not ack.error_message:
        refuse("it is an acknowledgement without entries")
    refuse(f"Canal's server answers error {ack.error_code}: {ack.error_message[:500]}")


def _name(enum: object, number: int) -> str:
    value = enum.DESCRIPTOR.values_by_number.get(number)  # type: ignore[attr-defined]
    return value.name if value else str(number)


def unit_of(message: bytes) -> str:
    """Which envelope these bytes are, by rule 4."""
    at, last = 0, 0
    while at < len(message):
        tag, at = _varint(message, at)
        last, wire_type = tag >> 3, tag & 7
        unit = _TELLING.get((last, wire_type))
        if unit is not None:
            return unit
        at = _skip(message, at, wire_type)
    if last not in _ONLY_NUMBERS:
        refuse("it is neither a Packet nor Messages nor an Entry")
    return _ONLY_NUMBERS[last]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for index in range(_MAX_VARINT_BYTES):
        if at + index >= len(data):
            break
        byte = data[at + index]
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return number, at + index + 1
    raise DecodeError(PROTOCOL, "a number is cut off or too long", offset=at)


def _skip(data: bytes, at: int, wire_type: int) -> int:
    if wire_type == _VARINT:
        return _varint(data, at)[1]
    if wire_type == _BYTES:
        length, at = _varint(data, at)
        return at + length
    if wire_type in (_FIXED64, _FIXED32):
        return at + (8 if wire_type == _FIXED64 else 4)
    raise DecodeError(PROTOCOL, f"wire type {wire_type} does not exist there", offset=at)
