"""Where the time of a changefeed goes, in one process without Spark; "…" is over what stands above it."""

import argparse
import gc
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench import input
from bench.events import events
from bench.report import Report
from spark_jobs.cdc.codecs.canal_json.relay import Relay
from spark_jobs.pipeline.chunks import ChunkFile, load
from spark_jobs.pipeline.job import Job, SourceRange, Split
from spark_jobs.pipeline.merged import Chunk, QueueReader, merge
from spark_jobs.pipeline.ordered import blocks, run_split
from spark_jobs.pipeline.translate import Translator

EVENTS: Final = 100_000
PASSES: Final = 5
OPTIONS: Final[dict[str, dict[str, str]]] = {
    "canal-json": {"dialect": "ticdc", "enable-tidb-extension": "true"},
    "csv": {"include-commit-ts": "true"},
}


def stages(options: argparse.Namespace) -> None:
    """Steps of the hot path, microseconds of CPU an event."""
    figures: dict[str, dict[str, float]] = {}
    gc.disable()
    input.CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stages-", dir=input.CACHE) as name:
        folder = Path(name)
        source = _source(folder)
        figures |= _relay_steps(source)
        for protocol in OPTIONS:
            job = _job(folder, protocol)
            work = lambda job=job: run_split(job, Split(0, (source,), 0))  # noqa: E731
            figures[f"files → {protocol}, all of it, durable"] = _microseconds(job, work)
        for protocol in OPTIONS:
            figures |= _queue_steps(_job(folder, protocol), protocol)
    gc.enable()
    Report(name="stages", arguments={"events": EVENTS, "passes": PASSES, "cores": 1}, figures=figures).write()


def _relay_steps(source: SourceRange) -> dict[str, dict[str, float]]:
    def read() -> None:
        for _ in blocks(source):
            pass

    def opened() -> None:
        relay = Relay(OPTIONS["canal-json"])
        for _, lines in blocks(source):
            for _ in relay.open_lines(lines):
                pass

    def rewritten() -> None:
        relay = Relay(OPTIONS["canal-json"])
        for _, lines in blocks(source):
            for message in relay.open_lines(lines):
                relay.append(message, relay.form(message), message.commit_ts, bytearray())

    return {
        "files: read, cut into lines": _microseconds(None, read),
        "… and open the envelopes": _microseconds(None, opened),
        "… and check and rewrite the rows": _microseconds(None, rewritten),
    }


def _queue_steps(job: Job, protocol: str) -> dict[str, dict[str, float]]:
    parts: list[list[bytes]] = [[] for _ in range(input.PARTITIONS)]
    for key, message in events(EVENTS):
        parts[key % input.PARTITIONS].append(message)

    def decode() -> list[Chunk]:
        reader = QueueReader(job, [])
        for number, values in enumerate(parts):
            reader.read("t", number, range(len(values)), values)
        return reader.finish()[0]

    def pass_on() -> ChunkFile:
        with ChunkFile(job.staging) as file:
            for chunk in chunks:
                file.add(chunk)
        return file

    def write() -> None:
        tables: dict[str, list[Chunk]] = {}
        for chunk in load(job.staging, file.places):
            tables.setdefault(chunk.structure.table, []).append(chunk)
        for group in tables.values():
            merge(job, group, Translator(job))

    chunks = decode()
    figures = {
        f"queue → {protocol}, stage 1: decode, filter, encode": _microseconds(None, decode),
        f"queue → {protocol}, between: write chunks": _microseconds(job, pass_on),
    }
    file = pass_on()
    return {**figures, f"queue → {protocol}, stage 2: merge, write, durable": _microseconds(None, write)}


def _source(folder: Path) -> SourceRange:
    path = folder / "source.json"
    path.write_bytes(b"".join(message + b"\n" for _, message in events(EVENTS)))
    size = path.stat().st_size
    return SourceRange(str(path), path.name, 0, size, size)


def _job(folder: Path, protocol: str) -> Job:
    return Job(
        staging=str(folder / f"staging-{protocol}"),
        held=str(folder / "held"),
        source_protocol="canal-json",
        sink_protocol=protocol,
        encode_options=OPTIONS[protocol],
        terminator="\r\n",
        date_separator="day",
        time_zone="UTC",
        source_time_zone="UTC",
        file_size=64 << 20,
        filter_rules=("*.*",),
        horizon_ts=1 << 62,
        drop_repeats=True,
    )


def _microseconds(job: Job | None, work: Callable[[], object]) -> dict[str, float]:
    """The best of some passes: what others do on the machine only ever adds."""
    best = float("inf")
    for _ in range(PASSES):
        if job is not None:
            shutil.rmtree(job.staging, ignore_errors=True)
            Path(job.staging).mkdir()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return {"CPU us/event": round(best / EVENTS * 1e6, 2)}
