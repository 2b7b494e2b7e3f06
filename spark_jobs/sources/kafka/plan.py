"""Cuts what is new into batches: no I/O but a look at what messages weigh."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, overload

from spark_jobs.sources.base import Batch, Strand
from spark_jobs.sources.kafka.client import ClientSettings, moving, settings_of
from spark_jobs.sources.kafka.positions import Offsets, position_of
from spark_jobs.sources.kafka.reading import Range
from spark_jobs.sources.kafka.split import KafkaBlock, KafkaSplit
from spark_jobs.sources.kafka.tail import Tail, Weight, read_small, weigh
from spark_jobs.sources.kafka.uri import KafkaSource

SMALL_MESSAGES: Final = 2000
SMALL_BYTES: Final = 4 << 20
"""A batch within both is read while it is planned."""


class Listing(Sequence[Strand]):
    """Strands that are asked for when they are first looked at, and then stay.

    A partition that comes while a batch is planned must not be missing here when a watermark of that batch moves the
    horizon, so whoever takes the watermarks first looks at the strands after it.
    """

    def __init__(self, ask: Callable[[], Sequence[Strand]]) -> None:
        self._ask = ask
        self._known: Sequence[Strand] | None = None

    def _asked(self) -> Sequence[Strand]:
        if self._known is None:
            self._known = self._ask()
        return self._known

    @overload
    def __getitem__(self, at: int) -> Strand: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Strand]: ...

    def __getitem__(self, at: int | slice) -> Strand | Sequence[Strand]:
        return self._asked()[at]

    def __len__(self) -> int:
        return len(self._asked())


class Plan:
    """The batches of one micro-batch: from ``first`` to ``ends``, which both name every partition with new messages."""

    def __init__(self, source: KafkaSource, first: Offsets, ends: Offsets, number: int) -> None:
        self._source = source
        self._settings: ClientSettings = settings_of(source)
        self._moves = source.on_lost_position == "earliest"
        self._first = first
        self._ends = ends
        self._number = number
        self.count: Final = sum(end - first[strand] for strand, end in ends.items())

    def batches(self, strands: Callable[[], Sequence[Strand]], *, at_end: bool) -> Iterator[tuple[Offsets, Batch]]:
        """The batches, each with the offsets that it reaches; ``at_end`` is true of the last one."""
        with moving(self._moves):
            weight = self._weight()
        parts = min(max(math.ceil(self.count * weight.bytes_per_message / self._source.max_bytes), 1), self.count)
        start = self._first
        for part in range(1, parts + 1):
            ends = {
                strand: first + (self._ends[strand] - first) * part // parts for strand, first in self._first.items()
            }
            ranges = {strand: Range(start[strand], end) for strand, end in ends.items() if end > start[strand]}
            yield ends, self._batch(ranges, ends, weight, Listing(strands), at_end=at_end and part == parts)
            start = ends

    def _weight(self) -> Weight:
        ranges = {strand: Range(self._first[strand], end) for strand, end in self._ends.items()}
        if self.count > SMALL_MESSAGES:
            return weigh(self._settings, ranges)
        return read_small(self._settings, ranges, min(SMALL_BYTES, self._source.max_bytes))

    def _batch(
        self, ranges: Mapping[Strand, Range], ends: Offsets, weight: Weight, strands: Listing, *, at_end: bool
    ) -> Batch:
        blocks = weight.blocks
        count = sum(part.end - part.start for part in ranges.values())
        return Batch(
            splits=[self._split(strand, part, weight) for strand, part in sorted(ranges.items())],
            strands=strands,
            patch=position_of(ends),
            at_end=at_end,
            messages=count if blocks is None else sum(len(block.offsets) for block in blocks.values()),
            look=Tail(self._settings, self._source.protocol, ranges, blocks, moves=self._moves),
            number=self._number,
        )

    def _split(self, strand: Strand, part: Range, weight: Weight) -> KafkaSplit:
        ready: tuple[KafkaBlock, ...] | None = None
        size = int((part.end - part.start) * weight.bytes_per_message)
        if weight.blocks is not None:
            ready = (weight.blocks[strand],) if strand in weight.blocks else ()
            size = sum(len(value or b"") for block in ready for value in block.values)
        return KafkaSplit(
            strand=strand,
            start=part.start,
            end=part.end,
            size=size,
            settings=self._settings,
            moves=self._moves,
            ready=ready,
        )
