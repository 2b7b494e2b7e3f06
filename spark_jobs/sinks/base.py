"""What a sink is: a spec that the control plane checks, a serializer in the workers, a committer in the driver.

Words

* A *lane* is where order must hold in the sink: of storage (schema, table, partition id), of a queue (topic,
  partition). Rows of one lane come in order; lanes know nothing of one another.
* A *label* says which neighbours in a lane may share a file: for storage the structure of the rows; nothing elsewhere.
* A *piece* is a file of serialised rows of one lane and one label, in order, under a private name.
* A *step* is what may become visible together: documents (schema files, statements) first, then pieces. The committer
  cuts the steps, since only it knows what must be apart.

The order of a commit is the promise (``docs/decisions.md``): pieces durable → entry of the commit log → ``publish``,
step by step → the next entry. ``publish`` is repeated by whoever finds an entry that may not be published yet.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from spark_jobs.cdc.codec import Opener, Rows
from spark_jobs.cdc.events import Ddl, TableSchema

Lane: TypeAlias = tuple[str | int, ...]
Order: TypeAlias = tuple[Any, ...]
"""Sorts the pieces and statements of one batch; those of different batches are not compared."""
EVER: Final = ("", 0, 1 << 63)
"""The whole of time as one section without a name."""


class Label(msgspec.Struct, frozen=True, gc=False):
    """``structure``: of the rows of a piece, None where it is of no matter. ``full``: their images define it."""

    structure: TableSchema | None = None
    full: bool = False


NO_LABEL: Final = Label()


class Definition(msgspec.Struct, frozen=True):
    """What DDL has told of a table, for rows behind ``after_ts``; None: not known any more."""

    schema: str
    table: str
    after_ts: int
    structure: TableSchema | None = None


class Serializer(Protocol):
    """Rows → bytes; one for each task. Pure, but for memories.

    ``serialize`` gives whole messages for the lanes that get them, or raises ``EncodeError`` or ``DecodeError`` and has
    done nothing. ``label`` and ``joins`` say what may share a piece: a row of ``label`` joins an open piece of
    ``other``. ``section`` names the part of time (a date folder) that a commit-ts belongs to, with its first commit-ts
    and the first one after it. ``head`` is what a piece begins with. A piece ends at ``piece_bytes``.
    """

    @property
    def piece_bytes(self) -> int: ...

    def serialize(self, rows: Rows, commit_ts: int, /) -> Sequence[tuple[Lane, bytes]]: ...

    def label(self, rows: Rows, /) -> Label: ...

    def joins(self, label: Label, other: Label, /) -> bool: ...

    def section(self, commit_ts: int, /) -> tuple[str, int, int]: ...

    def head(self, label: Label, /) -> bytes: ...


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A staged file. ``order`` sorts pieces and statements of a batch; ``staged`` is its path below the staging folder.
    ``digest``: CRC-32 of its bytes. ``first_ts``/``last_ts``: least and greatest commit-ts in it."""

    lane: Lane
    label: Label
    section: str
    order: Order
    staged: str
    rows: int
    bytes: int
    digest: int
    first_ts: int
    last_ts: int


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A DDL in its place: ``order`` as of a piece, ``commit_ts`` as delivered (the event's own may be 0)."""

    ddl: Ddl
    commit_ts: int
    order: Order
    stream: str
    partition: int
    place: str
    offset: int = 0


class Document(msgspec.Struct, frozen=True, gc=False):
    """A schema file (``path`` relative to the sink) or a statement (``path`` as the sink wants it), whole."""

    path: str
    content: str


class FileRecord(msgspec.Struct, frozen=True, gc=False):
    """A piece in the commit log: ``staged`` below the staging folder, published under ``path`` ("" where pieces are
    sent, not published), for ``lane``. ``digest``: CRC-32 of its bytes."""

    staged: str
    path: str
    rows: int
    bytes: int
    first_ts: int
    last_ts: int
    digest: int = 0
    lane: Lane = ()


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What may be seen together: documents in their order, then files."""

    documents: list[Document] = []
    files: list[FileRecord] = []


class TableState(msgspec.Struct, frozen=True):
    """A table in the sink: its current version, its structure as of that version (None: not known).

    ``full`` is False when the structure was learnt from rows, which do not tell everything. ``version`` 0: DDL told of
    the table, and nothing was delivered yet. ``ddl_ts``: commit-ts of its last statement, 0 if there was none.
    """

    schema: str
    table: str
    version: int
    structure: TableSchema | None = None
    full: bool = False
    ddl_ts: int = 0


class TableCount(msgspec.Struct, frozen=True, gc=False):
    """What was delivered of a table: in an entry by that entry, in a view in all. ``last_ts``: greatest commit-ts."""

    schema: str
    table: str
    rows: int = 0
    bytes: int = 0
    last_ts: int = 0


class Prepared(msgspec.Struct, kw_only=True):
    """What a committer makes of a batch, for the entry. ``sink``: a merge patch of the sink's own part of the view."""

    steps: list[Step] = []
    tables: list[TableState] = []
    counts: list[TableCount] = []
    sink: dict[str, Any] = {}
    repeated_statements: int = 0
    unparsed_statements: int = 0


class SinkView(Protocol):
    """What a committer sees of the commit log: everything that is committed."""

    @property
    def number(self) -> int: ...

    @property
    def tables(self) -> Mapping[tuple[str, str], TableState]: ...

    @property
    def sink(self) -> Mapping[str, Any]: ...

    @property
    def checkpoint_ts(self) -> int: ...


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where a committer works. ``home``: the changefeed's folder with the commit log and ``staging``; ``own``: a folder
    of this owner alone, removed by the next one's claim. ``guard`` raises when this owner must not go on; asked before
    every step that others could notice. ``floor_ts``: nothing at or below it is delivered, but DDL teaches."""

    changefeed_id: str
    home: str
    staging: str
    own: str
    guard: Callable[[], None]
    floor_ts: int
    select: "Selection"


class Selection(Protocol):
    """Which tables and statements of the source pass (``replica_config.filter``), under which names they go on."""

    def passes(self, schema: str, table: str, /) -> bool: ...

    def passes_schema(self, schema: str, /) -> bool: ...

    def ignores_ddl(self, schema: str, table: str, query: str, action: int, /) -> bool: ...

    def routed(self, schema: str, table: str, /) -> tuple[str, str]: ...


class Committer(Protocol):
    """The half of a sink that lives in the driver. One owner, one thread at a time.

    ``cuts`` says at which of a batch's statements the pieces of a lane must be cut. ``prepare`` turns ordered pieces
    and statements into steps; it reads only, and refuses what publishing would find impossible. ``publish`` makes the
    steps of an entry visible, each after the one before, and can be repeated from any point. ``watermark`` comes last:
    everything up to ``checkpoint_ts`` is there. ``claimed`` is called once after a claim, ``upkeep`` every few seconds
    while nothing else runs, ``settle`` before entries that could repair it go away.
    """

    def cuts(self, statements: Sequence[Statement], view: SinkView) -> Callable[[Lane], list[int]]: ...

    def definitions(self, statements: Sequence[Statement], view: SinkView) -> list[Definition]:
        """What is known of tables, and what each statement leaves of those that it names: for sinks that write what
        only DDL tells."""
        ...

    def prepare(self, items: Sequence[Piece | Statement], view: SinkView) -> Prepared: ...

    def publish(self, steps: Sequence[Step]) -> None: ...

    def watermark(self, checkpoint_ts: int, *, may_go_back: bool = False) -> None: ...

    def claimed(self, view: SinkView) -> None: ...

    def upkeep(self, view: SinkView) -> None: ...

    def settle(self, view: SinkView) -> None: ...

    def close(self) -> None: ...


class SinkSpec(Protocol):
    """A parsed sink URI over its configuration; can be pickled. The module that parses has its ``PARAMETERS``.

    ``needs_definitions``: rows are written with what only DDL tells (names of enum elements). ``adopt``: "",
    ``continue`` or ``restart``. ``not_applicable``: parameters that TiCDC knows and that have no meaning here.
    """

    @property
    def uri(self) -> str: ...

    @property
    def scheme(self) -> str: ...

    @property
    def protocol(self) -> str: ...

    @property
    def flush_interval_seconds(self) -> float: ...

    @property
    def adopt(self) -> str: ...

    @property
    def not_applicable(self) -> tuple[str, ...]: ...

    @property
    def needs_definitions(self) -> bool: ...

    @property
    def identity_key(self) -> tuple[str, ...]:
        """What makes it this sink: what was delivered to another one is not here."""
        ...

    @property
    def folder(self) -> str:
        """The local folder that is written, "" if there is none."""
        ...

    def masked(self) -> str: ...

    def require_inside(self, roots: tuple[str, ...] | None) -> None: ...

    def check(self, changefeed_id: str = "") -> None:
        """Proves that the sink can be written and is free (I/O); ``ConfigError``."""
        ...

    def home(self, changefeed_id: str, checkpoint_folder: str) -> str:
        """The folder of the changefeed's commit log: beside the sink where the sink is files, else the checkpoint's."""
        ...

    def ended(self, changefeed_id: str) -> None:
        """The changefeed was removed, and nobody delivers it any more: it holds nothing back (I/O)."""
        ...

    def serializer(self, opener: Opener, definitions: Sequence[Definition], time_zone: str) -> Serializer: ...

    def committer(self, site: Site) -> Committer: ...
