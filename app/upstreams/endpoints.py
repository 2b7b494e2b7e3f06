"""``/api/v2/upstreams``: named sources."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field, WithJsonSchema

from app.changefeeds import validation
from app.context import Context, context_of
from app.docs import examples
from app.errors import ApiError, InvalidParam, UpstreamNotExists
from app.masking import kept_uri
from app.replica_config.go import Bool, GoModel
from app.upstreams.repository import Upstream, UpstreamRepository
from spark_jobs.uris import masked

router = APIRouter(prefix="/api/v2/upstreams", tags=["upstreams"])
InContext = Annotated[Context, Depends(context_of)]
UpstreamId = Annotated[
    int,
    Path(ge=1, le=(1 << 63) - 1, openapi_examples=examples.UPSTREAM_ID),
    WithJsonSchema({"type": "integer", "format": "int64", "minimum": 1}),
]


class UpstreamRequest(GoModel):
    """In a PUT, what is left out stays."""

    name: str | None = Field(default=None, max_length=128)
    source_uri: str | None = None
    default: Bool | None = None


class UpstreamReply(BaseModel):
    id: int
    name: str
    source_uri: str
    default: bool


class UpstreamList(BaseModel):
    total: int
    items: list[UpstreamReply]


@router.get("", responses=examples.reply(examples.UPSTREAM_LIST))
def list_upstreams(context: InContext) -> UpstreamList:
    """Lists the named sources, secrets masked."""
    with context.database.read() as connection:
        items = [_reply(upstream) for upstream in UpstreamRepository(connection, context.seal).all()]
    return UpstreamList(total=len(items), items=items)


@router.post("", responses=examples.reply(examples.UPSTREAM), openapi_extra=examples.body(examples.UPSTREAM_BODY))
def create_upstream(context: InContext, order: UpstreamRequest) -> UpstreamReply:
    """Gives a source a name, after proving that it can be read."""
    upstream = Upstream(name=order.name or "", source_uri=order.source_uri or "", is_default=bool(order.default))
    _check(context, upstream)
    with context.database.write_definitions() as connection:
        upstreams = UpstreamRepository(connection, context.seal)
        _require_free_name(upstreams, upstream)
        return _reply(upstreams.add(upstream))


@router.get("/{upstream_id}", responses=examples.reply(examples.UPSTREAM))
def get_upstream(context: InContext, upstream_id: UpstreamId) -> UpstreamReply:
    """One named source."""
    with context.database.read() as connection:
        return _reply(_existing(UpstreamRepository(connection, context.seal), upstream_id))


@router.put(
    "/{upstream_id}", responses=examples.reply(examples.UPSTREAM), openapi_extra=examples.body(examples.UPSTREAM_BODY)
)
def update_upstream(context: InContext, upstream_id: UpstreamId, order: UpstreamRequest) -> UpstreamReply:
    """Changes a named source. Changefeeds that exist keep the source they were created with."""
    with context.database.read() as connection:
        before = _existing(UpstreamRepository(connection, context.seal), upstream_id)
    after = Upstream(
        id=before.id,
        name=order.name or before.name,
        source_uri=kept_uri(order.source_uri, before.source_uri) if order.source_uri else before.source_uri,
        is_default=before.is_default if order.default is None else order.default,
    )
    _check(context, after)
    with context.database.write_definitions() as connection:
        upstreams = UpstreamRepository(connection, context.seal)
        _existing(upstreams, upstream_id)
        _require_free_name(upstreams, after)
        upstreams.save(after)
    return _reply(after)


@router.delete("/{upstream_id}", responses=examples.reply({}))
def delete_upstream(context: InContext, upstream_id: UpstreamId) -> dict[str, str]:
    """Forgets a named source that no changefeed was created from."""
    with context.database.write_definitions() as connection:
        upstreams = UpstreamRepository(connection, context.seal)
        upstream = _existing(upstreams, upstream_id)
        users = context.feeds(connection).count_using_upstream(upstream_id)
        if users:
            raise ApiError(
                f"upstream {upstream.name} is in use: {users} of the changefeeds were made from it; remove them first",
                code="CDC:ErrUpstreamInUse",
            )
        upstreams.delete(upstream_id)
    return {}


def _check(context: Context, upstream: Upstream) -> None:
    if not upstream.name.strip():
        raise InvalidParam("an upstream needs a name")
    if not upstream.name.isprintable():
        raise InvalidParam(f"the name {upstream.name!r} contains a character that cannot be shown")
    validation.reach_source(validation.source_of(upstream.source_uri, context.settings))


def _existing(upstreams: UpstreamRepository, upstream_id: int) -> Upstream:
    upstream = upstreams.get(upstream_id)
    if upstream is None:
        raise UpstreamNotExists(str(upstream_id))
    return upstream


def _require_free_name(upstreams: UpstreamRepository, upstream: Upstream) -> None:
    other = upstreams.by_name(upstream.name)
    if other is not None and other.id != upstream.id:
        raise InvalidParam(f"there is an upstream named {upstream.name!r} already")


def _reply(upstream: Upstream) -> UpstreamReply:
    return UpstreamReply(
        id=upstream.id, name=upstream.name, source_uri=masked(upstream.source_uri), default=upstream.is_default
    )
