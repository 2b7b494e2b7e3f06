"""``weir convert``: messages of one format as messages of another.

Rules

1. Halves of an update are joined on the way, unless both formats write halves; a half that stays alone is a delete or
   an insert to a format that has no halves.
2. A source that has only milliseconds gets commit-ts that grow in source order (contract §5):
   ``max(es << 18, last commit-ts + 1)``.
3. An event that the target has no form for (a heartbeat in CSV) leaves nothing; an event that it cannot carry is a bad
   message.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from cli import reading
from cli.console import Console
from cli.options import key_values
from cli.protocols import choose, writable
from cli.reading import Message, Reading
from spark_jobs.cdc import tso
from spark_jobs.cdc.codec import Encoder
from spark_jobs.cdc.codecs.csv.format import CsvFormat
from spark_jobs.cdc.errors import ConfigError, EncodeError
from spark_jobs.cdc.events import Ddl, Event, RowChange
from spark_jobs.cdc.framing import FRAMINGS
from spark_jobs.cdc.rows.halves import HalfJoiner, alone

EXAMPLE = """\
examples:
  weir convert --from canal-json --to csv --option include-commit-ts=true messages.json
  weir convert --from canal --framing length --to canal-json dump.bin
  weir convert --from canal-json --to tidb-binlog --to-framing hex messages.json
"""

_WRITES_HALVES: Final = frozenset({"datahub-blob", "datahub-tuple"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", dest="target", metavar="PROTOCOL", required=True, help=f"one of {writable()}")
    parser.add_argument("--to-framing", choices=FRAMINGS, help="how messages stand in the output; see --framing")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the protocol that is written; `weir formats PROTOCOL` lists them",
    )
    reading.add_arguments(parser)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Exit status 0, or 1 after a bad message."""
    output = _Output(arguments, console)
    source = Reading(arguments, console)
    keeps_halves = {source.codec.name, output.name} <= _WRITES_HALVES
    events = source.events() if keeps_halves else _whole(source.events())
    for message, event in with_commit_ts(events):
        try:
            output.write(event)
        except EncodeError as error:
            source.refuse(message, error)
    output.end()
    source.end()
    return 0


class _Output:
    """Encodes events and writes them."""

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        chosen, self._framing = choose(arguments.target, arguments.to_framing)
        if chosen.encoder is None:
            raise ConfigError(f"{chosen.name} is only read, not written")
        self.name = chosen.name
        self._encoder: Encoder = chosen.encoder(key_values(arguments.option))
        form = getattr(self._encoder, "format", None)
        self._csv = form if isinstance(form, CsvFormat) and self._framing is FRAMINGS["lines"] else None
        self._frame = _row_writer(self._csv) if self._csv else self._framing.write
        self._needs_header = self._csv is not None and self._csv.output_field_header
        self._console = console

    def write(self, event: Event) -> None:
        messages = self._encoder.encode(event)
        if messages and self._needs_header and self._csv and isinstance(event, RowChange):
            self._needs_header = False
            self._console.stdout.write(self._csv.header(event.table))
        self._write(messages)

    def end(self) -> None:
        """Writes what the encoder still gathers, and says what it dropped."""
        self._write(self._encoder.flush())
        for kind, count in sorted(getattr(self._encoder, "dropped", {}).items()):
            self._console.say(f"{count} events of the kind {kind} have no form in {self.name}")

    def _write(self, messages: Iterable[bytes]) -> None:
        for message in messages:
            self._console.stdout.write(self._frame(message))
        if self._console.stdout.isatty():
            self._console.stdout.flush()


def _row_writer(form: CsvFormat) -> Callable[[bytes], bytes]:
    end = form.terminator.encode()
    return lambda row: row + end


def with_commit_ts(events: Iterable[tuple[Message, Event]]) -> Iterator[tuple[Message, Event]]:
    """Gives rows and statements without a commit-ts one that grows."""
    last = 0
    for message, event in events:
        if isinstance(event, RowChange | Ddl):
            if event.commit_ts == 0:
                event = msgspec.structs.replace(event, commit_ts=max(tso.compose(event.es_ms), last + 1))
            last = max(last, event.commit_ts)
        yield message, event


def _whole(events: Iterable[tuple[Message, Event]]) -> Iterator[tuple[Message, Event]]:
    """Joins halves. What waited goes on under the message that set it free."""
    joiner = HalfJoiner()
    last: Message | None = None
    for message, event in events:
        last = message
        for free in joiner.add(event):
            yield message, _alone(free)
    for free in joiner.flush():
        assert last is not None
        yield last, _alone(free)


def _alone(event: Event) -> Event:
    return alone(event) if isinstance(event, RowChange) else event
