"""Memories and generated functions on and off: a delivery is the same with and without them."""

from collections.abc import Iterator

import pytest

from spark_jobs.cdc import memory


@pytest.fixture(params=[False, True], ids=["", "plain"])
def both_ways(request: pytest.FixtureRequest) -> None:
    """The test runs twice, the second time without memories and generated functions."""
    memory.plain(request.param)


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """What a plain delivery turned off is on again."""
    yield
    memory.plain(False)
