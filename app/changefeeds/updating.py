"""PUT and PATCH of a changefeed: what TiCDC's PUT does, and a merge; both checked and told in the same way."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from app.changefeeds import changes, notices, updates, validation
from app.changefeeds.folders_taken import require_own_folder
from app.changefeeds.operations import Done, Name, find, remember, ts_of
from app.changefeeds.record import Changefeed
from app.changefeeds.schemas import UpdateRequest
from app.context import Context
from app.errors import InvalidParam, UpdateRefused
from app.masking import Json, kept_tree
from app.replica_config import ReplicaConfig
from app.replica_config.merge import merged

_CHECKED = frozenset({"source_uri", "sink_uri", "target_ts", "target_time", "start_ts", "start_time", "replica_config"})


def put(context: Context, name: Name, order: UpdateRequest, who: str, *, dry_run: bool = False) -> Done:
    """TiCDC's: ``replica_config`` is laid over the defaults, what is left out or empty stays."""
    before = find(context, name)
    target_ts = _target(context, order) or before.target_ts
    stored = msgspec.json.decode(before.replica_config)
    given = stored if order.replica_config is None else kept(validation.tree(order.replica_config), stored)
    labels: Mapping[str, str | None] = before.labels if order.labels is None else order.labels
    notes_only = not _CHECKED & order.model_fields_set
    return _update(context, before, order, given, target_ts, labels, who, notes_only=notes_only, dry_run=dry_run)


def patch(
    context: Context, name: Name, order: UpdateRequest, raw: dict[str, Json], who: str, *, dry_run: bool = False
) -> Done:
    """Merges into what is there; ``raw`` is the body of ``order``: null takes a value away (RFC 7396)."""
    before = find(context, name)
    said = {UpdateRequest.keys().get(key.lower(), key): value for key, value in raw.items()}
    named = {"target_ts", "target_time"} & said.keys()
    target_ts = _target(context, order) if named else before.target_ts
    stored = msgspec.json.decode(before.replica_config)
    config = said.get("replica_config")
    if "replica_config" in said and config is None:
        given: dict[str, Json] = {}
    else:
        laid = kept(merged(stored, config if isinstance(config, dict) else {}), stored)
        given = validation.tree(ReplicaConfig.model_validate(laid))
    labels: Mapping[str, str | None] = {**before.labels, **(order.labels or {})}
    if "labels" in said and said["labels"] is None:
        labels = {}
    if "description" in said and said["description"] is None:
        order = order.model_copy(update={"description": ""})
    notes_only = not _CHECKED & said.keys()
    return _update(context, before, order, given, target_ts, labels, who, notes_only=notes_only, dry_run=dry_run)


def kept(new: dict[str, Json], old: dict[str, Json]) -> dict[str, Json]:
    """A configuration with what was masked in it taken from the old one."""
    tree = kept_tree(new, old)
    assert isinstance(tree, dict)
    return tree


def _target(context: Context, order: UpdateRequest) -> int:
    return ts_of(order.target_ts, order.target_time, "target", context.clock_ms())


def _update(
    context: Context,
    before: Changefeed,
    order: UpdateRequest,
    given: dict[str, Json],
    target_ts: int,
    labels: Mapping[str, str | None],
    who: str,
    *,
    notes_only: bool,
    dry_run: bool,
) -> Done:
    if order.start_ts or order.start_time:
        raise InvalidParam("start_ts cannot be changed; remove the changefeed and create it anew")
    if order.changefeed_id not in ("", before.name):
        raise InvalidParam(f"changefeed_id cannot be changed; this is {before.name}")
    noted = replace(
        before,
        description=before.description if order.description is None else order.description,
        labels={name: value for name, value in labels.items() if value is not None},
    )
    warnings = notices.of_pd(order)
    if notes_only:
        made = updates.Update(noted, None, None)  # notes may be made while it runs
    else:
        wish = updates.Wish(source_uri=order.source_uri, sink_uri=order.sink_uri, target_ts=target_ts, config=given)
        made = updates.updated(noted, wish, context.settings, context.clock_ms())
        warnings += notices.notices(made.after.source_uri, made.after.sink_uri, given)
    found = changes.changes(before, made.after)
    if not found:
        raise UpdateRefused("changefeed config is the same with the old one, do nothing")
    with context.database.read() as connection:
        tables = context.feeds(connection).tables(before.uid)
    warnings += changes.widened(before, made.after, tables)
    _reach(context, before, made)
    if dry_run:
        return Done(made.after, warnings, found)
    with context.database.write() as connection:
        feeds = context.feeds(connection)
        if notes_only:
            before = feeds.by_uid(before.uid, lock=True) or before
            made = updates.Update(replace(before, description=noted.description, labels=noted.labels), None, None)
        saved = feeds.save(before, made.after)
        remember(connection, before, saved, "update", who, context.clock_ms(), changes.told(found))
    return Done(saved, warnings, found)


def _reach(context: Context, before: Changefeed, made: updates.Update) -> None:
    """Looks at source and sink, where they are others than before (I/O)."""
    if made.source is not None:
        validation.reach_source(made.source)
    if made.moved_to is not None:
        validation.check_apart(validation.source_of(made.after.source_uri, context.settings), made.moved_to)
        require_own_folder(context, made.after, made.moved_to)
        validation.reach_sink(made.moved_to, before.wire_id)
