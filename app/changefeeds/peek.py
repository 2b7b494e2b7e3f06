"""Which tables a source holds, as far as a look at a few of its messages tells. I/O, a few seconds at most; what cannot
be opened is passed over.
"""

import time
from collections.abc import Iterator
from typing import Final

from spark_jobs.cdc.codec import Opener
from spark_jobs.cdc.codecs import codec
from spark_jobs.cdc.errors import DataError, EnvironmentFault
from spark_jobs.cdc.events import Ddl, Heartbeat, TransactionMark, Watermark
from spark_jobs.sources import SourceSpec

SECONDS: Final = 5.0


def tables(source: SourceSpec) -> list[tuple[str, str]]:
    """Schema and table of what was seen, sorted. ``ConfigError`` when the source cannot be read."""
    make = codec(source.protocol).opener
    if make is None:
        return []
    opener = make({})
    return sorted({name for message in _messages(source) for name in _named(opener, message)})


def _messages(source: SourceSpec) -> Iterator[bytes]:
    deadline = time.monotonic() + SECONDS
    for split in source.sample():
        try:
            for block in split.blocks():
                yield from (value for value in block.values if value)
                if time.monotonic() > deadline:
                    return
        except (DataError, EnvironmentFault):
            continue  # it changed, or went, while it was looked at


def _named(opener: Opener, message: bytes) -> Iterator[tuple[str, str]]:
    try:
        for item in opener.open(message):
            if isinstance(item, Ddl):
                if item.table:
                    yield item.schema, item.table
            elif not isinstance(item, Watermark | Heartbeat | TransactionMark):
                yield item.schema, item.name
    except DataError:
        return
