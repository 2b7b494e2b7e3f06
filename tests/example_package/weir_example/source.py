"""The source: ``example-list://any?protocol=P&message=…;…``. Two strands, so that their rows are merged."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from spark_jobs.sources.base import Batch, Deliver, Enumerator, Pace, Place, Position, Strand
from spark_jobs.uris import Parameter, Settings, Uri, masked, table

PARAMETERS = table(Parameter("protocol"), Parameter("messages"))


class ListSource(msgspec.Struct, frozen=True, kw_only=True):
    uri: str
    protocol: str
    messages: tuple[str, ...]
    scheme: str = "example-list"
    start: str = "earliest"
    start_ts: int = 0
    time_zone: str = ""
    bad_message: str = "fail"
    repeats: str = "keep"
    watermark: str = "ignore"
    watermark_timeout_seconds: float = 0.0
    max_rows: int = 1000
    max_bytes: int = 1 << 20

    @property
    def identity_key(self) -> tuple[str, ...]:
        return (self.uri,)

    def would_read(self, folder: str) -> bool:
        return False

    def masked(self) -> str:
        return masked(self.uri)

    def require_inside(self, roots: tuple[str, ...] | None) -> None:
        return

    def check(self) -> None:
        return

    def resolve_start(self, start_ts: int = 0) -> str:
        return ""

    def sample(self) -> "Iterator[ListSplit]":
        return iter(())

    def enumerator(self, session: object) -> Enumerator:
        return ListEnumerator(self)


def parse(uri: Uri) -> ListSource:
    settings = Settings(uri, PARAMETERS, what="source_uri", code="CDC:ErrSourceURIInvalid")
    messages = tuple(settings.text("messages").split(";"))
    return ListSource(uri=uri.text, protocol=settings.text("protocol"), messages=messages)


class ListSplit(msgspec.Struct, frozen=True):
    """A split that is its own block."""

    strand: Strand
    values: tuple[bytes, ...]
    offsets: tuple[int, ...]
    index: int = 0

    @property
    def size(self) -> int:
        return sum(map(len, self.values))

    def blocks(self) -> "Iterator[ListSplit]":
        yield self

    def place(self, at: int) -> Place:
        return Place("list", self.strand.partition, self.offsets[at], f"message {self.offsets[at]}")


class ListEnumerator:
    def __init__(self, source: ListSource) -> None:
        self._source = source
        self._thread: threading.Thread | None = None

    def begin(self, start: str, start_ts: int) -> Position:
        return {"next": 0}

    def resume(self, position: Position, identity: Mapping[str, str]) -> tuple[Position, list[str]]:
        return position, []

    def identity(self) -> dict[str, str]:
        return {}

    def at_end(self, position: Position) -> bool:
        return bool(position["next"] == len(self._source.messages))

    def shown(self, position: Position) -> dict[str, Any]:
        return dict(position)

    def run(self, position: Position, pace: Pace, deliver: Deliver) -> None:
        if not self.at_end(position):
            self._thread = threading.Thread(target=deliver, args=(self.plan(),))
            self._thread.start()

    def plan(self) -> Batch:
        values = [message.encode() for message in self._source.messages]
        splits = [ListSplit(Strand("list", n), tuple(values[n::2]), tuple(range(n, len(values), 2))) for n in range(2)]
        strands: Sequence[Strand] = [split.strand for split in splits]
        return Batch(splits=splits, strands=strands, patch={"next": len(values)}, at_end=True, messages=len(values))

    def check(self) -> None:
        return

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.join()
