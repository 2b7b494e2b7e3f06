"""The sample changefeed ``demo``: created once, on an empty database (``WEIR_DEMO``), so that a newcomer sees files."""

from typing import Final
from urllib.parse import quote

import structlog

from app.changefeeds import creation
from app.changefeeds.operations import Name
from app.changefeeds.record import DEFAULT_KEYSPACE
from app.changefeeds.schemas import CreateRequest
from app.context import Context
from app.history.repository import HistoryRepository
from app.owner.launcher import generator_of
from spark_jobs.cdc.errors import WeirError

__all__ = ["generator_of", "prepare"]

_SINK: Final = "protocol=canal-json&flush-interval=1s&enable-tidb-extension=true"
DEMO: Final = Name(DEFAULT_KEYSPACE, "demo")
log = structlog.get_logger("weir.demo")


def prepare(context: Context) -> bool:
    """Creates the changefeed if nothing was ever created here; True when the generator should run."""
    if not context.settings.wants_demo:
        return False
    home = context.settings.home / "demo"
    (home / "source").mkdir(parents=True, exist_ok=True)
    with context.database.read() as connection:
        exists = context.feeds(connection).by_name(DEMO.keyspace, DEMO.id) is not None
        is_new = HistoryRepository(connection).is_empty()
    if exists or not is_new:
        return exists
    order = CreateRequest(
        source_uri=f"file://{quote(str(home / 'source'))}?protocol=canal-json",
        sink_uri=f"file://{quote(str(home / 'output'))}?{_SINK}",
    )
    try:
        creation.create(context, DEMO, order, "weir")
    except WeirError as error:
        log.warning("demo_not_created", reason=str(error))
        return False
    return True
