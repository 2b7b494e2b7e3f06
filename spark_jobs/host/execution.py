"""Runs the pipeline's pure functions: small work in this process, large work as Spark jobs.

A worker never raises an error of ours through Spark, which would turn it into text: it returns it.
"""

import gc
import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import pyarrow

from spark_jobs.cdc.errors import WeirError
from spark_jobs.pipeline.chunks import ChunkFile, ChunkPlace, load
from spark_jobs.pipeline.held import read_held
from spark_jobs.pipeline.job import Job, Outcome, PartitionReading, Split
from spark_jobs.pipeline.merged import QueueReader, merge
from spark_jobs.pipeline.ordered import run_split
from spark_jobs.pipeline.queue_feed import Scan, greatest_watermark, scan_values
from spark_jobs.pipeline.translate import Translator
from spark_jobs.sources.kafka_tail import KafkaTail, Partition, Range

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_SPLIT_BYTES: Final = 2 << 20
T = TypeVar("T")

_RESULT: Final = "result binary"
_RESULT_ARROW: Final = pyarrow.schema([("result", pyarrow.binary())])
_HELD_PARTITION: Final = -1


def run_splits(session: "SparkSession", job: Job, splits: list[Split]) -> list[Outcome]:
    """Stage 1 and 2 of a folder in one: each task stages its pieces."""
    size = sum(part.end - part.start for split in splits for part in split.ranges)
    if len(splits) == 1 and size <= SMALL_SPLIT_BYTES:
        return [run_split(job, splits[0])]
    tasks = session.sparkContext.parallelize(splits, len(splits))
    results = tasks.map(lambda split: _returned(lambda: _without_collector(lambda: run_split(job, split)))).collect()
    return [_raised(result) for result in results]


def _returned(work: Callable[[], T]) -> T | WeirError:
    try:
        return work()
    except WeirError as error:
        return error


def _raised(result: T | WeirError) -> T:
    if isinstance(result, WeirError):
        raise result
    return result


def _without_collector(work: Callable[[], T]) -> T:
    """Nothing in the hot loop makes cycles; the collector would only walk over millions of live objects."""
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()


class LargeBatch:
    """A micro-batch of a queue as a Spark frame: two stages, chunks between them."""

    def __init__(
        self,
        session: "SparkSession",
        frame: "DataFrame",
        tail: KafkaTail,
        first_offsets: Mapping[str, Mapping[int, int]],
        next_offsets: Mapping[str, Mapping[int, int]],
        *,
        at_end: bool,
    ) -> None:
        self._session = session
        self._tail = tail
        self._ranges = {
            (topic, number): Range(first_offsets.get(topic, {}).get(number, 0), end)
            for topic, numbers in next_offsets.items()
            for number, end in numbers.items()
        }
        self._frame = frame.select("topic", "partition", "offset", "value")
        self.next_offsets = next_offsets
        self.at_end = at_end

    def scan(self, needed: Collection[Partition]) -> list[Scan]:
        found: dict[Partition, Scan] = {}

        def look(partition: Partition, values: list[bytes]) -> bool:
            now = scan_values(*partition, values)
            before = found.get(partition)
            found[partition] = (
                now if before is None else msgspec.structs.replace(now, extension=now.extension or before.extension)
            )
            return greatest_watermark(now.candidates) > 0

        self._tail.search(self._ranges, look, whole=needed)
        return list(found.values())

    def run(self, job: Job, partitions: list[PartitionReading], held: list[str]) -> list[Outcome]:
        frame = self._frame
        if held:
            rows = [("", _HELD_PARTITION, 0, bytearray(name.encode())) for name in held]
            schema = "topic string, partition int, offset long, value binary"
            frame = frame.unionByName(self._session.createDataFrame(rows, schema).repartition(len(held)))

        def decode(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            result = _returned(lambda: _without_collector(lambda: _decode(job, partitions, batches)))
            yield pyarrow.record_batch([[pickle.dumps(result)]], schema=_RESULT_ARROW)

        read = [_raised(pickle.loads(row["result"])) for row in frame.mapInArrow(decode, _RESULT).collect()]
        tables: dict[tuple[str, str], list[ChunkPlace]] = {}
        for place in (place for _, places in read for place in places):
            tables.setdefault((place.schema, place.table), []).append(place)
        return [outcome for outcome, _ in read] + self._merge(job, list(tables.values()))

    def _merge(self, job: Job, tables: list[list[ChunkPlace]]) -> list[Outcome]:
        """Stage 2, a task for each table."""
        if not tables:
            return []
        tasks = self._session.sparkContext.parallelize(tables, len(tables))
        results = tasks.map(
            lambda places: _returned(lambda: _without_collector(lambda: _merged(job, places)))
        ).collect()
        return [_raised(result) for result in results]


def _decode(
    job: Job, partitions: list[PartitionReading], batches: Iterator[pyarrow.RecordBatch]
) -> tuple[Outcome, list[ChunkPlace]]:
    """Stage 1 of one task."""
    reader = QueueReader(job, [])
    known = {(item.stream, item.partition): item for item in partitions}
    with ChunkFile(job.staging) as file:
        for batch in batches:
            for topic, partition, offsets, values in by_partition(batch):
                if partition == _HELD_PARTITION:
                    reader.release(read_held(job.held, [value.decode() for value in values if value is not None]))
                else:
                    reader.expect(known.pop((topic, partition), None))
                    reader.read(topic, partition, offsets, values)
            for chunk in reader.take_chunks():
                file.add(chunk)
        chunks, outcome = reader.finish()
        for chunk in chunks:
            file.add(chunk)
    return outcome, file.places


def _merged(job: Job, places: list[ChunkPlace]) -> Outcome:
    return merge(job, load(job.staging, places), Translator(job))


def by_partition(
    batch: pyarrow.RecordBatch | pyarrow.Table,
) -> Iterator[tuple[str, int, list[int], list[bytes | None]]]:
    """Runs of rows of one source partition, in their order."""
    topics, partitions = batch.column("topic").to_pylist(), batch.column("partition").to_pylist()
    offsets, values = batch.column("offset").to_pylist(), batch.column("value").to_pylist()
    first = 0
    for index in range(1, len(topics) + 1):
        if index == len(topics) or partitions[index] != partitions[first] or topics[index] != topics[first]:
            yield topics[first], partitions[first], offsets[first:index], values[first:index]
            first = index
