"""The dead letters of a changefeed: JSON lines in ``_dead_letter/`` below its checkpoint folder, written by captures.

A file belongs to one commit entry and counts once that entry is there. A letter's id is ``FILE:LINE``; a letter that is
dropped leaves an empty line, so that ids stay. The folder must be mounted where the control plane runs. I/O.
"""

import base64
import os
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from app.changefeeds.record import Changefeed
from app.errors import ApiError, NoSuchDeadLetter
from spark_jobs.store import durable

_FILE: Final = re.compile(r"(\d{1,20})-(\d{16})\.jsonl")
_ID: Final = re.compile(r"(\d{1,20}-\d{16}\.jsonl):(\d{1,9})")


class Line(msgspec.Struct, frozen=True):
    """One line of a file, as ``spark_jobs.pipeline.dead_letters`` writes it."""

    stream: str
    partition: int
    offset: int
    reason: str
    message: str


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that could not be decoded, and where it stood."""

    file: str
    line: int
    content: Line

    @property
    def id(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def message(self) -> bytes:
        return base64.b64decode(self.content.message)


class DeadLetterFolder:
    """Those of one life of a changefeed."""

    def __init__(self, checkpoint_root: str, feed: Changefeed) -> None:
        if "://" in checkpoint_root and not checkpoint_root.startswith("file://"):
            raise ApiError(
                f"the dead letters are below {checkpoint_root}, which is no folder that this server mounts",
                code="CDC:ErrDeadLettersUnreachable",
            )
        root = checkpoint_root.removeprefix("file://")
        self._folder = os.path.join(root, feed.wire_id, "_dead_letter")
        self._feed = feed

    def all(self) -> Iterator[DeadLetter]:
        """In the order of their commit entries."""
        for name in self._files():
            yield from self._letters(name)

    def get(self, letter_id: str) -> DeadLetter:
        """``NoSuchDeadLetter`` when there is none of that id."""
        found = _ID.fullmatch(letter_id)
        if found and found[1] in self._files():
            for letter in self._letters(found[1]):
                if letter.line == int(found[2]):
                    return letter
        raise NoSuchDeadLetter(letter_id)

    def drop(self, letter: DeadLetter) -> None:
        """Forgets one letter for good."""
        path = os.path.join(self._folder, letter.file)
        lines = (durable.read(path) or b"").split(b"\n")
        lines[letter.line] = b""
        if any(lines):
            durable.replace(path, b"\n".join(lines), sync=True)
        else:
            os.unlink(path)

    def _files(self) -> list[str]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ApiError(
                f"the folder {self._folder} cannot be read: {error.strerror}", code="CDC:ErrDeadLettersUnreachable"
            ) from None
        found = ((match, name) for name in names if (match := _FILE.fullmatch(name)))
        return sorted(
            name
            for match, name in found
            if int(match[1]) == self._feed.created_ms and int(match[2]) <= self._feed.batch_id
        )

    def _letters(self, name: str) -> Iterator[DeadLetter]:
        lines = (durable.read(os.path.join(self._folder, name)) or b"").split(b"\n")
        for number, line in enumerate(lines):
            if line:
                yield DeadLetter(name, number, msgspec.json.decode(line, type=Line))
