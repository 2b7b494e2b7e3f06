"""A Kafka source as a streaming frame of Spark's own connector."""

from typing import TYPE_CHECKING, Final

import msgspec

from spark_jobs.sources import kafka_admin
from spark_jobs.sources.kafka import KafkaSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FETCH_WAIT_MS: Final = "10"
"""How long the broker holds a request when it has nothing new. A consumer asks ahead, and Spark's next task asks
behind that for the end of its partition, on the same connection: by default half a second, in one of few slots."""
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


def stream(
    session: "SparkSession", source: KafkaSource, offsets: kafka_admin.Offsets, interval_seconds: float
) -> "DataFrame":
    """Messages from ``offsets`` on; a batch begins when the limit is waiting, or after ``interval_seconds``."""
    reader = session.readStream.format("kafka").options(**_options(source))
    if source.topic_pattern:
        reader = reader.option("subscribePattern", source.topic_pattern)
    else:
        reader = reader.option("subscribe", ",".join(source.topics))
    reader = reader.option("startingOffsets", kafka_admin.dump(offsets)).option("maxOffsetsPerTrigger", source.max_rows)
    if interval_seconds > 1:
        reader = reader.option("minOffsetsPerTrigger", source.max_rows).option(
            "maxTriggerDelay", f"{int(interval_seconds * 1000)}ms"
        )
    return reader.load()


def messages_between(
    session: "SparkSession", source: KafkaSource, first: kafka_admin.Offsets, ends: kafka_admin.Offsets
) -> "DataFrame":
    """Messages from ``first`` (a partition that is not there: 0) up to ``ends``, which are not included."""
    starts = {topic: {n: first.get(topic, {}).get(n, 0) for n in numbers} for topic, numbers in ends.items()}
    partitions = {topic: list(numbers) for topic, numbers in ends.items()}
    reader = session.read.format("kafka").options(**_options(source))
    reader = reader.option("assign", msgspec.json.encode(partitions).decode())
    reader = reader.option("startingOffsets", kafka_admin.dump(starts))
    return reader.option("endingOffsets", kafka_admin.dump(ends)).load()


def _options(source: KafkaSource) -> dict[str, str]:
    protocol = ("SASL_" if source.sasl_mechanism else "") + ("SSL" if source.tls else "PLAINTEXT")
    options = {
        "kafka.bootstrap.servers": source.brokers,
        "kafka.security.protocol": protocol,
        "kafka.isolation.level": "read_committed",
        "kafka.fetch.max.wait.ms": _FETCH_WAIT_MS,
        "failOnDataLoss": "true",
        "fetchOffset.numRetries": "10",
    }
    if source.sasl_mechanism:
        module = _PLAIN if source.sasl_mechanism == "PLAIN" else _SCRAM
        options["kafka.sasl.mechanism"] = source.sasl_mechanism
        options["kafka.sasl.jaas.config"] = (
            f"{module} required username={_quoted(source.sasl_user)} password={_quoted(source.sasl_password)};"
        )
    if source.tls:
        options |= _tls(source)
    return options


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
