r"""Patterns for names of schemas, tables and columns, as TiDB's table filter writes them.

* ``/regex/``: a Go regular expression found anywhere in the name; ``\/`` for a slash inside.
* ``"…"`` or ```…```: the name itself; the quote doubled stands for itself. The whole name or nothing is quoted.
* else a wildcard or plain name: ``*`` any run, ``?`` one character, ``[a-z]`` one of them, ``[!a-z]`` none of them,
  ``\`` before a character that is no letter or digit takes it literally. It matches the whole name, line ends included.
  Unquoted, only ASCII letters and digits, ``_``, ``$`` and everything beyond ASCII stand for themselves.

``$`` before a wildcard is taken literally, as the grammar says (TiDB's own code lets it end the name there).
"""

import re
from typing import Final, NoReturn

from spark_jobs.cdc.filters.regex import GoRegex, RegexError

_REGEX: Final = re.compile(r"/((?:\\.|[^/])+)/", re.DOTALL)
_QUOTED: Final = {
    '"': re.compile(r'"((?:""|[^"])+)"'),
    "`": re.compile(r"`((?:``|[^`])+)`"),
}
_CLASS: Final = re.compile(r"\[!?(?:\\[^0-9a-zA-Z]|[^\\\]])+\]")
_CLASS_START: Final = {"!": r"[^", "^": r"[\^"}
_WILD: Final = {"*": ".*", "?": "."}
_ALL: Final = "(?s)^.*$"


class PatternError(ValueError):
    """Text that is no pattern: what is wrong, where (character offset), what to do about it."""

    def __init__(self, what: str, at: int, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.at = at
        self.remedy = remedy


class NamePattern:
    """One pattern. ``matches_all``: it is ``*``, the only form that counts as *every name* for schema statements."""

    def __init__(self, *, literal: str | None = None, regex: str = "", ignore_case: bool) -> None:
        self.matches_all = regex == _ALL
        self._ignore_case = ignore_case
        self._literal = literal.lower() if literal is not None and ignore_case else literal
        self._regex = GoRegex(regex, ignore_case=ignore_case) if literal is None and not self.matches_all else None

    def matches(self, name: str) -> bool:
        if self._regex is not None:
            return self._regex.search(name)
        return self.matches_all or (name.lower() if self._ignore_case else name) == self._literal


def parse_pattern(text: str, start: int, *, dotted: bool, ignore_case: bool) -> tuple[NamePattern, int]:
    """The pattern at ``start`` and where it ends. ``dotted``: a bare dot ends it (else it is an error)."""
    if start >= len(text):
        raise PatternError("syntax error: missing pattern", start, "write schema.table, * for every name")
    quote = text[start]
    if quote == "/":
        return _regex(text, start, ignore_case)
    if quote in _QUOTED:
        return _quoted(text, start, ignore_case)
    return _wildcard(text, start, dotted, ignore_case)


def _regex(text: str, start: int, ignore_case: bool) -> tuple[NamePattern, int]:
    found = _REGEX.match(text, start)
    if found is None:
        raise PatternError("syntax error: incomplete regexp", start, r"end it with /, and write \/ for a slash inside")
    return _compiled(found[1], start, ignore_case), found.end()


def _compiled(regex: str, start: int, ignore_case: bool) -> NamePattern:
    try:
        return NamePattern(regex=regex, ignore_case=ignore_case)
    except RegexError as error:
        remedy = "Go's syntax is meant, which has no look-around and no back references"
        raise PatternError(f"invalid pattern: {error}", start, remedy) from error


def _quoted(text: str, start: int, ignore_case: bool) -> tuple[NamePattern, int]:
    quote = text[start]
    found = _QUOTED[quote].match(text, start)
    if found is None:
        remedy = f"end it with {quote}, and double a {quote} inside"
        raise PatternError("syntax error: incomplete quoted identifier", start, remedy)
    return NamePattern(literal=found[1].replace(quote * 2, quote), ignore_case=ignore_case), found.end()


def _wildcard(text: str, start: int, dotted: bool, ignore_case: bool) -> tuple[NamePattern, int]:
    literal: list[str] = []
    regex: list[str] = ["(?s)^"]
    plain, at = True, start
    while at < len(text) and not (dotted and text[at] == "."):
        char = text[at]
        if char == "\\":
            char = _escaped(text, at)
            at += 1
        elif char in _WILD or char == "[":
            part, at = (_WILD[char], at + 1) if char in _WILD else _class(text, at)
            plain = False
            regex.append(part)
            continue
        elif not _stands_for_itself(char):
            _refuse(char, at)
        literal.append(char)
        regex.append(char if char.isalnum() or char > "\x7f" else "\\" + char)
        at += 1
    if plain:
        return NamePattern(literal="".join(literal), ignore_case=ignore_case), at
    return _compiled("".join((*regex, "$")), start, ignore_case), at


def _escaped(text: str, at: int) -> str:
    if at + 1 >= len(text):
        raise PatternError("syntax error: cannot place \\ at end of line", at, r"write \\ for a backslash")
    char = text[at + 1]
    if char.isascii() and char.isalnum():
        what = f"cannot escape a letter or number (\\{char}), it is reserved for future extension"
        raise PatternError(what, at, "leave the backslash out, or write the whole pattern between slashes")
    return char


def _class(text: str, at: int) -> tuple[str, int]:
    found = _CLASS.match(text, at)
    if found is None:
        what = "syntax error: failed to parse character class"
        raise PatternError(what, at, r"write [a-z] or [!a-z], and \ before a bracket or backslash inside")
    lead = _CLASS_START.get(text[at + 1])
    part = found[0] if lead is None else lead + found[0][2:]
    return part, found.end()


def _stands_for_itself(char: str) -> bool:
    return char > "\x7f" or char.isalnum() or char in "_$"


def _refuse(char: str, at: int) -> NoReturn:
    remedy = f"put the whole name between backquotes, or write \\{char}"
    raise PatternError(f"unexpected special character '{char}'", at, remedy)
