"""Cuts a CSV row into its fields, and a file into its rows; the rules stand in ``csv.py``."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from spark_jobs.cdc.codecs.csv.format import NAME, CsvFormat
from spark_jobs.cdc.errors import ConfigError, DecodeError

Field: TypeAlias = str | None
"""A field without its quotes and escapes; None is NULL."""

MAX_ROW_BYTES: Final = 1 << 28
_BREAKS: Final = ("\r\n", "\n")


class Bare(str):
    """A field without quotes, in a format that quotes every text: a number."""

    __slots__ = ()


def splitter(form: CsvFormat) -> Callable[[str], list[Field]]:
    """A function from a row, without its terminator, to its fields; it raises ``DecodeError``."""
    delimiter = re.escape(form.delimiter)
    if form.quote:
        quote = re.escape(form.quote)
        text = f"{quote}([^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+){quote}"
        bare = f"((?!{quote})(?:(?!{delimiter}).)*+)"
        pattern = re.compile(f"(?:{text}|{bare})({delimiter}|\\Z)", re.DOTALL)
        return lambda row: _split(row, pattern, lambda found: _quoted(found, form))
    other = f"[^{delimiter}\\\\]" if len(form.delimiter) == 1 else f"(?!{delimiter})[^\\\\]"
    pattern = re.compile(f"((?:{other}|\\\\.)*+)({delimiter}|\\Z)", re.DOTALL)
    return lambda row: _split(row, pattern, lambda found: _escaped(found, form))


def _split(row: str, pattern: re.Pattern[str], read: Callable[[re.Match[str]], Field]) -> list[Field]:
    fields: list[Field] = []
    at = 0
    while True:
        found = pattern.match(row, at)
        if found is None:
            offset = len(row[:at].encode("utf-8", "surrogateescape"))
            raise DecodeError(NAME, "a field that does not end as it begins", offset=offset)
        fields.append(read(found))
        if found.end() == found.start(found.re.groups):
            return fields
        at = found.end()


def _quoted(found: re.Match[str], form: CsvFormat) -> Field:
    text: str | None = found[1]
    if text is not None:
        return text.replace(form.quote * 2, form.quote)
    return None if found[2] == form.null else Bare(found[2])


_UNESCAPED: Final = {"r": "\r", "n": "\n"}
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


def _escaped(found: re.Match[str], form: CsvFormat) -> Field:
    text: str = found[1]
    if text == form.null:
        return None
    return _ESCAPE.sub(lambda escape: _UNESCAPED.get(escape[1], escape[1]), text) if "\\" in text else text


class RowSplitter:
    """Cuts the bytes of a file, in pieces as they come, into rows without their terminators.

    In a format with quotes, a terminator between quotes belongs to the row. A line feed and a carriage return with one
    are taken for each other.
    """

    def __init__(self, form: CsvFormat) -> None:
        if not form.terminator:
            raise ConfigError("rows without a terminator cannot be told apart; give the terminator they have")
        self._lines = form.terminator in _BREAKS
        self._end = b"\n" if self._lines else form.terminator.encode()
        self._quote = form.quote.encode()
        self._rest = bytearray()
        self._row: list[bytes] = []
        self._row_bytes = 0
        self._is_quoted = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Takes the next bytes; returns the rows that are complete with them."""
        searched = max(0, len(self._rest) - len(self._end) + 1)
        self._rest += piece
        if self._row_bytes + len(self._rest) > MAX_ROW_BYTES + len(piece):
            raise DecodeError(NAME, f"a row of more than {MAX_ROW_BYTES} bytes; its terminator or quote may be another")
        if self._rest.find(self._end, searched) < 0:
            return []
        *parts, rest = bytes(self._rest).split(self._end)
        self._rest = bytearray(rest)
        return [row for part in parts if (row := self._add(part)) is not None]

    def finish(self) -> list[bytes]:
        """Returns what is left: the last row, if it has no terminator."""
        rest = self._end.join([*self._row, bytes(self._rest)])
        self._rest, self._row, self._row_bytes, self._is_quoted = bytearray(), [], 0, False
        return [self._cut(rest)] if rest else []

    def _add(self, part: bytes) -> bytes | None:
        """Adds what stands before a terminator to the row; returns the row if the terminator is its own."""
        if self._quote and part.count(self._quote) % 2:
            self._is_quoted = not self._is_quoted
        self._row.append(part)
        self._row_bytes += len(part) + len(self._end)
        if self._is_quoted:
            return None
        row, self._row, self._row_bytes = self._end.join(self._row), [], 0
        return self._cut(row)

    def _cut(self, row: bytes) -> bytes:
        return row.removesuffix(b"\r") if self._lines else row
