"""Topics for tests of the Kafka source."""

from collections.abc import Callable, Iterator

import pytest

from spark_jobs.sources.kafka import client
from tests.servers.kafka import Kafka
from tests.sources.kafka_scene import Topic


@pytest.fixture
def topic(kafka: Kafka) -> Callable[..., Topic]:
    def make(partitions: int = 1, name: str = "", **config: str) -> Topic:
        return Topic(kafka, partitions, name, **config)

    return make


@pytest.fixture(scope="package", autouse=True)
def _no_client_left() -> Iterator[None]:
    yield
    client.sweep(0)
