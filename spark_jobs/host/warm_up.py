"""What a capture does while it has no changefeed yet: one micro-batch of nothing.

The first one of a JVM takes seconds, since Spark's streaming has to be loaded and compiled. Nobody waits for that when
it has happened before the first changefeed of a queue arrives, or is taken over from a capture that died.
"""

import importlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def warm_up(session: "SparkSession", folder: str, over: threading.Event) -> bool:
    """Blocks until the batch has run; False if it failed or ``over`` was set. ``folder``: for Spark's checkpoint."""
    importlib.import_module("spark_jobs.pipeline.flow")
    done = threading.Event()

    def batch(frame: "DataFrame", number: int) -> None:
        frame.selectExpr("cast(value as string)").toArrow()
        done.set()

    frame = session.readStream.format("rate-micro-batch").option("rowsPerBatch", "1").load()
    query = frame.writeStream.option("checkpointLocation", folder).foreachBatch(batch).start()
    try:
        while query.isActive and not over.is_set():
            if done.wait(0.1):
                return True
        return False
    finally:
        query.stop()
