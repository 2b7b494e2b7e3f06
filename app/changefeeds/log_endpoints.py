"""What a changefeed did: log lines, as a list and as a stream, statements, history."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Final, Literal

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from app import times
from app.changefeeds import operations, replies, shapes
from app.changefeeds.endpoints import InContext, Named
from app.changefeeds.reports import ReportRepository, StoredLine
from app.context import Context
from app.docs import examples
from app.errors import ChangefeedNotExists
from app.history.repository import HistoryRepository

router = APIRouter(prefix="/api/v2/changefeeds/{changefeed_id}", tags=["what happened"])
Limit = Annotated[int, Query(ge=1, le=500, description="the last so many")]
Since = Annotated[str, Query(description="RFC 3339; only what came at that time or later")]
Level = Annotated[Literal["debug", "info", "warning", "error"], Query(description="of that level or graver")]
Kind = Annotated[Literal["", "batch", "ddl", "retry", "log"], Query(description="only lines of that kind")]
_POLL_SECONDS: Final = 0.5
_BEATS: Final = 30


@router.get("/logs", responses=examples.reply(examples.LOGS))
def get_logs(
    context: InContext, name: Named, limit: Limit = 100, since: Since = "", level: Level = "debug", kind: Kind = ""
) -> shapes.LogsReply:
    """The last lines that its captures logged about it: batches, statements, retries. `lines` is the text alone."""
    feed = operations.find(context, name)
    found = _lines(context, feed.uid, limit, 0, times.ms_of_rfc3339(since, "since"), level, kind)
    items = [replies.log_item(stored.line) for stored in found]
    return shapes.LogsReply(lines=[item.text for item in items], items=items)


def _lines(
    context: Context, uid: int, limit: int, after: int, since_ms: int, level: str, kind: str
) -> list[StoredLine]:
    with context.database.read() as connection:
        reports = ReportRepository(connection)
        return reports.lines(uid, limit, after=after, since_ms=since_ms, level=level, kind=kind)


@router.get(
    "/logs/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"example": examples.LOG_STREAM}}}, **examples.errors()},
)
async def follow_logs(
    request: Request,
    context: InContext,
    name: Named,
    limit: Limit = 10,
    since: Since = "",
    level: Level = "debug",
    kind: Kind = "",
) -> StreamingResponse:
    """The same lines as server-sent events, and those to come, until the caller or the changefeed goes.

    The id of an event is its place: `Last-Event-ID` goes on behind it.
    """
    feed = await anyio.to_thread.run_sync(operations.find, context, name)
    since_ms = times.ms_of_rfc3339(since, "since")
    last = request.headers.get("last-event-id", "")

    async def events() -> AsyncIterator[str]:
        after, silent = int(last) if last.isdecimal() and len(last) < 19 else 0, 0
        while not await request.is_disconnected():
            count = 500 if after else limit
            found = await anyio.to_thread.run_sync(_lines, context, feed.uid, count, after, since_ms, level, kind)
            for stored in found:
                data = replies.log_item(stored.line).model_dump(mode="json")
                yield f"id: {stored.seq}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
            after, silent = (found[-1].seq, 0) if found else (after, silent + 1)
            if silent % _BEATS == 0 and not found:
                yield ": still here\n\n"
                try:
                    await anyio.to_thread.run_sync(operations.find, context, name)
                except ChangefeedNotExists:
                    yield "event: end\ndata: {}\n\n"
                    return
            await asyncio.sleep(_POLL_SECONDS)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"cache-control": "no-store"})


@router.get("/ddl", responses=examples.reply(examples.DDL))
def get_ddl(
    context: InContext, name: Named, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> shapes.StatementsReply:
    """The last statements (DDL) that came through it, and what became of each."""
    feed = operations.find(context, name)
    with context.database.read() as connection:
        found = ReportRepository(connection).statements(feed.uid, limit)
    return shapes.StatementsReply(total=len(found), items=[replies.statement(event) for event in found])


@router.get("/history", responses=examples.reply(examples.HISTORY))
def get_history(
    context: InContext, name: Named, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000
) -> shapes.HistoryReply:
    """Every state change and operation: who, when, what. It outlives the changefeed."""
    with context.database.read() as connection:
        entries = HistoryRepository(connection).of(name.keyspace, name.id, limit)
    if not entries:
        operations.find(context, name)
    return shapes.HistoryReply(total=len(entries), items=[replies.history_item(entry) for entry in entries])
