"""Sources: a folder each. Parsing needs no Spark, so the control plane validates with the code that will run."""

from collections.abc import Callable
from typing import Final

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.registry import Registry
from spark_jobs.sources.base import SourceSpec
from spark_jobs.uris import Uri, split

__all__ = ["SOURCES", "SourceSpec", "parse_source"]

CODE: Final = "CDC:ErrSourceURIInvalid"
SOURCES: Final[Registry[Callable[[Uri], SourceSpec]]] = Registry(
    "source scheme",
    {
        "file": "spark_jobs.sources.folder.uri:parse",
        "kafka": "spark_jobs.sources.kafka.uri:parse",
    },
    lambda name, found: callable(found),
)
"""By scheme, what parses its URIs."""
LATER: Final = {
    "mysql": "reading a MySQL binlog directly comes in a later version; feed Weir from TiCDC, Canal or a folder today",
    "s3": "object stores as sources come in a later version; mount the bucket and use file:// today",
    "gcs": "object stores as sources come in a later version; mount the bucket and use file:// today",
    "gs": "object stores as sources come in a later version; mount the bucket and use file:// today",
    "azure": "object stores as sources come in a later version; mount the container and use file:// today",
    "azblob": "object stores as sources come in a later version; mount the container and use file:// today",
}


def parse_source(text: str, *, file_roots: tuple[str, ...] | None = None) -> SourceSpec:
    """A source URI as a spec; ``ConfigError`` says what is wrong. ``file_roots``: folders that file:// may use."""
    uri = split(text, what="source_uri", code=CODE)
    if uri.scheme not in SOURCES:
        if uri.scheme in LATER:
            raise ConfigError(f"source_uri: scheme {uri.scheme}:// is not available: {LATER[uri.scheme]}", code=CODE)
        known = ", ".join(f"{scheme}://" for scheme in SOURCES)
        raise ConfigError(f"source_uri: unknown scheme {uri.scheme}://; known are: {known}", code=CODE)
    spec = SOURCES[uri.scheme](uri)
    spec.require_inside(file_roots)
    return spec
