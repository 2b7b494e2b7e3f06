"""The streaming query of a Kafka source: Spark's connector says when there is a batch and how far it goes.

Its frame is left alone, so no job runs and no message crosses the JVM; how far a batch goes stands in the log of
offsets in the query's checkpoint folder. That folder is scratch: where to read is decided by the commit log.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from spark_jobs.cdc.errors import ConfigError, EnvironmentFault
from spark_jobs.sources.base import Pace
from spark_jobs.sources.kafka.client import KafkaPositionMoved
from spark_jobs.sources.kafka.positions import Offsets, dump, load
from spark_jobs.sources.kafka.uri import KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

LONGEST_POLL_SECONDS: Final = 1.0
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_LOST: Final = "the broker has deleted messages, or the topic, while they were to be read"
_GONE: Final = {
    "OffsetOutOfRange": _LOST,
    "failOnDataLoss": _LOST,
    "data may have been lost": _LOST,
    "data may have been missed": _LOST,
    "UnknownTopicOrPartition": "a topic, or a partition of it, has disappeared",
}
"""What Spark's connector says, and what it means."""
_OFFSETS_LINE: Final = 2


class QueryFailed(EnvironmentFault):
    """The streaming query ended by itself."""

    code = "CDC:ErrQueryFailed"


class Pacing:
    """A running query over these topics, from ``offsets``, which name every partition that they have.

    ``ready(number, ends)`` is called by Spark, one batch after another, until ``stop``; offsets of ``ends`` are not
    included. ``folder`` is the query's own.
    """

    def __init__(
        self,
        session: "SparkSession",
        source: KafkaSource,
        topics: Sequence[str],
        offsets: Offsets,
        pace: Pace,
        folder: str,
        ready: Callable[[int, Offsets], None],
    ) -> None:
        self._source = source
        self._folder = folder
        self._ready = ready
        self._stopped = False
        reader = session.readStream.format("kafka").options(**_options(source, pace))
        reader = reader.option("subscribe", ",".join(topics)).option("startingOffsets", dump(offsets))
        trigger = int(min(pace.interval_seconds, LONGEST_POLL_SECONDS) * 1000)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        session.sparkContext.setLocalProperty("spark.scheduler.pool", pace.name)
        self._query = (
            _loaded(reader)
            .writeStream.queryName(pace.name)
            .option("checkpointLocation", folder)
            .trigger(processingTime=f"{trigger} milliseconds")
            .foreachBatch(self._on_batch)
            .start()
        )

    def _on_batch(self, frame: "DataFrame", number: int) -> None:
        with open(os.path.join(self._folder, "offsets", str(number))) as file:
            lines = file.read().splitlines()
        self._ready(number, load(lines[_OFFSETS_LINE]))

    def check(self) -> None:
        """Raises what ended the query, unless it was stopped here."""
        if self._stopped or self._query.isActive:
            return
        text = str(self._query.exception() or "").strip()
        for sign, sentence in _GONE.items():
            if sign in text:  # what is gone is looked at again, and judged, when reading starts anew
                raise KafkaPositionMoved(f"{sentence}: {self._source.masked()}")
        first = text.splitlines()[0] if text else "it ended without a reason"
        raise QueryFailed(f"the streaming query ended: {first[:400]}")

    def stop(self) -> None:
        """Ends the query and removes its folder; returns when ``ready`` is not called any more."""
        self._stopped = True
        self._query.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _loaded(reader: "DataStreamReader") -> "DataFrame":
    from pyspark.errors import PySparkException

    try:
        return reader.load()
    except PySparkException as error:
        if "Failed to find data source: kafka" in str(error) or "DATA_SOURCE_NOT_FOUND" in str(error):
            raise ConfigError("the jars of Spark's Kafka connector are not installed; run `make setup`") from None
        raise


def _options(source: KafkaSource, pace: Pace) -> dict[str, str]:
    """A batch begins when ``max_rows`` are waiting, or after the interval."""
    protocol = ("SASL_" if source.sasl_mechanism else "") + ("SSL" if source.tls else "PLAINTEXT")
    options = {
        "kafka.bootstrap.servers": source.brokers,
        "kafka.security.protocol": protocol,
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "fetchOffset.numRetries": "10",
        "maxOffsetsPerTrigger": str(source.max_rows),
    }
    if pace.interval_seconds > 1:
        delay = f"{int(pace.interval_seconds * 1000)}ms"
        options |= {"minOffsetsPerTrigger": str(source.max_rows), "maxTriggerDelay": delay}
    if source.sasl_mechanism:
        module = _PLAIN if source.sasl_mechanism == "PLAIN" else _SCRAM
        options["kafka.sasl.mechanism"] = source.sasl_mechanism
        options["kafka.sasl.jaas.config"] = (
            f"{module} required username={_quoted(source.sasl_user)} password={_quoted(source.sasl_password)};"
        )
    return options | (_tls(source) if source.tls else {})


def _tls(source: KafkaSource) -> dict[str, str]:
    options: dict[str, str] = {}
    if source.ca:
        options |= {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": source.ca}
    if source.cert and source.key:
        with open(source.cert) as cert, open(source.key) as key:
            options |= {
                "kafka.ssl.keystore.type": "PEM",
                "kafka.ssl.keystore.certificate.chain": cert.read(),
                "kafka.ssl.keystore.key": key.read(),
            }
    if source.skip_verify:
        options["kafka.ssl.endpoint.identification.algorithm"] = ""
    return options


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
