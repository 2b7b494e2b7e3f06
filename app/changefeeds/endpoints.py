"""``/api/v2/changefeeds``."""

import uuid
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request
from sqlalchemy import Connection

from app.captures.repository import CaptureRepository
from app.changefeeds import creation, operations, replies, schemas, shapes, updating, validation
from app.changefeeds.conditions import Moment, shown_state
from app.changefeeds.operations import Name
from app.changefeeds.record import DEFAULT_KEYSPACE, State
from app.context import Context, context_of
from app.docs import examples
from app.errors import ChangefeedNotExists, InvalidParam
from app.identity import caller_of
from app.masking import Json

router = APIRouter(prefix="/api/v2", tags=["changefeeds"])

InContext = Annotated[Context, Depends(context_of)]
Caller = Annotated[str, Depends(caller_of)]
_STATES: dict[str, frozenset[State]] = {
    "": frozenset({State.NORMAL, State.STOPPED, State.FAILED, State.WARNING}),
    "all": frozenset(State),
    "pending": frozenset(),  # of TiCDC; here it is a warning
    **{state.value: frozenset({state}) for state in State},
}


def keyspace_of(
    keyspace: Annotated[str, Query(description="TiCDC's newer name; empty: default")] = "",
    namespace: Annotated[str, Query(description="TiCDC's older name for the same")] = "",
) -> str:
    """The keyspace by either of its names, "" when none is given."""
    validation.check_keyspace(keyspace or namespace)
    return keyspace or namespace


Keyspace = Annotated[str, Depends(keyspace_of)]


def name_of(changefeed_id: Annotated[str, Path(openapi_examples=examples.FEED_ID)], keyspace: Keyspace) -> Name:
    """The changefeed that the path and the query name."""
    if "\0" in changefeed_id:
        raise ChangefeedNotExists(repr(changefeed_id))  # PostgreSQL would not even look for it
    return Name(keyspace or DEFAULT_KEYSPACE, changefeed_id)


Named = Annotated[Name, Depends(name_of)]
DryRun = Annotated[bool, Query(description="check everything, change nothing")]


def moment_of(context: Context, connection: Connection | None = None) -> Moment:
    """Now, and how many captures are there to run something."""
    now_ms = context.clock_ms()
    if connection is None:
        with context.database.read() as own:
            return moment_of(context, own)
    live = [view for view in CaptureRepository(connection).views() if view.lease_until_ms > now_ms]
    return Moment(now_ms, len(live), sum(view.takes_work for view in live))


async def body_of(request: Request) -> dict[str, Json]:
    """The body as it came, for what a null in it means; what is wrong with it is said when it is read as a model."""
    try:
        value = await request.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@router.get("/changefeeds", response_model_exclude_unset=True, responses=examples.reply(examples.CHANGEFEED_LIST))
def list_changefeeds(
    context: InContext,
    keyspace: Keyspace,
    state: Annotated[str, Query(description="a state, or `all`; empty: all but finished")] = "",
    label: Annotated[list[str], Query(description="only those with this label: `name=value`, or `name`")] = [],  # noqa: B006
) -> shapes.ChangefeedList:
    """Lists the changefeeds of a keyspace."""
    if state not in _STATES:
        raise InvalidParam(f"state {state[:50]!r} is none of all, {', '.join(State)}")
    with context.database.read() as connection:
        feeds = context.feeds(connection).summaries(keyspace or DEFAULT_KEYSPACE)
        moment = moment_of(context, connection)
    wanted = _STATES[state]
    found = [feed for feed in feeds if shown_state(feed, moment) in wanted and _has_labels(feed.labels, label)]
    return shapes.ChangefeedList(total=len(found), items=[replies.item(feed, moment) for feed in found])


def _has_labels(labels: dict[str, str], wanted: list[str]) -> bool:
    pairs = (text.partition("=") for text in wanted)
    return all(labels.get(name) == value if equals else name in labels for name, equals, value in pairs)


@router.post(
    "/changefeeds",
    response_model_exclude_none=True,
    responses=examples.reply(examples.CHANGEFEED_MADE),
    openapi_extra=examples.body(examples.CREATE),
)
def create_changefeed(
    context: InContext, caller: Caller, keyspace: Keyspace, order: schemas.CreateRequest, dry_run: DryRun = False
) -> shapes.ChangefeedReply:
    """Creates a changefeed: it starts by itself unless `paused`. `warnings` tells what has no effect as it was
    given."""
    name = Name(
        keyspace or order.keyspace or order.namespace or DEFAULT_KEYSPACE, order.changefeed_id or str(uuid.uuid4())
    )
    validation.check_id(name.id)
    validation.check_keyspace(name.keyspace)
    done = creation.create(context, name, order, caller, dry_run=dry_run)
    return replies.changed(done, moment_of(context))


@router.get(
    "/changefeeds/{changefeed_id}", response_model_exclude_none=True, responses=examples.reply(examples.CHANGEFEED)
)
def get_changefeed(context: InContext, name: Named) -> shapes.ChangefeedInfo:
    """Everything about one changefeed, secrets masked."""
    return replies.info(operations.find(context, name), moment_of(context))


@router.get(
    "/changefeeds/{changefeed_id}/meta_info",
    response_model_exclude_none=True,
    responses=examples.reply(examples.CHANGEFEED),
)
def get_meta_info(context: InContext, name: Named) -> shapes.ChangefeedInfo:
    """The same without `task_status`: a call of TiCDC's older generation."""
    shown = replies.info(operations.find(context, name), moment_of(context))
    return shown.model_copy(update={"task_status": None})


@router.put(
    "/changefeeds/{changefeed_id}",
    response_model_exclude_none=True,
    responses=examples.reply(examples.CHANGEFEED_CHANGED),
    openapi_extra=examples.body(examples.UPDATE),
)
def update_changefeed(
    context: InContext, caller: Caller, name: Named, order: schemas.UpdateRequest, dry_run: DryRun = False
) -> shapes.ChangefeedReply:
    """Changes a stopped or failed changefeed as TiCDC does: `replica_config` is laid over the defaults, so what it
    leaves out is the default again. `changes` tells what differs. Resume it afterwards."""
    done = updating.put(context, name, order, caller, dry_run=dry_run)
    return replies.changed(done, moment_of(context))


@router.patch(
    "/changefeeds/{changefeed_id}",
    response_model_exclude_none=True,
    responses=examples.reply(examples.CHANGEFEED_CHANGED),
    openapi_extra=examples.body(examples.PATCH),
)
def patch_changefeed(
    context: InContext,
    caller: Caller,
    name: Named,
    order: schemas.UpdateRequest,
    raw: Annotated[dict[str, Json], Depends(body_of)],
    dry_run: DryRun = False,
) -> shapes.ChangefeedReply:
    """Merges into a stopped or failed changefeed: what is left out stays, `null` is the default again. A description
    and labels may be changed at any time."""
    done = updating.patch(context, name, order, raw, caller, dry_run=dry_run)
    return replies.changed(done, moment_of(context))


@router.delete("/changefeeds/{changefeed_id}", responses=examples.reply({}))
async def remove_changefeed(context: InContext, caller: Caller, name: Named) -> dict[str, str]:
    """Stops and removes a changefeed; its output stays. An absent one is no error."""
    feed = await anyio.to_thread.run_sync(operations.remove, context, name, caller)
    if feed is not None:
        await operations.let_go(context, feed)
        await anyio.to_thread.run_sync(operations.forget, context, feed.uid)
    return {}


@router.post("/changefeeds/{changefeed_id}/pause", responses=examples.reply({}))
async def pause_changefeed(context: InContext, caller: Caller, name: Named) -> dict[str, str]:
    """Stops a changefeed; answers when its capture has stopped it."""
    feed = await anyio.to_thread.run_sync(operations.pause, context, name, caller)
    await operations.let_go(context, feed)
    return {}


@router.post(
    "/changefeeds/{changefeed_id}/resume",
    responses=examples.reply(examples.RESUMED),
    openapi_extra=examples.body(examples.RESUME, required=False),
)
def resume_changefeed(
    context: InContext, caller: Caller, name: Named, order: schemas.ResumeRequest | None = None
) -> shapes.WarningsReply:
    """Starts a stopped, failed or finished changefeed again, on demand from an earlier (or later) point."""
    done = operations.resume(context, name, order.overwrite_checkpoint_ts if order else 0, caller)
    return replies.warnings(done)


@router.get(
    "/changefeeds/{changefeed_id}/status", response_model_exclude_none=True, responses=examples.reply(examples.STATUS)
)
def get_status(context: InContext, name: Named) -> shapes.ChangefeedStatus:
    """State, checkpoint and the last error."""
    return replies.status(operations.find(context, name), moment_of(context))


@router.get("/changefeeds/{changefeed_id}/checkpoint", responses=examples.reply(examples.CHECKPOINT))
def get_checkpoint(context: InContext, name: Named) -> shapes.CheckpointReply:
    """How far it has come."""
    return replies.checkpoint(operations.find(context, name), moment_of(context))


@router.get("/changefeeds/{changefeed_id}/progress", responses=examples.reply(examples.PROGRESS))
def get_progress(context: InContext, name: Named) -> shapes.ProgressReply:
    """What has been delivered, table by table."""
    feed = operations.find(context, name)
    with context.database.read() as connection:
        return replies.progress(feed, context.feeds(connection).tables(feed.uid))


@router.get(
    "/changefeeds/{changefeed_id}/synced", response_model_exclude_none=True, responses=examples.reply(examples.SYNCED)
)
def get_synced(context: InContext, name: Named) -> shapes.SyncedReply:
    """Whether source and sink are the same at this moment."""
    feed = operations.find(context, name)
    with context.database.read() as connection:
        return replies.synced(feed, context.feeds(connection).tables(feed.uid), context.clock_ms())
