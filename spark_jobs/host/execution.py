"""Runs the pipeline's pure functions: small work in this process, large work as Spark jobs.

A worker never raises an error of ours through Spark, which would turn it into text: it returns it.
"""

import gc
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from spark_jobs.cdc.errors import WeirError
from spark_jobs.plugins import register_installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")


class Execution:
    """Jobs of one changefeed; those of several share the workers fairly (``pool``)."""

    def __init__(self, session: "SparkSession", pool: str) -> None:
        self._session = session
        self._pool = pool

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        return self._session.sparkContext.defaultParallelism

    def __call__(self, function: Callable[[T], R], items: Sequence[T], /, *, small: bool) -> list[R]:
        """The results in the items' order; raises what the function raised."""
        if small or not items:
            return [function(item) for item in items]
        context = self._session.sparkContext
        context.setLocalProperty("spark.scheduler.pool", self._pool)
        results = context.parallelize(items, len(items)).map(lambda item: _returned(function, item)).collect()
        return [_raised(result) for result in results]


def _returned(function: Callable[[T], R], item: T) -> R | WeirError:
    """Without the collector: nothing in the hot loop makes cycles, and it would walk over millions of live objects."""
    gc.disable()
    try:
        _ready()
        return function(item)
    except WeirError as error:
        return error
    finally:
        gc.enable()


@cache
def _ready() -> None:
    """A worker's process knows what is installed, as the driver does."""
    register_installed()


def _raised(result: R | WeirError) -> R:
    if isinstance(result, WeirError):
        raise result
    return result
