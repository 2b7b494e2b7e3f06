"""From files to events: opens, cuts, decodes, and says where a bad message stands."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import BinaryIO, Final

import msgspec

from cli.console import Console, Stopped
from cli.options import key_values
from cli.progress import Progress
from cli.protocols import choose, readable
from spark_jobs.cdc.codec import Decoder
from spark_jobs.cdc.codecs.csv.format import CsvFormat
from spark_jobs.cdc.errors import ConfigError, DataError, DecodeError, EnvironmentFault
from spark_jobs.cdc.events import Event
from spark_jobs.cdc.framing import FRAMINGS, MAX_MESSAGE_BYTES, Cut


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message and where it stands: its number in the file, from 1, and the offset of its first byte."""

    file: str
    number: int
    offset: int
    data: bytes

    def __str__(self) -> str:
        return f"message {self.number} at byte {self.offset} of {self.file}"


STDIN: Final = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that reads messages."""
    parser.add_argument("--from", dest="source", metavar="PROTOCOL", required=True, help=f"one of {readable()}")
    parser.add_argument(
        "--framing",
        choices=FRAMINGS,
        help="how messages stand in the input: lines (default for text protocols), hex (a message a line), "
        "length (4-byte big-endian length before each message; default for binary protocols), drainer (TiDB Binlog's "
        "local files)",
    )
    parser.add_argument(
        "--from-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the protocol that is read; `weir formats PROTOCOL` lists them; @FILE stands for its content",
    )
    parser.add_argument(
        "--max-message-bytes",
        type=int,
        default=MAX_MESSAGE_BYTES,
        metavar="N",
        help="a longer message is a bad one (default: %(default)s)",
    )
    parser.add_argument("--skip-bad", action="store_true", help="report bad messages, count them and go on")
    parser.add_argument("files", nargs="*", metavar="FILE", help="read in this order; none, or -: standard input")


class Reading:
    """The events of the input, in order. Counts ``messages`` and, with ``--skip-bad``, ``skipped`` ones."""

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        chosen, self._framing = choose(arguments.source, arguments.framing)
        if chosen.decoder is None:
            raise ConfigError(f"{chosen.name} is only written, not read; readable are {readable()}")
        self.codec = chosen
        self.decoder: Decoder = chosen.decoder(key_values(arguments.from_option))
        self._cut = _cut(self.decoder, arguments.max_message_bytes)
        self._files: Sequence[str] = arguments.files or [STDIN]
        self._skip_bad: bool = arguments.skip_bad
        self._console = console
        is_watched = console.stderr.isatty() and not console.stdout.isatty()
        self._progress = Progress(console.stderr if is_watched else None)
        self.messages = self.skipped = self._bytes_passed_over = 0

    @property
    def has_many_files(self) -> bool:
        return len(self._files) > 1

    def events(self) -> Iterator[tuple[Message, Event]]:
        """Raises ``Stopped`` at a bad message, unless bad ones are skipped."""
        for message in self._messages():
            try:
                decoded = self.decoder.decode(message.data)
            except DecodeError as error:
                self.refuse(message, error)
                continue
            for event in decoded:
                yield message, event

    def refuse(self, message: Message, error: DataError) -> None:
        """Reports a message that cannot be used, and stops unless bad ones are skipped."""
        self._refuse(f"{message}: {error.message}")

    def end(self) -> None:
        """Says what was left out."""
        self._progress.clear()
        if self._bytes_passed_over:
            self._console.say(f"passed over {self._bytes_passed_over} bytes that belong to no message")
        if self.skipped:
            self._console.say(f"skipped {self.skipped} bad of {self.messages} messages")
        for op, count in sorted(getattr(self.decoder, "skipped", {}).items()):
            self._console.say(f"passed over {count} messages of the unknown kind {op!r}")

    def _refuse(self, reason: str) -> None:
        self._progress.clear()
        self._console.say(reason)
        if not self._skip_bad:
            raise Stopped
        self.skipped += 1

    def _passed_over(self, size: int) -> None:
        self._bytes_passed_over += size

    def _messages(self) -> Iterator[Message]:
        size = 0
        for index, name in enumerate(self._files):
            is_last = index == len(self._files) - 1
            cut = msgspec.structs.replace(self._cut, last_file=is_last, passed_over=self._passed_over)
            shown = "standard input" if name == STDIN else name
            with nullcontext(self._console.stdin) if name == STDIN else _open(name) as stream:
                for number, frame in enumerate(self._framing.read(stream, cut), 1):
                    self.messages += 1
                    if frame.fault:
                        self._refuse(f"message {number} at byte {frame.offset} of {shown}: {frame.fault}")
                        continue
                    size += len(frame.data)
                    self._progress.show(self.messages, size)
                    yield Message(shown, number, frame.offset, frame.data)


def _open(name: str) -> BinaryIO:
    try:
        return open(name, "rb")
    except OSError as error:
        raise EnvironmentFault(f"cannot read {name}: {error.strerror}") from None


def _cut(decoder: Decoder, max_bytes: int) -> Cut:
    form = getattr(decoder, "format", None)
    if not isinstance(form, CsvFormat):
        return Cut(max_bytes=max_bytes)
    if not form.terminator:
        raise ConfigError("rows without a terminator cannot be told apart; give the terminator they have")
    # a line feed with and without a carriage return are taken for each other
    line_end = "\n" if form.terminator == "\r\n" else form.terminator
    return Cut(max_bytes=max_bytes, line_end=line_end.encode(), quote=form.quote.encode(), keep_blank=True)
