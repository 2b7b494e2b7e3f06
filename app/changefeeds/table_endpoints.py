"""Tables: what a source holds, and the calls of TiCDC that move or split tables.

A changefeed runs as a whole on one capture, so to move a table is to move its changefeed, and nothing can be split.
"""

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query

from app.captures.repository import CaptureRepository
from app.changefeeds import operations, peek, schemas, shapes, validation
from app.changefeeds.creation import source_of
from app.changefeeds.endpoints import Caller, InContext, Keyspace, Named
from app.changefeeds.record import Changefeed
from app.context import Context
from app.docs import examples
from app.errors import CaptureNotExists, InvalidParam, SchedulerRequestFailed
from app.lifecycle import Move
from app.upstreams.repository import UpstreamRepository
from spark_jobs.cdc.filters.tables import TableFilter

router = APIRouter(prefix="/api/v2", tags=["tables"])
TableId = Annotated[int, Query(alias="tableID", description="of TiCDC; any number: tables have none here")]
Mode = Annotated[int, Query(description="of TiCDC: 0 the changefeed, 1 its redo log, which there is none of here")]
Target = Annotated[str, Query(alias="targetNodeID", description="a capture, as in GET /api/v2/captures")]


@router.post(
    "/verify_table",
    response_model_exclude_none=True,
    responses=examples.reply(examples.TABLES),
    openapi_extra=examples.body(examples.VERIFY_TABLE),
)
def verify_table(context: InContext, keyspace: Keyspace, order: schemas.VerifyTableRequest) -> shapes.Tables:
    """Checks the filter and the configuration, and tells which tables of the source they select: those of a few of its
    messages, since a stream has no catalogue. Every table is eligible, with or without a key."""
    return _tables(context, order)


@router.post(
    "/get_all_tables",
    response_model_exclude_none=True,
    responses=examples.reply(examples.TABLES),
    openapi_extra=examples.body(examples.VERIFY_TABLE),
)
def get_all_tables(context: InContext, keyspace: Keyspace, order: schemas.VerifyTableRequest) -> shapes.Tables:
    """The same: `all_tables` are those that were seen, `eligible_tables` those that the filter selects."""
    return _tables(context, order)


def _tables(context: Context, order: schemas.VerifyTableRequest) -> shapes.Tables:
    validation.check_tables(order.replica_config, order.sink_uri)
    upstream_name = validation.split_upstream(order.sink_uri)[1]
    with context.database.read() as connection:
        try:
            upstreams = UpstreamRepository(connection, context.seal)
            source_uri, _ = source_of(context, upstreams, order.source_uri, 0, upstream_name)
        except InvalidParam:
            return shapes.Tables()  # no source to look at
    source = validation.source_of(source_uri, context.settings)
    validation.reach_source(source)
    seen = validation.as_client_fault(lambda: peek.tables(source))
    selected = TableFilter(order.replica_config.filter.rules or ["*.*"], order.replica_config.case_sensitive)
    named = [shapes.TableName(database_name=schema, table_name=table) for schema, table in seen]
    eligible = [item for item in named if selected.matches(item.database_name, item.table_name)]
    return shapes.Tables(eligible_tables=eligible or None, all_tables=named or None)


@router.get("/changefeeds/{changefeed_id}/tables", responses=examples.reply(examples.NODES))
def get_tables(context: InContext, name: Named, mode: Mode = 0) -> shapes.NodeTables:
    """Which capture has its tables: one has them all. Tables have no numbers; their names are in `progress`."""
    feed = operations.find(context, name)
    items = [shapes.NodeItem(node_id=feed.capture_id)] if feed.capture_id else []
    return shapes.NodeTables(total=len(items), items=items)


@router.get("/changefeeds/{changefeed_id}/get_dispatcher_count", responses=examples.reply(examples.COUNT))
def get_dispatcher_count(context: InContext, name: Named, mode: Mode = 0) -> shapes.Count:
    """How many tables it has delivered something of."""
    feed = operations.find(context, name)
    with context.database.read() as connection:
        return shapes.Count(count=len(context.feeds(connection).tables(feed.uid)))


@router.post("/changefeeds/{changefeed_id}/move_table", responses=examples.reply({}))
async def move_table(
    context: InContext,
    caller: Caller,
    name: Named,
    target: Target,
    table_id: TableId = 0,
    mode: Mode = 0,
    wait: Annotated[bool, Query(description="answer when its capture has let go of it")] = True,
) -> dict[str, str]:
    """Moves the changefeed, as a whole, to another capture: it is stopped after its batch and goes on there."""
    before = await anyio.to_thread.run_sync(_move, context, name, target, caller)
    if wait:
        await operations.let_go(context, before)
    return {}


@router.post("/changefeeds/{changefeed_id}/move_split_table", responses=examples.reply({}))
async def move_split_table(
    context: InContext, caller: Caller, name: Named, target: Target, table_id: TableId = 0, mode: Mode = 0
) -> dict[str, str]:
    """The same: nothing is split here."""
    before = await anyio.to_thread.run_sync(_move, context, name, target, caller)
    await operations.let_go(context, before)
    return {}


def _move(context: Context, name: operations.Name, target: str, who: str) -> Changefeed:
    now_ms = context.clock_ms()
    before = operations.find(context, name)
    with context.database.read() as connection:
        live = {view.capture_id: view for view in CaptureRepository(connection).views() if view.lease_until_ms > now_ms}
    if target not in live:
        raise CaptureNotExists(target[:128])
    if not live[target].takes_work:
        raise SchedulerRequestFailed(f"capture {target} is draining and takes nothing new")
    if not before.capture_id or not before.wants_to_run:
        raise SchedulerRequestFailed(f"changefeed {before.name} is {before.state} and on no capture; nothing to move")
    if before.capture_id == target:
        raise SchedulerRequestFailed(f"changefeed {before.name} is on capture {target} already")
    return operations.order(context, name, Move(target), "move", who, f"from capture {before.capture_id} to {target}")


@router.post("/changefeeds/{changefeed_id}/split_table_by_region_count", responses=examples.reply({}))
def split_table(context: InContext, name: Named, table_id: TableId = 0, mode: Mode = 0) -> dict[str, str]:
    """Refused: there are no regions to split a table by."""
    operations.find(context, name)
    raise SchedulerRequestFailed(
        "tables are not split here: there are no TiKV regions; Spark divides a batch by itself"
    )


@router.post("/changefeeds/{changefeed_id}/merge_table", responses=examples.reply({}))
def merge_table(context: InContext, name: Named, table_id: TableId = 0, mode: Mode = 0) -> dict[str, str]:
    """Refused: nothing was split."""
    operations.find(context, name)
    raise SchedulerRequestFailed("tables are not split here, so there is nothing to merge")
