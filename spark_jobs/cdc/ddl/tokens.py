"""Tokens of MySQL's dialect, as a DDL statement needs them.

Rules

1. Plain comments (``/* */``, ``-- ``, ``#``) and optimizer hints are blanks. What a server executes is content: the
   inside of ``/*!40101 */``, ``/*T! */``, ``/*T![feature] */`` and ``/*M! */``, whatever the version says.
2. A name may begin with a digit but not be a number; after a dot it may even be one. Double quotes enclose a string;
   where the grammar wants a name they enclose a name (ANSI_QUOTES, of which the text does not tell).
3. Strings know backslash escapes and doubled quotes; ``\\%`` and ``\\_`` keep their backslash.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

import msgspec


def words(text: str) -> frozenset[str]:
    """The words of a text as a set: how this package writes long lists of keywords."""
    return frozenset(text.split())


class Kind(Enum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    HEX = "hexadecimal literal"
    BIT = "bit literal"
    VARIABLE = "variable"
    OPERATOR = "operator"
    END = "end of the statement"


class Token(msgspec.Struct, frozen=True, gc=False):
    """``text``: a name without its quotes, a string's value, a literal's digits, else as written; ``word``: upper case
    of an unquoted word, and the text of an operator, "" for everything else."""

    kind: Kind
    text: str
    word: str
    start: int
    end: int
    double_quoted: bool = False


class DdlSyntaxError(Exception):
    """The text does not follow the grammar; caught inside this package."""


_TOKEN: Final = re.compile(
    r"""
    (?P<blank> \s++ | --(?=[\s\x00-\x1f]|\Z)[^\n]*+ | \#[^\n]*+ )
  | (?P<open> /\*(?: [TM]?!\d{5,6}+ | T!\[[^\]*]{0,64}+\] | [TM]?! ) )
  | (?P<close> \*/ )
  | (?P<comment> /\*(?:[^*]++|\*(?!/))*+\*/ )
  | (?P<unclosed> /\* )
  | (?P<dotted> (?<=[`\w$]\.)[\w$]++ )
  | (?P<number> (?: \d++(?:\.\d*+)? | (?<![\w`$])\.\d++ ) (?:[eE][+-]?\d++)? (?![\w$]) )
  | (?P<hex> 0x[0-9a-fA-F]++(?![\w$]) | [xX]'[0-9a-fA-F]*+' )
  | (?P<bit> 0b[01]++(?![\w$]) | [bB]'[01]*+' )
  | (?P<word> [\w$]++ )
  | (?P<quoted> `(?:[^`]|``)*+` )
  | (?P<single> '(?:[^'\\]|\\.|'')*+' )
  | (?P<double> "(?:[^"\\]|\\.|"")*+" )
  | (?P<variable> @@?(?:[\w$.]++|`[^`]*+`|'[^']*+'|"[^"]*+")? )
  | (?P<operator> ->>|->|<=>|<<|>>|<=|>=|<>|!=|:=|\|\||&&|[-+*/%&|^~!<>=(),.;:?{}\[\]] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(.)|''|\"\"", re.DOTALL)
_UNESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def tokens(text: str) -> Iterator[Token]:
    """The tokens, with an END at the end. Raises ``DdlSyntaxError`` at something that is no token."""
    at, opened = 0, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup == "unclosed":
            raise DdlSyntaxError(f"there is no token at character {at}: {text[at : at + 20]!r}")
        group, at = match.lastgroup or "", match.end()
        if group == "open":
            opened += 1
        elif group == "close" and opened:
            opened -= 1
        elif group == "close":
            yield Token(Kind.OPERATOR, "*", "*", match.start(), match.start() + 1)
            at = match.start() + 1
        elif group not in _SKIPPED:
            yield _BUILDERS[group](match)
    yield Token(Kind.END, "", "", len(text), len(text))


_SKIPPED: Final = frozenset({"blank", "comment"})


def _word(match: re.Match[str]) -> Token:
    return Token(Kind.WORD, match[0], match[0].upper(), match.start(), match.end())


def _operator(match: re.Match[str]) -> Token:
    return Token(Kind.OPERATOR, match[0], match[0], match.start(), match.end())


def _number(match: re.Match[str]) -> Token:
    return Token(Kind.NUMBER, match[0], "", match.start(), match.end())


def _digits(match: re.Match[str]) -> Token:
    kind = Kind.HEX if match.lastgroup == "hex" else Kind.BIT
    return Token(kind, match[0][2:].rstrip("'"), "", match.start(), match.end())


def _quoted(match: re.Match[str]) -> Token:
    return Token(Kind.QUOTED, match[0][1:-1].replace("``", "`"), "", match.start(), match.end())


def _string(match: re.Match[str]) -> Token:
    quote, inside = match[0][0], match[0][1:-1]
    if quote in inside or "\\" in inside:
        inside = _ESCAPE.sub(lambda found: _unescape(found, quote), inside)
    return Token(Kind.STRING, inside, "", match.start(), match.end(), quote == '"')


def _unescape(found: re.Match[str], quote: str) -> str:
    escaped: str | None = found[1]
    if escaped is None:
        return quote if found[0][0] == quote else found[0]
    return _UNESCAPED.get(escaped, escaped)


def _variable(match: re.Match[str]) -> Token:
    return Token(Kind.VARIABLE, match[0], "", match.start(), match.end())


_BUILDERS: Final = {
    "word": _word,
    "dotted": _word,
    "operator": _operator,
    "number": _number,
    "hex": _digits,
    "bit": _digits,
    "quoted": _quoted,
    "single": _string,
    "double": _string,
    "variable": _variable,
}
