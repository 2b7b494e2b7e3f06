"""The position of a Kafka source: ``{"offsets": {topic: {"0": next offset}}}``, and whether the broker still has it."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import msgspec

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sources.base import Position, Strand
from spark_jobs.sources.common import CODE, WHAT
from spark_jobs.sources.kafka.admin import NO_TOPIC, Broker, Topic, strands_of
from spark_jobs.sources.kafka.client import KafkaPositionLost
from spark_jobs.sources.kafka.uri import KafkaSource

Offsets: TypeAlias = dict[Strand, int]
"""The next offset of each partition."""
CLUSTER: Final = "cluster"
TOPIC: Final = "topic:"
_NESTED: Final = dict[str, dict[int, int]]


def nested(offsets: Mapping[Strand, int]) -> dict[str, dict[str, int]]:
    """Offsets as they stand in JSON."""
    result: dict[str, dict[str, int]] = {}
    for (stream, number), offset in sorted(offsets.items()):
        result.setdefault(stream, {})[str(number)] = offset
    return result


def flat(found: Mapping[str, Mapping[int, int]]) -> Offsets:
    """Offsets by strand."""
    return {Strand(topic, number): offset for topic, numbers in found.items() for number, offset in numbers.items()}


def dump(offsets: Mapping[Strand, int]) -> str:
    """JSON text of offsets."""
    return msgspec.json.encode(nested(offsets)).decode()


def load(text: str) -> Offsets:
    """Offsets from JSON text; "" is empty."""
    return flat(msgspec.json.decode(text, type=_NESTED)) if text else {}


def position_of(offsets: Mapping[Strand, int]) -> Position:
    """A position, or the patch of one."""
    return {"offsets": nested(offsets)}


def offsets_of(position: Position) -> Offsets:
    """The offsets that a position holds."""
    try:
        return flat(msgspec.convert(position.get("offsets", {}), _NESTED, strict=False))
    except msgspec.ValidationError as error:
        raise ConfigError(f"{WHAT}: the logged position is none of a Kafka source: {error}", code=CODE) from None


def identity_of(cluster_id: str, topics: Mapping[str, Topic]) -> dict[str, str]:
    """What tells these topics from others of the same names; ids that a broker does not have are left out."""
    found = {CLUSTER: cluster_id} | {TOPIC + name: topic.id for name, topic in topics.items()}
    return {name: value for name, value in found.items() if value}


class Settled(msgspec.Struct, frozen=True):
    """Where reading goes on. ``gone``: topics that are read no longer; ``said``: sentences about what was moved."""

    offsets: Offsets
    gone: tuple[str, ...]
    said: list[str]


class _Judge:
    """Decides, by ``on-lost-position``, about each thing that is not as it was."""

    def __init__(self, source: KafkaSource) -> None:
        self._fails = source.on_lost_position == "fail"
        self.said: list[str] = []

    def lost(self, sentence: str) -> None:
        if self._fails:
            remedy = "set on-lost-position=earliest in the source URI to go on from the earliest that is there"
            raise KafkaPositionLost(f"{sentence}; {remedy}")
        self.said.append(f"position lost: {sentence}")


def settle(source: KafkaSource, broker: Broker, position: Position, known: Mapping[str, str]) -> Settled:
    """Where to go on, checked against what the broker has. ``known``: the identity that the log has.

    Raises ``PositionLost`` when reading cannot go on, or not without losing rows and ``on-lost-position`` is ``fail``.
    """
    wanted = offsets_of(position)
    topics = broker.topics()
    said = _dropped(source, broker, wanted, topics)
    gone = tuple(sorted({strand.stream for strand in wanted} - set(topics)))
    strands = strands_of(topics)
    first, end = broker.firsts(strands), broker.ends(strands)
    judge = _Judge(source)
    anew = _made_anew(known, identity_of(broker.cluster_id(), topics), judge)
    offsets = {strand: wanted[strand] if strand in wanted else first[strand] for strand in strands}
    for strand in strands:
        if anew(strand.stream):
            offsets[strand] = first[strand]
        elif not first[strand] <= offsets[strand] <= end[strand]:
            judge.lost(_lost_words(strand, offsets[strand], first[strand], end[strand]))
            offsets[strand] = first[strand]
    for strand in sorted(wanted.keys() - set(strands)):
        if strand.stream in topics and not anew(strand.stream):
            judge.lost(f"partition {strand.stream}/{strand.partition} has been read before and is not there any more")
    return Settled(offsets, gone, said + judge.said)


def _dropped(source: KafkaSource, broker: Broker, wanted: Offsets, topics: Mapping[str, Topic]) -> list[str]:
    missing = [name for name in source.topics if name not in topics]
    if missing:
        raise KafkaPositionLost(
            f"the broker at {broker.brokers} has no topic {missing[0]!r}; create it first, and set "
            "on-lost-position=earliest in the source URI if it was there before, or remove the changefeed",
            code=NO_TOPIC,
        )
    gone = sorted({strand.stream for strand in wanted} - set(topics))
    return [f"topic {name} is not there any more; it is read no longer" for name in gone]


def _made_anew(known: Mapping[str, str], now: Mapping[str, str], judge: _Judge) -> Callable[[str], bool]:
    """Tells the topics that are not those of the log, though their names are."""
    if known.get(CLUSTER) and now.get(CLUSTER) and known[CLUSTER] != now[CLUSTER]:
        judge.lost(f"the brokers are those of another cluster ({now[CLUSTER]}, before {known[CLUSTER]})")
        return lambda topic: True
    anew = set()
    for name, topic_id in known.items():
        if name.startswith(TOPIC) and now.get(name, topic_id) != topic_id:
            topic = name.removeprefix(TOPIC)
            judge.lost(f"topic {topic} was deleted and made anew (id {now[name]}, before {topic_id})")
            anew.add(topic)
    return anew.__contains__


def _lost_words(strand: Strand, offset: int, first: int, end: int) -> str:
    what = "the log was cut off" if offset > end else "rows between may be lost"
    return f"offset {offset} of {strand.stream}/{strand.partition} is gone (the broker has {first} to {end}); {what}"
