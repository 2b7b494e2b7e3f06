"""Source URIs as the kind of source that a test knows they are."""

from spark_jobs.sources import parse_source
from spark_jobs.sources.folder import FolderSource
from spark_jobs.sources.kafka import KafkaSource


def kafka_source(uri: str) -> KafkaSource:
    source = parse_source(uri)
    assert isinstance(source, KafkaSource)
    return source


def folder_source(uri: str) -> FolderSource:
    source = parse_source(uri)
    assert isinstance(source, FolderSource)
    return source
