"""Throughput of whole changefeeds into storage: from files beside Flink and plain Spark, and from Kafka."""

import argparse
import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench import compare, flink, input, weir
from bench.events import TICDC, WORDINGS
from bench.measure import Contender, Line, by_turns, parents_of_all
from bench.report import Report, ratios
from tests.servers.kafka import Kafka, broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES: Final = 2
SINKS: Final = {
    "canal-json": "protocol=canal-json&enable-tidb-extension=true&flush-interval=1s",
    "csv": "protocol=csv&flush-interval=1s",
}
RATIOS: Final = {
    "files → canal-json / Flink, equal work": ("weir files → canal-json", "flink canal-json → canal-json"),
    "files → canal-json / Flink, typed columns": ("weir files → canal-json", "flink, typed columns"),
    "files → canal-json / Flink, bare decode": ("weir files → canal-json", "flink canal-json → blackhole"),
    "files → canal-json / Spark text → text": ("weir files → canal-json", "spark text → text"),
    "files → csv / Flink, equal work": ("weir files → csv", "flink canal-json → canal-json"),
    "files → csv / Flink, bare decode": ("weir files → csv", "flink canal-json → blackhole"),
    "files → canal-json / the same in one order": ("weir files → canal-json", "weir files → canal-json, one order"),
    "files → csv / the same in one order": ("weir files → csv", "weir files → csv, one order"),
    "Kafka → canal-json / the same in one order": ("weir kafka → canal-json", "weir kafka → canal-json, one order"),
    "Kafka → csv / the same in one order": ("weir kafka → csv", "weir kafka → csv, one order"),
    "Kafka → canal-json / files → canal-json": ("weir kafka → canal-json", "weir files → canal-json"),
    "Kafka → csv / files → csv": ("weir kafka → csv", "weir files → csv"),
}


def files(options: argparse.Namespace) -> None:
    """Files → storage, beside Flink doing equal work, Flink's bare decode, and Spark text → text."""
    sources = {wording: input.folder(options.events, wording) for wording in WORDINGS}
    source, wanted = sources[TICDC], {wording: compare.expected(folder) for wording, folder in sources.items()}
    with _output() as output, weir.warm_session(CORES) as session, flink.flink(CORES) as other:
        contenders = [
            *_files(session, sources, output, wanted),
            _flink(other, "canal-json → canal-json", flink.TEXTS, source, output, wanted[TICDC]),
            Contender("flink canal-json → blackhole", lambda: other.run(flink.TEXTS, source, None)),
            *([_flink(other, "typed columns", flink.TYPED, source, output, None)] if options.typed else []),
            _spark(session, source, output),
        ]
        lines = by_turns(contenders, options.rounds, options.events, input.size(source), without=lambda: None)
    _write("files", options, lines, {"flink": flink.version()})


def kafka(options: argparse.Namespace) -> None:
    """Kafka (4 partitions, watermarks) → storage, beside files → storage."""
    sources = {wording: input.folder(options.events, wording) for wording in WORDINGS}
    wanted = {wording: compare.expected(folder) for wording, folder in sources.items()}
    with _output() as output, broker(input.CACHE / "kafka") as server, weir.warm_session(CORES) as session:
        topics = {wording: input.topic(server, options.events, wording) for wording in WORDINGS}
        contenders = [
            _weir(session, f"kafka://{server.bootstrap}/{topic}?protocol=canal-json&start=earliest",
                  f"kafka → {sink}{WORDINGS[wording]}", sink, output, wanted[wording])
            for wording, topic in topics.items()
            for sink in SINKS
        ]  # fmt: skip
        contenders += _files(session, {TICDC: sources[TICDC]}, output, wanted)
        pid = _pid_of(server)
        size = input.size(sources[TICDC])
        lines = by_turns(contenders, options.rounds, options.events, size, without=lambda: pid)
    _write("kafka", options, lines, {})


def _files(
    session: "SparkSession", sources: Mapping[str, Path], output: Path, wanted: Mapping[str, compare.Expected]
) -> list[Contender]:
    return [
        _weir(session, f"file://{source}?protocol=canal-json", f"files → {sink}{WORDINGS[wording]}", sink, output,
              wanted[wording])
        for wording, source in sources.items()
        for sink in SINKS
    ]  # fmt: skip


def _weir(
    session: "SparkSession", uri: str, title: str, sink: str, output: Path, wanted: compare.Expected
) -> Contender:
    folder = output / "weir"
    config = weir.csv_config() if sink == "csv" else "{}"

    def run() -> None:
        weir.deliver(session, uri, folder, SINKS[sink], wanted.events.count, config)

    def after(last: bool) -> None:
        if last:
            compare.check_storage(folder, sink, wanted)
        shutil.rmtree(folder)

    return Contender(f"weir {title}", run, after)


def _flink(
    other: flink.Flink, name: str, columns: str, source: Path, output: Path, wanted: compare.Expected | None
) -> Contender:
    folder = output / "flink"

    def after(last: bool) -> None:
        if last and wanted:
            compare.check_flink(folder, wanted)
        shutil.rmtree(folder)

    title = f"flink {name}" if wanted else f"flink, {name}"
    return Contender(title, lambda: other.run(columns, source, folder), after)


def _spark(session: "SparkSession", source: Path, output: Path) -> Contender:
    folder = output / "spark"

    def after(last: bool) -> None:
        compare.check_lines(folder, source)
        shutil.rmtree(folder)

    return Contender("spark text → text", lambda: session.read.text(str(source)).write.text(str(folder)), after)


@contextlib.contextmanager
def _output() -> Iterator[Path]:
    """On the disk that holds the input."""
    input.CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="output-", dir=input.CACHE) as folder:
        yield Path(folder)


def _pid_of(server: Kafka) -> int | None:
    """The broker's process, whose CPU time is not Weir's."""
    marker = str(server.log.parent / "server.properties")
    for pid in parents_of_all():
        with contextlib.suppress(OSError):
            if marker in Path(f"/proc/{pid}/cmdline").read_text():
                return pid
    return None


def _write(name: str, options: argparse.Namespace, lines: list[Line], versions: dict[str, str]) -> None:
    arguments: dict[str, int | str] = {"events": options.events, "rounds": options.rounds, "parallelism": CORES}
    Report(name=name, arguments=arguments, lines=lines, ratios=ratios(lines, RATIOS), versions=versions).write()
