"""Where everything lies in a folder of the storage layout.

    metadata
    <schema>/meta/schema_<version>_<hash>.json                            of a database
    <schema>/<table>/meta/schema_<version>_<hash>.json                    of a table
    <schema>/<table>/<version>[/<partition id>][/<date>]/CDC<number>.<extension>
    <schema>/<table>/<version>[/<partition id>][/<date>]/meta/CDC.index

Rules

1. ``version`` is a TSO in decimal, not padded; ``hash`` is an unsigned 32-bit number, padded to 10 digits.
2. ``number`` begins at 1 in every folder and is padded to the file index width; a wider one just grows.
3. ``partition id`` is there only when not 0; it is the physical id of a partition, not its name or its place.
4. ``date`` is that of the commit, in a given zone: ``2006``, ``2006-01``, ``2006-01-02`` or no folder at all.
5. An index file holds the base name of the last complete data file and a line feed.
6. TiCDC's new architecture can put ``_<dispatcher id>_`` between ``CDC`` and the number (tables spread over nodes), and
   the table's number in the place of ``<schema>/<table>``. Both are read, neither is written.

Names. TiCDC puts the names of schemas and tables into the path as they are, and so does Weir. Only what cannot be a
folder of that name is written as ``%XX``: ``/`` and NUL; the names ``.`` and ``..``, which would leave the folder; a
schema called ``metadata`` or ``_weir``, whose place at the top is taken; and a ``%`` that would otherwise be read back
as one of these. So every usual name comes out as TiCDC's, every name can be read back, and none leaves the folder. An
empty name, one beyond 255 bytes and one that is not Unicode text cannot be a folder at all: ``EncodeError``.
"""

import re
from collections.abc import Container
from datetime import timedelta, tzinfo
from enum import StrEnum
from typing import Final

import msgspec

from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError

METADATA: Final = "metadata"
RESERVED_AT_TOP: Final = frozenset({METADATA, "_weir"})
LAYOUT: Final = "storage layout"

DEFAULT_WIDTH: Final = 6
"""As TiCDC's document shows. TiCDC's own command line sends 20, so its users get 20."""
MIN_WIDTH: Final = 6
MAX_WIDTH: Final = 20
MAX_NAME_BYTES: Final = 255
MAX_UINT64: Final = (1 << 64) - 1

_UNSAFE = re.compile(r"[/\0]|%(?=2F|00|2E|25|6D|5F)")
_ESCAPED = re.compile(r"%(2F|00|2E|25|6D|5F)")
_SCHEMA_NAME = re.compile(r"schema_([0-9]{1,20})_([0-9]{10})\.json")
_DATA_NAME = re.compile(r"CDC(?:_([^_/]+)_)?([0-9]{6,40})\.([a-z]+)")
_INDEX_NAME = re.compile(r"CDC(?:_([^_/]+))?\.index")
_NUMBER = re.compile(r"[0-9]{1,20}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class DateSeparator(StrEnum):
    """How data files are kept apart by date."""

    NONE = "none"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"

    @classmethod
    def of(cls, text: str) -> "DateSeparator":
        """From a parameter, in any case; ``ConfigError`` names the choices."""
        try:
            return cls(text.lower())
        except ValueError:
            choices = ", ".join(cls)
            raise ConfigError(f"date-separator {text!r} is not known; it is one of {choices}") from None


_DATE_FORMATS: Final = {
    DateSeparator.NONE: ("", re.compile("")),
    DateSeparator.YEAR: ("%Y", re.compile(r"[0-9]{4}")),
    DateSeparator.MONTH: ("%Y-%m", re.compile(r"[0-9]{4}-[0-9]{2}")),
    DateSeparator.DAY: ("%Y-%m-%d", _DAY),
}


class DataDir(msgspec.Struct, frozen=True, gc=False, order=True):
    """One folder of data files. Sorts as a consumer replays one table: by version, partition, date.

    ``schema`` is "" where the folder is named by the table's number (rule 6); ``table`` is then that number.
    """

    version: int
    partition_id: int = 0
    date: str = ""
    schema: str = ""
    table: str = ""

    @property
    def path(self) -> str:
        """Relative to the sink's folder, without a slash at the end."""
        parts = [_top(self.schema), _segment(self.table, "table"), str(self.version)]
        if self.partition_id:
            parts.append(str(self.partition_id))
        if self.date:
            parts.append(self.date)
        return "/".join(parts)

    @property
    def index_path(self) -> str:
        return f"{self.path}/meta/CDC.index"


class DataFile(msgspec.Struct, frozen=True, gc=False, order=True):
    """One data file. ``extension`` without the dot; ``dispatcher`` as in rule 6, "" otherwise."""

    folder: DataDir
    number: int
    extension: str
    width: int = DEFAULT_WIDTH
    dispatcher: str = ""

    @property
    def name(self) -> str:
        return data_name(self.number, self.extension, self.width, self.dispatcher)

    @property
    def path(self) -> str:
        return f"{self.folder.path}/{self.name}"


class SchemaPath(msgspec.Struct, frozen=True, gc=False, order=True):
    """Where a schema file lies; ``table`` is "" for that of a database."""

    version: int
    schema: str
    table: str
    checksum: int

    @property
    def path(self) -> str:
        folder = _top(self.schema) if not self.table else f"{_top(self.schema)}/{_segment(self.table, 'table')}"
        return f"{folder}/meta/schema_{self.version}_{self.checksum:010d}.json"


class IndexedFile(msgspec.Struct, frozen=True, gc=False):
    """The data file that an index file names."""

    number: int
    extension: str
    width: int
    dispatcher: str = ""


class CommitDate:
    """The date folder of a commit-ts, in one zone. Remembers the last second, since neighbours share it."""

    def __init__(self, separator: DateSeparator, zone: tzinfo) -> None:
        self._format = _DATE_FORMATS[separator][0]
        self._zone = zone
        self._second = -1
        self._date = ""

    def __call__(self, commit_ts: int) -> str:
        if not self._format:
            return ""
        second = tso.physical_ms(commit_ts) // 1000
        if second != self._second:
            at = tso.to_datetime(commit_ts, self._zone)
            # strftime does not pad years before 1000 everywhere, and a date folder sorts as text
            self._date = at.strftime(self._format.replace("%Y", f"{at.year:04d}"))
            self._second = second
        return self._date


def file_index_width(width: int | None) -> int:
    """The width of file numbers; None is "not given". One that is out of range is TiCDC's default, as it is there."""
    if width is None:
        return DEFAULT_WIDTH
    return width if MIN_WIDTH <= width <= MAX_WIDTH else MAX_WIDTH


def data_name(number: int, extension: str, width: int = DEFAULT_WIDTH, dispatcher: str = "") -> str:
    """``CDC000005.csv``."""
    infix = f"_{dispatcher}_" if dispatcher else ""
    return f"CDC{infix}{number:0{width}d}.{extension}"


def index_content(name: str) -> bytes:
    """What an index file says: the last complete data file."""
    return f"{name}\n".encode()


def parse_index(content: bytes, extension: str) -> IndexedFile:
    """The data file that an index file names; ``DecodeError`` for anything else in it."""
    match = _DATA_NAME.fullmatch(content.decode("utf-8", "replace").strip())
    if match is None or match[3] != extension:
        raise DecodeError(
            LAYOUT, f"an index file must name a file CDC<number>.{extension}, this one says {content[:80]!r}"
        )
    number = _uint64(match[2], "file number")
    return IndexedFile(number, match[3], len(match[2]), match[1] or "")


def next_number(indexed: int, taken: Container[int]) -> int:
    """The number of the next data file in a folder that somebody else has written to.

    ``indexed``: the number in its index file, 0 without one; ``taken``: numbers of data files that exist and are not
    empty. An index that was written before its data file (older TiCDC) names one that may be missing: it is used again.
    Never a number that is taken.
    """
    number = max(indexed, 1)
    while number in taken:
        number += 1
    return number


def metadata_content(checkpoint_ts: int) -> bytes:
    return b'{"checkpoint-ts":%d}' % checkpoint_ts


def parse_metadata(content: bytes) -> int:
    """The checkpoint-ts that a ``metadata`` file states."""
    try:
        return msgspec.json.decode(content, type=_Metadata).checkpoint_ts
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(LAYOUT, f'metadata must be {{"checkpoint-ts":N}}, it is {content[:80]!r}') from error


class _Metadata(msgspec.Struct, frozen=True):
    checkpoint_ts: int = msgspec.field(name="checkpoint-ts")


def is_schema_file(path: str) -> bool:
    """Whether a path ends as those of schema files do."""
    folder, _, name = path.rpartition("/")
    return (folder == "meta" or folder.endswith("/meta")) and _SCHEMA_NAME.fullmatch(name) is not None


def is_expired(path: str, checkpoint_ts: int, days: int, zone: tzinfo) -> bool:
    """Whether the clean-up of day folders removes this file: more than ``days`` older than the checkpoint."""
    oldest = (tso.to_datetime(checkpoint_ts, zone) - timedelta(days=days)).strftime("%Y-%m-%d")
    found = _DAY.search(path)
    return found is not None and found[0] < oldest


def parse_schema_path(path: str) -> SchemaPath:
    """``DecodeError`` for a path that is not that of a schema file. The hash may be shorter than 10 digits."""
    parts = path.split("/")
    match = re.fullmatch(r"schema_([0-9]{1,20})_([0-9]{1,10})\.json", parts[-1])
    if match is None or len(parts) not in (3, 4) or parts[-2] != "meta":
        raise DecodeError(LAYOUT, f"{path!r} is not the path of a schema file")
    table = unescape(parts[1]) if len(parts) == 4 else ""
    return SchemaPath(_uint64(match[1], "version"), unescape(parts[0]), table, int(match[2]))


def parse_data_path(path: str, separator: DateSeparator, *, table_ids: bool = False) -> DataFile:
    """``DecodeError`` for a path that is not that of a data file under this separator.

    The separator must be known: ``…/5/2022/…`` may be a partition or a year. ``table_ids``: see rule 6.
    """
    folder, _, name = path.rpartition("/")
    match = _DATA_NAME.fullmatch(name)
    if match is None:
        raise DecodeError(LAYOUT, f"{path!r} is not the path of a data file")
    number = _uint64(match[2], "file number")
    return DataFile(_parse_dir(folder, separator, table_ids), number, match[3], len(match[2]), match[1] or "")


def parse_index_path(path: str, separator: DateSeparator, *, table_ids: bool = False) -> DataDir:
    """The folder whose index file this is; ``DecodeError`` for any other path."""
    folder, _, name = path.rpartition("/meta/")
    if not _INDEX_NAME.fullmatch(name):
        raise DecodeError(LAYOUT, f"{path!r} is not the path of an index file")
    return _parse_dir(folder, separator, table_ids)


def _parse_dir(path: str, separator: DateSeparator, table_ids: bool) -> DataDir:
    names, rest = _split_names(path.split("/"), table_ids)
    date = ""
    if separator is not DateSeparator.NONE and rest:
        date = rest.pop()
        if not _DATE_FORMATS[separator][1].fullmatch(date):
            raise DecodeError(LAYOUT, f"{path!r} does not end in a date by {separator}")
    if len(rest) not in (1, 2) or not all(_NUMBER.fullmatch(part) for part in rest):
        raise DecodeError(LAYOUT, f"{path!r} is not a folder of data files dated by {separator}")
    version = _uint64(rest[0], "version")
    partition_id = _uint64(rest[1], "partition id") if len(rest) == 2 else 0
    return DataDir(version, partition_id, date, *names)


def _split_names(parts: list[str], table_ids: bool) -> tuple[tuple[str, str], list[str]]:
    if table_ids:
        return ("", unescape(parts[0])), parts[1:]
    if len(parts) < 2:
        raise DecodeError(LAYOUT, f"{'/'.join(parts)!r} has no <schema>/<table>")
    return (unescape(parts[0]), unescape(parts[1])), parts[2:]


def escape(name: str) -> str:
    """A schema's or table's name as one part of a path; see the module's rules. Not for the top: use ``DataDir``."""
    if name in (".", ".."):
        return name.replace(".", "%2E")
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", name)


def unescape(part: str) -> str:
    """The name that a part of a path stands for."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), part)


def _top(schema: str) -> str:
    if schema in RESERVED_AT_TOP:
        return f"%{ord(schema[0]):02X}{schema[1:]}"
    return _segment(schema, "schema")


def _segment(name: str, what: str) -> str:
    part = escape(name)
    try:
        size = len(part.encode())
    except UnicodeEncodeError as error:
        raise EncodeError(LAYOUT, f"the {what} name {name!r} is not Unicode text, so no folder can have it") from error
    if not 0 < size <= MAX_NAME_BYTES:
        raise EncodeError(
            LAYOUT, f"the {what} name {name[:40]!r} is {size} bytes long; a folder's has 1 to {MAX_NAME_BYTES}"
        )
    return part


def _uint64(digits: str, what: str) -> int:
    number = int(digits)
    if number > MAX_UINT64:
        raise DecodeError(LAYOUT, f"the {what} {digits} does not fit 64 bits")
    return number
