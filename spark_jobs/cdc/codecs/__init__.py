"""The registry of codecs: an explicit table. A new codec is one new file and one line here."""

from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs import canal_json, canal_protobuf, sql, tidb_binlog
from spark_jobs.cdc.codecs import csv as csv_rows
from spark_jobs.cdc.codecs import drainer as drainer_binlog
from spark_jobs.cdc.codecs.datahub import blob as datahub_blob
from spark_jobs.cdc.codecs.datahub import tuple as datahub_tuple
from spark_jobs.cdc.errors import ConfigError

CODECS: dict[str, Codec] = {
    "canal": canal_protobuf.CODEC,
    "canal-json": canal_json.CODEC,
    "csv": csv_rows.CODEC,
    "datahub-blob": datahub_blob.CODEC,
    "datahub-tuple": datahub_tuple.CODEC,
    "tidb-binlog": tidb_binlog.CODEC,
    "drainer": drainer_binlog.CODEC,
    "sql": sql.CODEC,
}


def codec(name: str) -> Codec:
    """The codec of that name; ``ConfigError`` names the known ones."""
    found = CODECS.get(name.lower())
    if found is None:
        known = ", ".join(sorted(CODECS))
        raise ConfigError(f"unknown protocol {name!r}; known are: {known}", code="CDC:ErrSinkUnknownProtocol")
    return found
