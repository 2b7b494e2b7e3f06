r"""CSV rows by way of JSON, for the usual delimiter and quote; the rules of the format stand in ``csv.py``.

A row between ``,`` and ``"`` is a JSON array without its brackets, if NULL is put in as it is, unless a text has
something that JSON escapes: a quote, a backslash, a control character. Each of these brings a backslash. So a row whose
JSON has no more backslashes than its NULLs have is CSV already; any other is written by its template. JSON of a whole
row is made in C, five times faster than a template is filled.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from spark_jobs.cdc.codecs.csv.shapes import CACHED_SHAPES, TableRows, TemplateRows, utf8
from spark_jobs.cdc.codecs.csv.values import SURELY_PLAIN_BELOW, SURELY_PLAIN_FROM, Slot, go64, to_base64
from spark_jobs.cdc.events import Row, Value
from spark_jobs.cdc.memory import Memory

_ENCODER: Final = msgspec.json.Encoder()


def suits(rows: TableRows) -> bool:
    """Whether these rows can be made from JSON."""
    form = rows.form
    return (
        form.delimiter == ","
        and form.quote == '"'
        and form.null != ""
        and not form.output_handle_key
        and bool(rows.names)
    )


class _Shape(msgspec.Struct, frozen=True):
    """``nulls``: where they are, and ``backslashes``, how many they bring; ``conversions``: values to convert first.

    ``plain``: there is neither.
    """

    plain: bool
    nulls: tuple[int, ...]
    backslashes: int
    conversions: tuple[tuple[int, Callable[..., Value | msgspec.Raw]], ...]


class JsonRows(Memory[tuple[type, ...], _Shape]):
    """Writes the rows of one table that begin in one way; its items are the shapes met so far."""

    def __init__(self, rows: TableRows, operation: str, *, is_update: str) -> None:
        super().__init__(CACHED_SHAPES)
        self._rows = rows
        self._pick = rows.pick
        self._template = TemplateRows(rows, operation, is_update=is_update)
        self._null = msgspec.Raw(utf8(rows.form.null))
        after = f",{is_update}" if rows.form.output_old_value else ""
        self._before = utf8((rows.head(operation, is_update=is_update) % ("", "")).removesuffix(after))
        self._after = utf8(after) + b","
        self._commit_ts = rows.commit_ts
        self._last: tuple[tuple[type, ...] | None, _Shape] = (None, _Shape(True, (), 0, ()))

    def line(self, commit_ts: int, row: Row | None) -> bytes:
        """One row without its terminator."""
        if row is None or self._pick is not None:
            row = self._rows.values(row)
        types, shape = self._last
        found = tuple(map(type, row))
        if found != types:
            shape = self[found]
            self._last = found, shape
        try:
            array = _ENCODER.encode(row if shape.plain else self._cells(shape, row))
        except (UnicodeEncodeError, OverflowError):
            return self._template.line(commit_ts, row)
        # to look for one is many times faster than to count them
        if array.count(b"\\") != shape.backslashes if shape.backslashes else 92 in array:
            return self._template.line(commit_ts, row)
        written = self._commit_ts
        if commit_ts != written.value:
            written.set(commit_ts)
        return b"".join((self._before, written.text, self._after, array[1:-1]))

    def _cells(self, shape: _Shape, row: Row) -> list[Value | msgspec.Raw]:
        cells: list[Value | msgspec.Raw] = list(row)
        for at in shape.nulls:
            cells[at] = self._null
        if shape.conversions:
            self._rows.convert(shape.conversions, cells)
        return cells

    def __missing__(self, types: tuple[type, ...]) -> _Shape:
        nulls = []
        conversions = []
        for at, slot in enumerate(self._rows.choose(types)):
            convert = None if slot is None else _conversion(slot)
            if slot is None:
                nulls.append(at)
            elif convert is not None:
                conversions.append((at, convert))
        backslashes = len(nulls) * self._rows.form.null.count("\\")
        is_plain = not nulls and not conversions
        shape = _Shape(is_plain, tuple(nulls), backslashes, tuple(conversions))
        self.remember(types, shape)
        return shape


def _conversion(slot: Slot) -> Callable[..., Value | msgspec.Raw] | None:
    convert = slot.convert
    if convert is None or convert is to_base64:  # as JSON has bytes
        return None
    if slot.text:
        return convert
    return _double if convert is go64 else lambda value: msgspec.Raw(convert(value).encode())


def _double(value: float) -> float | msgspec.Raw:
    """The number itself where JSON prints it like Go."""
    if SURELY_PLAIN_FROM <= abs(value) < SURELY_PLAIN_BELOW and not value.is_integer():
        return value
    return msgspec.Raw(go64(value).encode())
