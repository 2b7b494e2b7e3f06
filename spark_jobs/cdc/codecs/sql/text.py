"""Names, values and comments in MySQL's SQL text.

Literals are for a session with the default string rules: ``\\`` escapes (no NO_BACKSLASH_ESCAPES) and a Unicode client
character set. Bytes are hexadecimal, and so is text that is not UTF-8; doubles carry an exponent, because ``0.1`` alone
is a DECIMAL.
"""

import re
from decimal import Decimal
from typing import Final, TypeAlias

Parameter: TypeAlias = int | float | Decimal | str | bytes | None

_ESCAPES: Final = str.maketrans({"\0": "\\0", "'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z"})
_COMMENT: Final = r"/\*.*?(?:\*/|\Z)|(?:--(?=\s|\Z)|\#)[^\n]*"
SPACE: Final = rf"(?>\s|{_COMMENT})*+"
"""A pattern (with re.DOTALL) for what may stand between two words."""

_TOKEN: Final = re.compile(
    r"""(?P<string>'(?:[^'\\]|\\.|'')*+(?:'|\\?\Z)|"(?:[^"\\]|\\.|"")*+(?:"|\\?\Z))|(?P<name>`(?:[^`]|``)*+(?:`|\Z))"""
    rf"|(?P<hint>/\*[!+T].*?(?:\*/|\Z))|(?P<comment>{_COMMENT})|(?P<end>\s*[\r\n]\s*)",
    re.DOTALL,
)


def quoted_name(name: str) -> str:
    """A name in back quotes."""
    return f"`{name.replace('`', '``')}`"


def literal(value: Parameter) -> str:
    """A value as SQL text without line ends."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float):
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    return format(value, "f") if isinstance(value, Decimal) else str(int(value))


def _string(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"x'{value.encode('utf-8', 'surrogateescape').hex()}'"
    return f"'{value.translate(_ESCAPES)}'"


def one_line(statement: str) -> str:
    """The same statement without line ends and without comments that are no hints."""
    return _TOKEN.sub(_without_line_ends, statement).strip()


def _without_line_ends(match: re.Match[str]) -> str:
    token = match[0]
    if match.lastgroup == "string":
        return token.replace("\\\n", "\n").replace("\\\r", "\r").replace("\n", "\\n").replace("\r", "\\r")
    if match.lastgroup == "hint":
        return re.sub(r"[\r\n]+", " ", token)
    return token if match.lastgroup == "name" else " "
