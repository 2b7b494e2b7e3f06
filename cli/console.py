"""The streams of a command, and its end."""

from typing import BinaryIO, NamedTuple, TextIO


class Console(NamedTuple):
    """The streams of a command."""

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: TextIO

    def say(self, text: str) -> None:
        """A line on standard error."""
        self.stderr.write(f"weir: {text}\n")
        self.stderr.flush()


class Stopped(Exception):
    """A bad message ended the command; what it was has been said."""
