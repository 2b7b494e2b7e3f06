"""Events in the data files of a storage folder, read with the standard library alone: see ``storage_reader.py``."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

Image = dict[str, str | None]


class Event(NamedTuple):
    """One row change. Images map column names to texts, None for NULL; ``place`` is the file and the number in it.

    A CSV update has no old image, unless it was written as two rows: these are events of their own (``is_update``).
    """

    operation: str
    schema: str
    table: str
    commit_ts: int
    before: Image | None
    after: Image | None
    version: int
    place: tuple[str, int]
    is_update: bool = False


@dataclass(frozen=True)
class CsvStyle:
    """The sink's CSV parameters; a quote is always there and is one character, as is the delimiter."""

    delimiter: str = ","
    quote: str = '"'
    null: str = r"\N"
    commit_ts: bool = True
    old_value: bool = False
    header: bool = False


def canal_json_events(content: bytes, terminator: str, version: int, path: str) -> Iterator[Event]:
    """The events of a canal-json file; ``ValueError``, ``KeyError`` or ``TypeError`` where it is not one."""
    lines = content.split(terminator.encode())
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
        yield _canal_event(json.loads(line), version, (path, number))


def csv_events(
    content: bytes, terminator: str, style: CsvStyle, columns: list[str] | None, version: int, path: str
) -> Iterator[Event]:
    """The events of a CSV file; ``ValueError``, ``KeyError`` or ``TypeError`` where it is not one."""
    rows = _csv_rows(content.decode("utf-8", "surrogateescape"), style, terminator)
    if style.header:
        next(rows, None)
    for number, row in enumerate(rows, 1):
        yield _csv_event(row, style, columns, version, (path, number))


def _canal_event(message: dict[str, Any], version: int, place: tuple[str, int]) -> Event:
    operation = message["type"]
    if message["isDdl"] or operation not in ("INSERT", "UPDATE", "DELETE"):
        raise ValueError(f"a {operation} message in a data file")
    (row,) = message["data"]
    (old,) = message["old"] or (None,)
    commit_ts = message.get("_tidb", {}).get("commitTs", 0)
    before, after = (row, None) if operation == "DELETE" else (old, row)
    return Event(operation[0], message["database"], message["table"], commit_ts, before, after, version, place)


def _csv_rows(text: str, style: CsvStyle, terminator: str) -> Iterator[list[str | None]]:
    """Rows of fields; None is NULL."""
    quote, delimiter, end = re.escape(style.quote), re.escape(style.delimiter), re.escape(terminator)
    field_pattern = re.compile(
        f"(?:{quote}([^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+){quote}"
        f"|((?:(?!{delimiter}|{end})[^{quote}])*+))({delimiter}|{end}|\\Z)"
    )
    row: list[str | None] = []
    at = 0
    while at < len(text):
        match = field_pattern.match(text, at)
        if match is None:
            raise ValueError(f"neither a field nor its end at character {at}")
        quoted, bare, after = match.groups()
        if quoted is not None:
            row.append(quoted.replace(style.quote * 2, style.quote) if style.quote in quoted else quoted)
        else:
            row.append(None if bare == style.null else bare)
        at = match.end()
        if after != style.delimiter:
            yield row
            row = []
    if row:
        raise ValueError("the last row ends behind a delimiter")


def _csv_event(
    row: list[str | None], style: CsvStyle, columns: list[str] | None, version: int, place: tuple[str, int]
) -> Event:
    operation, table, schema, *rest = row
    commit_ts = int(rest.pop(0) or "") if style.commit_ts else 0
    is_update = {"true": True, "false": False}[rest.pop(0) or ""] if style.old_value else False
    names = [f"c{number}" for number in range(1, len(rest) + 1)] if columns is None else columns
    image = dict(zip(names, rest, strict=True))
    if operation not in ("I", "U", "D") or schema is None or table is None:
        raise ValueError(f"a row that begins with {row[:3]}")
    before, after = (image, None) if operation == "D" else (None, image)
    return Event(operation, schema, table, commit_ts, before, after, version, place, is_update)
