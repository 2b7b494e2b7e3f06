"""``file://`` as a source: a folder that grows is one ordered stream.

A file must be complete when it appears (written elsewhere, renamed in). Files that appear together are taken in name
order, lines in line order, every file once, however old it is. This module only parses and checks; reading is in
``folder_listing`` and the pipeline.
"""

import os
import re
from typing import Final

import msgspec

from spark_jobs import folders
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sources.common import CODE, COMMON, WHAT, protocol, zone
from spark_jobs.uris import Parameter, Settings, Uri, masked, table

PARAMETERS: Final = table(
    *COMMON,
    Parameter("pattern", "text", "**/*", "which files below the folder are read; the top folder is included"),
    Parameter("start", "choice", "earliest", "where a new changefeed begins", ("earliest", "latest")),
)


class FolderSource(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed ``file://`` source."""

    uri: str
    path: str
    protocol: str
    pattern: str
    start: str
    time_zone: str
    bad_message: str
    max_rows: int
    max_bytes: int
    scheme: str = "file"

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it this source; everything else is a way of reading it."""
        return self.scheme, self.protocol, self.path, self.pattern

    @property
    def start_ts(self) -> int:
        """0: ``start`` of a folder is no TSO."""
        return 0

    def masked(self) -> str:
        """The URI without secrets."""
        return masked(self.uri)

    def would_read(self, folder: str) -> bool:
        """Whether what is written somewhere below ``folder`` would be read (I/O: symbolic links are resolved)."""
        way = os.path.relpath(os.path.realpath(folder), os.path.realpath(self.path)).split(os.sep)
        if way[0] == ".":
            return True
        deeper = "/" in self.pattern or "**" in self.pattern
        return deeper and not any(name.startswith((".", "_")) for name in way)  # ".." too: it is elsewhere

    def require_inside(self, roots: tuple[str, ...] | None) -> None:
        """``ConfigError`` unless the folder is in one of the permitted roots."""
        folders.require_inside(self.path, roots, what=WHAT, code=CODE)

    def check(self) -> None:
        """Looks at the folder (I/O); ``ConfigError`` if it cannot be read."""
        folders.check_readable(self.path, what=WHAT, code=CODE)

    def resolve_start(self, start_ts: int = 0) -> str:
        """The position to begin at as JSON text: for ``latest`` the files that are there now count as read."""
        from spark_jobs.sources import folder_listing

        if start_ts or self.start == "earliest":
            return ""
        return folder_listing.position_after_all(self.path, self.pattern)


def parse(uri: Uri) -> FolderSource:
    """A ``file://`` source URI as a spec."""
    settings = Settings(uri, PARAMETERS, what=WHAT, code=CODE)
    return FolderSource(
        uri=uri.text,
        path=folders.local_path(uri, what=WHAT, code=CODE),
        protocol=protocol(settings.text("protocol")),
        pattern=_pattern(settings.text("pattern")),
        start=settings.text("start"),
        time_zone=zone(settings.text("time-zone")),
        bad_message=settings.text("bad-message"),
        max_rows=settings.number("max-rows-per-batch"),
        max_bytes=settings.number("max-bytes-per-batch"),
    )


def _pattern(text: str) -> str:
    if not text or text.startswith("/") or ".." in text.split("/") or re.search(r"[\x00-\x1f]", text):
        raise ConfigError(f"{WHAT}: pattern {text!r} must be relative to the folder, such as **/*.json", code=CODE)
    return text
