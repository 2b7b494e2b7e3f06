"""The storage sink without a pipeline: real folders, the real serializer and committer, and a log in memory.

``Scene`` is one sink folder; ``Scene.owner`` begins an owner's time, which shuts the one before out. A *batch* is a
list of Canal-JSON messages, in order.
"""

import os
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from spark_jobs.cdc.codecs import CODECS
from spark_jobs.cdc.events import DELETE, Ddl, RowChange, TableSchema
from spark_jobs.cdc.filters.tables import TableFilter
from spark_jobs.sinks import parse_sink
from spark_jobs.sinks.base import (
    Label,
    Lane,
    Piece,
    Prepared,
    Site,
    Statement,
    Step,
    TableState,
)
from spark_jobs.sinks.storage import StorageSink
from spark_jobs.sinks.storage.committer import StorageCommitter
from tests.storage_reader import Folder, read_folder

Route = Callable[[str, str], tuple[str, str]]


class Fenced(Exception):
    """Another owner is there."""


class Log:
    """What is committed: a ``SinkView``."""

    def __init__(self) -> None:
        self.number = 0
        self.tables: dict[tuple[str, str], TableState] = {}
        self.sink: dict[str, Any] = {}
        self.checkpoint_ts = 0
        self.last: list[Step] = []
        self.repeated = 0

    def append(self, prepared: Prepared, checkpoint_ts: int) -> None:
        """The next entry, as it comes out of JSON."""
        entry = msgspec.json.decode(msgspec.json.encode(prepared), type=Prepared)
        self.number += 1
        self.tables |= {(state.schema, state.table): state for state in entry.tables}
        _merge(self.sink, entry.sink)
        self.checkpoint_ts = max(self.checkpoint_ts, checkpoint_ts)
        self.last = entry.steps
        self.repeated += entry.repeated_statements


def _merge(target: dict[str, Any], patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            _merge(target.setdefault(key, {}), value)
        else:
            target[key] = value


class Choice:
    """A ``Selection``: table rules, statements that are left out by a word in them, routing."""

    def __init__(self, rules: Sequence[str] = ("*.*",), ignored: str = "", route: Route | None = None) -> None:
        self._rules = TableFilter(tuple(rules))
        self._ignored = ignored
        self._route = route

    def passes(self, schema: str, table: str) -> bool:
        return self._rules.matches(schema, table)

    def passes_schema(self, schema: str) -> bool:
        return self._rules.matches_schema(schema)

    def ignores_ddl(self, schema: str, table: str, query: str, action: int) -> bool:
        return bool(self._ignored) and self._ignored in query

    def routed(self, schema: str, table: str) -> tuple[str, str]:
        return self._route(schema, table) if self._route is not None else (schema, table)


class DecodedRows:
    """The rows of a message; a DELETE may hold its key only."""

    def __init__(self, changes: Sequence[RowChange], partition_id: int = 0) -> None:
        self._changes = changes
        self.table: TableSchema = changes[0].table
        self.schema, self.name = self.table.schema, self.table.table
        self.commit_ts, self.es_ms = changes[0].commit_ts, changes[0].es_ms
        self.is_partial = any(change.kind is DELETE or change.only_handle_key for change in changes)
        self.partition_id = partition_id

    def changes(self) -> Sequence[RowChange]:
        return self._changes


class Scene:
    """``log`` outlives owners; ``on_guard`` is called whenever the owner looks whether it may go on."""

    def __init__(
        self,
        path: Path,
        options: str = "protocol=canal-json&enable-tidb-extension=true&date-separator=none",
        *,
        select: Choice | None = None,
        floor_ts: int = 0,
        feed: str = "feed",
        config: Mapping[str, object] | None = None,
    ) -> None:
        self.root = path / "output"
        self.root.mkdir(exist_ok=True)
        sink = parse_sink(f"file://{self.root}?{options}", config)
        assert isinstance(sink, StorageSink)
        self.sink = sink
        self.home = Path(sink.home(feed, ""))
        self.staging = self.home / "staging"
        self.log = Log()
        self.select = select or Choice()
        self.floor_ts = floor_ts
        self.feed = feed
        self.epoch = 0
        self._staged = 0
        self.committer: StorageCommitter

    def owner(self) -> StorageCommitter:
        """The next owner: shuts earlier ones out, finishes what the last one committed."""
        self.epoch += 1
        epoch, owners = self.epoch, self.home / "owners"
        for folder in (owners / str(epoch), self.staging):
            folder.mkdir(parents=True, exist_ok=True)
        for name in os.listdir(owners):
            if int(name) < epoch:
                shutil.rmtree(owners / name)

        def guard() -> None:
            if self.epoch != epoch:
                raise Fenced

        site = Site(
            changefeed_id=self.feed,
            home=str(self.home),
            staging=str(self.staging),
            own=str(owners / str(epoch)),
            guard=guard,
            floor_ts=self.floor_ts,
            select=self.select,
        )
        self.committer = StorageCommitter(self.sink, site)
        self.committer.publish(self.log.last)
        self.committer.watermark(self.log.checkpoint_ts)
        self.committer.claimed(self.log)
        return self.committer

    def deliver(self, *messages: bytes, checkpoint_ts: int = 0) -> Prepared:
        """One batch, from messages to ``metadata``."""
        prepared = self.commit(*messages, checkpoint_ts=checkpoint_ts)
        self.publish()
        return prepared

    def commit(self, *messages: bytes, checkpoint_ts: int = 0) -> Prepared:
        """One batch up to its entry."""
        if self.epoch == 0:
            self.owner()
        prepared = self.committer.prepare(self.items(messages), self.log)
        self.log.append(prepared, checkpoint_ts)
        return prepared

    def publish(self) -> None:
        """The last entry."""
        self.committer.publish(self.log.last)
        self.committer.watermark(self.log.checkpoint_ts)
        shutil.rmtree(self.staging / f"{self.epoch}-{self.log.number}", ignore_errors=True)

    def items(self, messages: Sequence[bytes], partition_id: int = 0) -> list[Piece | Statement]:
        """Pieces and statements of a batch, in order; staged."""
        make = CODECS["canal-json"].decoder
        assert make is not None
        decode = make({}).decode
        events = [list(decode(message)) for message in messages]
        statements = [
            Statement(ddl=one, commit_ts=one.commit_ts, order=(n,), stream="t", partition=0, place=f"message {n}")
            for n, found in enumerate(events)
            for one in found
            if isinstance(one, Ddl)
        ]
        definitions = [
            *_known(self.log),
            *self.committer.definitions(statements, self.log),
        ]
        opener = _CanalJson()
        serializer = self.sink.serializer(opener, definitions, "UTC")
        by_time = [msgspec.structs.replace(one, order=(one.commit_ts,)) for one in statements]
        cuts = self.committer.cuts(by_time, self.log)
        gathered = _Gathered(self, f"{self.epoch}-{self.log.number + 1}")
        for n, found in enumerate(events):
            changes = [event for event in found if isinstance(event, RowChange)]
            if not changes:
                continue
            rows = DecodedRows(changes, partition_id)
            routed = self.select.routed(rows.schema, rows.name)
            if routed != (rows.schema, rows.name):
                table = msgspec.structs.replace(rows.table, schema=routed[0], table=routed[1])
                rows = DecodedRows([msgspec.structs.replace(change, table=table) for change in changes], partition_id)
            if rows.commit_ts <= self.floor_ts or not self.select.passes(
                changes[0].table.schema, changes[0].table.table
            ):
                continue
            label = serializer.label(rows)
            for lane, data in serializer.serialize(rows, rows.commit_ts):
                gathered.add(n, lane, label, serializer, data, rows.commit_ts, statements, cuts(lane))
        items: list[Piece | Statement] = [*gathered.finish(), *statements]
        return sorted(items, key=lambda item: item.order)

    def stage(self, name: str, content: bytes) -> str:
        """A staged file; its name below the staging folder."""
        self._staged += 1
        folder = self.staging / name
        folder.mkdir(exist_ok=True)
        (folder / f"{self._staged:06d}").write_bytes(content)
        return f"{name}/{self._staged:06d}"

    def read(self, *, ordered: bool = True) -> Folder:
        """The output as an independent reader sees it; there must be nothing wrong with it."""
        folder = read_folder(self.root, self.sink.protocol, ordered=ordered)
        folder.check()
        assert folder.problems == []
        return folder

    def keys(self, table: str = "orders", schema: str = "shop", *, ordered: bool = True) -> list[str]:
        """Keys of the rows of a table in a consumer's order."""
        events = self.read(ordered=ordered).events((schema, table))
        return [str((event.after or event.before or {})["id"]) for event in events]

    def versions(self, table: str = "orders", schema: str = "shop", *, ordered: bool = True) -> list[int]:
        """The versions of a table that have data."""
        folders = self.read(ordered=ordered).tables.get((schema, table), [])
        return sorted({folder.version for folder in folders})

    def schemas(self, table: str = "orders", schema: str = "shop") -> list[tuple[int, int, list[str]]]:
        """Version, action and columns of a table's schema files."""
        files = self.read(ordered=False).schemas.get((schema, table), [])
        return [(file.version, file.action, file.names) for file in files]

    def tree(self) -> dict[str, bytes]:
        """All files that readers see, with their contents."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and "_weir" not in path.parts
        }


class _CanalJson:
    protocol = "canal-json"
    timed = False
    marks: tuple[bytes, ...] = ()
    halves = False

    def open(self, message: bytes, /) -> Sequence[Any]:
        raise NotImplementedError


class _Open:
    def __init__(self, order: int, lane: Lane, label: Label, section: tuple[str, int, int], ts: int) -> None:
        self.order, self.lane, self.label, self.section = order, lane, label, section
        self.output = bytearray()
        self.rows, self.first_ts, self.last_ts = 0, ts, ts


class _Gathered:
    """Rows into pieces, one open piece a lane."""

    def __init__(self, scene: Scene, batch: str) -> None:
        self._scene, self._batch = scene, batch
        self._open: dict[Lane, _Open] = {}
        self._done: list[Piece] = []

    def add(
        self,
        order: int,
        lane: Lane,
        label: Label,
        serializer: Any,
        data: bytes,
        ts: int,
        statements: Sequence[Statement],
        cuts: Sequence[int],
    ) -> None:
        piece = self._open.get(lane)
        if piece is not None:
            passed = [one for one in statements if piece.order < one.order[0] < order and one.commit_ts in cuts]
            fits = piece.section[1] <= ts < piece.section[2] and not passed
            if not fits or not (piece.label is label or serializer.joins(label, piece.label)):
                self._end(self._open.pop(lane))
                piece = None
        if piece is None:
            piece = self._open[lane] = _Open(order, lane, label, serializer.section(ts), ts)
            piece.output += serializer.head(label)
        piece.output += data
        piece.rows += 1
        piece.first_ts, piece.last_ts = min(piece.first_ts, ts), max(piece.last_ts, ts)
        if len(piece.output) >= serializer.piece_bytes:
            self._end(self._open.pop(lane))

    def finish(self) -> list[Piece]:
        for piece in self._open.values():
            self._end(piece)
        return self._done

    def _end(self, piece: _Open) -> None:
        content = bytes(piece.output)
        self._done.append(
            Piece(
                lane=piece.lane,
                label=piece.label,
                section=piece.section[0],
                order=(piece.order,),
                staged=self._scene.stage(self._batch, content),
                rows=piece.rows,
                bytes=len(content),
                digest=zlib.crc32(content),
                first_ts=piece.first_ts,
                last_ts=piece.last_ts,
            )
        )


def _known(log: Log) -> list[Any]:
    from spark_jobs.sinks.base import Definition

    return [Definition(state.schema, state.table, 0, state.structure) for state in log.tables.values() if state.full]
