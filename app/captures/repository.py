"""All SQL about captures."""

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from app.plan import CaptureView
from app.tables import captures
from spark_jobs.wire import Registration


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """One row: a capture that registered, and until when its lease lasts."""

    capture_id: str
    address: str
    pid: int
    version: str
    spark_master: str
    spark_version: str
    spark_application_id: str
    spark_ui_url: str
    registered_ms: int
    lease_until_ms: int
    draining: bool
    drain_ordered: bool | None = None
    abilities: list[str] | None = None


class CaptureRepository:
    """Captures within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[Capture]:
        rows = self._connection.execute(select(captures).order_by(captures.c.registered_ms, captures.c.capture_id))
        return [Capture(**row._mapping) for row in rows]

    def get(self, capture_id: str) -> Capture | None:
        row = self._connection.execute(select(captures).where(captures.c.capture_id == capture_id)).first()
        return None if row is None else Capture(**row._mapping)

    def views(self) -> list[CaptureView]:
        c = captures.c
        asked = select(c.capture_id, c.lease_until_ms, c.draining, c.drain_ordered, c.registered_ms)
        rows = self._connection.execute(asked.order_by(c.capture_id))
        return [CaptureView(**{**row._mapping, "drain_ordered": bool(row.drain_ordered)}) for row in rows]

    def order_drain(self, capture_id: str, *, drain: bool) -> bool:
        """An operator's order, which lasts as long as the capture; False when there is no such capture."""
        result = self._connection.execute(
            update(captures).where(captures.c.capture_id == capture_id).values(drain_ordered=drain)
        )
        return result.rowcount == 1

    def register(self, registration: Registration, *, now_ms: int, lease_until_ms: int) -> None:
        """Stores a capture, in the place of an earlier one of the same id."""
        self.delete(registration.capture_id)
        self._connection.execute(
            insert(captures).values(
                **msgspec.structs.asdict(registration),
                registered_ms=now_ms,
                lease_until_ms=lease_until_ms,
                draining=False,
            )
        )

    def renew(self, capture_id: str, *, lease_until_ms: int, draining: bool) -> bool:
        """Whether the capture is known; if so, its lease now lasts until then."""
        result = self._connection.execute(
            update(captures)
            .where(captures.c.capture_id == capture_id)
            .values(lease_until_ms=lease_until_ms, draining=draining)
        )
        return result.rowcount == 1

    def expire(self, capture_id: str, lease_until_ms: int) -> bool:
        """Forgets a capture whose lease has not been renewed since it was read."""
        result = self._connection.execute(
            delete(captures).where(captures.c.capture_id == capture_id, captures.c.lease_until_ms == lease_until_ms)
        )
        return result.rowcount == 1

    def cut(self, capture_id: str, lease_until_ms: int, to_ms: int) -> None:
        """Lets a lease that has not been renewed since it was read end earlier."""
        self._connection.execute(
            update(captures)
            .where(captures.c.capture_id == capture_id, captures.c.lease_until_ms == lease_until_ms)
            .values(lease_until_ms=to_ms)
        )

    def delete(self, capture_id: str) -> None:
        self._connection.execute(delete(captures).where(captures.c.capture_id == capture_id))
