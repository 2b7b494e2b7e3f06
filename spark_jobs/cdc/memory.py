"""Bounded memories, generated functions, and the switch that turns both off.

Rules

1. Nothing that is remembered may change a result. So all of it can be turned off (``plain``), and the straightforward
   code behind it does the same, only slower.
2. A full memory forgets its oldest entries, an eighth of what it holds at a time, and never all.
3. Equal structures are one ``TableSchema`` object as long as anybody holds it (``Living``), whatever was forgotten in
   between, since what is decided once per table is found by the table's identity. That is no memory in the sense of
   rule 1: it stays on.
4. Functions are generated as source text, as ``dataclasses`` does it, where a loop over the columns of each row costs
   twice as much. The text holds names of our own only (``c0``, ``f0`` …), nothing that comes with the data.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary, ref

from spark_jobs.cdc.events import TableSchema

K = TypeVar("K")
V = TypeVar("V")

MAX_ENTRIES: Final = 1 << 16
MAX_COLUMNS: Final = 1 << 18
"""Of all tables in one memory, where plans weigh as much as their table has columns: with ten, half a gigabyte."""


class _Switch:
    plain = False


def plain(on: bool) -> None:
    """Turns memories and generated functions off or on; for the whole process, before its first codec is made."""
    _Switch.plain = on


def is_plain() -> bool:
    """Whether memories and generated functions are off."""
    return _Switch.plain


class Memory(dict[K, V]):
    """Entries with weights; together they weigh ``room`` at most. ``get`` is that of a dict."""

    __slots__ = ("_room", "_weight", "_weights")

    def __init__(self, room: int = MAX_ENTRIES) -> None:
        super().__init__()
        self._room = room
        self._weight = 0
        self._weights: dict[K, int] = {}

    def remember(self, key: K, value: V, weight: int = 1) -> None:
        """Adds an entry as the youngest; what is heavier than the room is not kept."""
        if _Switch.plain:
            return
        self.forget(key)
        self[key] = value
        self._weights[key] = weight
        self._weight += weight
        if self._weight > self._room:
            self._make_room()

    def forget(self, key: K) -> None:
        """Removes an entry, if it is there."""
        if key in self:
            del self[key]
            self._weight -= self._weights.pop(key)

    def _make_room(self) -> None:
        for key in list(self):
            if self._weight <= self._room - (self._room >> 3):
                break
            self.forget(key)


def remember(cache: dict[K, V], key: K, value: V) -> None:
    """Adds an entry to a plain dict, of which a full one forgets its oldest."""
    if _Switch.plain:
        return
    if len(cache) >= MAX_ENTRIES:
        for old in list(islice(cache, MAX_ENTRIES >> 3)):
            del cache[old]
    cache[key] = value


class Living:
    """Structures that somebody holds: of equal ones always the same object."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[TableSchema, ref[TableSchema]] = WeakKeyDictionary()

    def one(self, table: TableSchema) -> TableSchema:
        """The object that stands for this structure; from now on this one, if there is none."""
        known = self._known.get(table)
        found = None if known is None else known()
        if found is None:
            self._known[table] = ref(table)
            return table
        return found


def define(source: str, names: Mapping[str, object]) -> Any:
    """The function ``made`` of a source text that uses these names."""
    scope: dict[str, object] = dict(names)
    exec(source, scope)
    return scope["made"]
