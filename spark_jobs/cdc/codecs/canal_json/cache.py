"""What has been worked out for a structure, found again by the raw members that describe it.

Most messages describe the structure as the one before of the same table did: comparing raw JSON is a comparison of
bytes. Where they alternate (codes that depend on values) a dictionary remembers. TiCDC writes ``mysqlType`` in random
order, so that the same types may never come in the same bytes again; then they are compared as what they are.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Raw

from spark_jobs.cdc.codecs.canal_json.envelope import UNREADABLE, Envelope
from spark_jobs.cdc.memory import remember

V = TypeVar("V")

read_types: Final[Callable[[bytes | Raw], dict[str, str] | None]] = msgspec.json.Decoder(dict[str, str] | None).decode
"""``mysqlType``; raises what ``UNREADABLE`` names."""


def same_types(one: bytes | Raw, other: bytes | Raw) -> bool:
    """Whether two texts of ``mysqlType`` say the same, but for the order."""
    if len(one) != len(other):
        return False
    try:
        return read_types(one) == read_types(other)
    except UNREADABLE:
        return False


class StructureCache(Generic[V]):
    """Calls ``make`` once for each table and wording of its structure; ``make`` may raise."""

    def __init__(self, make: Callable[[Envelope], V]) -> None:
        self._make = make
        self._recent: dict[tuple[str, str], tuple[Raw, Raw, Raw, V]] = {}
        self._by_bytes: dict[tuple[str, str, tuple[bytes, bytes, bytes]], V] = {}

    def of(self, envelope: Envelope) -> V:
        recent = self._recent.get((envelope.database, envelope.table))
        if recent is not None:
            sql_type, mysql_type, pk_names, value = recent
            if sql_type == envelope.sql_type and pk_names == envelope.pk_names:
                types = envelope.mysql_type
                if mysql_type == types or same_types(mysql_type, types):
                    return value
        return self._find(envelope)

    def _find(self, envelope: Envelope) -> V:
        key = envelope.database, envelope.table, envelope.structure_key
        if key not in self._by_bytes:
            remember(self._by_bytes, key, self._make(envelope))
        found = self._by_bytes[key]
        # copies, because raw JSON keeps its whole message alive
        raws = envelope.sql_type.copy(), envelope.mysql_type.copy(), envelope.pk_names.copy()
        remember(self._recent, key[:2], (*raws, found))
        return found
