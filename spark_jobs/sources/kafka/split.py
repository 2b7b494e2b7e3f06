"""What one task reads of a topic: some offsets of a partition, straight from the broker."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

import msgspec

from spark_jobs.sources.base import Block, Place, Strand
from spark_jobs.sources.kafka.client import ClientSettings, lent, moving
from spark_jobs.sources.kafka.reading import Range, Reading

BLOCK_MESSAGES: Final = 5000
BLOCK_BYTES: Final = 1 << 20
TAKEN: Final = 500
"""Messages taken at a time: a block grows above its bytes by these at most."""


class KafkaBlock(msgspec.Struct, frozen=True):
    """Messages of one partition that follow one another."""

    strand: Strand
    values: list[bytes | None]
    offsets: list[int]

    def place(self, at: int) -> Place:
        """Where message ``at`` of the block stands."""
        stream, partition = self.strand
        offset = self.offsets[at]
        return Place(stream, partition, offset, f"topic {stream}, partition {partition}, offset {offset}")


class KafkaSplit(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets ``start`` to ``end`` (exclusive) of a partition.

    ``ready``: the messages, where planning had to read them anyway. ``moves``: a position that is lost while it is read
    may be moved, so reading anew is worth trying.
    """

    strand: Strand
    start: int
    end: int
    size: int
    settings: ClientSettings
    moves: bool = False
    index: int = 0
    ready: tuple[KafkaBlock, ...] | None = None

    def blocks(self) -> Iterator[Block]:
        """About a mebibyte at a time; ``PositionLost`` where the broker has deleted it, ``EnvironmentFault`` where it
        does not answer."""
        if self.ready is not None:
            yield from self.ready
            return
        with moving(self.moves):
            yield from self._read()

    def _read(self) -> Iterator[KafkaBlock]:
        with lent(self.settings) as client:
            reading = Reading(client, {self.strand: Range(self.start, self.end)})
            block, size = KafkaBlock(self.strand, [], []), 0
            while reading.is_open:
                taken = reading.take(TAKEN)
                offsets = [message.offset() or 0 for message in taken]
                if not offsets:
                    break
                reading.reached(self.strand, offsets[-1] + 1)
                inside = len(offsets) if offsets[-1] < self.end else bisect_left(offsets, self.end)
                values = [message.value() for message in taken[:inside]]
                block.values.extend(values)
                block.offsets.extend(offsets[:inside])
                size += sum([len(value) for value in values if value is not None])
                if size >= BLOCK_BYTES or len(block.offsets) >= BLOCK_MESSAGES:
                    yield block
                    block, size = KafkaBlock(self.strand, [], []), 0
            if block.offsets:
                yield block
