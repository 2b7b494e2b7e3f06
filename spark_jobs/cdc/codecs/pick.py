"""Values of a list by their places, in C."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

Pick: TypeAlias = Callable[[Sequence[Any]], tuple[Any, ...]]


def picker(places: Sequence[int]) -> Pick:
    """A function from a list to a tuple of what stands at these places, in this order."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple([values[at] for at in places])
