"""Memories and generated functions on and off, for tests that must have the same outcome with and without them."""

import pytest

from spark_jobs.cdc import memory


@pytest.fixture(scope="module", params=[False, True], ids=["", "plain"])
def both_ways(request):
    """The test runs twice, the second time without memories and generated functions."""
    memory.plain(request.param)
    yield
    memory.plain(False)
