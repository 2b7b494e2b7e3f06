"""Messages that could not be decoded, put aside: ``_dead_letter/`` below the changefeed's checkpoint folder.

One file per commit entry, ``<feed_uid>-<entry number>.jsonl``: position, reason and the bytes in base64. It is written
before the entry, under the number that the entry is to have. If the owner dies between the two, the next owner's claim
takes that number and removes the file, since the batch is read again. ``feed_uid`` keeps apart those of an earlier
changefeed of the same name.
"""

import base64
import contextlib
import os

import msgspec

from spark_jobs.pipeline.job import DeadLetter
from spark_jobs.store import durable


class DeadLetterLine(msgspec.Struct, frozen=True):
    """One line of a dead-letter file."""

    stream: str
    partition: int
    offset: int
    reason: str
    message: str


class DeadLetters:
    """Writes below ``folder``, which is made when the first one comes."""

    def __init__(self, folder: str, feed_uid: int) -> None:
        self._folder = folder
        self._feed_uid = feed_uid

    def write(self, number: int, letters: list[DeadLetter]) -> None:
        """All dead letters of the batch that becomes entry ``number``."""
        if not letters:
            return
        durable.make_folder(self._folder)
        lines = [
            DeadLetterLine(
                letter.stream,
                letter.partition,
                letter.offset,
                letter.reason,
                base64.b64encode(letter.message).decode(),
            )
            for letter in letters
        ]
        durable.replace(self._path(number), msgspec.json.Encoder().encode_lines(lines), sync=True)
        durable.sync_folder(self._folder)

    def drop(self, number: int) -> None:
        """What was put aside for an entry ``number`` that became a claim."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(number))

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{self._feed_uid}-{number:016d}.jsonl")
