"""A look at a few of a folder's files."""

import os
from collections.abc import Iterator
from typing import Final

from spark_jobs.cdc import framing
from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.cdc.framing import FRAMINGS
from spark_jobs.sources.folder.listing import listing
from spark_jobs.sources.folder.split import FileRange, FolderSplit, SourceFileUnreadable, opened
from spark_jobs.sources.packed import is_packed

FILES: Final = 25
BYTES_OF_A_FILE: Final = 1 << 20


def sample(path: str, pattern: str, framing_name: str) -> Iterator[FolderSplit]:
    """The beginnings of the first and the last files, by name; files that are gone meanwhile are passed over.

    ``ConfigError`` where the folder cannot be listed.
    """
    try:
        found = sorted(listing(path, pattern))
    except EnvironmentFault as fault:
        raise ConfigError(f"source_uri: {fault.message}", code=fault.code) from None
    for entry in dict.fromkeys(found[:FILES] + found[-FILES:]):
        whole = FileRange(os.path.join(path, entry.name), entry.name, 0, entry.size, entry.size)
        try:
            end = -1 if is_packed(entry.name) else _cut(whole, framing_name)
        except (SourceFileUnreadable, framing.FileChanged):
            continue
        yield FolderSplit(0, (FileRange(whole.path, whole.name, 0, end, whole.size),), framing_name, entry.size)


def _cut(part: FileRange, framing_name: str) -> int:
    with opened(part.path) as file:
        return framing.cut(FRAMINGS[framing_name], file, 0, min(BYTES_OF_A_FILE, part.size), part.size)
