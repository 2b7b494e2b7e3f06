"""Every source and sink keeps what its spec promises; the type checker looks at these lines, since the registries name
them by path."""

from spark_jobs.sinks import parse_sink
from spark_jobs.sinks.base import Committer, Serializer, SinkSpec
from spark_jobs.sinks.storage.committer import StorageCommitter
from spark_jobs.sinks.storage.serializer import StorageSerializer
from spark_jobs.sinks.storage.uri import StorageSink
from spark_jobs.sinks.trial import blackhole, stdout
from spark_jobs.sources import parse_source
from spark_jobs.sources.base import Enumerator, SourceSpec, Split
from spark_jobs.sources.folder.enumerator import FolderEnumerator
from spark_jobs.sources.folder.split import FolderSplit
from spark_jobs.sources.folder.uri import FolderSource
from spark_jobs.sources.kafka.enumerator import KafkaEnumerator
from spark_jobs.sources.kafka.split import KafkaSplit
from spark_jobs.sources.kafka.uri import KafkaSource
from tests.example_package.weir_example.sink import NotesCommitter, NotesSerializer, NotesSink
from tests.example_package.weir_example.source import ListEnumerator, ListSource, ListSplit

SOURCES: tuple[type[SourceSpec], ...] = (FolderSource, KafkaSource, ListSource)
ENUMERATORS: tuple[type[Enumerator], ...] = (FolderEnumerator, KafkaEnumerator, ListEnumerator)
SPLITS: tuple[type[Split], ...] = (FolderSplit, KafkaSplit, ListSplit)
SINKS: tuple[type[SinkSpec], ...] = (StorageSink, stdout.Stdout, blackhole.Blackhole, NotesSink)
SERIALIZERS: tuple[type[Serializer], ...] = (
    StorageSerializer, stdout._Serializer, blackhole._Serializer, NotesSerializer,
)  # fmt: skip
COMMITTERS: tuple[type[Committer], ...] = (
    StorageCommitter, stdout._Committer, blackhole._Committer, NotesCommitter,
)  # fmt: skip


def test_what_the_registries_name_is_what_was_checked():
    sources = {parse_source(uri).scheme for uri in ("file:///a?protocol=canal-json", "kafka://h:1/t?protocol=canal")}
    sinks = {parse_sink(uri).scheme for uri in ("file:///a?protocol=csv", "stdout:", "blackhole://")}
    assert sources == {"file", "kafka"}
    assert sinks == {"file", "stdout", "blackhole"}
