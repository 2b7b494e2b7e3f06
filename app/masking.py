"""Secrets in what is shown, and the way back: a masked value that a client returns means "keep what is there"."""

import re
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from app.errors import ApiError
from spark_jobs.uris import MASK, is_secret, masked

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

# A scheme has a length here, or a long word without one would be searched from each of its letters to its end.
_URI: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,31}://[^\s'\"<>]+")
_KEPT_OPEN: Final = frozenset({"token_from_file", "token-from-file"})


def masked_text(text: str) -> str:
    """A text with the secrets of every URI in it masked."""
    return _URI.sub(lambda found: masked(found[0]), text)


def masked_tree(tree: Json) -> Json:
    """A configuration with every secret leaf masked, and the secrets of URIs inside it."""
    if isinstance(tree, dict):
        return {key: _masked_leaf(key, value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [masked_tree(item) for item in tree]
    return masked_text(tree) if isinstance(tree, str) else tree


def _masked_leaf(key: str, value: Json) -> Json:
    if isinstance(value, str) and value and is_secret(key) and key not in _KEPT_OPEN:
        return MASK
    return masked_tree(value)


def kept_tree(new: Json, old: Json) -> Json:
    """``new`` with what was masked in it taken from ``old``."""
    if isinstance(new, dict):
        before = old if isinstance(old, dict) else {}
        return {key: kept_tree(value, before.get(key)) for key, value in new.items()}
    if isinstance(new, str) and isinstance(old, str) and MASK in new and new in (MASK, masked_text(old)):
        return old
    return new


def kept_uri(new: str, old: str) -> str:
    """A URI whose masked parts are taken from ``old``; ``ApiError`` when ``old`` has none there, or names other hosts:

    a kept secret must not be sent to somebody else.
    """
    if MASK not in new:
        return new
    try:
        after, before = urlsplit(new), urlsplit(old)
    except ValueError:
        return new  # parsing it says what is wrong
    pairs = dict(pair.partition("=")[::2] for pair in before.query.split("&"))
    query = "&".join(_kept_pair(pair, pairs) for pair in after.query.split("&")) if after.query else ""
    kept = urlunsplit((after.scheme, _kept_netloc(after.netloc, before.netloc), after.path, query, after.fragment))
    if kept != new and after.netloc.rpartition("@")[2] != before.netloc.rpartition("@")[2]:
        raise ApiError("the URI names other hosts: give its secrets anew", code="CDC:ErrSinkURIInvalid")
    return kept


def _kept_pair(pair: str, before: dict[str, str]) -> str:
    name, equals, value = pair.partition("=")
    if value != MASK or not is_secret(name):
        return pair
    if name not in before:
        raise ApiError(
            f"{name} is masked in the URI, and there is no earlier value to keep", code="CDC:ErrSinkURIInvalid"
        )
    return f"{name}{equals}{before[name]}"


def _kept_netloc(after: str, before: str) -> str:
    userinfo, at, hosts = after.rpartition("@")
    user, colon, password = userinfo.partition(":")
    if password != MASK:
        return after
    kept = before.rpartition("@")[0].partition(":")[2]
    if not kept:
        raise ApiError(
            "the URI's password is masked, and there is no earlier one to keep", code="CDC:ErrSinkURIInvalid"
        )
    return f"{user}{colon}{kept}{at}{hosts}"
