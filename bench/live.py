"""What a running service is like: freshness, the first file after POST, memory, threads, idle CPU."""

import argparse
import contextlib
import glob
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.arrivals import Consumer
from bench.product import CREATE_SECONDS, Product, product, until
from bench.report import Report
from bench.throughput import CORES
from tests.servers.kafka import Kafka, broker

FEEDS: Final = (1, 20, 60)
FIRST_FILES: Final = 7
RATE: Final = 1_000
SETTLE_SECONDS: Final = 15
SINK: Final = "protocol=canal-json&enable-tidb-extension=true&flush-interval=100ms"
Figures = dict[str, float]


def freshness(options: argparse.Namespace) -> None:
    """From Kafka append to readable by index file: one changefeed at 1,000 events/s, then 20 and 60 at one each."""
    figures: dict[str, Figures] = {}
    for title, feeds, rate, watermarks in (
        ("1 feed, 1,000 rows/s, a watermark every 100 ms", 1, RATE, 0.1),
        ("1 feed, 1,000 rows/s, no watermarks", 1, RATE, 0.0),
        ("20 feeds, a row and a watermark a second each", 20, 1, 1.0),
        ("60 feeds, a row and a watermark a second each", 60, 1, 1.0),
    ):
        with _service() as (service, kafka):
            figures[title] = _freshness(service, kafka, feeds, rate, watermarks, options.seconds)
            print(f"    {title}: {figures[title]}", flush=True)
    _write("freshness", options, figures)


def footprint(options: argparse.Namespace) -> None:
    """From POST to the first committed file; memory, threads, CPU of a capture with 1, 20, 60 idle changefeeds."""
    figures: dict[str, Figures] = {}
    with _service() as (service, kafka):
        figures["POST → first file, from files"] = _first_files(service, [_folder(service) for _ in range(FIRST_FILES)])
        figures["POST → first file, from Kafka"] = _first_files(service, [_topic(kafka, n) for n in range(FIRST_FILES)])
    for feeds in FEEDS:
        with _service() as (service, kafka):
            figures[f"{feeds} idle changefeeds"] = _idle(service, kafka, feeds, options.seconds)
            print(f"    {feeds}: {figures[f'{feeds} idle changefeeds']}", flush=True)
    _write("footprint", options, figures)


@contextlib.contextmanager
def _service() -> Iterator[tuple[Product, Kafka]]:
    with (
        tempfile.TemporaryDirectory(prefix="weir-bench-") as folder,
        broker() as kafka,
        product(Path(folder), CORES) as service,
    ):
        yield service, kafka


def _feeds(service: Product, kafka: Kafka, feeds: int, partitions: int) -> dict[str, Path]:
    """Changefeeds from topics of their own, each of which has delivered a first row."""
    outputs: dict[str, Path] = {}
    for number in range(feeds):
        topic = f"live-{number}"
        kafka.create_topic(topic, partitions)
        uri = f"kafka://{kafka.bootstrap}/{topic}?protocol=canal-json&start=earliest"
        outputs[topic] = service.create(f"feed-{number}", uri, SINK)
    return outputs


def _freshness(
    service: Product, kafka: Kafka, feeds: int, rate: float, watermark_seconds: float, seconds: float
) -> Figures:
    outputs = _feeds(service, kafka, feeds, 4 if rate >= RATE else 1)
    consumer = Consumer(list(outputs.values()))
    warm = _consume(consumer, _tick(kafka, rate, watermark_seconds, SETTLE_SECONDS + feeds / 4, list(outputs)))
    before, start = service.usage(), time.monotonic()
    _consume(consumer, _tick(kafka, rate, watermark_seconds, seconds, list(outputs)))
    after, wall = service.usage(), time.monotonic() - start
    if troubles := service.not_normal():
        raise RuntimeError(f"a changefeed had trouble: {troubles[:3]}")
    rows = sorted(consumer.seconds[warm:])
    return {
        "rows": len(rows),
        "p50 s": round(statistics.median(rows), 3),
        "p99 s": round(rows[int(len(rows) * 0.99)], 3),
        "max s": round(rows[-1], 3),
        "capture cores": round((after.cpu_seconds - before.cpu_seconds) / wall, 2),
        "memory MiB": round(after.capture_mib + after.jvm_mib + after.workers_mib),
    }


def _tick(
    kafka: Kafka, rate: float, watermark_seconds: float, seconds: float, topics: list[str]
) -> "subprocess.Popen[str]":
    numbers = [str(rate), str(watermark_seconds), str(seconds)]
    command = [sys.executable, "-m", "bench.ticker", kafka.bootstrap, *numbers, *topics]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _consume(consumer: Consumer, ticker: "subprocess.Popen[str]") -> int:
    """Reads until everything that was sent is there; how many rows came in all."""
    while ticker.poll() is None:
        consumer.look()
        time.sleep(0.002)
    assert ticker.stdout is not None
    sent = int(ticker.stdout.read())
    consumer.expected += sent
    consumer.run(consumer.expected, CREATE_SECONDS)
    return consumer.expected


def _first_files(service: Product, sources: list[str]) -> Figures:
    """One after the other; each changefeed is removed before the next."""
    seconds: list[float] = []
    for number, uri in enumerate(sources):
        name = f"first-{'k' if uri.startswith('kafka') else 'f'}{number}"
        start = time.monotonic()
        output = service.create(name, uri, SINK)
        until(lambda folder=output: _has_index(folder), CREATE_SECONDS, "the first file")
        seconds.append(time.monotonic() - start)
        service.remove(name)
    return {
        "first s": round(seconds[0], 2),
        "median s": round(statistics.median(seconds[1:]), 2),
        "max s": round(max(seconds), 2),
    }


def _has_index(output: Path) -> bool:
    """By ``glob``, which does not mind folders that go while it looks."""
    return bool(glob.glob(f"{output}/*/*/**/meta/CDC.index", recursive=True))


def _folder(service: Product) -> str:
    folder = Path(tempfile.mkdtemp(dir=service.home))
    (folder / "a.json").write_bytes(b"\n".join(_rows()) + b"\n")
    return f"file://{folder}?protocol=canal-json"


def _topic(kafka: Kafka, number: int) -> str:
    kafka.create_topic(f"first-{number}")
    kafka.produce(f"first-{number}", _rows())
    return f"kafka://{kafka.bootstrap}/first-{number}?protocol=canal-json&start=earliest"


def _rows() -> list[bytes]:
    from bench.events import commit_ts, events, watermark

    return [*(message for _, message in events(100)), watermark(commit_ts(100))]


def _idle(service: Product, kafka: Kafka, feeds: int, seconds: float) -> Figures:
    outputs = _feeds(service, kafka, feeds, 1)
    for topic in outputs:
        kafka.produce(topic, _rows())
    for output in outputs.values():
        until(lambda folder=output: _has_index(folder), 4 * CREATE_SECONDS, "all to deliver")
    time.sleep(SETTLE_SECONDS)
    before, start = service.usage(), time.monotonic()
    time.sleep(seconds)
    after, wall = service.usage(), time.monotonic() - start
    return {
        "capture MiB": round(after.capture_mib),
        "JVM MiB": round(after.jvm_mib),
        "workers MiB": round(after.workers_mib),
        "processes": after.processes,
        "threads": after.threads,
        "idle cores": round((after.cpu_seconds - before.cpu_seconds) / wall, 3),
    }


def _write(name: str, options: argparse.Namespace, figures: dict[str, Figures]) -> None:
    arguments: dict[str, int | str] = {"seconds": int(options.seconds), "cores": CORES}
    Report(name=name, arguments=arguments, figures=figures).write()
