"""Cleans what removed changefeeds left, when it is older than ``WEIR_KEEP_REMOVED_DAYS``. Called by the owner's
loop."""

from typing import Final

import structlog

from app.context import Context
from app.leftovers import folders
from app.leftovers.repository import Leftover, LeftoverRepository

DAY_MS: Final = 86_400_000
log = structlog.get_logger("weir.leftovers")


def clean_old(context: Context) -> int:
    """How many were cleaned."""
    days = context.settings.keep_removed_days
    if not days:
        return 0
    with context.database.read() as connection:
        old_ms = context.clock_ms() - days * DAY_MS
        old = [left for left in LeftoverRepository(connection).all() if left.removed_ms < old_ms]
    for left in old:
        clean(context, left)
    return len(old)


def clean(context: Context, left: Leftover) -> None:
    """Files first: what fails in between is still listed."""
    folders.clean(folders.folder_of(context.settings.checkpoint_root, left), left)
    with context.database.write() as connection:
        LeftoverRepository(connection).forget(left)
    log.info("leftover_cleaned", changefeed=left.name, keyspace=left.keyspace, removed_ms=left.removed_ms)
