"""The words in which ``carries`` says what a format does to an event: views, losses and refusals."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from spark_jobs.cdc.events import (
    ABSENT,
    NO_ORIGIN,
    UPDATE,
    ColumnType,
    Ddl,
    Event,
    Heartbeat,
    Row,
    RowChange,
    TableSchema,
    TransactionMark,
    Value,
    Watermark,
)

Image: TypeAlias = dict[str, Value]


class RowView(msgspec.Struct, frozen=True):
    """A row change as a reader sees it: values by name; an image has no entry for a column that it lacks."""

    kind: str
    schema: str
    table: str
    types: dict[str, ColumnType]
    keys: tuple[str, ...]
    before: Image | None
    after: Image | None
    commit_ts: int
    es_ms: int
    ts_ms: int


class Kept(msgspec.Struct, frozen=True):
    """What a conversion between any two formats keeps of a row, whatever becomes of types and times."""

    kind: str
    schema: str
    table: str
    keys: tuple[str, ...]
    before: Image | None
    after: Image | None


View: TypeAlias = RowView | Ddl | Watermark | Heartbeat | TransactionMark
Change: TypeAlias = Callable[[View], View | None]


class Loss(msgspec.Struct, frozen=True):
    """``change`` gives what is left of an event; None: nothing."""

    what: str
    fact: str
    change: Change


class Refusal(msgspec.Struct, frozen=True):
    """``applies``: to which events it applies; they raise ``EncodeError``.

    ``converted``: it concerns only events that another format has left without something.
    """

    what: str
    fact: str
    applies: Callable[[Event], bool]
    converted: bool = False


class Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """``reading``: options of the decoder, which may depend on the table."""

    codec: str
    options: Mapping[str, str] = {}
    reading: Callable[[Event], Mapping[str, str]] = lambda _event: {}
    losses: tuple[Loss, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def name(self) -> str:
        return " ".join([self.codec, *(f"{key}={value}" for key, value in self.options.items())])

    def left(self, view: View) -> View | None:
        """What a reader gets of an event."""
        left: View | None = view
        for loss in self.losses:
            left = None if left is None else loss.change(left)
        return None if left is None else shown(left)


def with_signs(event: Event) -> Event:
    """A row change as if the sign of every column were known."""
    if not isinstance(event, RowChange):
        return event
    replace = msgspec.structs.replace
    columns = [replace(column, type=replace(column.type, sign_known=True)) for column in event.table.columns]
    return replace(event, table=replace(event.table, columns=tuple(columns)))


def view(event: Event) -> View:
    """An event without what only some sources know of it (positions, sequence numbers, log files)."""
    if not isinstance(event, RowChange):
        plain = {"sequence": 0, "origin": NO_ORIGIN, "checkpoint_ms": 0}
        return msgspec.structs.replace(event, **{key: plain[key] for key in plain if hasattr(event, key)})
    return RowView(
        event.kind.value,
        event.table.schema,
        event.table.table,
        {column.name: msgspec.structs.replace(column.type, sign_known=True) for column in event.table.columns},
        event.table.key_columns,
        image(event.table, event.before),
        image(event.table, event.after),
        event.commit_ts,
        event.es_ms,
        event.ts_ms,
    )


def shown(seen: View) -> View:
    """Without the columns that no image has, as a message may or may not name them; an empty old row is none."""
    if not isinstance(seen, RowView):
        return seen
    names = (seen.before or {}).keys() | (seen.after or {}).keys()
    before = seen.before or None if seen.kind == UPDATE else seen.before
    held = {name: type_ for name, type_ in seen.types.items() if name in names}
    keys = tuple(name for name in seen.keys if name in names)
    return msgspec.structs.replace(seen, types=held, keys=keys, before=before)


def kept(seen: View | None) -> Kept | tuple[str, ...] | None:
    """The values and names of an event; of events without them the kind, place and text."""
    if seen is None:
        return None
    if isinstance(seen, RowView):
        return Kept(seen.kind, seen.schema, seen.table, seen.keys, seen.before, seen.after)
    return (type(seen).__name__, *(str(getattr(seen, name, "")) for name in ("schema", "table", "query", "kind")))


def image(table: TableSchema, row: Row | None) -> Image | None:
    if row is None:
        return None
    return {column.name: value for column, value in zip(table.columns, row, strict=True) if value is not ABSENT}


# kinds of losses


def no_form_for(*kinds: type) -> Change:
    return lambda seen: None if isinstance(seen, kinds) else seen


def without(**fields: object) -> Change:
    """These fields are always so, wherever an event has them."""

    def change(seen: View) -> View:
        known = {name: value for name, value in fields.items() if hasattr(seen, name)}
        return msgspec.structs.replace(seen, **known)

    return change


def of(kind: type, change: Change) -> Change:
    """The change for events of one kind only."""
    return lambda seen: change(seen) if isinstance(seen, kind) else seen


def types(change: Callable[[ColumnType], ColumnType]) -> Callable[[View], View]:
    def applied(seen: View) -> View:
        if not isinstance(seen, RowView):
            return seen
        return msgspec.structs.replace(seen, types={name: change(type_) for name, type_ in seen.types.items()})

    return applied


def values(change: Callable[[ColumnType, Value], Value]) -> Change:
    """Values that are not NULL, by their type."""

    def applied(seen: View) -> View:
        if not isinstance(seen, RowView):
            return seen
        before, after = (_changed(seen.types, one, change) for one in (seen.before, seen.after))
        return msgspec.structs.replace(seen, before=before, after=after)

    return applied


def _changed(
    of_types: dict[str, ColumnType], images: Image | None, change: Callable[[ColumnType, Value], Value]
) -> Image | None:
    if images is None:
        return None
    return {name: None if value is None else change(of_types[name], value) for name, value in images.items()}


def old_from_new(seen: View) -> View:
    """What the old row of an update lacks is as in the new row."""
    if not isinstance(seen, RowView) or seen.kind != UPDATE or seen.before is None or seen.after is None:
        return seen
    return msgspec.structs.replace(seen, before={**seen.after, **seen.before})


def null_for_absent(seen: View) -> View:
    """What an image lacks is NULL."""
    if not isinstance(seen, RowView):
        return seen
    nothing: Image = dict.fromkeys(seen.types)
    full = [None if one is None else nothing | one for one in (seen.before, seen.after)]
    return msgspec.structs.replace(seen, before=full[0], after=full[1])


def replaced_bytes(type_: ColumnType, value: Value) -> Value:
    del type_
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value


def bare(type_: ColumnType) -> ColumnType:
    """The name and UNSIGNED of a type."""
    return ColumnType(type_.name, unsigned=type_.unsigned)


# kinds of refusals


def has_invalid_text(event: Event) -> bool:
    """A text whose bytes are not UTF-8."""
    return any(isinstance(value, str) and any("\udc80" <= char <= "\udcff" for char in value) for value in _all(event))


def is_partial(event: Event) -> bool:
    """An image lacks a column that the table has."""
    return any(value is ABSENT for value in _all(event))


def is_partial_in_the_last_row(event: Event) -> bool:
    """The new row, of a delete the old one, lacks a column."""
    return isinstance(event, RowChange) and ABSENT in (event.after or event.before or ())


def is_without_old_row(event: Event) -> bool:
    """An update of which only the new row is known."""
    return isinstance(event, RowChange) and event.kind == UPDATE and event.before is None


def is_partial_update(event: Event) -> bool:
    return isinstance(event, RowChange) and event.kind == UPDATE and is_partial(event)


def _all(event: Event) -> tuple[Value, ...]:
    return (event.before or ()) + (event.after or ()) if isinstance(event, RowChange) else ()
