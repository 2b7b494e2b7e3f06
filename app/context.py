"""What a request or a loop needs, in one value."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Connection
from starlette.requests import HTTPConnection

from app.changefeeds.repository import ChangefeedRepository
from app.database import Database
from app.sealing import Seal
from app.settings import Settings
from app.times import now_ms
from app.waiting import Waiters


@dataclass(frozen=True, slots=True)
class Context:
    """One replica. ``node_id``: its name, new for each process; ``wake``: set when there is something to plan."""

    settings: Settings
    database: Database
    seal: Seal
    node_id: str
    clock_ms: Callable[[], int] = now_ms
    wake: threading.Event = field(default_factory=threading.Event)
    waiters: Waiters = field(default_factory=Waiters)
    stop_seconds: float = 30.0

    def feeds(self, connection: Connection) -> ChangefeedRepository:
        """The changefeeds within a transaction."""
        return ChangefeedRepository(connection, self.seal)


def context_of(connection: HTTPConnection) -> Context:
    """The context of the application that serves this request."""
    context = connection.app.state.context
    assert isinstance(context, Context)
    return context
