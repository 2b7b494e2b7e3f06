"""One changefeed through the real thing: ``HostedFeed`` as a capture runs it, in a warm Spark session."""

import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from spark_jobs.host import session as spark
from spark_jobs.host.assignment import HostedFeed
from spark_jobs.host.lease import Lease, seconds
from spark_jobs.sources import parse_source
from spark_jobs.wire import Assignment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_SECONDS: Final = 0.005
LONGEST_SECONDS: Final = 1800


@contextlib.contextmanager
def warm_session(cores: int, conf: str = "") -> Iterator["SparkSession"]:
    """Spark as a capture starts it."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        session = spark.start(f"local[{cores}]", conf, folder)
        try:
            yield session
        finally:
            session.stop()


def deliver(session: "SparkSession", source_uri: str, output: Path, options: str, rows: int, config: str) -> None:
    """Delivers ``rows`` rows into the fresh folder ``output``; returns when the last of them is committed."""
    shutil.rmtree(output, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix="weir-bench-"))
    source = parse_source(source_uri)
    lease = Lease()
    lease.renew(seconds(), LONGEST_SECONDS)
    assignment = Assignment(
        changefeed_id="bench",
        epoch=1,
        feed_uid=1,
        source_uri=source_uri,
        sink_uri=f"file://{output}?{options}",
        start_position=source.resolve_start(),
        replica_config=msgspec.Raw(config.encode()),
        checkpoint_root=str(work),
    )
    feed = HostedFeed(assignment, session, "bench", lease)
    feed.start()
    try:
        _wait(feed, rows)
    finally:
        feed.ask_to_stop()
        while not feed.ended:
            time.sleep(POLL_SECONDS)
        shutil.rmtree(work, ignore_errors=True)


def _wait(feed: HostedFeed, rows: int) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while (report := feed.report()).rows_total < rows:
        if report.fault is not None or feed.ended or time.monotonic() > deadline:
            raise RuntimeError(f"the changefeed ended at {report.rows_total} of {rows} rows: {report.fault}")
        time.sleep(POLL_SECONDS)
    if report.rows_total != rows:
        raise RuntimeError(f"{report.rows_total} rows were delivered, {rows} were sent")


def csv_config() -> str:
    """The ``replica_config`` of a CSV sink that keeps commit-ts."""
    return json.dumps({"sink": {"csv": {"include_commit_ts": True}}})
