"""``metadata``: everything up to its checkpoint-ts is in the sink, of all changefeeds that write there.

Each changefeed says its own checkpoint in its home before it writes ``metadata``, which is the least of all; then it
reads all homes again, so that of two that write at once the last one has seen the other. A home without a checkpoint is
that of a changefeed that has not begun, one that is marked as ended is left out. What is older than the truth does no
harm, so none of these files is synced one by one.
"""

import contextlib
import os
from typing import Final

from spark_jobs import failpoints
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.storage.paths import METADATA, metadata_content, parse_metadata
from spark_jobs.sinks.storage.own import Own
from spark_jobs.store import durable

CHECKPOINT: Final = "checkpoint"
ENDED: Final = "ended"
_TRIES: Final = 10


def end(home: str) -> None:
    """Marks a changefeed's home as ended: its checkpoint holds ``metadata`` back no longer. For whoever removes it."""
    if os.path.isdir(home):
        durable.create(os.path.join(home, ENDED), b"")


class Checkpoints:
    """``home`` is one of the folders beside it; all write below ``root``."""

    def __init__(self, root: str, home: str, own: Own) -> None:
        self._metadata = os.path.join(root, METADATA)
        self._home = home
        self._own = own
        self._said: int | None = None

    def publish(self, checkpoint_ts: int, *, may_go_back: bool) -> None:
        """Says how far this changefeed is, and the least of all; 0 says nothing, unless it goes back to it."""
        failpoints.reached("before-metadata")
        if checkpoint_ts or may_go_back:
            self._say(checkpoint_ts)
            self._publish(may_go_back=may_go_back)
        failpoints.reached("after-metadata")

    def reassert(self, checkpoint_ts: int) -> None:
        """Puts ``metadata`` right if it is below what is committed; says that the changefeed lives."""
        self._say(checkpoint_ts)
        self._publish(may_go_back=False)

    def published(self) -> int:
        """What ``metadata`` says now; 0 if it is not there or cannot be read."""
        return _read(self._metadata) or 0

    def make_durable(self) -> None:
        """Before the entries that it can be made from are gone."""
        self._own.sync_files([self._metadata, os.path.join(self._home, CHECKPOINT)])

    def _say(self, checkpoint_ts: int) -> None:
        if self._said is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self._home, ENDED))
        if checkpoint_ts != self._said:
            self._own.replace(os.path.join(self._home, CHECKPOINT), metadata_content(checkpoint_ts))
            self._said = checkpoint_ts

    def _publish(self, *, may_go_back: bool) -> None:
        for _ in range(_TRIES):
            least, now = self._least(), self.published()
            if least > now or (may_go_back and least != now):
                self._own.replace(self._metadata, metadata_content(least))
            again = self._least()
            if again == least:
                return
            may_go_back |= again < least

    def _least(self) -> int:
        folder = os.path.dirname(self._home)
        found = [
            checkpoint
            for name in os.listdir(folder)
            if not os.path.exists(os.path.join(folder, name, ENDED))
            and (checkpoint := _read(os.path.join(folder, name, CHECKPOINT))) is not None
        ]
        return min(found, default=0)


def _read(path: str) -> int | None:
    """None if there is no such file, 0 if it cannot be read."""
    try:
        content = durable.read(path)
        return None if content is None else parse_metadata(content)
    except (DecodeError, OSError):
        return None if not os.path.isfile(path) else 0
