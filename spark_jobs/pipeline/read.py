"""The one loop: messages are opened, filtered, held or serialised. Runs in a worker, or in the driver for little.

Rules

1. Rows without a commit-ts get one, made monotone in the order of their strand: ``max(es << 18, last + 1)``, growing
   with each message, and inside one with each statement and each mark of a transaction; not with each row, so that a
   transaction keeps one (contract §5).
2. The sort key is the commit-ts where rows wait for watermarks. Where they do not, it never decreases within a strand:
   order within the strand is kept even if its times step back.
3. A message is taken whole or not at all: what is wrong in it, or cannot be written, makes it an error with its place,
   or a dead letter.
4. ``start_ts``, ``target_ts`` compare the message's own time, not one that was made here.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from functools import partial
from typing import Final, TypeAlias, cast

import msgspec

from spark_jobs.cdc import memory, tso
from spark_jobs.cdc.codec import Opened, Rows
from spark_jobs.cdc.errors import DecodeError, EncodeError
from spark_jobs.cdc.events import Ddl, Heartbeat, RowChange, TransactionMark, Watermark
from spark_jobs.cdc.filters.selection import Selection, Way
from spark_jobs.pipeline.bad_message import MESSAGE_ERRORS, BadMessage, refuse_too_many
from spark_jobs.pipeline.gather import Direct, Gather, Spooled
from spark_jobs.pipeline.held import HeldMessage, read_held, write_held
from spark_jobs.pipeline.job import DeadLetter, Job, Outcome, StrandReading, Task, opener_of
from spark_jobs.pipeline.pairs import Joined, Pairs
from spark_jobs.pipeline.repeats import Prints
from spark_jobs.pipeline.spool import Spool
from spark_jobs.sinks.base import Lane, Statement
from spark_jobs.sources.base import Block, Place, Split, Strand

OTHER: Final = frozenset({Ddl, Watermark, Heartbeat, TransactionMark})
"""What a message may hold besides rows."""
Written: TypeAlias = tuple[Rows, Sequence[tuple[Lane, bytes]], int]
"""Rows, what they are in the sink, and their commit-ts."""


def read(job: Job, task: Task) -> Outcome:
    """Reads one task; raises ``BadMessage`` and what splits and serializers raise."""
    memory.plain(job.plain)
    with Spool(job.staging) as spool:
        reader = _Reader(job, spool, task.known)
        reader.release(read_held(job.held, task.held))
        for split in task.splits:
            reader.read(split)
        return reader.outcome()


class _State:
    """One strand while it is read. ``key``: the greatest sort key; ``began``: whether a made-up time may stay as it is,
    because its transaction has begun in this message; ``timed``: whether the last message said its commit-ts."""

    __slots__ = ("began", "index", "key", "last_ts", "pairs", "strand", "timed", "watermark_ts")

    def __init__(self, strand: Strand, known: StrandReading | None) -> None:
        self.strand = strand
        self.index = 0
        self.last_ts = known.last_ts if known else 0
        self.watermark_ts = known.watermark_ts if known else 0
        self.timed = known.timed if known else False
        self.key = 0
        self.began = False
        self.pairs: Pairs | None = None

    def made_up(self, es_ms: int) -> int:
        """A commit-ts for what says none."""
        if not self.began:
            self.last_ts = max(es_ms << 18, self.last_ts + 1)
            self.began = True
        return self.last_ts

    def reading(self) -> StrandReading:
        return StrandReading(*self.strand, self.last_ts, self.watermark_ts, self.timed)


class _Reader:
    def __init__(self, job: Job, spool: Spool, known: Iterable[StrandReading]) -> None:
        opener = opener_of(job.source_protocol, job.source_time_zone)
        self._job = job
        self._open = opener.open
        self._halves = opener.halves
        self._serializer = job.sink.serializer(opener, job.definitions, job.sink_time_zone)
        self._serialize = self._serializer.serialize
        self._selection = Selection(job.selection)
        prints = Prints(job.source_time_zone) if job.drop_copies else None
        self._gather: Gather = Direct(job.staging, self._serializer) if job.direct else Spooled(spool, prints)
        self._known = {Strand(item.stream, item.partition): item for item in known}
        self._states: dict[Strand, _State] = {}
        self._ways: dict[tuple[str, str], Way] = {}
        self._held: list[HeldMessage] = []
        self._bounded = bool(job.start_ts or job.target_ts or job.late_ts)
        self._latest_ts = job.latest_ts or tso.MAX_TSO
        self._outcome = Outcome()

    def read(self, split: Split) -> None:
        """A split of a strand, behind those of it that were read before."""
        state = self._state(split.strand)
        state.index = split.index
        for block in split.blocks():
            self._block(block, state)
            self._gather.bound()

    def release(self, messages: Iterable[HeldMessage]) -> None:
        """Messages that were held; those above the horizon are held again. They keep the time that they had."""
        horizon = self._job.horizon_ts
        for message in messages:
            if horizon is not None and message.commit_ts > horizon:
                self._held.append(message)
                continue
            state = self._state(Strand(message.stream, message.partition))
            last_ts, state.last_ts = state.last_ts, message.commit_ts - 1
            watermark_ts, state.watermark_ts = state.watermark_ts, 0  # it was above it when it was held
            place = Place(*state.strand, message.offset, f"topic {message.stream}, partition {message.partition}, "
                          f"offset {message.offset}")  # fmt: skip
            try:
                self._message(message.value, message.offset, state, partial(_same, place))
            except MESSAGE_ERRORS as error:
                self._bad(error, place, message.value)
            state.last_ts = max(last_ts, message.commit_ts)
            state.watermark_ts = max(watermark_ts, state.watermark_ts)

    def outcome(self) -> Outcome:
        """Everything that was read, durable as far as it must be."""
        outcome = self._outcome
        for state in self._states.values():
            if state.pairs is not None:
                self._held += state.pairs.waiting()
        self._gather.finish(outcome)
        outcome.strands = [state.reading() for state in self._states.values()]
        outcome.held = write_held(self._job.held, self._held)
        return outcome

    def _state(self, strand: Strand) -> _State:
        state = self._states.get(strand)
        if state is None:
            state = self._states[strand] = _State(strand, self._known.get(strand))
            if self._halves:
                state.pairs = Pairs(strand)
        return state

    def _block(self, block: Block, state: _State) -> None:
        outcome, open_, plain = self._outcome, self._open, state.pairs is None
        for at, (offset, value) in enumerate(zip(block.offsets, block.values, strict=True)):
            if not value:
                continue
            try:
                opened = open_(value)
                state.began = False
                if plain and len(opened) == 1 and type(opened[0]) not in OTHER:
                    self._rows(cast(Rows, opened[0]), value, offset, state)
                else:
                    self._several(opened, value, offset, state, partial(block.place, at))
            except MESSAGE_ERRORS as error:
                if value.isspace():
                    continue
                self._bad(error, block.place(at), value)
            outcome.messages += 1
            outcome.bytes += len(value)

    def _message(self, value: bytes, offset: int, state: _State, place: Callable[[], Place]) -> None:
        state.began = False
        self._several(self._open(value), value, offset, state, place)

    def _rows(self, rows: Rows, value: bytes, offset: int, state: _State) -> None:
        """The usual message: rows of one table."""
        commit_ts = self._time(rows, state)
        way = self._fate(rows, commit_ts, state)
        if way is Way.CHANGE:
            changed = self._selection.changed(rows)
            if changed is None:
                return
            rows = changed
        elif way is not Way.PASS:
            if way is Way.HOLD:
                self._held.append(HeldMessage(*state.strand, offset, commit_ts, value))
            return
        self._put(rows, self._serialize(rows, commit_ts), commit_ts, offset, state)

    def _several(
        self, opened: Sequence[Opened], value: bytes, offset: int, state: _State, place: Callable[[], Place]
    ) -> None:
        """A message that holds something else, or more: all of it or, with an error, nothing."""
        if state.pairs is not None:
            for joined in state.pairs.add(opened, value, offset, place, lambda item: self._time(item, state)):
                self._joined(joined, state)
            return
        self._whole(opened, value, offset, state, place)

    def _joined(self, joined: Joined, state: _State) -> None:
        """An event of one message or two, which stand where they stand, whatever came since."""
        first = joined.parts[0]
        try:
            self._whole(joined.opened, first.raw.value, first.raw.offset, state, first.place, first.raw.commit_ts)
        except MESSAGE_ERRORS as error:
            for part in joined.parts:
                self._bad(error, part.place(), part.raw.value)

    def _whole(
        self,
        opened: Sequence[Opened],
        value: bytes,
        offset: int,
        state: _State,
        place: Callable[[], Place],
        made_ts: int = 0,
    ) -> None:
        written: list[Written | Statement] = []
        for item in opened:
            if isinstance(item, Watermark):
                if item.watermark_ts > self._latest_ts:
                    self._refuse_time(item.watermark_ts)
                state.watermark_ts = max(state.watermark_ts, item.watermark_ts)
                state.timed = True
            elif isinstance(item, TransactionMark):
                state.began = False
            elif isinstance(item, Ddl):
                state.began = False
                commit_ts = made_ts or self._time(item, state)
                state.began = False
                if self._is_repeat(commit_ts, state) or self._beyond(commit_ts, item):
                    continue
                if self._waits(commit_ts):
                    self._held.append(HeldMessage(*state.strand, offset, commit_ts, value))
                    return
                written.append(self._statement(item, commit_ts, offset, state, place()))
            elif not isinstance(item, Heartbeat):
                commit_ts = made_ts or self._time(item, state)
                way = self._fate(item, commit_ts, state)
                if way is Way.HOLD:
                    self._held.append(HeldMessage(*state.strand, offset, commit_ts, value))
                    return
                rows: Rows | None = item if way is Way.PASS else None
                if way is Way.CHANGE:
                    rows = self._selection.changed(item)
                if rows is not None:
                    written.append((rows, self._serialize(rows, commit_ts), commit_ts))
        for one in written:
            if isinstance(one, Statement):
                self._separate(one, state)
            else:
                self._put(*one, offset, state)

    def _time(self, item: Rows | RowChange | Ddl, state: _State) -> int:
        """Its commit-ts; made up where it says none (rule 1)."""
        commit_ts = item.commit_ts
        if commit_ts:
            if commit_ts > self._latest_ts:
                self._refuse_time(commit_ts)
            state.timed = True
            if commit_ts > state.last_ts:
                state.last_ts = commit_ts
            return commit_ts
        if item.es_ms << 18 > self._latest_ts:
            self._refuse_time(item.es_ms << 18)
        state.timed = False
        if state.index:
            self._outcome.needs_whole_strands = True
        return state.made_up(item.es_ms)

    def _refuse_time(self, commit_ts: int) -> None:
        at = f"{tso.to_datetime(commit_ts, UTC):%Y-%m-%d %H:%M}" if commit_ts <= tso.MAX_TSO else str(commit_ts)
        raise DecodeError(
            self._job.source_protocol, f"its time, {at} UTC, is more than a day ahead of this machine's clock"
        )

    def _fate(self, rows: Rows, commit_ts: int, state: _State) -> Way:
        if self._is_repeat(commit_ts, state):
            return Way.DROP
        if self._bounded and not self._wanted(commit_ts, rows):
            return Way.DROP
        way = self._ways.get((rows.schema, rows.name)) or self._way(rows)
        if way is not Way.DROP and self._waits(commit_ts):
            return Way.HOLD
        return way

    def _way(self, rows: Rows) -> Way:
        way = self._ways[rows.schema, rows.name] = self._selection.way(rows.schema, rows.name)
        if way is not Way.DROP and self._selection.renames:
            self._outcome.tables.add((rows.schema, rows.name))
        return way

    def _is_repeat(self, commit_ts: int, state: _State) -> bool:
        """What lies below a watermark that was read before it in its own strand was sent again."""
        if self._job.drop_repeats and commit_ts < state.watermark_ts:
            self._outcome.repeats += 1
            return True
        return False

    def _waits(self, commit_ts: int) -> bool:
        horizon = self._job.horizon_ts
        return horizon is not None and commit_ts > horizon

    def _wanted(self, commit_ts: int, rows: Rows) -> bool:
        own_ts = rows.commit_ts or rows.es_ms << 18
        if own_ts <= self._job.start_ts or self._beyond(commit_ts, rows):
            return False
        if commit_ts <= self._job.late_ts:
            self._outcome.late += 1
        return True

    def _beyond(self, commit_ts: int, item: Rows | Ddl) -> bool:
        target = self._job.target_ts
        return bool(target) and (item.commit_ts or item.es_ms << 18) > target

    def _key(self, commit_ts: int, state: _State) -> int:
        """Rule 2."""
        if self._job.drop_repeats:
            return commit_ts
        if commit_ts > state.key:
            state.key = commit_ts
        return state.key

    def _put(self, rows: Rows, pairs: Sequence[tuple[Lane, bytes]], commit_ts: int, offset: int, state: _State) -> None:
        label, put = self._serializer.label(rows), self._gather.put
        key = self._key(commit_ts, state)
        for lane, data in pairs:
            self._outcome.rows += 1
            if data:
                put(rows, label, lane, data, commit_ts, key, offset, state)

    def _statement(self, event: Ddl, commit_ts: int, offset: int, state: _State, place: Place) -> Statement:
        return Statement(
            ddl=event,
            commit_ts=commit_ts,
            order=(),
            stream=place.stream,
            partition=place.partition,
            place=place.text,
            offset=offset,
        )

    def _separate(self, statement: Statement, state: _State) -> None:
        """Rows behind a statement do not join those before it, nor come before it when they are sorted."""
        key = self._key(statement.commit_ts, state)
        order: tuple[object, ...] = self._gather.separate(statement.ddl, state)
        if not order:
            order = (key, 1, *state.strand, statement.offset)
        state.key = key + 1
        self._outcome.statements.append(msgspec.structs.replace(statement, order=order))

    def _bad(self, error: DecodeError | EncodeError, place: Place, value: bytes) -> None:
        if not self._job.dead_letter:
            raise BadMessage(place.text, error) from None
        letter = DeadLetter(place.stream, place.partition, place.offset, error.reason, value)
        self._outcome.dead_letters.append(letter)
        refuse_too_many(len(self._outcome.dead_letters))


def _same(place: Place) -> Place:
    return place
