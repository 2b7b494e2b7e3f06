"""What a codec is: the contract of openers, decoders and encoders.

A codec module offers an opener, a decoder derived from it, and an encoder. Each is built once per changefeed and task
(it may remember what it has seen of a table's structure) and used by one thread. The registry
``spark_jobs.cdc.codecs`` names them; the contract suite ``tests/cdc/test_codec_contract.py`` runs over the registry.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

import msgspec

from spark_jobs.cdc.events import Ddl, Event, Heartbeat, RowChange, TableSchema, TransactionMark, Watermark

C = TypeVar("C", covariant=True)


class Rows(Protocol):
    """The row changes of one table in one message, not decoded yet: enough to filter, to route and to order them.

    ``commit_ts`` is a TSO, 0 where the source does not say it; ``es_ms`` milliseconds since 1970. ``is_partial``: the
    images may lack columns (by the source's word, or because it writes such rows without saying so), so they define
    no structure. ``table`` and ``changes`` may have to decode and raise ``DecodeError``; ``table`` is the same object
    as long as the structure stays.
    """

    @property
    def schema(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def commit_ts(self) -> int: ...

    @property
    def es_ms(self) -> int: ...

    @property
    def is_partial(self) -> bool: ...

    @property
    def table(self) -> TableSchema: ...

    def changes(self) -> Sequence[RowChange]:
        """The rows, in the message's order, with the message's own commit-ts."""
        ...


Opened: TypeAlias = Rows | Ddl | Watermark | Heartbeat | TransactionMark
"""What a message holds; whatever is none of the last four is ``Rows``."""


class Opener(Protocol):
    """Opens messages: a lazy decoder.

    ``open`` is called with the bytes of one complete message and returns what it holds, in its order; nothing for a
    message that carries none. It raises ``DecodeError`` and nothing else, whatever the bytes are, and keeps no state
    between messages that would change a result. ``protocol`` is the codec's name. ``timed``: every change says its
    commit-ts. ``marks``: of these bytes one stands in every watermark; empty where the format has none. ``halves``: an
    update may come as two messages (``spark_jobs.cdc.rows.halves``).
    """

    @property
    def protocol(self) -> str: ...

    @property
    def timed(self) -> bool: ...

    @property
    def marks(self) -> tuple[bytes, ...]: ...

    @property
    def halves(self) -> bool: ...

    def open(self, message: bytes, /) -> Sequence[Opened]: ...


class RowWriter(Protocol):
    """Writes rows in a sink's format: ``spark_jobs.cdc.codecs.row_writer`` makes one for a pair of formats.

    Both append whole messages, each with its terminator, all of them or, with ``EncodeError`` or ``DecodeError``,
    none. ``rows`` may pass on what was checked when it was opened; ``changes`` writes what a filter or selector left.
    ``commit_ts`` takes the place of the rows' own.
    """

    def rows(self, rows: Rows, commit_ts: int, output: bytearray, /) -> None: ...

    def changes(self, changes: Sequence[RowChange], commit_ts: int, output: bytearray, /) -> None: ...


class Decoder(Protocol):
    """Turns one message into events: an opener with its rows decoded.

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
    """An entry of the registry. ``opener``/``decoder``/``encoder`` are factories that take the options by name.

    ``text``: messages are text without line ends of their own, so that framing ``lines`` can carry them.
    """

    name: str
    opener: Factory[Opener] | None = None
    decoder: Factory[Decoder] | None = None
    encoder: Factory[Encoder] | None = None
    decode_options: tuple[Option, ...] = ()
    encode_options: tuple[Option, ...] = ()
    text: bool = False
