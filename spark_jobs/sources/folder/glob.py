"""Patterns of file names below a folder, as shells write them.

* ``*`` is any run of characters, ``?`` any one, ``[a-z]`` one of them, ``[!a-z]`` none of them; all stay within a name.
* ``**/`` is any folders, none included; any other ``**`` is any run of characters, ``/`` included.
* There is no escape: ``[*]`` is a star, ``[[]`` a bracket, a backslash itself. A bracket that is not closed before
  the next ``/`` stands for itself. A range whose end is before its begin is empty.

Case matters, and a leading dot is nothing special here. The text of ``fnmatch.translate`` is not used: it is for one
name, and CPython changes it.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

_TOKEN: Final = re.compile(
    r"(?P<folders>(?:\*\*/)+)|(?P<any>\*\*+)|(?P<run>\*)|(?P<one>\?)"
    r"|\[(?P<but>!?+)(?P<set>\]?+[^\]/]*)\]|(?P<char>.)",
    re.DOTALL,
)
_FOLDERS, _ANY, _RUN, _ONE = "(?:[^/]*/)*", ".*", "[^/]*", "[^/]"
_WILD: Final = {"folders": _FOLDERS, "any": _ANY, "run": _RUN, "one": _ONE}


@lru_cache(maxsize=64)
def matcher(pattern: str) -> Callable[[str], object]:
    """Tells by the truth of its answer whether the pattern means a path, relative and with ``/`` between names."""
    return re.compile(_regex(pattern), re.DOTALL).fullmatch


def _regex(pattern: str) -> str:
    parts = [_meaning(token) for token in _TOKEN.finditer(pattern)]
    runs = [at for at, part in enumerate(parts) if part == _RUN]
    for begin, end in pairwise(runs):
        if not {"/", _FOLDERS, _ANY}.intersection(parts[begin:end]):
            # Two runs in one name: what stands between them is best found early, and never looked for again.
            parts[begin] = parts[begin].replace(_RUN, "(?>[^/]*?")
            parts[end] = ")" + parts[end]
    return "".join(parts)


def _meaning(token: re.Match[str]) -> str:
    kind = token.lastgroup or ""
    if kind in _WILD:
        return _WILD[kind]
    return re.escape(token[0]) if kind == "char" else _one_of(token["set"], negated=bool(token["but"]))


def _one_of(text: str, *, negated: bool) -> str:
    ranges = "".join(f"{re.escape(low)}-{re.escape(high)}" if low <= high else "" for low, high in _ranges(text))
    if not ranges:
        return _ONE if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{ranges}]"


def _ranges(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        size = 3 if text[at + 1 : at + 2] == "-" and at + 2 < len(text) else 1
        yield text[at], text[at + size - 1]
        at += size
