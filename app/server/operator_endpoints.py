"""TiCDC's calls for operators: owner, log, and what it calls unsafe."""

import json
from typing import Any, Literal

import structlog
from fastapi import APIRouter
from pydantic import BaseModel, Field

from app import logs
from app.captures.repository import CaptureRepository
from app.changefeeds.endpoints import Caller, InContext, Keyspace
from app.changefeeds.schemas import PdFields
from app.changefeeds.shapes import NoticeReply, WarningsReply
from app.docs import examples
from app.errors import InvalidParam
from app.masking import masked_tree
from app.owner.lease import LeaseRepository
from app.replica_config.go import GoModel, Uint
from spark_jobs.uris import masked

router = APIRouter(prefix="/api/v2", tags=["operators"])
log = structlog.get_logger("weir.operator")


class LogRequest(GoModel):
    """``log_level``: debug, info, warn or error."""

    log_level: str = "info"


class RedactRequest(GoModel):
    """How secrets are shown in logs."""

    redact_info_log: Literal["off", "marker", "on"] = "on"


class Redacted(BaseModel):
    previous_mode: str
    current_mode: str


class MetadataItem(BaseModel):
    """``value`` is JSON text, secrets masked."""

    key: str
    value: str


class LockRequest(PdFields):
    """A region of TiKV, and a time."""

    region_id: Uint = 0
    ts: Uint = 0


class SafePointRequest(PdFields):
    """TiCDC's UpstreamConfig."""

    id: Uint = Field(default=0, description="of TiCDC; any number")


@router.post("/owner/resign", responses=examples.reply({}))
def resign_owner(context: InContext, caller: Caller) -> dict[str, str]:
    """Takes the owner lease from whoever holds it; the replicas, that one too, compete for it anew."""
    with context.database.write() as connection:
        LeaseRepository(connection).resign_anybody(context.clock_ms())
    log.info("owner_resigned", who=caller)
    context.wake.set()
    return {}


@router.post("/log", responses=examples.reply({}), openapi_extra=examples.body(examples.LOG_BODY, required=False))
def set_log_level(caller: Caller, order: LogRequest | None = None) -> dict[str, str]:
    """Sets how much this replica logs, until it ends."""
    wanted = (order or LogRequest()).log_level
    if not logs.set_level(wanted):
        raise InvalidParam(f"log_level {wanted[:50]!r} is none of {', '.join(logs.LEVELS)}")
    log.info("log_level", level=wanted, who=caller)
    return {}


@router.post(
    "/log/redact",
    responses=examples.reply(examples.REDACTED),
    openapi_extra=examples.body(examples.REDACT_BODY, required=False),
)
def redact_log(caller: Caller, order: RedactRequest | None = None) -> Redacted:
    """Secrets are always masked in Weir's logs; to show them is refused."""
    if order is not None and order.redact_info_log != "on":
        raise InvalidParam("redact_info_log can only be made stricter, and it is on: secrets are always masked")
    return Redacted(previous_mode="on", current_mode="on")


@router.get("/unsafe/metadata", responses=examples.reply(examples.METADATA))
def get_metadata(context: InContext) -> list[MetadataItem]:
    """What is stored about changefeeds, captures and the owner, as keys and values; secrets are masked."""
    found: dict[str, dict[str, Any]] = {}
    with context.database.read() as connection:
        for feed in context.feeds(connection).all():
            found[f"/weir/cdc/{feed.keyspace}/changefeed/info/{feed.name}"] = {
                "source-uri": masked(feed.source_uri),
                "sink-uri": masked(feed.sink_uri),
                "start-ts": feed.start_ts,
                "target-ts": feed.target_ts,
                "create-time": feed.created_ms,
                "creator-version": feed.creator_version,
                "epoch": feed.epoch,
                "state": feed.state.value,
                "config": masked_tree(json.loads(feed.replica_config)),
            }
            found[f"/weir/cdc/{feed.keyspace}/changefeed/status/{feed.name}"] = {
                "checkpoint-ts": feed.checkpoint_ts,
                "resolved-ts": feed.resolved_ts,
                "capture": feed.capture_id,
            }
        for capture in CaptureRepository(connection).all():
            found[f"/weir/cdc/capture/{capture.capture_id}"] = {"address": capture.address, "pid": capture.pid}
        lease = LeaseRepository(connection).current()
    if lease is not None:
        found["/weir/cdc/owner"] = {"id": lease.holder, "address": lease.address, "term": lease.term}
    return [MetadataItem(key=key, value=json.dumps(value)) for key, value in sorted(found.items())]


_NO_TIKV = "there is no TiKV here, so nothing was done"


@router.post(
    "/unsafe/resolve_lock", responses=examples.reply(examples.RESUMED), openapi_extra=examples.body(examples.LOCK_BODY)
)
def resolve_lock(keyspace: Keyspace, order: LockRequest) -> WarningsReply:
    """Of TiCDC: does nothing, and says so."""
    return WarningsReply(warnings=[NoticeReply(key="region_id", message=_NO_TIKV)])


@router.delete(
    "/unsafe/service_gc_safepoint",
    responses=examples.reply(examples.RESUMED),
    openapi_extra=examples.body(examples.TSO_BODY, required=False),
)
def delete_gc_safepoint(keyspace: Keyspace, order: SafePointRequest | None = None) -> WarningsReply:
    """Of TiCDC: there is no GC safe point to delete, and it says so."""
    return WarningsReply(warnings=[NoticeReply(key="id", message=_NO_TIKV)])
