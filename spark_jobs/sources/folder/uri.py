"""What a ``file://`` source URI says."""

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from spark_jobs import folders
from spark_jobs.cdc.codecs import codec
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.framing import FRAMINGS
from spark_jobs.sources.base import Enumerator, Split
from spark_jobs.sources.common import CODE, COMMON, WHAT, protocol, zone
from spark_jobs.uris import Parameter, Settings, Uri, masked, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARAMETERS: Final = table(
    *COMMON,
    Parameter("pattern", "text", "**/*", "which files below the folder are read; the top folder is included"),
    Parameter("framing", "choice", "", "how messages stand in a file; the protocol's usual one", ("", *FRAMINGS)),
    Parameter("start", "choice", "earliest", "where a new changefeed begins", ("earliest", "latest")),
)


class FolderSource(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed ``file://`` source."""

    uri: str
    path: str
    protocol: str
    pattern: str
    framing: str
    start: str
    time_zone: str
    bad_message: str
    max_rows: int
    max_bytes: int
    scheme: str = "file"
    watermark: str = "ignore"
    watermark_timeout_seconds: float = 0.0
    repeats: str = "keep"

    @property
    def identity_key(self) -> tuple[str, ...]:
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
        from spark_jobs.sources.folder.listing import position_after_all

        if start_ts or self.start == "earliest":
            return ""
        return position_after_all(self.path, self.pattern)

    def sample(self) -> Iterator[Split]:
        """The beginnings of the first and the last files."""
        from spark_jobs.sources.folder.sample import sample

        return sample(self.path, self.pattern, self.framing)

    def enumerator(self, session: "SparkSession | None") -> Enumerator:
        from spark_jobs.sources.folder.enumerator import FolderEnumerator

        return FolderEnumerator(self)


def parse(uri: Uri) -> FolderSource:
    """A ``file://`` source URI as a spec."""
    settings = Settings(uri, PARAMETERS, what=WHAT, code=CODE)
    name = protocol(settings.text("protocol"))
    return FolderSource(
        uri=uri.text,
        path=folders.local_path(uri, what=WHAT, code=CODE),
        protocol=name,
        framing=_framing(settings.text("framing"), name),
        pattern=_pattern(settings.text("pattern")),
        start=settings.text("start"),
        time_zone=zone(settings.text("time-zone")),
        bad_message=settings.text("bad-message"),
        max_rows=settings.number("max-rows-per-batch"),
        max_bytes=settings.number("max-bytes-per-batch"),
    )


def _framing(text: str, protocol_name: str) -> str:
    """The framing of that name, or the protocol's usual one; ``ConfigError`` where they do not fit."""
    is_text = codec(protocol_name).text
    if text and FRAMINGS[text].text_only and not is_text:
        raise ConfigError(
            f"{WHAT}: {protocol_name} messages are binary, so they cannot stand in lines; use framing=length or hex",
            code=CODE,
        )
    return text or ("drainer" if protocol_name == "drainer" else "lines" if is_text else "length")


def _pattern(text: str) -> str:
    if not text or text.startswith("/") or ".." in text.split("/") or re.search(r"[\x00-\x1f]", text):
        raise ConfigError(f"{WHAT}: pattern {text!r} must be relative to the folder, such as **/*.json", code=CODE)
    return text
