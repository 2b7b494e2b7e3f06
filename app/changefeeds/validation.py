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
from app.replica_config.rules import check_selection
from app.settings import Settings
from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import ConfigError, WeirError
from spark_jobs.sinks import SinkSpec, parse_sink
from spark_jobs.sources import SourceSpec, parse_source

_ID: Final = re.compile(r"[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*")
_KEYSPACE: Final = re.compile(r"[a-zA-Z0-9_-]{0,64}")
_LONGEST_ID: Final = 128
_SINK: Final = "CDC:ErrSinkURIInvalid"

_FIRST_MS: Final = 946_684_800_000  # the year 2000: MySQL had no row-based binlog before
_YEAR_MS: Final = 31_556_952_000
_CENTURY_MS: Final = 100 * _YEAR_MS
_UNITS: Final = (("seconds", 1000), ("milliseconds", 1), ("microseconds", 1e-3), ("nanoseconds", 1e-6))

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


def check_meant(ts: int, field: str, now_ms: int) -> None:
    """``InvalidParam`` for a number that is a time, but no TSO: seconds, milliseconds, micro- or nanoseconds, or a TSO
    of the next century. An early one is only told (``is_early``): a stream may count its own time from anywhere."""
    at_ms = tso.physical_ms(ts)
    if not ts or _FIRST_MS <= at_ms <= now_ms + _CENTURY_MS:
        return
    as_time = field.removesuffix("_ts") + "_time"
    for unit, in_ms in _UNITS:
        meant_ms = int(ts * in_ms)
        if _FIRST_MS <= meant_ms <= now_ms + _CENTURY_MS:
            raise InvalidParam(
                f"{field} {ts} is not a TSO: it looks like {unit} since 1970, of which {tso.compose(meant_ms)} is"
                f" the TSO (or give {as_time} in RFC 3339)"
            )
    if at_ms >= _FIRST_MS:
        raise InvalidParam(
            f"{field} {ts} is a TSO of the year {1970 + at_ms // _YEAR_MS}, which cannot be meant: a TSO is"
            f" milliseconds"
            f" since 1970 << 18, such as {tso.compose(now_ms)} for this moment (or give {as_time} in RFC 3339)"
        )


def is_early(ts: int) -> bool:
    """Whether a TSO is of a year in which there was nothing to capture."""
    return 0 < tso.physical_ms(ts) < _FIRST_MS or 0 < ts < 1 << tso.LOGICAL_BITS


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
    check_selection(config)
    return parse_sink(uri, tree(config), file_roots=settings.permitted_roots), config


def check_apart(source: SourceSpec, sink: SinkSpec) -> None:
    """``ApiError`` for an output that would be read as input, again and again (I/O: symbolic links)."""
    if sink.folder and source.would_read(sink.folder):
        raise ApiError(
            f"sink_uri: the folder {sink.folder} is within the source folder, which would read it again;"
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
    as_client_fault(source.check)


def reach_sink(sink: SinkSpec, changefeed_id: str) -> None:
    """Proves that the sink can be written and is free (I/O)."""
    as_client_fault(lambda: sink.check(changefeed_id))


def resolve(source: SourceSpec, start_ts: int) -> str:
    """The position that the source's ``start`` means at this moment (I/O)."""
    return as_client_fault(lambda: source.resolve_start(start_ts))


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


def as_client_fault(work: Callable[[], T]) -> T:
    """An unreachable broker or a full disk is not Weir's fault; the text must not show secrets."""
    try:
        return work()
    except WeirError as error:
        raise ConfigError(masked_text(error.message), code=error.code) from error


def check_tables(config: ReplicaConfig, sink_uri: str) -> None:
    """The part of the checks that needs no source: ``verify_table``."""
    check_selection(check(config, scheme_of(sink_uri)))
