"""Every codec on one core, beside the floor of its format.

Canal-JSON comes as TiCDC writes it, the keys of ``mysqlType`` in any order; beside it, named so, in one order.
"""

import argparse
import gc
import time
from collections.abc import Callable
from random import Random
from typing import Final

import msgspec

from bench.codec_events import Rows
from bench.codec_floors import FLOORS, READS
from bench.events import ONE_ORDER, WORDINGS, shuffled
from bench.measure import Line, Round
from bench.report import Report
from spark_jobs.cdc.codec import Codec
from spark_jobs.cdc.codecs import CODECS, row_writer
from spark_jobs.cdc.codecs.canal_json.opener import Opener, OpenRow, OpenRows
from spark_jobs.cdc.errors import WeirError
from spark_jobs.cdc.events import RowChange
from spark_jobs.cdc.filters.tables import TableFilter
from spark_jobs.cdc.routing.dispatcher import Dispatcher, DispatchRule

CHUNK: Final = 2_000
TYPICAL_BYTES: Final = 1_000
PARTITIONS: Final = 12
RULES: Final = ("*.*", "!test.*", "!shop.audit_*")
OPTIONS: Final[dict[str, dict[str, str]]] = {
    "canal-json": {"enable-tidb-extension": "true"},
    "csv": {"include-commit-ts": "true"},
}
CANAL_JSON: Final = "canal-json"
IN_ONE_ORDER: Final = CANAL_JSON + WORDINGS[ONE_ORDER]
"""Canal-JSON as ``Encoder`` writes it."""
Work = Callable[[list[RowChange], list[bytes]], object]


class Case(msgspec.Struct, frozen=True):
    """One thing to time; it gets the events of a chunk and the same as messages of ``input``: a codec's, or in one
    order."""

    name: str
    input: str
    work: Work


def codecs(options: argparse.Namespace) -> None:
    """Codecs on one core: decode, encode, both with a change, beside the floor of the same run."""
    lines: list[Line] = []
    ratios: dict[str, float] = {}
    for shape, count in _counts(options.codec_events).items():
        found = _measure(shape, count, options.rounds)
        lines += found
        ratios |= _ratios(shape, {line.name: line for line in found})
    arguments: dict[str, int | str] = {"events": options.codec_events, "rounds": options.rounds, "cores": 1}
    Report(name="codecs", arguments=arguments, lines=lines, ratios=ratios).write()


def _counts(events: int) -> dict[str, int]:
    """Fewer events of the big shapes: about as many bytes as of rows with ten columns."""
    return {"4 columns": events, "10 columns": events, "100 columns": events // 10, "10 KB text": events // 10}


def _cases() -> list[Case]:
    cases: list[Case] = []
    for name, codec in CODECS.items():
        if codec.decoder is not None and codec.encoder is not None:
            cases += [Case(f"{name} floor", name, _floor(FLOORS[name]()))] if name in FLOORS else []
            cases += [Case(f"{name} {what}", name, _floor(read())) for what, read in READS.get(name, {}).items()]
            cases += [
                Case(f"{name} decode", name, _decode(codec)),
                Case(f"{name} encode", name, _encode(codec, name)),
                Case(f"{name} decode+encode", name, _both(codec, name)),
            ]
    codec = CODECS[CANAL_JSON]
    for source in (CANAL_JSON, IN_ONE_ORDER):
        cases += [
            *([Case(f"{source} decode", source, _decode(codec))] if source == IN_ONE_ORDER else []),
            Case(f"{source} decode+filter+route+encode", source, _routed()),
            Case(f"{source} open+filter+pass on", source, _passed()),
        ]
    return cases


def _measure(shape: str, count: int, rounds: int) -> list[Line]:
    rows, cases = Rows(shape), _cases()
    encoders = {case.input: _messages_of(case.input) for case in cases}
    spent = {case.name: [[0.0, 0.0] for _ in range(rounds)] for case in cases}
    sizes = dict.fromkeys(encoders, 0)
    refused: set[str] = set()
    gc.disable()
    for first in range(0, count, CHUNK):
        events = rows.events(first, min(first + CHUNK, count))
        messages: dict[str, list[bytes]] = {}
        for name in encoders.keys() - refused:
            try:
                messages[name] = encoders[name](events)
                sizes[name] += sum(map(len, messages[name]))
            except WeirError as error:
                print(f"    {name} is left out: {error}")
                refused.add(name)
        for number in range(rounds + (first == 0)):  # the first pass of all warms up
            for case in cases:
                if case.input not in refused:
                    used = _time(case.work, events, messages[case.input])
                    if first or number:
                        spent[case.name][number - (first == 0)][0] += used[0]
                        spent[case.name][number - (first == 0)][1] += used[1]
    gc.enable()
    return [
        Line(
            name=f"{shape}: {case.name}",
            events=count,
            bytes=sizes[case.input],
            rounds=[Round(seconds, cpu) for seconds, cpu in spent[case.name]],
        )
        for case in cases
        if case.input not in refused
    ]


def _time(work: Work, events: list[RowChange], messages: list[bytes]) -> tuple[float, float]:
    start, cpu = time.perf_counter(), time.process_time()
    work(events, messages)
    return time.perf_counter() - start, time.process_time() - cpu


def _messages_of(source: str) -> Callable[[list[RowChange]], list[bytes]]:
    name = CANAL_JSON if source == IN_ONE_ORDER else source
    encoder = _encoder(CODECS[name], name)
    random = Random(1)

    def messages(events: list[RowChange]) -> list[bytes]:
        found = [message for event in events for message in encoder.encode(event)]
        found += encoder.flush()
        return [_in_any_order(message, random) for message in found] if source == CANAL_JSON else found

    return messages


def _in_any_order(message: bytes, random: Random) -> bytes:
    head, begin, rest = message.partition(b'"mysqlType":')
    types, end, tail = rest.partition(b"}")
    return b"".join((head, begin, shuffled(msgspec.json.decode(types + end), random).encode(), tail))


def _encoder(codec: Codec, name: str):
    assert codec.encoder is not None
    return codec.encoder(OPTIONS.get(name, {}))


def _decoder(codec: Codec, name: str = ""):
    assert codec.decoder is not None
    known = {option.name for option in codec.decode_options}
    return codec.decoder({key: value for key, value in OPTIONS.get(name, {}).items() if key in known})


def _floor(run: Callable[[list[bytes]], object]) -> Work:
    return lambda events, messages: run(messages)


def _decode(codec: Codec) -> Work:
    decode = _decoder(codec, codec.name).decode

    def work(events: list[RowChange], messages: list[bytes]) -> None:
        for message in messages:
            decode(message)

    return work


def _encode(codec: Codec, name: str) -> Work:
    encoder = _encoder(codec, name)
    encode, flush = encoder.encode, encoder.flush

    def work(events: list[RowChange], messages: list[bytes]) -> None:
        for event in events:
            encode(event)
        flush()

    return work


def _both(codec: Codec, name: str) -> Work:
    decode, encoder = _decoder(codec, codec.name).decode, _encoder(codec, name)
    encode, flush, replace = encoder.encode, encoder.flush, msgspec.structs.replace

    def work(events: list[RowChange], messages: list[bytes]) -> None:
        for message in messages:
            for event in decode(message):
                encode(replace(event, es_ms=event.es_ms + 1, commit_ts=event.commit_ts + 1))
        flush()

    return work


def _routed() -> Work:
    codec = CODECS["canal-json"]
    decode, encode = _decoder(codec).decode, _encoder(codec, "canal-json").encode
    matches = TableFilter(RULES).matches
    partition = Dispatcher([DispatchRule(matcher=("*.*",), partition="index-value")], "t").partition
    replace = msgspec.structs.replace

    def work(events: list[RowChange], messages: list[bytes]) -> None:
        for message in messages:
            for event in decode(message):
                if matches(event.table.schema, event.table.table):
                    partition(event, PARTITIONS)
                    encode(replace(event, es_ms=event.es_ms + 1))

    return work


def _passed() -> Work:
    """As files go to storage: rows pass through, the commit-ts is written anew."""
    opener, matches = Opener({}), TableFilter(RULES).matches
    open_, write = opener.open, row_writer(opener, CANAL_JSON, OPTIONS[CANAL_JSON], b"\r\n").rows

    def work(events: list[RowChange], messages: list[bytes]) -> None:
        for message in messages:
            for rows in open_(message):
                if isinstance(rows, OpenRow | OpenRows) and matches(rows.schema, rows.name):
                    write(rows, rows.commit_ts + 1, bytearray())

    return work


def _ratios(shape: str, lines: dict[str, Line]) -> dict[str, float]:
    """Speeds over speeds, by CPU time: on one core it says the same as the clock, and others disturb it less."""
    pairs = [
        ("canal-json decode+filter+route+encode", "canal-json floor"),
        ("canal-json open+filter+pass on", "canal-json floor"),
        ("canal-json decode+encode", "canal-json floor"),
        ("canal-json decode", "canal-json, one order decode"),
        ("canal-json open+filter+pass on", "canal-json, one order open+filter+pass on"),
        ("canal decode+encode", "canal floor"),
        ("tidb-binlog decode+encode", "tidb-binlog floor"),
        ("canal decode", "canal upb, values read"),
        ("tidb-binlog decode", "tidb-binlog upb, values read"),
        ("tidb-binlog decode", "tidb-binlog upb, values as lists"),
        ("tidb-binlog upb, values read", "tidb-binlog floor"),
        ("tidb-binlog upb, values as lists", "tidb-binlog floor"),
        ("csv encode", "canal-json encode"),
    ]
    return {
        f"{shape}: {one} / {other}": round(
            lines[f"{shape}: {other}"].cpu_seconds / lines[f"{shape}: {one}"].cpu_seconds, 3
        )
        for one, other in pairs
        if f"{shape}: {one}" in lines and f"{shape}: {other}" in lines
    }
