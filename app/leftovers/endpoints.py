"""``/api/v2/leftovers``: what removed changefeeds left behind."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field, WithJsonSchema

from app import times
from app.changefeeds.endpoints import InContext
from app.context import Context
from app.docs import examples
from app.errors import ApiError
from app.leftovers import cleaning, folders
from app.leftovers.repository import Leftover, LeftoverRepository

# The bounds stay out of the schema: a browser that reads it rounds them.
LeftoverId = Annotated[
    int,
    Path(ge=1, le=(1 << 63) - 1, openapi_examples=examples.UPSTREAM_ID),
    WithJsonSchema({"type": "integer", "format": "int64", "minimum": 1}),
]
router = APIRouter(prefix="/api/v2/leftovers", tags=["leftovers"])


class LeftoverItem(BaseModel):
    """One life of a changefeed that is over."""

    id: int
    keyspace: str
    changefeed_id: str
    create_time: str
    removed_time: str
    output: str = Field(description="its sink; what lies there is never cleaned")
    files: list[str] = Field(description="below the checkpoint folder: scratch and dead letters")
    bytes: int
    cleaned_at: str | None = Field(description="when it is cleaned by itself (WEIR_KEEP_REMOVED_DAYS); null: never")


class LeftoverList(BaseModel):
    total: int
    items: list[LeftoverItem]


@router.get("", responses=examples.reply(examples.LEFTOVERS))
def list_leftovers(context: InContext) -> LeftoverList:
    """Lists what removed changefeeds left: files below the checkpoint folder, and their history."""
    with context.database.read() as connection:
        found = LeftoverRepository(connection).all()
    return LeftoverList(total=len(found), items=[_item(context, left) for left in found])


@router.delete("/{leftover_id}", responses=examples.reply({}))
def clean_leftover(
    context: InContext,
    leftover_id: LeftoverId,
) -> dict[str, str]:
    """Cleans it now: its files, and its history unless a changefeed of that name goes on with it. Its output stays."""
    with context.database.read() as connection:
        left = LeftoverRepository(connection).get(leftover_id)
    if left is None:
        raise ApiError(
            f"there is no leftover {leftover_id}; list them with GET /api/v2/leftovers", code="CDC:ErrLeftoverNotExists"
        )
    cleaning.clean(context, left)
    return {}


def _item(context: Context, left: Leftover) -> LeftoverItem:
    folder = folders.folder_of(context.settings.checkpoint_root, left)
    files = folders.paths(folder, left)
    days = context.settings.keep_removed_days
    return LeftoverItem(
        id=left.uid,
        keyspace=left.keyspace,
        changefeed_id=left.name,
        create_time=times.rfc3339(left.created_ms),
        removed_time=times.rfc3339(left.removed_ms),
        output=left.output,
        files=files,
        bytes=sum(folders.bytes_of(path) for path in files),
        cleaned_at=times.rfc3339(left.removed_ms + days * cleaning.DAY_MS) if days else None,
    )
