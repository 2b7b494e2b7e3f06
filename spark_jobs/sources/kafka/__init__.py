"""Kafka topics as a source. Spark's streaming query paces and plans; tasks read their own offsets with librdkafka.

``uri`` parses · ``client`` lends open clients · ``admin`` asks the broker · ``positions`` says what a position means
and whether it still holds · ``start`` finds where to begin · ``reading`` and ``split`` read · ``tail`` looks for
watermarks · ``pacing`` is the streaming query · ``plan`` cuts batches · ``enumerator`` joins them. Nothing
here moves messages through the JVM, joins a consumer group or commits an offset at the broker.
"""

from spark_jobs.sources.kafka.uri import KafkaSource, parse

__all__ = ["KafkaSource", "parse"]
