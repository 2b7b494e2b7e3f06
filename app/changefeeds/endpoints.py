"""``/api/v2/changefeeds``."""

import uuid
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query

from app.changefeeds import operations, replies, schemas, validation
from app.changefeeds.operations import Name
from app.changefeeds.record import DEFAULT_KEYSPACE, State
from app.context import Context, context_of
from app.docs import examples
from app.errors import ChangefeedNotExists
from app.history.repository import HistoryRepository
from app.identity import caller_of

router = APIRouter(prefix="/api/v2", tags=["changefeeds"])

InContext = Annotated[Context, Depends(context_of)]
Caller = Annotated[str, Depends(caller_of)]
_LISTED_BY_DEFAULT = frozenset({State.NORMAL, State.STOPPED, State.FAILED, State.WARNING})


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


@router.get("/changefeeds", responses=examples.reply(examples.CHANGEFEED_LIST))
def list_changefeeds(
    context: InContext,
    keyspace: Keyspace,
    state: Annotated[str, Query(description="a state, or `all`; empty: all but finished")] = "",
) -> schemas.ChangefeedList:
    """Lists the changefeeds of a keyspace."""
    with context.database.read() as connection:
        feeds = context.feeds(connection).all(keyspace or DEFAULT_KEYSPACE)
    wanted = _LISTED_BY_DEFAULT if not state else set(State) if state == "all" else {state}
    items = [replies.item(feed) for feed in feeds if feed.state in wanted]
    return schemas.ChangefeedList(total=len(items), items=items)


@router.post(
    "/changefeeds",
    response_model_exclude_none=True,
    responses=examples.reply(examples.CHANGEFEED),
    openapi_extra=examples.body(examples.CREATE),
)
def create_changefeed(
    context: InContext,
    caller: Caller,
    keyspace: Keyspace,
    order: schemas.CreateRequest,
    dry_run: Annotated[bool, Query(description="check everything, store nothing")] = False,
) -> schemas.ChangefeedInfo:
    """Creates a changefeed: it starts by itself unless `paused`."""
    name = Name(
        keyspace or order.keyspace or order.namespace or DEFAULT_KEYSPACE, order.changefeed_id or str(uuid.uuid4())
    )
    validation.check_id(name.id)
    validation.check_keyspace(name.keyspace)
    feed = operations.create(context, name, order, caller, dry_run=dry_run)
    return replies.info(feed, context.clock_ms())


@router.get(
    "/changefeeds/{changefeed_id}", response_model_exclude_none=True, responses=examples.reply(examples.CHANGEFEED)
)
def get_changefeed(context: InContext, name: Named) -> schemas.ChangefeedInfo:
    """Everything about one changefeed, secrets masked."""
    return replies.info(operations.find(context, name), context.clock_ms())


@router.put(
    "/changefeeds/{changefeed_id}",
    response_model_exclude_none=True,
    responses=examples.reply(examples.CHANGEFEED),
    openapi_extra=examples.body(examples.UPDATE),
)
def update_changefeed(
    context: InContext, caller: Caller, name: Named, order: schemas.UpdateRequest
) -> schemas.ChangefeedInfo:
    """Changes target, sink or configuration of a stopped or failed changefeed; resume it afterwards."""
    return replies.info(operations.update(context, name, order, caller), context.clock_ms())


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
    responses=examples.reply({}),
    openapi_extra=examples.body(examples.RESUME, required=False),
)
def resume_changefeed(
    context: InContext, caller: Caller, name: Named, order: schemas.ResumeRequest | None = None
) -> dict[str, str]:
    """Starts a stopped, failed or finished changefeed again, on demand from an earlier (or later) point."""
    operations.resume(context, name, order.overwrite_checkpoint_ts if order else 0, caller)
    return {}


@router.get(
    "/changefeeds/{changefeed_id}/status", response_model_exclude_none=True, responses=examples.reply(examples.STATUS)
)
def get_status(context: InContext, name: Named) -> schemas.ChangefeedStatus:
    """State, checkpoint and the last error."""
    return replies.status(operations.find(context, name), context.clock_ms())


@router.get("/changefeeds/{changefeed_id}/checkpoint", responses=examples.reply(examples.CHECKPOINT))
def get_checkpoint(context: InContext, name: Named) -> schemas.CheckpointReply:
    """How far it has come."""
    return replies.checkpoint(operations.find(context, name), context.clock_ms())


@router.get("/changefeeds/{changefeed_id}/progress", responses=examples.reply(examples.PROGRESS))
def get_progress(context: InContext, name: Named) -> schemas.ProgressReply:
    """What has been delivered, table by table."""
    feed = operations.find(context, name)
    with context.database.read() as connection:
        return replies.progress(feed, context.feeds(connection).tables(feed.uid))


@router.get("/changefeeds/{changefeed_id}/synced", responses=examples.reply(examples.SYNCED))
def get_synced(context: InContext, name: Named) -> schemas.SyncedReply:
    """Whether source and sink are the same at this moment."""
    feed = operations.find(context, name)
    with context.database.read() as connection:
        return replies.synced(feed, context.feeds(connection).tables(feed.uid), context.clock_ms())


@router.get("/changefeeds/{changefeed_id}/logs", responses=examples.reply(examples.LOGS))
def get_logs(context: InContext, name: Named, limit: Annotated[int, Query(ge=1, le=500)] = 100) -> schemas.LogsReply:
    """The last lines that its captures logged about it."""
    feed = operations.find(context, name)
    with context.database.read() as connection:
        return schemas.LogsReply(lines=context.feeds(connection).logs(feed.uid, limit))


@router.get("/changefeeds/{changefeed_id}/history", responses=examples.reply(examples.HISTORY))
def get_history(
    context: InContext, name: Named, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000
) -> schemas.HistoryReply:
    """Every state change and operation: who, when, what. It outlives the changefeed."""
    with context.database.read() as connection:
        entries = HistoryRepository(connection).of(name.keyspace, name.id, limit)
    if not entries:
        operations.find(context, name)
    return schemas.HistoryReply(total=len(entries), items=[replies.history_item(entry) for entry in entries])


@router.post(
    "/verify_table",
    response_model_exclude_none=True,
    responses=examples.reply({}),
    openapi_extra=examples.body(examples.VERIFY_TABLE),
)
def verify_table(keyspace: Keyspace, order: schemas.VerifyTableRequest) -> schemas.Tables:
    """Checks the filter and the configuration; there is no table list to answer with."""
    validation.check_tables(order.replica_config, order.sink_uri)
    return schemas.Tables()


@router.post(
    "/get_all_tables",
    response_model_exclude_none=True,
    responses=examples.reply({}),
    openapi_extra=examples.body(examples.VERIFY_TABLE),
)
def get_all_tables(keyspace: Keyspace, order: schemas.VerifyTableRequest) -> schemas.Tables:
    """The same checks; there is no table list to answer with."""
    validation.check_tables(order.replica_config, order.sink_uri)
    return schemas.Tables()
