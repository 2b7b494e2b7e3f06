"""The ``warnings`` of a reply: everything that was clamped, adjusted or has no effect here. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from app.changefeeds.parameters import OF_SINKS, OF_SOURCES
from app.changefeeds.schemas import PdFields
from app.masking import Json
from app.replica_config.effect import MAX_WIDTH, MIN_WIDTH, TICDC_WIDTH, Notice, differing, reason_of, without_effect
from spark_jobs.uris import Parameter, duration_seconds, remarks, shown_seconds

_PD: Final = ("pd_addrs", "ca_path", "cert_path", "key_path", "cert_allowed_cn")
# A parameter of the sink URI, and the key of replica_config that it wins over.
TWINS: Final = {
    "protocol": "sink.protocol",
    "transaction-atomicity": "sink.transaction_atomicity",
    "flush-interval": "sink.cloud_storage_config.flush_interval",
    "file-size": "sink.cloud_storage_config.file_size",
    "date-separator": "sink.date_separator",
    "file-index-width": "sink.file_index_width",
    "content-compatible": "sink.content_compatible",
    "only-output-updated-columns": "sink.only_output_updated_columns",
}
_FLUSH: Final = (0.1, 600.0)
_FILE_SIZE: Final = (1024, 1 << 29)


def notices(source_uri: str, sink_uri: str, tree: dict[str, Json], *, start_ts: int = 0) -> list[Notice]:
    """What is to be said about valid URIs and a valid configuration ``tree`` as it was given."""
    query = dict(parse_qsl(urlsplit(sink_uri).query, keep_blank_values=True))
    given = dict(differing(tree))
    scheme = sink_uri.partition(":")[0].lower()
    protocol = str(query.get("protocol") or given.get("sink.protocol") or "").lower()
    return [
        *_of_uri("source_uri", source_uri, OF_SOURCES),
        *_start(source_uri, start_ts),
        *_of_uri("sink_uri", sink_uri, OF_SINKS),
        *_width(query),
        *_overruled(query, given, scheme, protocol),
        *without_effect(tree, scheme, protocol),
        *_clamped(query, given),
    ]


def of_pd(order: PdFields) -> list[Notice]:
    """A notice for each PD field that says something."""
    return [Notice(name, "has no effect: Weir has no PD") for name in _PD if getattr(order, name)]


def _of_uri(what: str, uri: str, parameters: Mapping[str, Mapping[str, Parameter]]) -> Iterator[Notice]:
    known = parameters.get(uri.partition(":")[0].lower(), {})
    for remark in remarks(uri, known):
        yield Notice(f"{what}.{remark.name}", remark.message)


def _start(source_uri: str, start_ts: int) -> Iterator[Notice]:
    start = dict(parse_qsl(urlsplit(source_uri).query)).get("start", "")
    if start_ts and start:
        yield Notice(
            "source_uri.start", f"has no effect: start_ts {start_ts} decides where to begin, not start={start}"
        )


def _width(query: Mapping[str, str]) -> Iterator[Notice]:
    text = query.get("file-index-width", "")
    if text.isdecimal() and not MIN_WIDTH <= int(text) <= MAX_WIDTH:
        yield Notice(
            "sink_uri.file-index-width",
            f"{text} is outside {MIN_WIDTH}..{MAX_WIDTH}; {TICDC_WIDTH} is used, as TiCDC does",
        )


def _overruled(query: Mapping[str, str], given: Mapping[str, Json], scheme: str, protocol: str) -> Iterator[Notice]:
    for name, path in TWINS.items():
        if name not in query or path not in given or reason_of(path, scheme, protocol):
            continue
        if _spelled(given[path]) != query[name].lower():
            yield Notice(f"replica_config.{path}", f"has no effect: the sink URI's {name}={query[name]} wins")


def _spelled(value: Json) -> str:
    return str(value).lower()


def _clamped(query: Mapping[str, str], given: Mapping[str, Json]) -> Iterator[Notice]:
    storage = "sink.cloud_storage_config"
    interval = given.get(f"{storage}.flush_interval")
    if isinstance(interval, str) and "flush-interval" not in query:
        used = min(max(duration_seconds(interval), _FLUSH[0]), _FLUSH[1])
        if used != duration_seconds(interval):
            limits = f"{shown_seconds(_FLUSH[0])}..{shown_seconds(_FLUSH[1])}"
            message = f"{interval} is outside {limits}; {shown_seconds(used)} is used"
            yield Notice(f"replica_config.{storage}.flush_interval", message)
    size = given.get(f"{storage}.file_size")
    if isinstance(size, int) and "file-size" not in query and not _FILE_SIZE[0] <= size <= _FILE_SIZE[1]:
        used_size = min(max(size, _FILE_SIZE[0]), _FILE_SIZE[1])
        yield Notice(
            f"replica_config.{storage}.file_size",
            f"{size} is outside {_FILE_SIZE[0]}..{_FILE_SIZE[1]}; {used_size} is used",
        )
