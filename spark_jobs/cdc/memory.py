"""A cache that cannot grow without end."""

from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_ENTRIES: Final = 4096


def remember(cache: dict[K, V], key: K, value: V) -> None:
    """Adds an entry; a full cache forgets everything first.

    For things of which a stream has few (tables, structures): a full cache means garbage, and starting over is cheap.
    """
    if len(cache) >= MAX_ENTRIES:
        cache.clear()
    cache[key] = value
