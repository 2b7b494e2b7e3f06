"""The registry of codecs: an explicit table of import paths. A new codec is one new folder and one line here.

A codec is imported when it is asked for.
"""

from typing import Final

from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs.row_writer import header, row_writer
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.registry import Registry

__all__ = ["CODECS", "codec", "header", "row_writer"]

_PATHS: Final[dict[str, str]] = {
    "canal": "spark_jobs.cdc.codecs.canal_protobuf:CODEC",
    "canal-json": "spark_jobs.cdc.codecs.canal_json:CODEC",
    "csv": "spark_jobs.cdc.codecs.csv:CODEC",
    "datahub-blob": "spark_jobs.cdc.codecs.datahub.blob:CODEC",
    "datahub-tuple": "spark_jobs.cdc.codecs.datahub.tuple:CODEC",
    "tidb-binlog": "spark_jobs.cdc.codecs.tidb_binlog:CODEC",
    "drainer": "spark_jobs.cdc.codecs.drainer:CODEC",
    "sql": "spark_jobs.cdc.codecs.sql:CODEC",
}


def _is_codec(name: str, found: object) -> bool:
    return isinstance(found, Codec) and found.name == name


CODECS: Final[Registry[Codec]] = Registry("protocol", _PATHS, _is_codec)
"""By name, in lower case. Installed packages add theirs (``spark_jobs.plugins``)."""


def codec(name: str) -> Codec:
    """The codec of that name; ``ConfigError`` names the known ones."""
    found = CODECS.get(name.lower())
    if found is None:
        known = ", ".join(sorted(CODECS))
        raise ConfigError(f"unknown protocol {name!r}; known are: {known}", code="CDC:ErrSinkUnknownProtocol")
    return found
