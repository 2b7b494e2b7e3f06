"""Lists a source folder: which files have appeared, in the order they are to be read.

Files that appear later may have any name and any age, so no single name or time stands for "read up to here": a
position holds the names of all files read.
"""

import contextlib
import os
from collections.abc import Container, Iterator

import msgspec

from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.sources.folder.glob import matcher


class SourceFolderUnreadable(EnvironmentFault):
    """The folder, or one below it, is not there or cannot be listed."""

    code = "CDC:ErrSourceFolderUnreadable"


class FileEntry(msgspec.Struct, frozen=True, order=True):
    """A file of the folder: its path relative to it (``/`` as separator) and its size."""

    name: str
    size: int


def new_files(path: str, pattern: str, known: Container[str]) -> list[FileEntry]:
    """The files that are there and not in ``known``, in name order.

    A listing is no picture of one moment: of two files that appear meanwhile it may show the second and not the first,
    which is in a part that was listed before. So it is done again, and what stands before the last one is added.
    """
    found = {entry.name: entry for entry in listing(path, pattern, known)}
    if found:
        last = max(found)
        found |= {entry.name: entry for entry in listing(path, pattern, known) if entry.name < last}
    return sorted(found.values())


def listing(path: str, pattern: str, known: Container[str] = ()) -> Iterator[FileEntry]:
    """Every regular file below ``path`` that matches and is not in ``known``, unordered. Hidden files and folders are
    passed over."""
    match = matcher(pattern)
    stack = [""]
    while stack:
        folder = stack.pop()
        for entry in _entries(path, folder):
            if entry.name.startswith((".", "_")):
                continue
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                stack.append(name)
            elif name not in known and match(name) and entry.is_file():
                with contextlib.suppress(FileNotFoundError):  # removed a moment ago
                    yield FileEntry(_text(name, path), entry.stat().st_size)


def _entries(path: str, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(os.path.join(path, folder)) as entries:
            return list(entries)
    except OSError as error:
        if folder and isinstance(error, FileNotFoundError):
            return []
        where = os.path.join(path, folder).rstrip("/")
        raise SourceFolderUnreadable(f"the folder {where} cannot be listed: {os.strerror(error.errno or 0)}") from error


def _text(name: str, path: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"the file {name!r} in {path} has a name that is not UTF-8; rename it") from None
    return name


def position_after_all(path: str, pattern: str) -> str:
    """JSON text of the position behind every file that is there now."""
    names = sorted(entry.name for entry in listing(path, pattern))
    return msgspec.json.encode({"read": names}).decode()
