"""One rig for the tests of a module: captures are slow to start, so that each test leaves what the next one needs."""

from collections.abc import Iterator

import pytest

from tests.rig.rig import Rig, rig
from tests.servers.kafka import Kafka


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory, kafka: Kafka) -> Iterator[Rig]:
    """Two changefeeds under load, one of files and one of topics, and four captures."""
    with rig(tmp_path_factory.mktemp("rig"), captures=4) as running:
        running.add_folder_feed("files", "canal-json", seed=21)
        running.add_topic_feed("topics", "csv", kafka, seed=22)
        running.refill(4)
        yield running
