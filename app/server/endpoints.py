"""The server itself: status, health, the TSO, liveness, readiness, metrics."""

import os
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from app import TICDC_VERSION, VERSION
from app.captures.endpoints import CLUSTER_ID
from app.changefeeds.endpoints import moment_of
from app.changefeeds.schemas import PdFields
from app.context import Context, context_of
from app.docs import examples
from app.errors import NotReady, Unhealthy
from app.owner.lease import Lease, LeaseRepository
from app.replica_config.go import Uint
from app.server.metrics import Metrics

router = APIRouter(tags=["server"])
InContext = Annotated[Context, Depends(context_of)]


class ServerStatus(BaseModel):
    """``version`` is the TiCDC version whose API this is; ``liveness`` 0: alive."""

    version: str
    git_hash: str
    id: str
    cluster_id: str
    pid: int
    is_owner: bool
    liveness: int
    weir_version: str


class TsoRequest(PdFields):
    """What `cdc cli` sends with it; none of it matters here."""

    id: Uint = 0


class Tso(BaseModel):
    """``timestamp``: milliseconds since 1970."""

    timestamp: int
    logic_time: int


@router.get("/api/v2/status", responses=examples.reply(examples.SERVER_STATUS))
@router.get("/status", include_in_schema=False)
def get_server_status(context: InContext) -> ServerStatus:
    """This replica. `cdc cli` asks it before each command."""
    lease = _lease(context)
    return ServerStatus(
        version=TICDC_VERSION,
        git_hash="",
        id=context.node_id,
        cluster_id=CLUSTER_ID,
        pid=os.getpid(),
        is_owner=lease is not None and lease.holder == context.node_id and lease.is_held(context.clock_ms()),
        liveness=0,
        weir_version=VERSION,
    )


@router.get("/api/v2/health", responses=examples.reply({}))
def get_health(context: InContext) -> dict[str, str]:
    """Empty when something can run: the database answers, there is an owner, and a capture that takes work."""
    _require_owner(context)
    moment = moment_of(context)
    if not moment.takers:
        why = "every capture is draining" if moment.captures else "no capture is registered"
        raise Unhealthy(f"{why}, so no changefeed can run; see GET /api/v2/captures")
    return {}


@router.post(
    "/api/v2/tso",
    responses=examples.reply(examples.TSO),
    openapi_extra=examples.body(examples.TSO_BODY, required=False),
)
def get_tso(context: InContext, order: TsoRequest | None = None) -> Tso:
    """This moment, as the parts of a TSO."""
    return Tso(timestamp=context.clock_ms(), logic_time=0)


@router.get("/livez", responses=examples.reply(examples.ALIVE))
async def get_livez() -> dict[str, str]:
    """The process is up."""
    return {"status": "alive"}


@router.get("/readyz", responses=examples.reply(examples.READY))
def get_readyz(context: InContext) -> dict[str, str]:
    """The database is at this version's tables, and an owner is there."""
    try:
        at_head = context.database.at_head()
    except SQLAlchemyError:
        raise NotReady("the database does not answer") from None
    if not at_head:
        raise NotReady("the database's tables are not those of this version; start one replica of it to migrate them")
    _require_owner(context)
    return {"status": "ready"}


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {"example": "# HELP …"}}}})
def get_metrics(request: Request, context: InContext) -> Response:
    """Prometheus metrics, under TiCDC's names where it has them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Metrics(context))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _lease(context: Context) -> Lease | None:
    with context.database.read() as connection:
        return LeaseRepository(connection).current()


def _require_owner(context: Context) -> None:
    try:
        lease = _lease(context)
    except SQLAlchemyError:
        raise NotReady("the database does not answer") from None
    if lease is None or not lease.is_held(context.clock_ms()):
        raise NotReady("no replica holds the owner lease")
