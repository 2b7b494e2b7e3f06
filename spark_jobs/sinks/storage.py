"""``file://`` as a sink: TiCDC's storage layout. This module only parses and checks; writing is in ``sinks.files``.

A parameter of the URI wins over its twin in ``replica_config.sink``; what neither gives has TiCDC's default, except the
width of file numbers: 6 when not given (contract §6).
"""

import os
from collections.abc import Mapping
from typing import Final

import msgspec

from spark_jobs import folders
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.uris import Parameter, Settings, Uri, duration_seconds, masked, table

CODE: Final = "CDC:ErrSinkURIInvalid"
WHAT: Final = "sink_uri"
WEIR_FOLDER: Final = "_weir"
PROTOCOLS: Final = ("canal-json", "csv")
SEPARATORS: Final = ("none", "year", "month", "day")
MIN_WIDTH, MAX_WIDTH, DEFAULT_WIDTH, TICDC_WIDTH = 6, 20, 6, 20

PARAMETERS: Final = table(
    Parameter("protocol", "text", "", "canal-json or csv"),
    Parameter("flush-interval", "duration", "5s", "time between two micro-batches", low=0.1, high=600, clamp=True),
    Parameter("file-size", "int", "67108864", "bytes at which a file is cut", low=1024, high=1 << 29, clamp=True),
    Parameter("worker-count", "int", "16", "of TiCDC; Spark decides here", low=1, applies=False),
    Parameter("flush-concurrency", "int", "1", applies=False),
    Parameter("use-table-id-as-path", applies=False),
    Parameter("spool-disk-quota", applies=False),
    Parameter("spool-base-dir", applies=False),
    Parameter("transaction-atomicity", "choice", "none", "a file never spans two batches", ("", "none", "table")),
    Parameter("enable-tidb-extension", "bool", "false", "canal-json: adds _tidb with the commit-ts"),
    Parameter("content-compatible", "bool", "false", "canal-json: full mysqlType, only changed columns in old"),
    Parameter("only-output-updated-columns", "bool", "false", "canal-json: only changed columns in old"),
    Parameter("delete-old", "bool", "false", "canal-json: old of a delete repeats data, as before TiCDC 5.4"),
    Parameter("dialect", "choice", "ticdc", "canal-json: ticdc, or canal for Canal's own form", ("ticdc", "canal")),
    Parameter("adopt", "bool", "false", "go on in a folder that holds data already"),
    Parameter("date-separator", "choice", "day", "folder per commit date", SEPARATORS),
    Parameter("file-index-width", "int", "6", "digits of file numbers"),
)


class CsvSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``sink.csv`` of a changefeed's configuration, TiCDC's names and defaults."""

    delimiter: str = ","
    quote: str = '"'
    null: str = "\\N"
    include_commit_ts: bool = False
    binary_encoding_method: str = "base64"
    output_old_value: bool = False
    output_handle_key: bool = False
    output_field_header: bool = False


class CloudStorageConfig(msgspec.Struct, frozen=True, kw_only=True):
    """``sink.cloud_storage_config``, the part that has a meaning here."""

    flush_interval: str | None = None
    file_size: int | None = None


class SinkConfig(msgspec.Struct, frozen=True, kw_only=True):
    """``replica_config.sink``, the part that has a meaning for storage. None: not given."""

    protocol: str | None = None
    terminator: str | None = None
    date_separator: str | None = None
    enable_partition_separator: bool | None = None
    file_index_width: int | None = None
    only_output_updated_columns: bool | None = None
    delete_only_output_handle_key_columns: bool | None = None
    content_compatible: bool | None = None
    csv: CsvSettings | None = None
    cloud_storage_config: CloudStorageConfig | None = None


class StorageSink(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed storage sink. ``codec_options`` go to the encoder by name; ``not_applicable`` lists what was ignored."""

    uri: str
    path: str
    protocol: str
    flush_interval_seconds: float
    file_size: int
    terminator: str
    date_separator: str
    enable_partition_separator: bool
    file_index_width: int
    codec_options: dict[str, str]
    adopt: bool
    not_applicable: tuple[str, ...] = ()
    scheme: str = "file"

    @property
    def extension(self) -> str:
        """Ending of data files, with its dot."""
        return ".csv" if self.protocol == "csv" else ".json"

    def masked(self) -> str:
        """The URI without secrets."""
        return masked(self.uri)

    def require_inside(self, roots: tuple[str, ...] | None) -> None:
        """``ConfigError`` unless the folder is in one of the permitted roots."""
        folders.require_inside(self.path, roots, what=WHAT, code=CODE)

    def check(self, changefeed_id: str = "") -> None:
        """Proves that the folder can be written and holds nothing of unknown origin (I/O); ``ConfigError`` else."""
        folders.check_writable(self.path, what=WHAT, code=CODE)
        if not self.adopt:
            self._require_empty()

    def _require_empty(self) -> None:
        there = os.listdir(self.path) if os.path.isdir(self.path) else []
        found = sorted(name for name in there if not name.startswith("."))
        if not found:
            return
        if WEIR_FOLDER in found:
            owners = ", ".join(sorted(os.listdir(os.path.join(self.path, WEIR_FOLDER)))) or "unknown"
            holds = f"the output of a changefeed ({owners})"
        else:
            holds = f"data of unknown origin ({found[0]})"
        raise ConfigError(
            f"{WHAT}: the folder {self.path} holds {holds}; choose an empty folder, or add adopt=true to go on",
            code="CDC:ErrSinkFolderNotEmpty",
        )


def parse(uri: Uri, replica_config: Mapping[str, object]) -> StorageSink:
    """A ``file://`` sink URI over its configuration as a spec."""
    config = _config(replica_config)
    settings = Settings(uri, PARAMETERS, what=WHAT, code=CODE)
    storage = config.cloud_storage_config or CloudStorageConfig()
    protocol = _protocol(settings.text("protocol") or config.protocol or "")
    options = _csv_options(config) if protocol == "csv" else _canal_json_options(settings, config)
    _check_encoder(protocol, options)
    return StorageSink(
        uri=uri.text,
        path=folders.local_path(uri, what=WHAT, code=CODE),
        protocol=protocol,
        flush_interval_seconds=_flush_interval(settings, storage),
        file_size=_file_size(settings, storage),
        terminator="\r\n" if config.terminator is None else config.terminator,
        date_separator=_date_separator(settings, config),
        enable_partition_separator=config.enable_partition_separator is not False,
        file_index_width=_width(settings, config),
        codec_options=options,
        adopt=settings.flag("adopt"),
        not_applicable=tuple(settings.not_applicable),
    )


def _config(replica_config: Mapping[str, object]) -> SinkConfig:
    try:
        return msgspec.convert(replica_config.get("sink") or {}, SinkConfig, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"replica_config.sink: {error}", code="CDC:ErrInvalidReplicaConfig") from None


def _protocol(name: str) -> str:
    name = name.lower()
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        given = f"protocol {name!r} is not one that storage can hold" if name else "parameter protocol is missing"
        raise ConfigError(f"{WHAT}: {given}; known are: {known}", code="CDC:ErrSinkUnknownProtocol")
    return name


def _check_encoder(protocol: str, options: Mapping[str, str]) -> None:
    """Makes the encoder once, so that what it refuses is refused here and not when the changefeed runs."""
    from spark_jobs.cdc.codecs import CODECS

    encoder = CODECS[protocol].encoder
    assert encoder is not None
    try:
        encoder(options)
    except ConfigError as error:
        where, code = ("replica_config.sink.csv", "CDC:ErrInvalidReplicaConfig") if protocol == "csv" else (WHAT, CODE)
        raise ConfigError(f"{where}: {error.message}", code=code) from None


def _flush_interval(settings: Settings, storage: CloudStorageConfig) -> float:
    if "flush-interval" in settings.given or storage.flush_interval is None:
        return settings.seconds("flush-interval")
    try:
        return min(max(duration_seconds(storage.flush_interval), 0.1), 600.0)
    except ValueError as error:
        sentence = f"replica_config.sink.cloud_storage_config.flush_interval: {error}"
        raise ConfigError(sentence, code="CDC:ErrStorageSinkInvalidConfig") from None


def _file_size(settings: Settings, storage: CloudStorageConfig) -> int:
    if "file-size" in settings.given or storage.file_size is None:
        return settings.number("file-size")
    return min(max(storage.file_size, 1024), 1 << 29)


def _date_separator(settings: Settings, config: SinkConfig) -> str:
    if "date-separator" in settings.given or config.date_separator is None:
        return settings.text("date-separator")
    value = config.date_separator.lower()
    if value not in SEPARATORS:
        raise ConfigError(
            f"replica_config.sink.date_separator: {value!r} is none of {', '.join(SEPARATORS)}",
            code="CDC:ErrStorageSinkInvalidConfig",
        )
    return value


def _width(settings: Settings, config: SinkConfig) -> int:
    """A width out of range is TiCDC's 20, without an error, as TiCDC does."""
    given = settings.number("file-index-width") if "file-index-width" in settings.given else config.file_index_width
    if given is None:
        return DEFAULT_WIDTH
    return given if MIN_WIDTH <= given <= MAX_WIDTH else TICDC_WIDTH


def _canal_json_options(settings: Settings, config: SinkConfig) -> dict[str, str]:
    def either(name: str, twin: bool | None) -> bool:
        return settings.flag(name) if name in settings.given else bool(twin)

    flags = {
        "enable-tidb-extension": settings.flag("enable-tidb-extension"),
        "content-compatible": either("content-compatible", config.content_compatible),
        "only-output-updated-columns": either("only-output-updated-columns", config.only_output_updated_columns),
        "delete-only-output-handle-key-columns": bool(config.delete_only_output_handle_key_columns),
        "delete-old": settings.flag("delete-old"),
    }
    return {"dialect": settings.text("dialect")} | {name: "true" for name, on in flags.items() if on}


def _csv_options(config: SinkConfig) -> dict[str, str]:
    csv = config.csv or CsvSettings()
    if config.delete_only_output_handle_key_columns:
        raise ConfigError(
            "replica_config.sink.delete_only_output_handle_key_columns cannot be used with csv",
            code="CDC:ErrInvalidReplicaConfig",
        )
    flags = {
        "include-commit-ts": csv.include_commit_ts,
        "output-old-value": csv.output_old_value,
        "output-handle-key": csv.output_handle_key,
        "output-field-header": csv.output_field_header,
    }
    texts = {
        "delimiter": csv.delimiter,
        "quote": csv.quote,
        "null": csv.null,
        "binary-encoding-method": csv.binary_encoding_method,
    }
    return texts | {name: "true" for name, on in flags.items() if on}
