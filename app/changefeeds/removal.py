"""The end of a removed changefeed: its row goes, its output stays and holds nothing back."""

import structlog
from sqlalchemy import Connection

from app.changefeeds.record import Changefeed, State
from app.changefeeds.updates import sink_of
from app.context import Context
from app.leftovers.repository import LeftoverRepository
from spark_jobs.cdc.errors import WeirError
from spark_jobs.uris import masked

log = structlog.get_logger("weir.changefeeds")


def forget(context: Context, connection: Connection, feed: Changefeed | None, now_ms: int) -> None:
    """Deletes a removed changefeed that nobody runs any more; another one, or None, is left as it is. ``feed`` is read
    under a lock.

    The sink is told before the row is gone, so that a crash between the two only tells it again.
    """
    if feed is None or feed.state is not State.REMOVED or feed.capture_id:
        return
    _tell_sink(context, feed)
    LeftoverRepository(connection).add(feed, masked(feed.sink_uri), now_ms)
    context.feeds(connection).delete(feed)


def _tell_sink(context: Context, feed: Changefeed) -> None:
    """A sink that cannot be reached is left as it is."""
    try:
        sink = sink_of(feed, context.settings)
        if sink is not None:
            sink.ended(feed.wire_id)
    except (WeirError, OSError) as error:
        log.warning("sink_not_told", changefeed=feed.name, error=str(error))
