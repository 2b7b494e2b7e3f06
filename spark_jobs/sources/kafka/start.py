"""Where a changefeed of a Kafka source begins.

By time, the broker searches the times that producers or brokers gave the messages, from ``SEARCH_MARGIN_MS`` before the
time asked for; rows at or below the start are dropped later. Where the search finds nothing, the last messages say why:
none is so late, or messages carry no times, and then everything is read.
"""

from typing import Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE

from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.sources.base import Strand
from spark_jobs.sources.common import CODE, WHAT
from spark_jobs.sources.kafka.admin import Broker, strands_of
from spark_jobs.sources.kafka.client import lent, require_files, settings_of
from spark_jobs.sources.kafka.positions import Offsets, dump
from spark_jobs.sources.kafka.reach import require_open
from spark_jobs.sources.kafka.reading import Range, messages
from spark_jobs.sources.kafka.uri import KafkaSource

SEARCH_MARGIN_MS: Final = 60_000
_LAST: Final = 20
"""Offsets at the end of a log that are looked at; some may be marks of transactions."""


def check(source: KafkaSource) -> None:
    """``ConfigError`` when the broker, a topic, or what ``start`` names is not there."""
    require_files(source)
    require_open(source)
    try:
        broker = Broker(source)
        strands = strands_of(broker.named_topics())
        if source.start_offsets:
            _given(source, broker.firsts(strands), broker.ends(strands))
    except EnvironmentFault as fault:
        raise ConfigError(f"{WHAT}: {fault.message}", code=CODE) from None


def resolve(source: KafkaSource, start_ts: int = 0) -> str:
    """The offsets to begin at, as JSON text."""
    return dump(offsets(source, Broker(source), start_ts))


def offsets(source: KafkaSource, broker: Broker, start_ts: int = 0) -> Offsets:
    """The offsets to begin at; ``start_ts`` 0: where the source's ``start`` says."""
    strands = strands_of(broker.named_topics())
    first, end = broker.firsts(strands), broker.ends(strands)
    wanted = start_ts or source.start_ts
    if wanted:
        return _at_time(source, broker, max(tso.physical_ms(wanted) - SEARCH_MARGIN_MS, 0), first, end)
    if source.start_offsets:
        return _given(source, first, end)
    return end if source.start == "latest" else first


def _given(source: KafkaSource, first: Offsets, end: Offsets) -> Offsets:
    """``start=offset:…``; partitions that it does not name begin at their first message."""
    given = source.start_offsets
    for number in given.keys() - {strand.partition for strand in first}:
        raise ConfigError(f"{WHAT}: start names partition {number}, which no topic has", code=CODE)
    for strand, low in first.items():
        offset = given.get(strand.partition, low)
        if not low <= offset <= end[strand]:
            sentence = f"start names offset {offset} of {strand.stream}/{strand.partition}"
            raise ConfigError(f"{WHAT}: {sentence}, but the broker has {low} to {end[strand]}", code=CODE)
    return {strand: given.get(strand.partition, low) for strand, low in first.items()}


def _at_time(source: KafkaSource, broker: Broker, at_ms: int, first: Offsets, end: Offsets) -> Offsets:
    found = broker.at_time(first, at_ms)
    late = {strand for strand, offset in found.items() if offset < 0 and first[strand] < end[strand]}
    timed = _timed(source, {strand: Range(max(first[strand], end[strand] - _LAST), end[strand]) for strand in late})
    result = {}
    for strand, offset in found.items():
        without = first[strand] if strand in late - timed else end[strand]
        result[strand] = max(offset, first[strand]) if offset >= 0 else without
    return result


def _timed(source: KafkaSource, ends: dict[Strand, Range]) -> set[Strand]:
    """Those whose last messages say when they were written."""
    timed, untimed = set[Strand](), set[Strand]()
    if ends:
        with lent(settings_of(source)) as client:
            for strand, message in messages(client, ends):
                kind, at_ms = message.timestamp()
                (untimed if kind == TIMESTAMP_NOT_AVAILABLE or at_ms < 0 else timed).add(strand)
    return timed - untimed
