"""CSV rows by template; the rules of the format stand in ``csv.py``.

A *shape* is the Python types of a row's values: they say where NULL is and how each value is written. It is worked out
once, into a ``%`` template that a row is put into as it is. Whether a value needed quoting or escaping is seen
afterwards, by counting the special characters of the whole line: only then it is done value by value. (Counting is
safe: a special text inside a value is one more than those of the template, wherever else it may overlap.)
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from spark_jobs.cdc.codecs.csv.format import NAME, CsvFormat, written_columns
from spark_jobs.cdc.codecs.csv.values import Slot, handle_text, slots
from spark_jobs.cdc.codecs.pick import picker
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import ABSENT, Row, TableSchema, Value
from spark_jobs.cdc.memory import Memory

CACHED_SHAPES: Final = 1024
_NOTHING: Final = "%.0s"
"""A template's place that takes a value and prints nothing."""


T = TypeVar("T")


class Text:
    """How text stands in a row: quoted, or escaped where the quote is empty.

    ``escape``: a text as it stands between the quotes, or without them. ``counts``: the special characters of a line.
    """

    escape: Callable[..., str]
    counts: Callable[[str], object]

    def __init__(self, form: CsvFormat) -> None:
        quote = form.quote
        self._quote = quote
        self.slot = f"{literal(quote)}%s{literal(quote)}"
        self.filler = next(char for char in "012345" if char not in form.delimiter + quote)
        if quote:
            self.escape = lambda text: text.replace(quote, quote * 2)
            self.counts = lambda line: line.count(quote)
        else:
            self.escape = _escape_without_quotes(form.delimiter)
            self.counts = lambda line: [line.count(special) for special in (form.delimiter, "\\", "\r", "\n")]

    def whole(self, text: str) -> str:
        return self._quote + self.escape(text) + self._quote


def _escape_without_quotes(delimiter: str) -> Callable[[str], str]:
    escaped = "".join(f"\\{char}" for char in delimiter)
    if set(delimiter).isdisjoint("\\rn"):
        return lambda text: (
            text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n").replace(delimiter, escaped)
        )
    # one replacement could meet what another one made, so all in one pass; the delimiter may begin with a backslash
    escapes = {delimiter: escaped, "\\": "\\\\", "\r": "\\r", "\n": "\\n"}
    special = re.compile(f"{re.escape(delimiter)}|[\\\\\r\n]")
    return lambda text: special.sub(lambda found: escapes[found[0]], text)


def literal(text: str) -> str:
    """Text as a part of a template."""
    return text.replace("%", "%%")


class CommitTs:
    """The last commit-ts as a row has it, since the rows of a transaction have the same; nothing if rows have none.

    Whoever wants ``text`` looks whether ``value`` is what he has, and sets it if not.
    """

    __slots__ = ("_written", "text", "value")

    def __init__(self, form: CsvFormat) -> None:
        self._written = form.include_commit_ts
        self.set(0)

    def set(self, value: int) -> None:
        self.value = value
        self.text = b"%d" % value if self._written else b""


class TableRows:
    """What all rows of one table share. Holds the table, so that its id stays its own."""

    def __init__(self, table: TableSchema, form: CsvFormat) -> None:
        self.table = table
        self.commit_ts = CommitTs(form)
        self.form = form
        self.text = Text(form)
        self.title = f"{table.schema}.{table.table}"
        columns = written_columns(table)
        self.names = tuple(column.name for column in columns)
        self.handle = handle_text(table) if form.output_handle_key else None
        self._slots = tuple(slots(column.type, hexadecimal=form.hex) for column in columns)
        kept = [at for at, column in enumerate(table.columns) if column.generated != "virtual"]
        self.pick: Final = picker(kept) if len(kept) < len(table.columns) else None
        """Picks the values that are written from a row; None if all are."""

    def values(self, row: Row | None) -> Row:
        """The values that are written."""
        if row is None:
            raise EncodeError(NAME, f"a change of {self.title} comes without the row to write")
        return self.pick(row) if self.pick else row

    def head(self, operation: str, *, is_update: str) -> str:
        """The template of the fields before the columns; it takes the commit-ts and the handle, printed or not."""
        form = self.form
        fields = [literal(self.text.whole(field)) for field in (operation, self.table.table, self.table.schema)]
        fields += ["%s"] if form.include_commit_ts else []
        unused = "" if form.include_commit_ts else _NOTHING
        fields += [is_update] if form.output_old_value else []
        if self.handle:
            fields.append(unused + self.text.slot)
        else:
            fields += [literal(form.null)] if form.output_handle_key else []
            fields[-1] += unused + _NOTHING
        return literal(form.delimiter).join(fields)

    def choose(self, types: tuple[type, ...]) -> list[Slot | None]:
        """How each column of a shape is written; None for NULL."""
        if not types:
            raise EncodeError(NAME, f"a row of {self.title} carries no column")
        if len(types) != len(self.names):
            raise EncodeError(NAME, f"{self.title} has {len(self.names)} columns, its row {len(types)} values")
        return [self._slot(*column) for column in zip(self.names, self._slots, types, strict=True)]

    def _slot(self, name: str, known: dict[type, Slot], kind: type) -> Slot | None:
        slot = known.get(kind)
        if slot is None and kind is not type(None):
            what = "is not in the image" if kind is type(ABSENT) else f"has a value of the type {kind.__name__}"
            raise EncodeError(NAME, f"column {name!r} of {self.title} {what}; a row needs every column in its own type")
        return slot

    def convert(self, conversions: Sequence[tuple[int, Callable[..., T]]], values: list[T]) -> None:
        """Converts values in place."""
        for at, convert in conversions:
            try:
                values[at] = convert(values[at])
            except ValueError as error:
                raise EncodeError(NAME, f"column {self.names[at]!r} of {self.title}: {error}") from error


class Shape(msgspec.Struct, frozen=True):
    """``template`` takes the commit-ts, the handle and the values. ``counts``: special characters of the template.

    ``conversions``: which values to convert first. ``texts``: which values are text.
    """

    template: str
    counts: object
    conversions: tuple[tuple[int, Callable[..., Value]], ...]
    texts: tuple[bool, ...]


class TemplateRows(Memory[tuple[type, ...], Shape]):
    """Writes the rows of one table that begin in one way; its items are the shapes met so far."""

    def __init__(self, rows: TableRows, operation: str, *, is_update: str) -> None:
        super().__init__(CACHED_SHAPES)
        self._rows = rows
        self._head = rows.head(operation, is_update=is_update)

    def line(self, commit_ts: int, row: Row | None) -> bytes:
        """One row without its terminator."""
        values = self._rows.values(row)
        shape = self[tuple(map(type, values))]
        handle = self._rows.handle(row) if self._rows.handle and row else ""
        cells: Sequence[Value] = values
        if shape.conversions:
            cells = list(values)
            self._rows.convert(shape.conversions, cells)
        line = shape.template % (commit_ts, handle, *cells)
        if self._rows.text.counts(line) != shape.counts:
            escape = self._rows.text.escape
            escaped = [escape(cell) if text else cell for cell, text in zip(cells, shape.texts, strict=True)]
            line = shape.template % (commit_ts, escape(handle), *escaped)
        return utf8(line)

    def __missing__(self, types: tuple[type, ...]) -> Shape:
        chosen = self._rows.choose(types)
        template = literal(self._rows.form.delimiter).join([self._head, *map(self._place, chosen)])
        # a value is a character that is not special, so that the texts around it do not meet
        blank = template % ((self._rows.text.filler,) * (2 + len(types)))
        shape = Shape(
            template=template,
            counts=self._rows.text.counts(blank),
            conversions=tuple((at, slot.convert) for at, slot in enumerate(chosen) if slot and slot.convert),
            texts=tuple(slot is not None and slot.text for slot in chosen),
        )
        self.remember(types, shape)
        return shape

    def _place(self, slot: Slot | None) -> str:
        if slot is None:
            return literal(self._rows.form.null) + _NOTHING
        return self._rows.text.slot if slot.text else "%s"


def utf8(line: str) -> bytes:
    try:
        return line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise EncodeError(NAME, f"the row has half a surrogate pair at character {error.start}") from error
