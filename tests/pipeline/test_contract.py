"""One contract for all: every protocol that can be a source, on one strand and on several, into every sink.

Over the registries, so that a new codec is tested without a line here, and a new sink must say how it is read back.
Each case is delivered twice: at once, in parallel splits, with memories; and in many small batches, without them.
"""

import contextlib
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from spark_jobs.cdc.codec import Encoder
from spark_jobs.cdc.codecs import CODECS
from spark_jobs.cdc.event_json import EventJson
from spark_jobs.cdc.events import Event, RowChange, Watermark
from spark_jobs.cdc.framing import FRAMINGS
from spark_jobs.pipeline import intake
from spark_jobs.pipeline.delivery import Delivery
from spark_jobs.sinks import SINKS
from spark_jobs.sources.base import Split
from spark_jobs.sources.common import LATER
from spark_jobs.sources.folder import enumerator
from tests.pipeline.scene import NOON, Messages, Queue, Scene, deliver
from tests.pipeline.stream import Expected, Item, Stream, encoder_of, expected, messages_of, written
from tests.storage_reader import read_folder

SOURCES = sorted(name for name, found in CODECS.items() if found.opener and found.encoder and name not in LATER)
WRITTEN_WITH: dict[str, list[dict[str, str]]] = {
    "canal": [{}, {"max-batch-size": "7"}],
    "canal-json": [
        {"enable-tidb-extension": "true"},
        {"dialect": "canal"},
        {"delete-only-output-handle-key-columns": "true", "only-output-updated-columns": "true"},
    ],
}
"""Options that make the same stream look another way; a protocol that is not named here has one way."""
NOT_IN_QUEUES = {"drainer"}


class Way(NamedTuple):
    """A sink in one way of writing: URI (``{output}`` is the folder), and how what came is held against what must
    come. ``protocol``: of what it writes, "" if nothing can be told from it. ``whole``: it refuses partial rows."""

    name: str
    uri: str
    protocol: str
    judge: Callable[["Outcome", Expected, "Way"], None]
    options: Mapping[str, str] = {}
    replica_config: Mapping[str, object] = {}
    whole: bool = False


class Outcome(NamedTuple):
    scene: Scene
    delivery: Delivery
    printed: bytes


def judge_storage(outcome: Outcome, wanted: Expected, way: Way) -> None:
    """Every line of every table, once and in order, in a version that its statements allow."""
    folder = read_folder(outcome.scene.output, way.protocol)
    assert (folder.problems, folder.uncommitted, folder.strangers) == ([], [], [])
    assert sorted(folder.tables) == wanted.tables
    target = encoder_of(way.protocol, way.options)
    for table in wanted.tables:
        came: list[tuple[bytes, int]] = []
        for place in folder.tables[table]:
            for name in place.files:
                content = (folder.path / place.path / name).read_bytes()
                came += [(line, place.version) for line in _lines(content, way.protocol)]
        must: list[tuple[bytes, int, int]] = []
        for low, high, item in _between_statements(wanted.of_table(table)):
            must += [(message, low, high) for message in messages_of(target, item)]
        assert [line for line, _ in came] == [_lines(line, way.protocol)[0] for line, _, _ in must]
        for (line, version), (_, low, high) in zip(came, must, strict=True):
            assert low <= version < high, line
    statements = {query for files in folder.schemas.values() for _, _, query, _, _ in files if query}
    assert len(statements) == sum(item.is_ddl for item in wanted.items)


def _lines(content: bytes, protocol: str) -> list[bytes]:
    """Rows of a data file; in CSV a row may hold line ends between its quotes."""
    if protocol != "csv":
        return content.removesuffix(b"\r\n").split(b"\r\n")
    return [line.removesuffix(b"\r") for line in re.findall(rb'((?:"[^"]*"|[^"\n])+)\n?', content)]


def _between_statements(items: Sequence[Item]) -> Iterator[tuple[int, int, Item]]:
    """Rows with the commit-ts of the statement before them and of the one behind them."""
    for at, item in enumerate(items):
        if item.rows:
            before = [one.commit_ts for one in items[:at] if one.is_ddl]
            behind = [one.commit_ts for one in items[at:] if one.is_ddl]
            yield (before or [0])[-1], (behind or [1 << 63])[0], item


def judge_stdout(outcome: Outcome, wanted: Expected, way: Way) -> None:
    """Every message on a line, those of a strand in its order."""
    target = encoder_of(way.protocol, way.options)
    lines = [line for item in wanted.items for line in _shown(target, way.protocol, item)]
    came = _lines(outcome.printed, "csv") if way.protocol == "csv" else outcome.printed.splitlines()
    assert _by_family(came) == _by_family(lines)


def _shown(target: Encoder, protocol: str, item: Item) -> list[bytes]:
    found = CODECS[protocol]
    single = [item._replace(rows=(row,)) for row in item.rows] or [item]
    messages = [message for one in single for message in messages_of(target, one)]
    if found.text or found.decoder is None:
        return [message.rstrip(b"\r\n") for message in messages]
    decoder, shown = found.decoder({}), EventJson(UTC)
    return [shown.line(event, {}) for message in messages for event in decoder.decode(message)]


def _by_family(lines: Sequence[bytes]) -> dict[bytes, list[bytes]]:
    families: dict[bytes, list[bytes]] = {}
    for line in lines:
        found = re.search(rb"\b([abc])_[a-z]+", line)
        families.setdefault(found[1] if found else b"", []).append(_NUMBERS.sub(b"", line))
    return families


_NUMBERS = re.compile(rb"\"[0-9]{19}\"")
"""DataHub's own, which no two runs share."""


def judge_blackhole(outcome: Outcome, wanted: Expected, way: Way) -> None:
    assert outcome.delivery.view.totals.rows == sum(len(item.rows) for item in wanted.items)


def _storage(protocol: str, **options: str) -> Way:
    uri = "".join(f"&{name}={value}" for name, value in options.items())
    csv = protocol == "csv"
    name = " ".join(["file", protocol, *options])
    return Way(
        name,
        f"protocol={protocol}{uri}",
        protocol,
        judge_storage,
        {"include-commit-ts": "true"} if csv else options,
        {"sink": {"csv": {"include_commit_ts": True}}} if csv else {},
        whole=csv,
    )


READ_BACK: dict[str, list[Way]] = {
    "file": [
        _storage("canal-json", **{"enable-tidb-extension": "true"}),
        _storage("canal-json", dialect="canal"),
        _storage("csv"),
    ],
    "stdout": [
        Way(f"stdout {name}", f"stdout:?protocol={name}", name, judge_stdout)
        for name, found in CODECS.items()
        if found.encoder
    ],
    "blackhole": [Way("blackhole", "blackhole://", "", judge_blackhole)],
}
"""How each sink is read back, by scheme."""
_MORE = {way.name for way in READ_BACK["stdout"] if way.protocol not in ("canal-json", "tidb-binlog")}


def test_every_sink_says_how_it_is_read_back():
    assert set(READ_BACK) == set(SINKS)


def _ways(*, few: bool) -> Iterator[Way]:
    """``few``: of the sinks that carry every protocol, one."""
    for ways in READ_BACK.values():
        yield from (way for way in ways if not (few and way.name in _MORE))


def _cases() -> Iterator[object]:
    for protocol in SOURCES:
        for options in WRITTEN_WITH.get(protocol, [{}]):
            for strands in (1, 3):
                if strands > 1 and protocol in NOT_IN_QUEUES:
                    continue
                for way in _ways(few=bool(strands > 1 or options)):
                    if way.whole and "delete-only-output-handle-key-columns" in options:
                        continue  # docs/formats.md, csv: refused
                    name = " ".join([protocol, *options, "on one strand" if strands == 1 else "on three", "to"])
                    yield pytest.param(protocol, options, strands, way, id=f"{name} {way.name}")


@pytest.mark.parametrize(("protocol", "options", "strands", "way"), list(_cases()))
def test_nothing_is_lost_repeated_or_out_of_order(tmp_path, monkeypatch, protocol, options, strands, way):
    streams = [Stream(7 + slot, family, slot).tell().events for slot, family in enumerate("abc"[:strands])]
    messages = [written(protocol, options, events) for events in streams]
    wanted = expected(protocol, messages, way.protocol, way.options)
    for how in ("at once", "in small batches"):
        if how == "at once":
            monkeypatch.setattr(enumerator, "SMALLEST_SPLIT", 4096)
            monkeypatch.setattr(intake, "SMALL_BYTES", 0)
        else:
            monkeypatch.undo()
        outcome = _delivered(tmp_path / how, protocol, messages, way, how)
        assert outcome.delivery.view.totals.dead_letters == len(wanted.dead)
        way.judge(outcome, wanted, way)


@pytest.mark.parametrize("way", READ_BACK["file"], ids=lambda way: way.name)
@pytest.mark.parametrize("parts", [1, 7])
def test_rows_that_wait_for_watermarks_come_in_the_order_of_their_transactions(tmp_path, way, parts):
    """A key's rows in one of three partitions, statements in the first, watermarks in all."""
    events: list[Event] = Stream(5).tell(watermarks=True).events
    options = {"enable-tidb-extension": "true"}
    partitions: list[list[bytes]] = [[], [], []]
    for event in events:
        for partition, messages in enumerate(partitions):
            if isinstance(event, Watermark) or partition == _partition(event):
                messages += written("canal-json", options, [event])
    scene = Scene(tmp_path, sink=way.uri, replica_config=way.replica_config)
    feed = scene.queue_feed("&watermark=require", partitions=3)
    queue = Queue(3)
    for part in range(parts):
        feed.advance(queue.batch({at: _part(messages, part, parts) for at, messages in enumerate(partitions)}), NOON)
    view = feed.delivery.view
    assert (view.totals.held_rows, view.totals.repeats_dropped, view.estimated) == (0, 0, False)
    wanted = expected("canal-json", partitions, way.protocol, way.options)
    in_order = sorted(wanted.items, key=lambda item: (item.commit_ts, *item[1:4]))
    judge_storage(Outcome(scene, feed.delivery, b""), Expected(in_order, []), way)


def _partition(event: Event) -> int:
    """By the key, as TiCDC's index-value dispatcher."""
    row = (event.after or event.before or (0,)) if isinstance(event, RowChange) else (0,)
    return int(row[0]) % 3  # type: ignore[arg-type]


def _part(messages: Sequence[bytes], number: int, count: int) -> Sequence[bytes]:
    return messages[len(messages) * number // count : len(messages) * (number + 1) // count]


def _delivered(path: Path, protocol: str, messages: Sequence[Sequence[bytes]], way: Way, how: str) -> Outcome:
    path.mkdir()
    small = how == "in small batches"
    scene = Scene(path, sink=way.uri, protocol=protocol, plain=small, replica_config=way.replica_config)
    with _printed() as printed:
        run = _through_a_folder if len(messages) == 1 else _through_a_queue
        delivery = run(scene, protocol, messages, small)
    return Outcome(scene, delivery, printed.getvalue())


def _through_a_folder(scene: Scene, protocol: str, messages: Sequence[Sequence[bytes]], small: bool) -> Delivery:
    (strand,) = messages
    framing = FRAMINGS["drainer" if protocol == "drainer" else "lines" if CODECS[protocol].text else "length"]
    framed = [framing.write(message) for message in strand]
    parts = 4 if small else 2
    for number in range(parts):
        scene.put(f"{number}.bin", b"".join(_part(framed, number, parts)), end=b"")
    most = max(sum(map(len, framed)) // 4, 1024) if small else 1 << 28
    options = f"&bad-message=dead-letter&max-bytes-per-batch={most}"
    feed = scene.folder_feed(options, workers=1 if small else 3)
    deliver(feed)
    return feed.delivery


def _through_a_queue(scene: Scene, protocol: str, messages: Sequence[Sequence[bytes]], small: bool) -> Delivery:
    feed = scene.queue_feed("&bad-message=dead-letter&watermark=ignore", partitions=len(messages))
    queue = Queue(len(messages))
    parts = 4 if small else 1
    for number in range(parts):
        batch = queue.batch(
            {partition: _part(strand, number, parts) for partition, strand in enumerate(messages)},
            at_end=number == parts - 1,
        )
        if not small:
            batch.splits = [part for split in batch.splits for part in _in_three(split)]
        feed.advance(batch, NOON)
    return feed.delivery


def _in_three(split: Split) -> Iterator[Split]:
    """A split of a partition as three."""
    assert isinstance(split, Messages)
    values, offsets = split.values, split.offsets
    for index in range(3):
        part = slice(len(values) * index // 3, len(values) * (index + 1) // 3)
        yield msgspec.structs.replace(split, index=index, values=values[part], offsets=offsets[part])


@contextlib.contextmanager
def _printed() -> Iterator[io.BytesIO]:
    """What is written to standard output meanwhile."""
    kept, there = io.BytesIO(), sys.stdout
    sys.stdout = io.TextIOWrapper(kept, write_through=True)
    try:
        yield kept
    finally:
        sys.stdout.detach()
        sys.stdout = there
