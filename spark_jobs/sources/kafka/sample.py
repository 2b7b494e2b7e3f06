"""A look at the last messages of each partition."""

from collections.abc import Iterator
from typing import Final

from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.sources.common import CODE, WHAT
from spark_jobs.sources.kafka.admin import Broker, strands_of
from spark_jobs.sources.kafka.client import settings_of
from spark_jobs.sources.kafka.split import KafkaSplit
from spark_jobs.sources.kafka.uri import KafkaSource

MESSAGES: Final = 200


def sample(source: KafkaSource) -> Iterator[KafkaSplit]:
    """Of each partition its last messages; ``ConfigError`` when the broker does not say where these are."""
    try:
        broker = Broker(source)
        strands = strands_of(broker.named_topics())
        first, end = broker.firsts(strands), broker.ends(strands)
    except EnvironmentFault as fault:
        raise ConfigError(f"{WHAT}: {fault.message}", code=CODE) from None
    settings = settings_of(source)
    for strand in strands:
        start = max(first[strand], end[strand] - MESSAGES)
        if start < end[strand]:
            yield KafkaSplit(strand=strand, start=start, end=end[strand], size=0, settings=settings)
