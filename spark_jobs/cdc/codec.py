"""What a codec is: the contract of decoders and encoders.

A codec module offers ``Decoder`` and ``Encoder`` classes that are built once per changefeed (they may cache per table
schema) and used by one thread. The registry ``spark_jobs.cdc.codecs.CODECS`` names them; the contract suite
``tests/cdc/test_codec_contract.py`` runs over the registry.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from spark_jobs.cdc.events import Event

C = TypeVar("C", covariant=True)


class Decoder(Protocol):
    """Turns one message into events.

    Called with the bytes of one complete message. Returns its events in the order they stand in the message; an empty
    sequence for a message that carries none. Raises ``DecodeError`` and nothing else, whatever the bytes are. Keeps no
    state between messages that would change a result (caches only).
    """

    def decode(self, message: bytes, /) -> Sequence[Event]: ...


class Encoder(Protocol):
    """Turns events into messages.

    ``encode`` returns the complete messages that this event finishes, in order: usually one, two where the format cuts
    an update in halves, none where the format has no form for this kind of event (``docs/formats.md`` lists these) or
    where it gathers a transaction. ``flush`` returns what is still gathered; a caller calls it at the end and at every
    point where a batch must be complete. Raises ``EncodeError`` for a value that the format cannot carry; the event is
    then not written in part.
    """

    def encode(self, event: Event, /) -> Sequence[bytes]: ...

    def flush(self) -> Sequence[bytes]: ...


class Option(msgspec.Struct, frozen=True, gc=False):
    """A parameter of a codec: its name in a URI or ``--option``, its default, and what it may be.

    ``kind``: ``bool``, ``int``, ``str`` or ``choice``.
    """

    name: str
    kind: str
    default: str
    meaning: str
    choices: tuple[str, ...] = ()


class Factory(Protocol[C]):
    """Builds a decoder or encoder from options by name; raises ``ConfigError`` for an unknown or wrong one."""

    def __call__(self, options: Mapping[str, str], /) -> C: ...


class Codec(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the registry. ``decoder``/``encoder`` are factories that take the parsed options by name.

    ``text``: messages are text without line ends of their own, so that framing ``lines`` can carry them.
    """

    name: str
    decoder: Factory[Decoder] | None = None
    encoder: Factory[Encoder] | None = None
    decode_options: tuple[Option, ...] = ()
    encode_options: tuple[Option, ...] = ()
    text: bool = False
