"""Whose output folder is whose: two changefeeds share one only by consent."""

import os

from app.changefeeds import updates
from app.changefeeds.record import Changefeed
from app.context import Context
from app.errors import ApiError
from spark_jobs.sinks import SinkSpec


def require_own_folder(context: Context, feed: Changefeed, sink: SinkSpec) -> int:
    """``ApiError`` when another changefeed has the folder, unless adoption is asked for. The last uid that was
    compared."""
    with context.database.read() as connection:
        others = context.feeds(connection).made_after(0)
    require_other_folder(others, feed, sink, context)
    return max((other.uid for other in others), default=0)


def require_other_folder(others: list[Changefeed], feed: Changefeed, sink: SinkSpec, context: Context) -> None:
    """The same, compared with ``others``."""
    path = getattr(sink, "path", "")
    if not path or sink.adopt:
        return
    own = _real(path)
    for other in others:
        if other.uid == feed.uid or other.wire_id == feed.wire_id:
            continue
        theirs = updates.path_of(other, context.settings)
        if theirs and _overlap(own, _real(theirs)):
            how = "is that" if path == theirs else f"overlaps {theirs}, that"
            raise ApiError(
                f"sink_uri: the folder {path} {how} of changefeed {other.name}; choose another, or add adopt=restart",
                code="CDC:ErrSinkFolderNotEmpty",
            )


def _real(path: str) -> str:
    """The folder with symbolic links resolved, ending with a slash."""
    return os.path.realpath(path).rstrip("/") + "/"


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
