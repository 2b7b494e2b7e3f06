"""What ``replica_config.sink`` and the parameters of a URI say about a storage sink, in one value each.

A parameter of the URI wins over its twin in ``replica_config.sink``; what neither gives has TiCDC's default, except the
width of file numbers: 6 when not given (contract §6).
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.uris import Settings, duration_seconds

CODE: Final = "CDC:ErrSinkURIInvalid"
WHAT: Final = "sink_uri"
INVALID: Final = "CDC:ErrStorageSinkInvalidConfig"
PROTOCOLS: Final = ("canal-json", "csv")
SEPARATORS: Final = ("none", "year", "month", "day")
MIN_WIDTH, MAX_WIDTH, DEFAULT_WIDTH, TICDC_WIDTH = 6, 20, 6, 20


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


def sink_config(replica_config: Mapping[str, object]) -> SinkConfig:
    """``replica_config.sink``; ``ConfigError`` for a value of a wrong kind."""
    try:
        return msgspec.convert(replica_config.get("sink") or {}, SinkConfig, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"replica_config.sink: {error}", code="CDC:ErrInvalidReplicaConfig") from None


def protocol_of(name: str) -> str:
    """The protocol in lower case; ``ConfigError`` for one that storage cannot hold."""
    name = name.lower()
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        given = f"protocol {name!r} is not one that storage can hold" if name else "parameter protocol is missing"
        raise ConfigError(f"{WHAT}: {given}; known are: {known}", code="CDC:ErrSinkUnknownProtocol")
    return name


def check_encoder(protocol: str, options: Mapping[str, str]) -> None:
    """Makes the encoder once, so that what it refuses is refused here and not when the changefeed runs."""
    from spark_jobs.cdc.codecs import CODECS

    encoder = CODECS[protocol].encoder
    assert encoder is not None
    try:
        encoder(options)
    except ConfigError as error:
        where, code = ("replica_config.sink.csv", "CDC:ErrInvalidReplicaConfig") if protocol == "csv" else (WHAT, CODE)
        raise ConfigError(f"{where}: {error.message}", code=code) from None


def flush_interval_seconds(settings: Settings, storage: CloudStorageConfig) -> float:
    """From 0.1 to 600 seconds, clamped."""
    if "flush-interval" in settings.given or storage.flush_interval is None:
        return settings.seconds("flush-interval")
    try:
        return min(max(duration_seconds(storage.flush_interval), 0.1), 600.0)
    except ValueError as error:
        sentence = f"replica_config.sink.cloud_storage_config.flush_interval: {error}"
        raise ConfigError(sentence, code=INVALID) from None


def file_size(settings: Settings, storage: CloudStorageConfig) -> int:
    """Bytes from 1 KiB to 512 MiB, clamped."""
    if "file-size" in settings.given or storage.file_size is None:
        return settings.number("file-size")
    return min(max(storage.file_size, 1024), 1 << 29)


def date_separator(settings: Settings, config: SinkConfig) -> str:
    """One of ``SEPARATORS``."""
    if "date-separator" in settings.given or config.date_separator is None:
        return settings.text("date-separator")
    value = config.date_separator.lower()
    if value not in SEPARATORS:
        raise ConfigError(
            f"replica_config.sink.date_separator: {value!r} is none of {', '.join(SEPARATORS)}",
            code=INVALID,
        )
    return value


def file_index_width(settings: Settings, config: SinkConfig) -> int:
    """A width out of range is TiCDC's 20, without an error, as TiCDC does."""
    given = settings.number("file-index-width") if "file-index-width" in settings.given else config.file_index_width
    if given is None:
        return DEFAULT_WIDTH
    return given if MIN_WIDTH <= given <= MAX_WIDTH else TICDC_WIDTH


def canal_json_options(settings: Settings, config: SinkConfig) -> dict[str, str]:
    """Options of the canal-json encoder."""

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


def csv_options(config: SinkConfig) -> dict[str, str]:
    """Options of the csv encoder."""
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
