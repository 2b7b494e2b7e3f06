"""Sinks: a folder each. Parsing needs no Spark, so the control plane validates with the code that will run."""

from collections.abc import Callable, Mapping
from typing import Final

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.registry import Registry
from spark_jobs.sinks.base import SinkSpec
from spark_jobs.uris import Uri, split

__all__ = ["SINKS", "SinkSpec", "parse_sink"]

CODE: Final = "CDC:ErrSinkURIInvalid"
SINKS: Final[Registry[Callable[[Uri, Mapping[str, object]], SinkSpec]]] = Registry(
    "sink scheme",
    {
        "blackhole": "spark_jobs.sinks.trial.blackhole:parse",
        "file": "spark_jobs.sinks.storage:parse",
        "stdout": "spark_jobs.sinks.trial.stdout:parse",
    },
    lambda name, found: callable(found),
)
"""By scheme, what parses its URIs over a changefeed's configuration."""
LATER: Final = {
    **dict.fromkeys(("s3", "gcs", "gs", "azure", "azblob"), "object stores as sinks come in a later version"),
    **dict.fromkeys(("kafka", "kafka+ssl"), "Kafka as a sink comes in a later version"),
    **dict.fromkeys(("mysql", "mysql+ssl", "tidb", "tidb+ssl"), "SQL as a sink comes in a later version"),
    **dict.fromkeys(("pulsar", "pulsar+ssl", "pulsar+http", "pulsar+https"), "Pulsar is not among Weir's sinks"),
    "datahub": "DataHub as a sink comes in a later version",
    "canal": "serving Canal clients comes in a later version",
    "noop": "use blackhole://",
}


def parse_sink(
    text: str, replica_config: Mapping[str, object] | None = None, *, file_roots: tuple[str, ...] | None = None
) -> SinkSpec:
    """A sink URI, with the ``sink`` part of a changefeed's configuration below it, as a spec.

    ``ConfigError`` says what is wrong. ``file_roots``: folders that file:// may use.
    """
    uri = split(text, what="sink_uri", code=CODE)
    if uri.scheme not in SINKS:
        today = ", ".join(f"{scheme}://" for scheme in sorted(SINKS))
        if uri.scheme in LATER:
            raise ConfigError(
                f"sink_uri: scheme {uri.scheme}:// is not available: {LATER[uri.scheme]}; today: {today}", code=CODE
            )
        raise ConfigError(f"sink_uri: unknown scheme {uri.scheme}://; known are: {today}", code=CODE)
    spec = SINKS[uri.scheme](uri, replica_config or {})
    spec.require_inside(file_roots)
    return spec
