"""The half of the storage sink that lives in the driver: see ``Committer``.

What readers see is derived from the commit log: ``prepare`` reads and decides, ``publish`` may be repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spark_jobs.cdc.ddl.effects import named
from spark_jobs.sinks.base import Definition, Lane, Piece, Prepared, SinkView, Site, Statement, Step
from spark_jobs.sinks.storage.checkpoints import Checkpoints
from spark_jobs.sinks.storage.disk import Disk
from spark_jobs.sinks.storage.documents import Documents
from spark_jobs.sinks.storage.numbers import Numbers
from spark_jobs.sinks.storage.own import Own
from spark_jobs.sinks.storage.publish import RECENT, Publisher
from spark_jobs.sinks.storage.statements import Statements
from spark_jobs.sinks.storage.steps import Steps
from spark_jobs.sinks.storage.tables import Tables
from spark_jobs.sinks.storage.uri import StorageSink
from spark_jobs.sinks.storage.versions import Versions, folders_of


class StorageCommitter:
    """One owner's. Keeps what it has looked at on the disk, and nothing that decides."""

    def __init__(self, sink: StorageSink, site: Site) -> None:
        self._sink = sink
        self._site = site
        self._disk = Disk(sink.path)
        self._own = Own(site)
        self._publisher = Publisher(sink.path, site, self._disk, self._own)
        self._checkpoints = Checkpoints(sink.path, site.home, self._own)
        self._has_settled = False

    def cuts(self, statements: Sequence[Statement], view: SinkView) -> Callable[[Lane], list[int]]:
        """The sort keys of statements of a lane's table and of its database; repeats separate nothing."""
        found: dict[tuple[str, str], set[int]] = {}
        for statement in statements:
            for schema, table in named(statement.ddl):
                key = self._site.select.routed(schema, table)
                state = view.tables.get(key)
                if state is None or statement.commit_ts >= state.ddl_ts:
                    found.setdefault((key[0].lower(), key[1].lower()), set()).add(statement.order[0])

        def of(lane: Lane) -> list[int]:
            schema, table = str(lane[0]).lower(), str(lane[1]).lower()
            return sorted(found.get((schema, table), set()) | found.get((schema, ""), set()))

        return of if found else lambda lane: []

    def definitions(self, statements: Sequence[Statement], view: SinkView) -> list[Definition]:
        """What is known before, and what each statement leaves, for CSV, which writes names of enum and set elements;
        nothing for other formats."""
        if not self._sink.needs_definitions:
            return []
        tables = Tables(view, self._site.select.routed)
        follow = Statements(tables, self._documents(None, Steps()), self._site.select, self._site.floor_ts)
        left = [
            Definition(table.schema, table.table, 0, table.structure)
            for table in view.tables.values()
            if table.full and table.structure is not None
        ]
        for statement in statements:
            for key in follow.take(statement):
                state = tables.state(key)
                structure = state.structure if state is not None and state.full else None
                left.append(Definition(*key, statement.commit_ts, structure))
        return left

    def prepare(self, items: Sequence[Piece | Statement], view: SinkView) -> Prepared:
        """Versions, numbers and names of a batch; reads only."""
        self._disk.forget()
        steps = Steps()
        documents = self._documents(self._disk, steps)
        tables = Tables(view, self._site.select.routed)
        statements = Statements(tables, documents, self._site.select, self._site.floor_ts)
        numbers = Numbers(
            folders_of(view),
            self._disk,
            extension=self._sink.extension,
            width=self._sink.file_index_width,
            adopt=bool(self._sink.adopt),
        )
        versions = Versions(view, tables, statements, documents, numbers, steps)
        prepared = versions.prepare(items, positional=self._sink.protocol == "csv")
        known = len(view.tables.keys() | tables.changed.keys())
        prepared.sink |= numbers.patch(versions.alive, known, self._may_forget)
        return prepared

    def publish(self, steps: Sequence[Step]) -> None:
        """Makes the steps visible, each after the one before; can be repeated from any point."""
        self._publisher.publish(steps)

    def watermark(self, checkpoint_ts: int, *, may_go_back: bool = False) -> None:
        """``metadata``: the least of the checkpoints of all changefeeds that write into this folder."""
        self._checkpoints.publish(checkpoint_ts, may_go_back=may_go_back)

    def claimed(self, view: SinkView) -> None:
        """Index files of all folders that are alive, and ``metadata``, as the log has them."""
        self._publisher.reassert(folders_of(view).items())
        self._checkpoints.reassert(view.checkpoint_ts)

    def upkeep(self, view: SinkView) -> None:
        """The same of the folders that were written to lately."""
        self._own.check()
        folders: Mapping[str, Any] = folders_of(view)
        latest = self._publisher.recent() or list(folders.items())[-RECENT:]
        self._publisher.reassert(latest)
        self._checkpoints.reassert(view.checkpoint_ts)

    def settle(self, view: SinkView) -> None:
        """Index files and ``metadata`` are durable, so that the entries that they can be made from may go."""
        self._publisher.settle(() if self._has_settled else folders_of(view))
        self._checkpoints.make_durable()
        self._has_settled = True

    def close(self) -> None:
        """Ends the threads that wait for the disk."""
        self._own.close()

    def _documents(self, disk: Disk | None, steps: Steps) -> Documents:
        return Documents(disk, steps, adopt=bool(self._sink.adopt))

    def _may_forget(self, folder: str) -> bool:
        """A claim makes index files again from what is kept, so only what is durable is forgotten."""
        return self._has_settled and not self._publisher.is_unsettled(folder)
