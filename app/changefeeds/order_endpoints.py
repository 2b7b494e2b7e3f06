"""Orders beside running: dead letters (list, show, retry, drop) and skipping one message or statement. Each is audited.

What captures have to carry out is refused while no capture is there that can: an order that nobody obeys is a lie.
"""

from collections.abc import Callable
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query
from msgspec.structs import replace

from app.captures.repository import CaptureRepository
from app.changefeeds import operations, schemas, shapes
from app.changefeeds.dead_letters import DeadLetter, DeadLetterFolder
from app.changefeeds.endpoints import Caller, InContext, Named
from app.changefeeds.operations import Name, remember
from app.changefeeds.record import UPDATABLE, Changefeed
from app.context import Context
from app.docs import examples
from app.errors import ApiError, InvalidParam, UpdateRefused
from spark_jobs.wire import CAN_RETRY, CAN_SKIP, DeadLetterRetry, Skip

router = APIRouter(prefix="/api/v2/changefeeds/{changefeed_id}", tags=["orders"])
LetterId = Annotated[str, Path(openapi_examples=examples.LETTER_ID, description="as in the list: FILE:LINE")]
_MOST_SKIPS: Final = 1000


@router.get("/dead_letters", responses=examples.reply(examples.DEAD_LETTERS))
def list_dead_letters(
    context: InContext,
    name: Named,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> shapes.DeadLetterList:
    """Messages that could not be decoded, with `bad-message=dead-letter` in the source URI; the oldest first."""
    feed = operations.find(context, name)
    found = list(DeadLetterFolder(context.settings.checkpoint_root, feed).all())
    items = [_item(feed, letter) for letter in found[offset : offset + limit]]
    return shapes.DeadLetterList(total=len(found), items=items)


@router.get("/dead_letters/{letter_id}", responses=examples.reply(examples.DEAD_LETTER))
def get_dead_letter(context: InContext, name: Named, letter_id: LetterId) -> shapes.DeadLetterReply:
    """One of them, with its bytes."""
    feed = operations.find(context, name)
    letter = DeadLetterFolder(context.settings.checkpoint_root, feed).get(letter_id)
    shown = _item(feed, letter).model_dump()
    text = letter.message.decode(errors="replace") if _is_text(letter.message) else None
    return shapes.DeadLetterReply(**shown, message_base64=letter.content.message, message_text=text)


@router.delete("/dead_letters/{letter_id}", responses=examples.reply({}))
def drop_dead_letter(context: InContext, caller: Caller, name: Named, letter_id: LetterId) -> dict[str, str]:
    """Forgets it for good."""
    feed = operations.find(context, name)
    folder = DeadLetterFolder(context.settings.checkpoint_root, feed)
    letter = folder.get(letter_id)
    folder.drop(letter)
    _audit(context, feed, "drop dead letter", caller, f"{letter.id}: {_place(letter)}: {letter.content.reason}")
    return {}


@router.post("/dead_letters/{letter_id}/retry", responses=examples.reply(examples.RETRIED))
def retry_dead_letter(context: InContext, caller: Caller, name: Named, letter_id: LetterId) -> shapes.RetryReply:
    """Has it decoded and delivered again by the next batch: once, whatever happens meanwhile. For after what was wrong
    with it has been put right (a table's structure, a codec's option)."""
    feed = operations.find(context, name)
    letter = DeadLetterFolder(context.settings.checkpoint_root, feed).get(letter_id)
    _require_able(context, CAN_RETRY, "deliver dead letters again")

    def ordered(before: Changefeed) -> Changefeed:
        number = max((one.retry_id for one in before.orders.retries), default=0) + 1
        order = DeadLetterRetry(retry_id=number, file=letter.file, line=letter.line)
        return replace(before, orders=replace(before.orders, retries=[*before.orders.retries, order]))

    after = _change(context, name, ordered, "retry dead letter", caller, f"{letter.id}: {_place(letter)}")
    return shapes.RetryReply(retry_id=after.orders.retries[-1].retry_id)


@router.get("/skips", responses=examples.reply(examples.SKIPS))
def list_skips(context: InContext, name: Named) -> shapes.SkipList:
    """The messages and statements that are not to be delivered."""
    found = operations.find(context, name).orders.skips
    items = [shapes.SkipItem(**{field: getattr(skip, field) for field in Skip.__struct_fields__}) for skip in found]
    return shapes.SkipList(total=len(items), items=items)


@router.post("/skips", responses=examples.reply(examples.SKIPS), openapi_extra=examples.body(examples.SKIP))
def skip(context: InContext, caller: Caller, name: Named, order: schemas.SkipRequest) -> shapes.SkipList:
    """Passes over one message, at the place that an error names, or one statement (DDL), by its commit-ts. The
    changefeed must be stopped or failed; resume it afterwards."""
    if bool(order.stream) == bool(order.commit_ts) or (order.stream and order.offset < 0):
        raise InvalidParam("give stream, partition and offset of a message, or commit_ts of a statement")
    _require_able(context, CAN_SKIP, "pass over a message")
    wanted = Skip(stream=order.stream, partition=order.partition, offset=order.offset, commit_ts=order.commit_ts)

    def ordered(before: Changefeed) -> Changefeed:
        if before.state not in UPDATABLE:
            raise UpdateRefused(f"changefeed {before.name} is {before.state}; pause it before something is skipped")
        if wanted in before.orders.skips:
            raise InvalidParam("that is to be skipped already")
        if len(before.orders.skips) >= _MOST_SKIPS:
            raise InvalidParam(
                f"{_MOST_SKIPS} are to be skipped already; use bad-message=dead-letter in the source URI"
            )
        return replace(before, orders=replace(before.orders, skips=[*before.orders.skips, wanted]))

    what = f"statement {order.commit_ts}" if order.commit_ts else f"{order.stream}/{order.partition}@{order.offset}"
    _change(context, name, ordered, "skip", caller, what)
    return list_skips(context, name)


def _item(feed: Changefeed, letter: DeadLetter) -> shapes.DeadLetterItem:
    ids = [one.retry_id for one in feed.orders.retries if one.file == letter.file and one.line in (-1, letter.line)]
    retry: Literal["", "ordered", "done"] = "" if not ids else "done" if max(ids) <= feed.orders.retried else "ordered"
    return shapes.DeadLetterItem(
        id=letter.id,
        stream=letter.content.stream,
        partition=letter.content.partition,
        offset=letter.content.offset,
        reason=letter.content.reason,
        bytes=len(letter.message),
        retry=retry,
    )


def _place(letter: DeadLetter) -> str:
    return f"{letter.content.stream}/{letter.content.partition}@{letter.content.offset}"


def _is_text(message: bytes) -> bool:
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True


def _require_able(context: Context, ability: str, what: str) -> None:
    with context.database.read() as connection:
        captures = CaptureRepository(connection).all()
    if not any(ability in (capture.abilities or []) for capture in captures):
        raise ApiError(f"no capture is registered that can {what}; nothing was ordered", code="CDC:ErrNoCapture")


def _change(
    context: Context, name: Name, make: Callable[[Changefeed], Changefeed], what: str, who: str, detail: str
) -> Changefeed:
    with context.database.write() as connection:
        feeds = context.feeds(connection)
        before = operations.existing(feeds, name, lock=True)
        after = feeds.save(before, make(before))
        remember(connection, before, after, what, who, context.clock_ms(), detail)
    return after


def _audit(context: Context, feed: Changefeed, what: str, who: str, detail: str) -> None:
    with context.database.write() as connection:
        remember(connection, feed, feed, what, who, context.clock_ms(), detail)
