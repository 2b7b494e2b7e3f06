"""What has been worked out for a structure, found again by the raw members that describe it.

Most messages describe the structure as the one before of the same table did: comparing raw JSON is a comparison of
bytes. Where they alternate (codes that depend on values) a dictionary remembers. TiCDC writes ``mysqlType`` in random
order, so that the same types may never come in the same bytes again; then they are read.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

import msgspec
from msgspec import Raw

from spark_jobs.cdc.codecs.canal_json.envelope import UNREADABLE, Envelope
from spark_jobs.cdc.memory import Memory


class Typed(Protocol):
    """What is worked out for a structure."""

    def has_types(self, text: bytes | Raw, /) -> bool: ...


V = TypeVar("V", bound=Typed)

_MAX_BYTES: Final = 1 << 26
_ENTRY_BYTES: Final = 1 << 9
"""What an entry takes besides its texts."""
_MOST_FIELDS: Final = 64
"""A struct's reader looks for each field from where it found the last: in random order it takes the square of these."""

read_types: Final[Callable[[bytes | Raw], dict[str, str] | None]] = msgspec.json.Decoder(dict[str, str] | None).decode
"""``mysqlType``; raises what ``UNREADABLE`` names."""


def types_checker(types: Mapping[str, str]) -> Callable[[bytes | Raw], bool]:
    """Whether a text of ``mysqlType`` says these types, all of them and nothing else, in any order."""
    read = _exact_reader(types) or _comparing_reader(types)

    def has_types(text: bytes | Raw) -> bool:
        try:
            read(text)
        except UNREADABLE:
            return False
        return True

    return has_types


def _exact_reader(types: Mapping[str, str]) -> Callable[[bytes | Raw], object] | None:
    """A struct whose fields have these names and can hold nothing but these texts; None if there can be no such one.

    Half the time of a dictionary that is compared.
    """
    if len(types) > _MOST_FIELDS:
        return None
    fields: list[tuple[str, Any]] = [(f"c{index}", Literal[text]) for index, text in enumerate(types.values())]
    names = {f"c{index}": name for index, name in enumerate(types)}
    try:
        exact = msgspec.defstruct("Types", fields, rename=names, forbid_unknown_fields=True, gc=False)
    except ValueError:
        return None  # quotes or backslashes in a name
    return msgspec.json.Decoder(exact).decode


def _comparing_reader(types: Mapping[str, str]) -> Callable[[bytes | Raw], object]:
    def read(text: bytes | Raw) -> None:
        if read_types(text) != types:
            raise msgspec.ValidationError("other types")

    return read


class StructureCache(Generic[V]):
    """Calls ``make`` once for each table and wording of its structure; ``make`` may raise."""

    def __init__(self, make: Callable[[Envelope], V]) -> None:
        self._make = make
        self._recent: Memory[tuple[str, str], tuple[Raw, Raw, Raw, V]] = Memory(_MAX_BYTES)
        self._by_bytes: Memory[tuple[str, str, tuple[bytes, bytes, bytes]], V] = Memory(_MAX_BYTES)

    def of(self, envelope: Envelope) -> V:
        recent = self._recent.get((envelope.database, envelope.table))
        if recent is not None:
            sql_type, mysql_type, pk_names, value = recent
            if sql_type == envelope.sql_type and pk_names == envelope.pk_names:
                types = envelope.mysql_type
                if mysql_type == types or value.has_types(types):
                    return value
        return self._find(envelope)

    def _find(self, envelope: Envelope) -> V:
        key = envelope.database, envelope.table, envelope.structure_key
        size = sum(map(len, key[2])) + _ENTRY_BYTES
        found = self._by_bytes.get(key)
        if found is None:
            found = self._make(envelope)
            self._by_bytes.remember(key, found, size)
        # copies, because raw JSON keeps its whole message alive
        raws = envelope.sql_type.copy(), envelope.mysql_type.copy(), envelope.pk_names.copy()
        self._recent.remember(key[:2], (*raws, found), size)
        return found
