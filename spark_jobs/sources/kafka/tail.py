"""Looks at new messages before the tasks read them: for the last watermark of each partition, and for their size.

The last watermark of a partition stands near its end, so the last few messages are read, and more only where there was
none. A batch that is small is read here as a whole, once, and its splits carry what was read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.codecs import codec
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import Watermark
from spark_jobs.sources.base import Scan, Strand
from spark_jobs.sources.kafka.client import ClientSettings, lent, moving
from spark_jobs.sources.kafka.reading import Range, messages
from spark_jobs.sources.kafka.split import KafkaBlock

FIRST_WINDOW: Final = 500
WINDOW_GROWTH: Final = 8
SAMPLE: Final = 20
TIMED: Final = b'"_tidb"'
"""Stands in every message that says its commit-ts, of those protocols that have watermarks (TiCDC's Canal-JSON)."""


class Tail:
    """``Look`` for these ranges. ``ready``: what is read already; ``moves``: as a split's."""

    def __init__(
        self,
        settings: ClientSettings,
        protocol: str,
        ranges: Mapping[Strand, Range],
        ready: Mapping[Strand, KafkaBlock] | None = None,
        *,
        moves: bool = False,
    ) -> None:
        self._settings = settings
        self._protocol = protocol
        self._ranges = ranges
        self._ready = ready
        self._moves = moves

    def __call__(self, marks: Sequence[bytes], needed: frozenset[Strand], /) -> list[Scan]:
        if self._ready is not None:
            return [scan(strand, block.values, marks) for strand, block in self._ready.items()]
        is_watermark = _watermarks(self._protocol)
        found: dict[Strand, Scan] = {}

        def enough(strand: Strand, values: list[bytes | None]) -> bool:
            now = scan(strand, values, marks)
            timed = now.timed or (strand in found and found[strand].timed)
            found[strand] = msgspec.structs.replace(now, timed=timed)
            return any(map(is_watermark, reversed(now.candidates)))

        with moving(self._moves):
            search(self._settings, self._ranges, enough, whole=needed)
        return list(found.values())


def scan(strand: Strand, values: Iterable[bytes | None], marks: Sequence[bytes]) -> Scan:
    """The scan of messages in memory."""
    here = [value for value in values if value]
    candidates = tuple(value for value in here if any(mark in value for mark in marks))
    return Scan(strand, candidates, any(TIMED in value for value in here))


def _watermarks(protocol: str) -> Callable[[bytes], bool]:
    """Tells watermarks from rows that only speak of them."""
    factory = codec(protocol).decoder
    if factory is None:
        return lambda value: False
    decode = factory({}).decode

    def is_watermark(value: bytes) -> bool:
        try:
            return any(isinstance(event, Watermark) for event in decode(value))
        except DecodeError:
            return False

    return is_watermark


def search(
    settings: ClientSettings,
    ranges: Mapping[Strand, Range],
    enough: Callable[[Strand, list[bytes | None]], bool],
    *,
    whole: Iterable[Strand],
) -> None:
    """Hands the messages of ever larger tails to ``enough`` until it says that it needs no more of that partition.

    Only partitions in ``whole`` are searched to the start of their range; of others the first tail is enough.
    """
    to_the_end = set(whole)
    window = FIRST_WINDOW
    left = {strand: part for strand, part in ranges.items() if part.end > part.start}
    with lent(settings) as client:
        while left:
            tails = {strand: Range(max(part.start, part.end - window), part.end) for strand, part in left.items()}
            values: dict[Strand, list[bytes | None]] = {strand: [] for strand in tails}
            for strand, message in messages(client, tails):
                values[strand].append(message.value())
            left = {
                strand: Range(part.start, tails[strand].start)
                for strand, part in left.items()
                if not enough(strand, values[strand]) and strand in to_the_end and tails[strand].start > part.start
            }
            client.consumer.unassign()
            window *= WINDOW_GROWTH


class Weight(msgspec.Struct, frozen=True):
    """What the messages of some ranges weigh. ``blocks``: all of them, if they are few."""

    bytes_per_message: float
    blocks: dict[Strand, KafkaBlock] | None = None


def read_small(settings: ClientSettings, ranges: Mapping[Strand, Range], most_bytes: int) -> Weight:
    """Reads the ranges; when they hold more than ``most_bytes``, only as much, to know what messages weigh."""
    blocks = {strand: KafkaBlock(strand, [], []) for strand in ranges}
    size = count = 0
    with lent(settings) as client:
        for strand, message in messages(client, ranges):
            value = message.value()
            blocks[strand].values.append(value)
            blocks[strand].offsets.append(message.offset() or 0)
            size += len(value or b"")
            count += 1
            if size > most_bytes:
                return Weight(size / count)
    return Weight(size / max(count, 1), {strand: block for strand, block in blocks.items() if block.offsets})


def weigh(settings: ClientSettings, ranges: Mapping[Strand, Range]) -> Weight:
    """By a few messages from the beginning and the middle of each range."""
    size = count = 0
    with lent(settings) as client:
        for at in (0.0, 0.5):
            starts = {strand: int(part.start + (part.end - part.start) * at) for strand, part in ranges.items()}
            parts = {strand: Range(start, min(ranges[strand].end, start + SAMPLE)) for strand, start in starts.items()}
            for _, message in messages(client, parts):
                size += len(message.value() or b"")
                count += 1
            client.consumer.unassign()
    return Weight(size / max(count, 1))
