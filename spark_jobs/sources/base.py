"""What a source is: a spec that the control plane checks, an enumerator in the driver, splits in the workers.

Words

* A *strand* is what is in order by itself: a partition of a queue; a whole folder.
* A *split* is a part of a strand that one task reads; the splits of a strand are read in the order of ``index``.
* A *position* is the source's own JSON object. The commit log keeps it without understanding it: a batch brings a merge
  patch of it (RFC 7396; what is gone is ``null``).
* A *batch* is what one commit reads: splits, and the patch that says how far.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec

from spark_jobs.cdc.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Position: TypeAlias = dict[str, Any]
"""A JSON object; what is in it is the source's business."""


class Strand(NamedTuple):
    """A topic and its partition; of a folder, which is one strand, ``("", 0)``."""

    stream: str
    partition: int


FOLDER_STRAND = Strand("", 0)


class Place(NamedTuple):
    """Where a message stands, for errors and dead letters: topic, partition, offset; or file, 0, byte."""

    stream: str
    partition: int
    offset: int
    text: str
    """As a person reads it: ``topic t, partition 0, offset 7`` or ``file /a/b, line 3 (byte 70)``."""


class Block(Protocol):
    """Some messages that follow one another.

    ``offsets`` grow along the strand and order its messages: a queue's own offsets; of a folder numbers made for this
    batch. A value of None, or of white space, is no message.
    """

    @property
    def values(self) -> Sequence[bytes | None]: ...

    @property
    def offsets(self) -> Sequence[int]: ...

    def place(self, at: int) -> Place:
        """Where message ``at`` of the block stands; asked only when something is wrong with it."""
        ...


class Split(Protocol):
    """A part of a strand. Can be pickled; is read once, by one task, anywhere.

    ``size``: about how many bytes it holds. ``blocks`` may raise ``EnvironmentFault`` and ``DataError``.
    """

    @property
    def strand(self) -> Strand: ...

    @property
    def index(self) -> int: ...

    @property
    def size(self) -> int: ...

    def blocks(self) -> Iterator[Block]: ...


class Scan(msgspec.Struct, frozen=True):
    """A look at the new messages of a strand before they are opened: those that may be its last watermark, and whether
    any row says its commit-ts."""

    strand: Strand
    candidates: tuple[bytes, ...]
    timed: bool


class Look(Protocol):
    """Looks for the last watermark of each strand of a batch. ``marks``: bytes of which one stands in every watermark.

    Strands in ``needed`` are searched from their end to their beginning until one is found; of others a short look at
    their end is enough.
    """

    def __call__(self, marks: Sequence[bytes], needed: frozenset[Strand], /) -> list[Scan]: ...


class Batch(msgspec.Struct, kw_only=True):
    """What one commit reads.

    ``strands``: all that the source has now, those without new messages too. ``patch``: of the position. ``at_end``:
    everything that was there when the batch was planned is in it. ``look`` is None where the source cannot hold
    watermarks. ``number``: of the streaming query's micro-batch, -1 where there is none.
    """

    splits: Sequence[Split]
    strands: Sequence[Strand]
    patch: Position
    at_end: bool
    messages: int
    look: Look | None = None
    number: int = -1


class PositionLost(DataError):
    """What was to be read next is not there any more, or is not what it was; trying again does not bring it back."""

    code = "CDC:ErrSourcePositionLost"


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How a changefeed wants to be fed. ``interval_seconds``: the longest wait between two batches. ``workers``: how
    many splits are read at a time. ``folder``: scratch of this assignment alone, removed when it ends."""

    name: str
    interval_seconds: float
    workers: int
    folder: str


Deliver: TypeAlias = Callable[[Batch], bool]
"""Commits a batch; False when nothing more may be delivered (stopped, finished, or failed)."""


class Enumerator(Protocol):
    """The half of a source that lives in the driver: it plans and paces, and knows what a position means.

    ``begin`` gives the position of a new life or a rewind (``start`` as resolved at creation, "" to resolve now;
    ``start_ts`` 0: where the source's own ``start`` says). ``resume`` takes the position and the identity that the log
    has; it raises ``PositionLost`` when reading cannot go on there, or gives the position to go on from with sentences
    about what was moved. ``identity`` is what tells this source from one made anew under the same name. ``run`` starts
    to deliver, in threads of its own, and returns; an error of ``deliver`` is not its business, one of its own is
    raised by ``check``, which is called a few times a second. ``stop`` returns when nothing is delivered any more.
    """

    def begin(self, start: str, start_ts: int) -> Position: ...

    def resume(self, position: Position, identity: Mapping[str, str]) -> tuple[Position, list[str]]: ...

    def identity(self) -> dict[str, str]: ...

    def at_end(self, position: Position) -> bool:
        """Whether nothing is there behind this position now."""
        ...

    def shown(self, position: Position) -> dict[str, Any]:
        """The position as users see it: of a size that does not grow with what was read."""
        ...

    def run(self, position: Position, pace: Pace, deliver: Deliver) -> None: ...

    def check(self) -> None: ...

    def stop(self) -> None: ...


class SourceSpec(Protocol):
    """A parsed source URI; the module that parses has its ``PARAMETERS``.

    ``identity_key``: what makes it this source; everything else is a way of reading it. ``watermark``: whether rows may
    wait for watermarks (auto, require or ignore). ``max_rows`` and ``max_bytes`` bound a batch.
    """

    @property
    def uri(self) -> str: ...

    @property
    def scheme(self) -> str: ...

    @property
    def protocol(self) -> str: ...

    @property
    def start(self) -> str: ...

    @property
    def time_zone(self) -> str: ...

    @property
    def bad_message(self) -> str: ...

    @property
    def repeats(self) -> str: ...

    @property
    def watermark(self) -> str: ...

    @property
    def watermark_timeout_seconds(self) -> float: ...

    @property
    def max_rows(self) -> int: ...

    @property
    def max_bytes(self) -> int: ...

    @property
    def identity_key(self) -> tuple[str, ...]: ...

    @property
    def start_ts(self) -> int:
        """The TSO that ``start`` names; 0 when it is none."""
        ...

    def would_read(self, folder: str) -> bool:
        """Whether what is written somewhere below a local folder would be read by this source (I/O)."""
        ...

    def masked(self) -> str: ...

    def require_inside(self, roots: tuple[str, ...] | None) -> None: ...

    def check(self) -> None:
        """Asks the source whether it is there (I/O, a few seconds at most); ``ConfigError``."""
        ...

    def resolve_start(self, start_ts: int = 0) -> str:
        """Where a changefeed that is created now begins, as JSON text."""
        ...

    def sample(self) -> Iterator[Split]:
        """Some of what is there now, for a look at which tables it holds (I/O); ``ConfigError``."""
        ...

    def enumerator(self, session: "SparkSession | None") -> Enumerator: ...
