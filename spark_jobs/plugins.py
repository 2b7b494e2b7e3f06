"""What installed packages add: their entry points become lines of the registries. No Spark, no network.

weir.codecs   name = "package.module:CODEC"   a ``spark_jobs.cdc.codec.Codec`` of that name
weir.sources  scheme = "package.module:parse"  what parses a source URI (``spark_jobs.sources.base.SourceSpec``)
weir.sinks    scheme = "package.module:parse"  what parses a sink URI (``spark_jobs.sinks.base.SinkSpec``)
"""

from importlib.metadata import entry_points
from typing import Any, Final

from spark_jobs.cdc.codecs import CODECS
from spark_jobs.cdc.registry import Registry
from spark_jobs.sinks import SINKS
from spark_jobs.sources import SOURCES

_GROUPS: Final[dict[str, Registry[Any]]] = {"weir.codecs": CODECS, "weir.sources": SOURCES, "weir.sinks": SINKS}


def register_installed() -> None:
    """Adds what is installed to the registries; each process does it once, at its start, and nothing is imported.

    Raises ``ConfigError`` for a name that another one has.
    """
    for group, registry in _GROUPS.items():
        for found in entry_points(group=group):
            registry.add(found.name.lower(), f"{found.module}:{found.attr}")
