"""JSON merge patches (RFC 7396): how a position and a sink's own part change from entry to entry."""

from collections.abc import Mapping
from typing import Any


def merge(target: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Applies a patch in place, so that a large object costs no more than what changes in it."""
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            below = target.get(key)
            if not isinstance(below, dict):
                below = target[key] = {}
            merge(below, value)
        else:
            target[key] = value


def patched(value: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with the patch applied; what the patch does not touch is shared."""
    result = dict(value)
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        elif isinstance(change, dict):
            below = result.get(key)
            result[key] = patched(below if isinstance(below, dict) else {}, change)
        else:
            result[key] = change
    return result


def changes(value: Mapping[str, Any], patch: Mapping[str, Any]) -> bool:
    """Whether the patch would change anything; looks only at what is in the patch."""
    for key, change in patch.items():
        if isinstance(change, dict):
            below = value.get(key)
            if not isinstance(below, dict) or changes(below, change):
                return True
        elif value.get(key) != change:
            return True
    return False
