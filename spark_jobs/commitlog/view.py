"""The sum of a commit log's entries, with look-ups by key."""

import msgspec

from spark_jobs.commitlog.entries import Entry, State, Totals
from spark_jobs.commitlog.merge_patch import merge, patched
from spark_jobs.sinks.base import TableCount


class View:
    """A ``State`` with look-ups by key; ``fold`` is the only way to change it."""

    def __init__(self, state: State) -> None:
        self.number = state.number
        self.epoch = state.epoch
        self.feed_uid = state.feed_uid
        self.rewind_id = state.rewind_id
        self.log_id = state.log_id
        self.batch_id = state.batch_id
        self.started = state.started
        self.position = state.position
        self.identity = state.identity
        self.strands = {(item.stream, item.partition): item for item in state.strands}
        self.tables = {(item.schema, item.table): item for item in state.tables}
        self.counts = {(item.schema, item.table): item for item in state.counts}
        self.sink = state.sink
        self.held = {item.name: item for item in state.held}
        self.checkpoint_ts = state.checkpoint_ts
        self.resolved_ts = state.resolved_ts
        self.estimated = state.estimated
        self.without_watermarks = state.without_watermarks
        self.totals = state.totals
        self.finished = state.finished

    def state(self) -> State:
        """The whole as a value, for a snapshot."""
        return State(
            number=self.number,
            epoch=self.epoch,
            feed_uid=self.feed_uid,
            rewind_id=self.rewind_id,
            log_id=self.log_id,
            batch_id=self.batch_id,
            started=self.started,
            position=self.position,
            identity=self.identity,
            strands=list(self.strands.values()),
            tables=list(self.tables.values()),
            counts=list(self.counts.values()),
            sink=self.sink,
            held=list(self.held.values()),
            checkpoint_ts=self.checkpoint_ts,
            resolved_ts=self.resolved_ts,
            estimated=self.estimated,
            without_watermarks=self.without_watermarks,
            totals=self.totals,
            finished=self.finished,
        )

    def fold(self, entry: Entry) -> None:
        """Adds the next entry."""
        if entry.number != self.number + 1:
            raise ValueError(f"entry {entry.number} does not follow {self.number}")
        self.number, self.epoch = entry.number, entry.epoch
        if entry.identity is not None:
            self.identity = entry.identity
        if entry.kind == "claim":
            self._claimed(entry)
        else:
            self._committed(entry)

    def _claimed(self, entry: Entry) -> None:
        if entry.fresh:
            self._begin_again()
        if entry.position is not None:
            self._go_to(entry)
        self.feed_uid, self.rewind_id = entry.feed_uid, entry.rewind_id
        self.log_id = entry.log_id or self.log_id
        self.batch_id = -1

    def _begin_again(self) -> None:
        """A new life of the id in an adopted folder: numbering and table versions stay, all else begins anew."""
        self.tables = {key: msgspec.structs.replace(item, full=False) for key, item in self.tables.items()}
        self.counts = {}
        self.totals = Totals()
        self.identity = {}

    def _go_to(self, entry: Entry) -> None:
        """Reading begins at the position that the claim names: a new life, or an operator's rewind."""
        self.position = patched({}, entry.position or {})
        self.strands = {}
        self.held = {}
        self.checkpoint_ts = entry.checkpoint_ts
        self.resolved_ts = entry.resolved_ts
        self.estimated = entry.estimated
        self.without_watermarks = False
        self.finished = False
        self.started = True

    def _committed(self, entry: Entry) -> None:
        self.batch_id = entry.batch_id
        if entry.position:
            merge(self.position, entry.position)
        self.strands.update({(item.stream, item.partition): item for item in entry.strands})
        self.tables.update({(item.schema, item.table): item for item in entry.tables})
        for item in entry.counts:
            self._count(item)
        if entry.sink:
            merge(self.sink, entry.sink)
        for name in entry.held_used:
            self.held.pop(name, None)
        self.held.update({segment.name: segment for segment in entry.held_added})
        self.checkpoint_ts, self.resolved_ts = entry.checkpoint_ts, entry.resolved_ts
        self.estimated, self.without_watermarks = entry.estimated, entry.without_watermarks
        self.totals = entry.totals or self.totals
        self.finished = entry.finished

    def _count(self, more: TableCount) -> None:
        key = more.schema, more.table
        now = self.counts.get(key) or TableCount(*key)
        self.counts[key] = TableCount(
            *key, now.rows + more.rows, now.bytes + more.bytes, max(now.last_ts, more.last_ts)
        )
