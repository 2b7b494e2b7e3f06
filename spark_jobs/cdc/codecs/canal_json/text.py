r"""JSON text with each producer's escapes.

Go's writer (TiCDC) escapes more than JSON asks for: ``<``, ``>``, ``&``, U+2028 and U+2029, and it has no short form
for backspace and form feed (``\u0008``, ``\u000c``). Java's (Canal) does not.
"""

import re
from typing import Final

import msgspec

from spark_jobs.cdc.mysql.types import Dialect

JSON: Final = msgspec.json.Encoder()

_SPECIAL = re.compile(rb"[<>&]|\xe2\x80[\xa8\xa9]|\\.", re.DOTALL)
_ESCAPES: Final = {
    b"<": rb"\u003c",
    b">": rb"\u003e",
    b"&": rb"\u0026",
    b"\xe2\x80\xa8": rb"\u2028",
    b"\xe2\x80\xa9": rb"\u2029",
    rb"\b": rb"\u0008",
    rb"\f": rb"\u000c",
}
_SURROGATE = re.compile("[\ud800-\udfff]")


def go_escaped(json: bytes) -> bytes:
    """Compact JSON with Go's escapes. Outside of its strings JSON has none of the characters concerned."""
    if 60 not in json and 62 not in json and 38 not in json and 92 not in json and 0xE2 not in json:
        return json  # no <, >, & or backslash, and no first byte of U+2028
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0], found[0]), json)


def json_of(value: object, dialect: Dialect) -> bytes:
    """A text, a row, names or types as the dialect writes them; U+FFFD for every byte of text that was not UTF-8."""
    try:
        json = JSON.encode(value)
    except UnicodeEncodeError:
        json = json_of_any_text(value)
    return go_escaped(json) if dialect is Dialect.TICDC else json


def json_of_any_text(value: object) -> bytes:
    """JSON with U+FFFD for every byte of text that was not UTF-8."""
    return JSON.encode(_without_surrogates(msgspec.to_builtins(value)))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(text) for name, text in value.items()}
    return [_without_surrogates(name) for name in value] if isinstance(value, list | tuple) else value
