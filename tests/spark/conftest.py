"""One Spark session for all tests that need Spark itself and no capture."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from spark_jobs.host import session as spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    if not spark.has_kafka():
        pytest.skip("the jars of Spark's Kafka connector are not in jars/spark (make setup)")
    started = spark.start("local[2]", "", str(tmp_path_factory.mktemp("spark")))
    yield started
    started.stop()
