"""``/api/v2/captures`` and ``/api/v2/processors``, and what captures themselves call (``spark_jobs/wire.py``)."""

import hmac
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import anyio
import anyio.to_thread
import msgspec
import structlog
from fastapi import APIRouter, Depends, Path, Request, Response

from app import times
from app.captures.beat import Beats
from app.captures.repository import Capture, CaptureRepository
from app.captures.schemas import CaptureItem, CaptureList, Drained, Processor, ProcessorItem, ProcessorList
from app.changefeeds.endpoints import Caller, Named
from app.changefeeds.operations import find
from app.context import Context, context_of
from app.docs import examples
from app.errors import CaptureNotExists, InvalidParam, SchedulerRequestFailed, Unauthorized
from spark_jobs.wire import INTERNAL_PREFIX, Heartbeat, Registration

CLUSTER_ID: Final = "default"
_THREADS_FOR_BEATS: Final = 8

public = APIRouter(prefix="/api/v2", tags=["captures"])
internal = APIRouter(prefix=INTERNAL_PREFIX, include_in_schema=False)
InContext = Annotated[Context, Depends(context_of)]
CaptureId = Annotated[
    str, Path(openapi_examples=examples.CAPTURE_ID, description="as in GET /api/v2/captures", pattern=r"^[^\x00]*$")
]
log = structlog.get_logger("weir.captures")
M = TypeVar("M", bound=msgspec.Struct)
R = TypeVar("R")


@public.get("/captures", responses=examples.reply(examples.CAPTURES))
def list_captures(context: InContext) -> CaptureList:
    """Lists the captures: Spark applications that host changefeeds."""
    with context.database.read() as connection:
        captures = CaptureRepository(connection).all()
        load = Counter(view.capture_id for view in context.feeds(connection).views())
    items = [_item(capture, load[capture.capture_id], context.clock_ms()) for capture in captures]
    return CaptureList(total=len(items), items=items)


@public.post("/captures/{capture_id}/drain", status_code=202, responses=examples.reply(examples.DRAINED, status=202))
def drain_capture(context: InContext, caller: Caller, capture_id: CaptureId) -> Drained:
    """Empties a capture: its changefeeds go to the others, one by one as each has ended its batch, and it takes nothing
    new. Repeat the call to see how many are left. It lasts until the capture is started anew, or `DELETE` of the
    same."""
    with context.database.write() as connection:
        captures = CaptureRepository(connection)
        views = {view.capture_id: view for view in captures.views() if view.lease_until_ms > context.clock_ms()}
        if capture_id not in views:
            raise CaptureNotExists(capture_id[:128])
        if not any(view.takes_work for name, view in views.items() if name != capture_id):
            raise SchedulerRequestFailed(f"no other capture can take what {capture_id} runs; start another one first")
        captures.order_drain(capture_id, drain=True)
        left = sum(view.capture_id == capture_id for view in context.feeds(connection).views())
    log.info("drain_ordered", capture=capture_id, who=caller)
    context.wake.set()
    return Drained(current_table_count=left)


@public.delete("/captures/{capture_id}/drain", responses=examples.reply({}))
def undrain_capture(context: InContext, caller: Caller, capture_id: CaptureId) -> dict[str, str]:
    """Lets a capture that was drained take changefeeds again."""
    with context.database.write() as connection:
        if not CaptureRepository(connection).order_drain(capture_id, drain=False):
            raise CaptureNotExists(capture_id[:128])
    log.info("drain_ended", capture=capture_id, who=caller)
    context.wake.set()
    return {}


@public.get("/processors", responses=examples.reply(examples.PROCESSORS))
def list_processors(context: InContext) -> ProcessorList:
    """Lists which capture runs which changefeed."""
    with context.database.read() as connection:
        held = [feed for feed in context.feeds(connection).summaries() if feed.capture_id]
    items = [
        ProcessorItem(
            keyspace=feed.keyspace, namespace=feed.keyspace, changefeed_id=feed.name, capture_id=feed.capture_id
        )
        for feed in held
    ]
    return ProcessorList(total=len(items), items=items)


@public.get("/processors/{changefeed_id}/{capture_id}", responses=examples.reply(examples.PROCESSOR))
def get_processor(context: InContext, name: Named, capture_id: CaptureId) -> Processor:
    """The tables of a changefeed on a capture: none have numbers here."""
    find(context, name)
    with context.database.read() as connection:
        if CaptureRepository(connection).get(capture_id) is None:
            raise CaptureNotExists(capture_id[:128])
    return Processor(table_ids=[])


def _item(capture: Capture, changefeeds: int, now_ms: int) -> CaptureItem:
    lost = capture.lease_until_ms <= now_ms
    return CaptureItem(
        id=capture.capture_id,
        is_owner=False,
        address=capture.address,
        cluster_id=CLUSTER_ID,
        state="lost" if lost else "draining" if capture.draining or capture.drain_ordered else "live",
        changefeeds=changefeeds,
        version=capture.version,
        spark_master=capture.spark_master,
        spark_version=capture.spark_version,
        spark_application_id=capture.spark_application_id,
        spark_ui_url=capture.spark_ui_url,
        registered_at=times.rfc3339(capture.registered_ms),
    )


def require_token(request: Request) -> None:
    """``Unauthorized`` unless the caller has the captures' token."""
    token = context_of(request).settings.capture_token
    given = request.headers.get("authorization", "")
    if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise Unauthorized("captures must send the token of WEIR_CAPTURE_TOKEN")


def beat_threads(request: Request) -> anyio.CapacityLimiter:
    """Threads that only heartbeats use, so that slow requests cannot hold them up."""
    limiter = getattr(request.app.state, "beat_threads", None)
    if limiter is None:
        limiter = request.app.state.beat_threads = anyio.CapacityLimiter(_THREADS_FOR_BEATS)
    return limiter


@internal.post("", dependencies=[Depends(require_token)])
async def register(request: Request) -> Response:
    registration = _read(await request.body(), Registration)
    context = context_of(request)
    reply = await _work(request, lambda beats: beats.register(registration, context.clock_ms()))
    context.wake.set()  # there is somebody new to give work to
    return _json(reply)


@internal.post("/{capture_id}/beat", dependencies=[Depends(require_token)])
async def beat(request: Request, capture_id: str) -> Response:
    heartbeat = _read(await request.body(), Heartbeat)
    if heartbeat.capture_id != capture_id:
        raise InvalidParam(f"the heartbeat of {heartbeat.capture_id} came under the name {capture_id}")
    context = context_of(request)
    reply = await _work(request, lambda beats: beats.beat(heartbeat, context.clock_ms()))
    return _json(reply)


@internal.delete("/{capture_id}", dependencies=[Depends(require_token)])
async def goodbye(request: Request, capture_id: str) -> Response:
    context = context_of(request)
    await _work(request, lambda beats: beats.goodbye(capture_id, context.clock_ms()))
    return Response(b"{}", media_type="application/json")


async def _work(request: Request, work: Callable[[Beats], R]) -> R:
    context = context_of(request)

    def in_transaction() -> tuple[R, list[int]]:
        with context.database.write() as connection:
            beats = Beats(connection, context.seal, context.settings)
            return work(beats), beats.released

    result, released = await anyio.to_thread.run_sync(in_transaction, limiter=beat_threads(request))
    if released:
        context.waiters.wake(released)
        context.wake.set()
    return result


def _read(body: bytes, kind: type[M]) -> M:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise InvalidParam(f"not a {kind.__name__}: {error}") from None


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
