"""TiDB Binlog in Drainer's local files (``db-type = "file"``): the payload of one frame, ``pb_binlog``.

Rules

1. A payload is one protobuf ``Binlog`` (``proto/drainer_file.proto``): one transaction or one DDL statement. It is not
   the message that goes to Kafka. Frames and file names: ``spark_jobs/cdc/codecs/drainer/files``.
2. One ``Event`` is one row with its own columns; every column brings name, MySQL type and values along. No key flags.
3. ``value`` is the OLD value of an update and ``changed_value`` the NEW one; insert and delete have ``value`` only.
4. Insert has all columns, update only public ones that are not generated, delete only those that were found.
5. A value is a datum (``tidb_binlog/datum``); text of every kind is compact bytes, bit is an unsigned number. UNSIGNED
   is told by the flag alone.
6. A statement stands in ``ddl_query`` as ``use `schema`; statement;``, CREATE DATABASE as ``statement;``, one without a
   schema as it is.

Not carried: keys and indexes, lengths, the table of a statement, and what ``tidb_binlog`` does not carry either. Absent
columns are left out. Rows of one table in one message have one structure as long as names and types are the same.
"""

from collections.abc import Mapping
from typing import Final

from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.drainer.encoder import DrainerEncoder
from spark_jobs.cdc.codecs.drainer.opener import DrainerOpener
from spark_jobs.cdc.codecs.opened import OpenedDecoder

NAME: Final = "drainer"


def opener(options: Mapping[str, str], /) -> DrainerOpener:
    Options(NAME, options, ())
    return DrainerOpener()


def decoder(options: Mapping[str, str], /) -> OpenedDecoder:
    return OpenedDecoder(opener(options))


def encoder(options: Mapping[str, str], /) -> DrainerEncoder:
    Options(NAME, options, ())
    return DrainerEncoder()


CODEC: Final = Codec(name=NAME, opener=opener, decoder=decoder, encoder=encoder)
