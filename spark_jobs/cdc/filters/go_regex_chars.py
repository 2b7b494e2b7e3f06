"""Sets of characters as Go's regular expressions name them: Perl, POSIX and Unicode classes, and case folding."""

import unicodedata
from typing import Final, TypeAlias

import msgspec

LAST: Final = 0x10FFFF
"""The last code point."""

Ranges: TypeAlias = tuple[tuple[int, int], ...]


class Chars(msgspec.Struct, frozen=True):
    """One character out of a set. ``categories``: (prefix of a general category, negated)."""

    ranges: Ranges
    categories: tuple[tuple[str, bool], ...] = ()
    negated: bool = False
    fold: bool = False

    def has(self, char: str) -> bool:
        candidates = _orbit(char) if self.fold else (char,)
        return any(self._within(candidate) for candidate in candidates) != self.negated

    def _within(self, char: str) -> bool:
        code = ord(char)
        if any(low <= code <= high for low, high in self.ranges):
            return True
        return any(unicodedata.category(char).startswith(kind) != negated for kind, negated in self.categories)


def _orbit(char: str) -> tuple[str, ...]:
    """The characters that equal this one when case is ignored, one for one."""
    upper = char.upper()
    forms = {char, char.lower(), upper, upper.lower(), *_FOLD_EXTRA.get(upper, "")}
    return tuple(form for form in forms if len(form) == 1)


def complement(ranges: Ranges) -> Ranges:
    gaps, start = [], 0
    for low, high in sorted(ranges):
        if start < low:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    return (*gaps, (start, LAST)) if start <= LAST else tuple(gaps)


_FOLD_EXTRA: Final = {"K": "\u212a", "S": "\u017f", "\u00c5": "\u212b"}
"""Compatibility letters whose lower case is the plain letter, found from the plain letter's side."""

_DIGIT: Final[Ranges] = ((0x30, 0x39),)
_LOWER: Final[Ranges] = ((0x61, 0x7A),)
_UPPER: Final[Ranges] = ((0x41, 0x5A),)
_WORD: Final[Ranges] = _DIGIT + _UPPER + ((0x5F, 0x5F),) + _LOWER
PERL: Final[dict[str, Ranges]] = {"d": _DIGIT, "w": _WORD, "s": ((9, 10), (12, 13), (32, 32))}
POSIX: Final[dict[str, Ranges]] = {
    "alnum": _DIGIT + _UPPER + _LOWER,
    "alpha": _UPPER + _LOWER,
    "ascii": ((0, 0x7F),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": _LOWER,
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((9, 13), (32, 32)),
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": (*_DIGIT, (0x41, 0x46), (0x61, 0x66)),
}
CATEGORIES: Final = frozenset(
    group + kind
    for group, kinds in {
        "L": "ultmo",
        "M": "nce",
        "N": "dlo",
        "P": "cdseifo",
        "S": "mcko",
        "Z": "slp",
        "C": "cfso",
    }.items()
    for kind in ("", *kinds)
)
