"""What is checked before a changefeed is stored. The parsing is the data plane's own; ``reach_*`` and ``resolve`` do
I/O, the rest does not.
"""

import json
import re
from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from app.errors import ApiError, InvalidParam
from app.masking import Json, masked_text
from app.replica_config import ReplicaConfig, check
from app.replica_config.rules import check_filter
from app.settings import Settings
from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import ConfigError, WeirError
from spark_jobs.sinks import SinkSpec, parse_sink
from spark_jobs.sources import SourceSpec, parse_source
from spark_jobs.sources.folder import FolderSource

_ID: Final = re.compile(r"[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*")
_KEYSPACE: Final = re.compile(r"[a-zA-Z0-9_-]{0,64}")
_LONGEST_ID: Final = 128
_SINK: Final = "CDC:ErrSinkURIInvalid"

T = TypeVar("T")


def check_id(name: str) -> None:
    """``InvalidParam`` for an id that TiCDC would refuse."""
    if not _ID.fullmatch(name) or len(name) > _LONGEST_ID:
        raise InvalidParam(
            f"[CDC:ErrInvalidChangefeedID]invalid changefeed id {name[:_LONGEST_ID]!r}: letters and digits, with single"
            f" hyphens between them, at most {_LONGEST_ID} characters"
        )


def check_keyspace(name: str) -> None:
    """``InvalidParam`` for a keyspace (namespace) that TiCDC would refuse."""
    if not _KEYSPACE.fullmatch(name):
        raise InvalidParam(f"invalid keyspace {name[:64]!r}: letters, digits, - and _, at most 64 characters")


def check_target(target_ts: int) -> None:
    """``InvalidParam`` for a TSO that 63 bits cannot hold."""
    if target_ts > tso.MAX_TSO:
        raise InvalidParam(f"target_ts {target_ts} is too large; the largest is {tso.MAX_TSO}")


def check_not_future(ts: int, field: str, now_ms: int) -> None:
    """``InvalidParam`` for a TSO after this moment."""
    if tso.physical_ms(ts) > now_ms:
        raise InvalidParam(f"{field} {ts} is in the future; now is {tso.compose(now_ms)}")


def source_of(uri: str, settings: Settings) -> SourceSpec:
    """The parsed source."""
    return parse_source(uri, file_roots=settings.permitted_roots)


def sink_of(uri: str, config: ReplicaConfig, settings: Settings) -> tuple[SinkSpec, ReplicaConfig]:
    """The parsed sink, and the configuration with TiCDC's silent replacements."""
    if not uri:
        raise ApiError("sink_uri is empty; give one such as file:///path?protocol=canal-json", code=_SINK)
    config = check(config, scheme_of(uri))
    check_filter(config)
    return parse_sink(uri, tree(config), file_roots=settings.permitted_roots), config


def check_apart(source: SourceSpec, sink: SinkSpec) -> None:
    """``ApiError`` for an output that would be read as input, again and again (I/O: symbolic links)."""
    if isinstance(source, FolderSource) and source.would_read(sink.path):
        raise ApiError(
            f"sink_uri: the folder {sink.path} is within the source folder {source.path}, which would read it again;"
            " choose one outside, or a pattern without '**' and '/' in the source URI",
            code=_SINK,
        )


def scheme_of(uri: str) -> str:
    """The scheme in lower case, "" when there is none."""
    return uri.partition(":")[0].lower()


def tree(config: ReplicaConfig) -> dict[str, Json]:
    """The configuration as JSON values, TiCDC's names."""
    dumped: dict[str, Json] = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def text(config: dict[str, Json]) -> str:
    """The configuration as it is stored."""
    return json.dumps(config, separators=(",", ":"), ensure_ascii=False)


def reach_source(source: SourceSpec) -> None:
    """Proves that the source can be read (I/O)."""
    _as_client_fault(source.check)


def reach_sink(sink: SinkSpec, changefeed_id: str) -> None:
    """Proves that the sink can be written and is free (I/O)."""
    _as_client_fault(lambda: sink.check(changefeed_id))


def resolve(source: SourceSpec, start_ts: int) -> str:
    """The position that the source's ``start`` means at this moment (I/O)."""
    return _as_client_fault(lambda: source.resolve_start(start_ts))


def split_upstream(sink_uri: str) -> tuple[str, str]:
    """The sink URI without ``upstream=NAME``, and that name: how ``cdc cli`` chooses an upstream."""
    try:
        parts = urlsplit(sink_uri)
    except ValueError:
        return sink_uri, ""  # parsing it says what is wrong
    if "upstream=" not in parts.query:
        return sink_uri, ""
    pairs = parts.query.split("&")
    names = [pair.partition("=")[2] for pair in pairs if pair.partition("=")[0] == "upstream"]
    rest = "&".join(pair for pair in pairs if pair.partition("=")[0] != "upstream")
    return urlunsplit((parts.scheme, parts.netloc, parts.path, rest, parts.fragment)), unquote(
        names[-1] if names else ""
    )


def _as_client_fault(work: Callable[[], T]) -> T:
    """An unreachable broker or a full disk is not Weir's fault; the text must not show secrets."""
    try:
        return work()
    except WeirError as error:
        raise ConfigError(masked_text(error.message), code=error.code) from error


def check_tables(config: ReplicaConfig, sink_uri: str) -> None:
    """The part of the checks that needs no source: ``verify_table``."""
    check_filter(check(config, scheme_of(sink_uri)))
