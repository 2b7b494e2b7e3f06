"""What was written is read back and compared with the input event by event, as sums of hashes: order does not matter.

The sums hold within one process: Python's hashes of texts are salted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from bench.events import NAMES
from tests.storage_events import CsvStyle
from tests.storage_reader import read_folder

Values = dict[str, str | None]


class Sum(msgspec.Struct, frozen=True):
    """How many, and the sum of their hashes."""

    count: int
    total: int


class Differs(Exception):
    """An output is not what was put in."""


class _Tidb(msgspec.Struct):
    commitTs: int


class _Message(msgspec.Struct):
    type: str
    data: list[Values]
    old: list[Values] | None = None
    database: str = ""
    table: str = ""
    tidb: _Tidb | None = msgspec.field(name="_tidb", default=None)


class Expected(msgspec.Struct, frozen=True):
    """The input in the terms of each output."""

    events: Sum
    images: Sum
    changes: Sum


def expected(folder: Path) -> Expected:
    """Reads the input once."""
    parts: list[tuple[int, int, int, int]] = []
    counts: Counter[str] = Counter()
    for message in _messages(folder):
        row, old = message.data[0], message.old[0] if message.old else None
        counts[message.type] += 1
        commit_ts = message.tidb.commitTs if message.tidb else 0
        before, after = (row, None) if message.type == "DELETE" else (old, row)
        place = (message.database, message.table, message.type[0], commit_ts)
        event = hash((place, _row(before), _row(after)))
        image = hash((place, _row(after or before)))
        changes = hash(("-", _row(before))) * (before is not None) + hash(("+", _row(after))) * (after is not None)
        parts.append((event, image, changes, 0))
    total = sum(counts.values())
    return Expected(
        Sum(total, sum(part[0] for part in parts)),
        Sum(total, sum(part[1] for part in parts)),
        Sum(total + counts["UPDATE"], sum(part[2] for part in parts)),
    )


def check_storage(folder: Path, protocol: str, wanted: Expected) -> None:
    """Weir's output by the tests' own reader, which also checks layout and order; raises ``Differs``."""
    found = read_folder(folder, protocol, csv=CsvStyle(commit_ts=True))
    csv = protocol == "csv"

    def hashes() -> Iterator[int]:
        for event in found.all_events():
            place = (event.schema, event.table, event.operation, event.commit_ts)
            if csv:
                yield hash((place, _row(event.after or event.before)))
            else:
                yield hash((place, _row(event.before), _row(event.after)))

    _same(folder, _sum(hashes()), wanted.images if csv else wanted.events)
    if found.problems:
        raise Differs(f"{folder}: {found.problems[:3]}")


def check_flink(folder: Path, wanted: Expected, row: Callable[[Values], Values] = lambda row: row) -> None:
    """Flink writes an update as DELETE and INSERT, and neither table nor times; raises ``Differs``."""
    signs = {"INSERT": "+", "DELETE": "-"}
    found = _sum(hash((signs[message.type], _row(row(message.data[0])))) for message in _messages(folder))
    _same(folder, found, wanted.changes)


def check_lines(folder: Path, source: Path) -> None:
    """Plain text to text: the same bytes in other files."""
    size = sum(file.stat().st_size for file in folder.glob("part-*"))
    if size != sum(file.stat().st_size for file in source.iterdir()):
        raise Differs(f"{folder} has another size than {source}")


def _messages(folder: Path) -> Iterator[_Message]:
    decode = msgspec.json.Decoder(_Message).decode
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith((".", "_"))):
        with path.open("rb") as lines:
            yield from map(decode, lines)


def _row(row: Values | None) -> tuple[str | None, ...] | None:
    return None if row is None else tuple([row[name] for name in NAMES])


def _sum(hashes: Iterable[int]) -> Sum:
    count = total = 0
    for value in hashes:
        count += 1
        total += value
    return Sum(count, total)


def _same(folder: Path, found: Sum, wanted: Sum) -> None:
    if found != wanted:
        raise Differs(f"{folder}: {found.count} events of {wanted.count}, and their contents differ")
