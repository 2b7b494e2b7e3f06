"""Sinks: one file each. Parsing needs no Spark, so the control plane validates with the code that will run."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sinks.storage import StorageSink
from spark_jobs.sinks.storage import parse as parse_storage
from spark_jobs.uris import Uri, split

CODE: Final = "CDC:ErrSinkURIInvalid"

SinkSpec: TypeAlias = StorageSink

SINKS: Final[dict[str, Callable[[Uri, Mapping[str, object]], SinkSpec]]] = {
    "file": parse_storage,
}
LATER: Final = {
    **dict.fromkeys(("s3", "gcs", "gs", "azure", "azblob"), "object stores as sinks come in a later version"),
    **dict.fromkeys(("kafka", "kafka+ssl"), "Kafka as a sink comes in a later version"),
    **dict.fromkeys(("mysql", "mysql+ssl", "tidb", "tidb+ssl"), "SQL as a sink comes in a later version"),
    **dict.fromkeys(("pulsar", "pulsar+ssl", "pulsar+http", "pulsar+https"), "Pulsar is not among Weir's sinks"),
    "datahub": "DataHub as a sink comes in a later version",
    "canal": "serving Canal clients comes in a later version",
    "stdout": "printing comes in a later version",
    "blackhole": "a sink that drops everything comes in a later version",
    "noop": "use a file:// folder",
}


def parse_sink(
    text: str, replica_config: Mapping[str, object] | None = None, *, file_roots: tuple[str, ...] | None = None
) -> SinkSpec:
    """A sink URI, with the ``sink`` part of a changefeed's configuration below it, as a spec.

    ``ConfigError`` says what is wrong. ``file_roots``: folders that file:// may use.
    """
    uri = split(text, what="sink_uri", code=CODE)
    if uri.scheme in LATER:
        raise ConfigError(
            f"sink_uri: scheme {uri.scheme}:// is not available: {LATER[uri.scheme]}; today: file://", code=CODE
        )
    parse = SINKS.get(uri.scheme)
    if parse is None:
        known = ", ".join(f"{scheme}://" for scheme in SINKS)
        raise ConfigError(f"sink_uri: unknown scheme {uri.scheme}://; known are: {known}", code=CODE)
    spec = parse(uri, replica_config or {})
    spec.require_inside(file_roots)
    return spec
