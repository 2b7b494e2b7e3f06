"""What both trial sinks are: no files of their own, no structure to keep, one lane."""

import os
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from spark_jobs.cdc.codec import Rows
from spark_jobs.sinks.base import (
    EVER,
    NO_LABEL,
    Definition,
    FileRecord,
    Label,
    Lane,
    Piece,
    SinkView,
    Statement,
    Step,
)
from spark_jobs.uris import Parameter, masked

WHAT: Final = "sink_uri"
CODE: Final = "CDC:ErrSinkURIInvalid"
LANE: Final[Lane] = ("",)
FLUSH_INTERVAL: Final = Parameter(
    "flush-interval", "duration", "1s", "time between two micro-batches", low=0.1, high=600, clamp=True
)


class TrialSink(msgspec.Struct, frozen=True, kw_only=True):
    """What a parsed trial sink has in common."""

    uri: str
    scheme: str
    protocol: str
    flush_interval_seconds: float
    adopt: str = "continue"
    not_applicable: tuple[str, ...] = ()

    @property
    def needs_definitions(self) -> bool:
        return False

    @property
    def identity_key(self) -> tuple[str, ...]:
        return (self.scheme,)

    @property
    def folder(self) -> str:
        return ""

    def masked(self) -> str:
        """The URI without secrets."""
        return masked(self.uri)

    def require_inside(self, roots: tuple[str, ...] | None) -> None:
        """Nothing is written outside of the checkpoint root."""

    def check(self, changefeed_id: str = "") -> None:
        """It can always be written."""

    def ended(self, changefeed_id: str) -> None:
        """Nothing of it is there."""

    def home(self, changefeed_id: str, checkpoint_folder: str) -> str:
        return os.path.join(checkpoint_folder, "commitlog")


class TrialSerializer:
    """All rows go one way."""

    piece_bytes: int = 64 << 20

    def label(self, rows: Rows, /) -> Label:
        return NO_LABEL

    def joins(self, label: Label, other: Label, /) -> bool:
        return True

    def section(self, commit_ts: int, /) -> tuple[str, int, int]:
        return EVER

    def head(self, label: Label, /) -> bytes:
        return b""


class TrialCommitter:
    """Keeps nothing: what is not overridden does nothing."""

    def cuts(self, statements: Sequence[Statement], view: SinkView) -> Callable[[Lane], list[int]]:
        keys = [statement.order[0] for statement in statements]
        return lambda lane: keys

    def definitions(self, statements: Sequence[Statement], view: SinkView) -> list[Definition]:
        return []

    def publish(self, steps: Sequence[Step]) -> None:
        return

    def watermark(self, checkpoint_ts: int, *, may_go_back: bool = False) -> None:
        return

    def claimed(self, view: SinkView) -> None:
        return

    def upkeep(self, view: SinkView) -> None:
        return

    def settle(self, view: SinkView) -> None:
        return

    def close(self) -> None:
        return


def recorded(piece: Piece) -> FileRecord:
    """A piece in the commit log, to be sent."""
    return FileRecord(
        piece.staged,
        "",
        piece.rows,
        piece.bytes,
        piece.first_ts,
        piece.last_ts,
        piece.digest,
        piece.lane,
    )
