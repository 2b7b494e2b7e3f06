"""Reads a folder of TiCDC's storage layout as a consumer would, and says everything that is wrong with it.

It is the judge of what Weir wrote, so it shares nothing with Weir: the standard library only, its own paths, hash, CSV
and JSON. It may run while somebody writes: ``metadata`` is read before the index files, these before the data files
that they name, and the schema files last, so whatever a consumer may rely on must be there when it is looked for.

Only data files that an index file covers are read: numbers 1 to the one it names. Files beyond are ``uncommitted``,
files of other names are ``strangers``; neither is wrong. What is wrong with the folder is in ``problems`` at once; what
is wrong with events is added while they are read (``check`` reads them all).
"""

import json
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.storage_events import CsvStyle, Event, canal_json_events, csv_events

Table = tuple[str, str]
"""Schema and table."""

EXTENSIONS = {"canal-json": "json", "csv": "csv"}
_DATA_NAME = re.compile(r"CDC([0-9]{6,})\.(json|csv)")
_SCHEMA_NAME = re.compile(r"schema_([0-9]+)_([0-9]{10})\.json")
_VERSION = re.compile(r"[0-9]+")
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")
_METADATA = re.compile(rb'\{"checkpoint-ts":([0-9]{1,20})\}')


class SchemaFile(NamedTuple):
    """A schema file; ``columns`` as they stand in it, None of a database."""

    path: str
    version: int
    query: str
    action: int
    columns: list[dict[str, Any]] | None

    @property
    def names(self) -> list[str]:
        return [column["ColumnName"] for column in self.columns or ()]


class DataDir(NamedTuple):
    """A folder with an index file; sorts as a consumer takes it."""

    version: int
    partition_id: int
    date: str
    path: str
    files: tuple[str, ...]


@dataclass
class Folder:
    """What ``read_folder`` found. ``tables``: their folders in a consumer's order; ``schemas``: their schema files."""

    path: Path
    protocol: str
    checkpoint: int | None = None
    tables: dict[Table, list[DataDir]] = field(default_factory=dict)
    schemas: dict[Table, list[SchemaFile]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    uncommitted: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    csv: CsvStyle = field(default_factory=CsvStyle)
    terminator: str = "\r\n"
    zone: tzinfo | None = None
    ordered: bool = True

    def events(self, table: Table) -> Iterator[Event]:
        """The events of one table in a consumer's order, one file in memory at a time."""
        columns = {schema.version: schema.names for schema in self.schemas.get(table, ())}
        last: dict[tuple[int, int], int] = {}
        for folder in self.tables.get(table, ()):
            window = _window(folder.date, self.zone)
            for name in folder.files:
                for event in self._file(table, folder, name, columns.get(folder.version)):
                    if event.commit_ts:
                        self._check_time(event, folder, last, window)
                    yield event

    def all_events(self) -> Iterator[Event]:
        """The events of every table, one table after the other."""
        for table in sorted(self.tables):
            yield from self.events(table)

    def check(self) -> int:
        """Reads everything, so that ``problems`` is complete; returns the number of events."""
        return sum(1 for _ in self.all_events())

    def _file(self, table: Table, folder: DataDir, name: str, columns: list[str] | None) -> Iterator[Event]:
        path = f"{folder.path}/{name}"
        content = (self.path / path).read_bytes()
        if not content:
            self.problems.append(f"{path}: a data file without a byte")
        elif not content.endswith(self.terminator.encode()):
            self.problems.append(f"{path}: does not end with the terminator")
        number = 0
        try:
            for event in self._parsed(content, folder.version, path, columns):
                number += 1
                if (event.schema, event.table) != table:
                    self.problems.append(f"{path}: event {number} belongs to {event.schema}.{event.table}")
                yield event
        except (ValueError, KeyError, TypeError) as error:
            self.problems.append(f"{path}: event {number + 1} cannot be read: {error!r}")

    def _parsed(self, content: bytes, version: int, path: str, columns: list[str] | None) -> Iterator[Event]:
        if self.protocol == "csv":
            yield from csv_events(content, self.terminator, self.csv, columns, version, path)
            return
        expected = set(columns or ())
        for event in canal_json_events(content, self.terminator, version, path):
            if columns is not None and event.after is not None and event.after.keys() != expected:
                self.problems.append(f"{path}: event {event.place[1]} has other columns than its schema file")
            yield event

    def _check_time(
        self, event: Event, folder: DataDir, last: dict[tuple[int, int], int], window: tuple[int, int] | None
    ) -> None:
        key = (folder.version, folder.partition_id)
        earliest = last.get(key, folder.version)
        if self.ordered and event.commit_ts < earliest:
            self._fault(event, f"has the commit-ts {event.commit_ts} after {earliest}")
        last[key] = event.commit_ts
        if window is not None and not window[0] <= event.commit_ts >> 18 < window[1]:
            self._fault(event, f"has the commit-ts {event.commit_ts}, which is not in {folder.date}")

    def _fault(self, event: Event, what: str) -> None:
        self.problems.append(f"{event.place[0]}: event {event.place[1]} {what}")


def read_folder(
    path: str | os.PathLike[str],
    protocol: str,
    *,
    csv: CsvStyle | None = None,
    terminator: str = "\r\n",
    zone: tzinfo | None = None,
    ordered: bool = True,
) -> Folder:
    """Walks a folder. ``zone``: check that events stand under their commit date in it. ``ordered``: check that
    commit-ts never steps back within a version and partition, nor is below the version (true with watermarks).
    """
    folder = Folder(Path(path), protocol, csv=csv or CsvStyle(), terminator=terminator, zone=zone, ordered=ordered)
    folder.checkpoint = _checkpoint(folder)
    indexes = {place: (folder.path / place).read_bytes() for place in _index_files(folder.path)}
    found: dict[str, list[DataDir]] = {}
    for place, content in sorted(indexes.items()):
        data_dir = _data_dir(folder, place.removesuffix("/meta/CDC.index"), content)
        if data_dir is not None:
            found.setdefault("/".join(place.split("/")[:2]), []).append(data_dir)
    named = _read_schema_files(folder)
    for table_path, dirs in found.items():
        schema, _, name = table_path.partition("/")
        table = named.get(table_path, (schema, name))
        folder.tables[table] = sorted(dirs)
        versions = {file.version for file in folder.schemas.get(table, ())}
        missing = sorted({data_dir.version for data_dir in dirs} - versions)
        folder.problems += [f"{table_path}: no schema file for the version {version}" for version in missing]
    _look_around(folder, found)
    return folder


def _checkpoint(folder: Folder) -> int | None:
    try:
        content = (folder.path / "metadata").read_bytes()
    except FileNotFoundError:
        return None
    match = _METADATA.fullmatch(content)
    if match is None:
        folder.problems.append(f"metadata: {content[:80]!r} states no checkpoint")
        return None
    return int(match[1])


def _walk(root: Path) -> Iterator[tuple[str, str]]:
    """All files as (folder, name), without Weir's own folder and without ``metadata``."""
    for where, folders, names in os.walk(root):
        here = os.path.relpath(where, root).replace(os.sep, "/")
        if here == ".":
            here = ""
            folders[:] = [name for name in folders if name != "_weir"]
            names = [name for name in names if name != "metadata"]
        folders.sort()
        yield from ((here, name) for name in names)


def _index_files(root: Path) -> list[str]:
    return [f"{here}/{name}" for here, name in _walk(root) if name == "CDC.index" and here.endswith("/meta")]


def _data_dir(folder: Folder, path: str, content: bytes) -> DataDir | None:
    place = _place(path)
    if place is None:
        folder.problems.append(f"{path}: not a folder that data files may be in")
        return None
    last = _indexed(content, EXTENSIONS[folder.protocol])
    if last is None:
        folder.problems.append(f"{path}/meta/CDC.index: {content[:80]!r} names no data file")
        return None
    names = _numbered(folder, path)
    wanted = range(1, int(_DATA_NAME.fullmatch(last)[1]) + 1)  # type: ignore[index]
    if last not in names.values():
        folder.problems.append(f"{path}/{last}: named by the index file, and not there")
    gaps = [number for number in wanted[:-1] if number not in names]
    folder.problems += [f"{path}: no data file has the number {number}" for number in gaps]
    return DataDir(*place, path, tuple(names[number] for number in wanted if number in names))


def _place(path: str) -> tuple[int, int, str] | None:
    """Version, partition and date of ``<schema>/<table>/<version>[/<partition>][/<date>]``.

    A lone number behind the version is a partition unless it has the four digits of a year.
    """
    rest = path.split("/")[2:]
    day = rest.pop() if len(rest) > 1 and (_DATE.fullmatch(rest[-1]) and (len(rest) == 3 or _is_date(rest[-1]))) else ""
    if not 1 <= len(rest) <= 2 or not all(_VERSION.fullmatch(part) for part in rest):
        return None
    return int(rest[0]), int(rest[1]) if len(rest) == 2 else 0, day


def _is_date(text: str) -> bool:
    return "-" in text or 1970 <= int(text) <= 9999


def _indexed(content: bytes, extension: str) -> str | None:
    """The name in an index file: one name and one line feed."""
    name, end, rest = content.decode("utf-8", "replace").partition("\n")
    match = _DATA_NAME.fullmatch(name)
    return name if end and not rest and match and match[2] == extension and int(match[1]) else None


def _numbered(folder: Folder, path: str) -> dict[int, str]:
    names: dict[int, str] = {}
    for name in sorted(os.listdir(folder.path / path)):
        match = _DATA_NAME.fullmatch(name)
        if match is None or match[2] != EXTENSIONS[folder.protocol]:
            continue
        if int(match[1]) in names:
            folder.problems.append(f"{path}: {names[int(match[1])]} and {name} have the same number")
        names.setdefault(int(match[1]), name)
    return names


def _read_schema_files(folder: Folder) -> dict[str, Table]:
    """Fills ``schemas``; returns which table each folder belongs to, since a name may be escaped in a path."""
    named: dict[str, Table] = {}
    for here, name in _walk(folder.path):
        match = _SCHEMA_NAME.fullmatch(name)
        if match is None or not here.endswith("/meta") or here.count("/") not in (1, 2):
            continue
        path = f"{here}/{name}"
        try:
            document = json.loads((folder.path / path).read_bytes())
            folder.problems += [f"{path}: {fault}" for fault in _schema_faults(document, int(match[1]), int(match[2]))]
            table = document["Schema"], document["Table"]
            file = SchemaFile(path, int(match[1]), document["Query"], document["Type"], document["TableColumns"])
        except (ValueError, KeyError, TypeError) as error:
            folder.problems.append(f"{path}: not a schema file: {error!r}")
            continue
        owner = here.removesuffix("/meta")
        if named.setdefault(owner, table) != table:
            folder.problems.append(f"{path}: is of {table[0]}.{table[1]}, others beside it of {'.'.join(named[owner])}")
        if ("/" in owner) != bool(table[1]):
            folder.problems.append(f"{path}: a table's file must be in a table's folder, a database's in a database's")
        folder.schemas.setdefault(table, []).append(file)
    for files in folder.schemas.values():
        files.sort(key=lambda file: file.version)
    _check_versions(folder)
    return named


def _check_versions(folder: Folder) -> None:
    for (schema, table), files in folder.schemas.items():
        for one, following in pairwise(files):
            if table and one.version == following.version:
                folder.problems.append(f"{schema}.{table}: two schema files for the version {one.version}")


def _schema_faults(document: dict[str, Any], version: int, checksum: int) -> Iterator[str]:
    columns = document["TableColumns"]
    if document["Version"] != 1:
        yield f"Version is {document['Version']!r}"
    if document["TableVersion"] != version:
        yield f"TableVersion is {document['TableVersion']!r}, its name says {version}"
    if document["TableColumnsTotal"] != len(columns or ()):
        yield f"TableColumnsTotal is {document['TableColumnsTotal']!r}, there are {len(columns or ())} columns"
    if _hash(document) != checksum:
        yield f"its hash is {_hash(document):010d}, its name says {checksum:010d}"


def _hash(document: dict[str, Any]) -> int:
    columns = [
        {key: value for key, value in c.items() if key != "ColumnLength"} for c in document["TableColumns"] or ()
    ]
    columns.sort(key=lambda column: column["ColumnName"].encode())
    hashed = {"Table": document["Table"], "Schema": document["Schema"], "Version": 0, "TableColumns": columns}
    text = json.dumps(hashed | {"TableColumnsTotal": len(columns)}, indent=4, ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return zlib.crc32(text.encode())


def _look_around(folder: Folder, found: dict[str, list[DataDir]]) -> None:
    """Files that no index file covers, and files that no rule names."""
    covered = {f"{data_dir.path}/{name}" for dirs in found.values() for data_dir in dirs for name in data_dir.files}
    for here, name in _walk(folder.path):
        path = f"{here}/{name}" if here else name
        if path in covered or (here.endswith("/meta") and (name == "CDC.index" or _SCHEMA_NAME.fullmatch(name))):
            continue
        (folder.uncommitted if _DATA_NAME.fullmatch(name) else folder.strangers).append(path)


def _window(text: str, zone: tzinfo | None) -> tuple[int, int] | None:
    """From when to when a date folder reaches, in milliseconds; None if there is nothing to check."""
    if zone is None or not text:
        return None
    year, month, day = (int(part) if part else None for part in _DATE.fullmatch(text).groups())  # type: ignore[union-attr]
    first = date(year, month or 1, day or 1)  # type: ignore[arg-type]
    if day:
        following = first + timedelta(days=1)
    elif month:
        following = (first + timedelta(days=31)).replace(day=1)
    else:
        following = first.replace(year=first.year + 1)
    return _milliseconds(first, zone), _milliseconds(following, zone)


def _milliseconds(day: date, zone: tzinfo) -> int:
    at = datetime(day.year, day.month, day.day, tzinfo=zone)
    return round(at.astimezone(UTC).timestamp() * 1000)
