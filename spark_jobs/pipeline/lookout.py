"""Which watermarks a batch brings, before any of its rows is opened."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.codec import Opener
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import Watermark
from spark_jobs.pipeline.job import StrandReading, further
from spark_jobs.sources.base import Batch, Block, Scan, Split, Strand

SMALL_BYTES: Final = 2 << 20
"""A batch of less is read once, by the driver: what is looked for in it and what is delivered are the same bytes."""
TIMED: Final = b'"_tidb"'
"""In rows that may wait for watermarks; a cheap look, since what is read decides."""

Found = dict[Strand, StrandReading]


class ReadSplit(msgspec.Struct, frozen=True):
    """A split whose messages are here."""

    strand: Strand
    index: int
    size: int
    read: tuple[Block, ...]

    def blocks(self) -> Iterator[Block]:
        return iter(self.read)


class Lookout:
    """Keeps an opener; used by one thread."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener

    def look(self, batch: Batch, known: Sequence[StrandReading], latest_ts: int) -> tuple[Sequence[Split], Found]:
        """The batch's splits, read already where they are small, and what was found in each strand: its greatest
        watermark up to ``latest_ts`` (a later one cannot be meant), and whether rows say their commit-ts."""
        found: Found = {}
        if batch.look is None or sum(split.size for split in batch.splits) <= SMALL_BYTES:
            read = [ReadSplit(split.strand, split.index, split.size, tuple(split.blocks())) for split in batch.splits]
            for split in read:
                self._learn(found, self._scan(split), latest_ts)
            return read, found
        needed = frozenset(Strand(item.stream, item.partition) for item in known if item.timed)
        for scan in batch.look(self._opener.marks, needed):
            self._learn(found, scan, latest_ts)
        return batch.splits, found

    def _scan(self, split: ReadSplit) -> Scan:
        values = [value for block in split.read for value in block.values if value]
        candidates = tuple(value for value in values if any(mark in value for mark in self._opener.marks))
        return Scan(split.strand, candidates, any(TIMED in value for value in values))

    def _learn(self, found: Found, scan: Scan, latest_ts: int) -> None:
        said = map(self._watermark, scan.candidates)
        watermark = max((watermark for watermark in said if watermark <= latest_ts), default=0)
        reading = StrandReading(*scan.strand, watermark_ts=watermark, timed=scan.timed or watermark > 0)
        found[scan.strand] = further(found.get(scan.strand), reading)

    def _watermark(self, message: bytes) -> int:
        try:
            events = self._opener.open(message)
        except DecodeError:
            return 0
        return max((event.watermark_ts for event in events if isinstance(event, Watermark)), default=0)
