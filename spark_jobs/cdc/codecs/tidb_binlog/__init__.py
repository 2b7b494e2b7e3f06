"""TiDB Binlog in Kafka: Drainer's ``slave.binlog`` messages.

Rules

1. A message is one protobuf ``Binlog`` (``proto/tidb_binlog.proto``): one whole transaction or one DDL statement, with
   its commit-ts. Key null, partition 0 only, no headers, no heartbeats.
2. Rows are grouped by table. Their order within a table is that of the statements; between tables it is lost. The same
   name may occur in several ``Table`` entries.
3. Columns map to ``column_info`` by position. ``row`` is the new image of insert and update and the old one of delete;
   ``change_row`` is the OLD image of update.
4. Fields 4 and 5 of ``ColumnInfo`` (5.4) and 5 of ``Table`` (3.0.9) came later; messages without them are read, and
   written on request (``drainer-version``). Unknown fields are passed over.
5. Generated columns are NULL on both sides of an UPDATE and cannot be told from real NULLs. TIMESTAMP text is in
   Drainer's local time zone, which no field names.
6. The log may repeat: after a restart Drainer sends again what it had sent (10 20 30 20 30 40). Readers drop what is
   not above the last commit-ts they applied, which is why a transaction must never be cut in two messages.
7. Values: ``tidb_binlog/values``; rows: ``tidb_binlog/rows``; structure: ``tidb_binlog/layout``.

Not carried: schemas' comments, charsets, nullability, defaults; indexes that are not unique; enum elements; ``origin``,
``ts_ms``, and any ``es_ms`` but the commit-ts' own. UNSIGNED is known from the first value that is not NULL.
Watermarks, heartbeats and transaction marks have no form here; nor have rows with absent columns.
"""

from collections.abc import Mapping
from typing import Final

from spark_jobs.cdc.codec import Codec, Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.opened import OpenedDecoder
from spark_jobs.cdc.codecs.tidb_binlog.encoder import TidbBinlogEncoder
from spark_jobs.cdc.codecs.tidb_binlog.layout import Generation
from spark_jobs.cdc.codecs.tidb_binlog.opener import TidbBinlogOpener

NAME: Final = "tidb-binlog"

_GENERATIONS: Final = {
    "5.4": Generation(),
    "3.0.9": Generation(lengths=False),
    "3.0": Generation(lengths=False, unique_keys=False),
}
_ENCODE_OPTIONS: Final = (
    Option(
        name="drainer-version",
        kind="choice",
        default="5.4",
        meaning="whose messages: 5.4 and later; 3.0.9 has no flen and decimal; 3.0 has no unique_keys either",
        choices=tuple(_GENERATIONS),
    ),
)


def opener(options: Mapping[str, str], /) -> TidbBinlogOpener:
    Options(NAME, options, ())
    return TidbBinlogOpener()


def decoder(options: Mapping[str, str], /) -> OpenedDecoder:
    return OpenedDecoder(opener(options))


def encoder(options: Mapping[str, str], /) -> TidbBinlogEncoder:
    return TidbBinlogEncoder(_GENERATIONS[Options(NAME, options, _ENCODE_OPTIONS).text("drainer-version")])


CODEC: Final = Codec(name=NAME, opener=opener, decoder=decoder, encoder=encoder, encode_options=_ENCODE_OPTIONS)
