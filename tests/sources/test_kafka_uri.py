"""What a kafka:// URI says; no broker is asked."""

import pickle

import pytest

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sources import parse_source
from spark_jobs.uris import escaped
from tests.sources.kafka_scene import kafka_source

HERE = "kafka://127.0.0.1:1"


@pytest.mark.parametrize("protocol", ["canal-json", "canal", "tidb-binlog", "datahub-blob"])
def test_every_protocol_of_a_queue_is_taken_with_parameters_of_watermarks(protocol):
    source = kafka_source(f"{HERE}/a,b?protocol={protocol}&watermark=require&watermark-timeout=5s")
    assert (source.protocol, source.topics, source.watermark_timeout_seconds) == (protocol, ("a", "b"), 5.0)
    assert pickle.loads(pickle.dumps(source)) == source


def test_a_protocol_that_no_queue_has_is_refused_with_those_that_one_has():
    with pytest.raises(ConfigError, match="'avro'; known are: canal, canal-json, datahub-blob, tidb-binlog"):
        parse_source(f"{HERE}/t?protocol=avro")


def test_a_protocol_of_files_is_refused_with_the_way_to_read_it():
    with pytest.raises(ConfigError, match="protocol csv: CSV files are read with the folder that they belong to"):
        parse_source(f"{HERE}/t?protocol=csv")


@pytest.mark.parametrize(
    ("uri", "topics"),
    [
        (f"{HERE}/?protocol=tidb-binlog&cluster-id=7001", ("7001_obinlog",)),
        (f"{HERE}/t?protocol=tidb-binlog&cluster-id=7001", ("t",)),
        (f"{HERE}/t?protocol=canal-json&cluster-id=7001", ("t",)),
        (f"{HERE}/?protocol=tidb-binlog&cluster-id=7001&topic-pattern=x.*", ()),
    ],
    ids=["no path", "a path", "another protocol", "a pattern"],
)
def test_a_cluster_id_stands_for_drainers_topic(uri, topics):
    assert kafka_source(uri).topics == topics


@pytest.mark.parametrize("uri", [f"{HERE}/?protocol=canal-json&cluster-id=7001", f"{HERE}/?protocol=tidb-binlog"])
def test_without_topics_there_is_no_source(uri):
    with pytest.raises(ConfigError, match="name the topics in the path, or give topic-pattern"):
        parse_source(uri)


def test_repeats_are_dropped_unless_they_are_wanted():
    assert kafka_source(f"{HERE}/t?protocol=canal-json").repeats == "drop"
    assert kafka_source(f"{HERE}/t?protocol=canal-json&repeats=keep").repeats == "keep"
    with pytest.raises(ConfigError, match="'some' is none of drop, keep"):
        parse_source(f"{HERE}/t?protocol=canal-json&repeats=some")


@pytest.mark.parametrize(
    ("pattern", "topic", "matches"),
    [
        ("orders.*", "orders-1", True),
        ("orders", "orders-1", False),
        (".*", "__consumer_offsets", False),
        ("(?P<what>a|b)-[0-9]+", "b-12", True),
    ],
)
def test_a_pattern_matches_whole_names_and_none_of_kafkas_own(pattern, topic, matches):
    assert kafka_source(f"{HERE}/?protocol=canal-json&topic-pattern={escaped(pattern)}").matches(topic) is matches


def test_what_makes_it_this_source_are_protocol_and_topics():
    key = kafka_source(f"{HERE}/b,a?protocol=canal-json").identity_key
    assert key == kafka_source("kafka://other:9092/a,b?protocol=canal-json&start=earliest").identity_key
    assert key != kafka_source(f"{HERE}/a,b?protocol=canal").identity_key
    assert key != kafka_source(f"{HERE}/a?protocol=canal-json").identity_key
