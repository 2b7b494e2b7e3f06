"""The owner's lease: one row that the replicas compare and swap. All SQL about it."""

from typing import Final

import msgspec
from sqlalchemy import Connection, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from app.plan import MOST_AHEAD_MS, is_too_long
from app.tables import owner_lease

LEASE_MS: Final = 5_000
_ROW: Final = 1


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Who owns, since when, until when. ``term`` grows with every change of hands."""

    holder: str
    address: str
    term: int
    since_ms: int
    lease_until_ms: int

    def is_held(self, now_ms: int) -> bool:
        return self.holder != "" and self.lease_until_ms > now_ms and not is_too_long(self.lease_until_ms, now_ms)


class LeaseRepository:
    """The lease within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def current(self) -> Lease | None:
        columns = [owner_lease.c[name] for name in Lease.__struct_fields__]
        row = self._connection.execute(select(*columns).where(owner_lease.c.id == _ROW)).first()
        return None if row is None else Lease(**row._mapping)

    def acquire(self, holder: str, address: str, now_ms: int) -> bool:
        """Renews the holder's lease, or takes one that has ended. True: the holder owns until ``now_ms + LEASE_MS``."""
        lease = self.current()
        if lease is None:
            return self._insert(holder, address, now_ms)
        if lease.holder == holder:
            taken: dict[str, str | int] = {"lease_until_ms": now_ms + LEASE_MS}
        else:
            taken = _new_hands(holder, address, lease.term + 1, now_ms)
        c = owner_lease.c
        mine_or_free = or_(c.holder == holder, c.lease_until_ms <= now_ms, c.lease_until_ms > now_ms + MOST_AHEAD_MS)
        result = self._connection.execute(
            update(owner_lease).where(c.id == _ROW, c.term == lease.term, mine_or_free).values(taken)
        )
        return result.rowcount == 1

    def resign(self, holder: str) -> None:
        """Gives the lease up, so that another replica need not wait for its end."""
        self._connection.execute(
            update(owner_lease).where(owner_lease.c.holder == holder).values(holder="", lease_until_ms=0)
        )

    def resign_anybody(self, now_ms: int) -> None:
        """Takes the lease from whoever has it; for a moment nobody gets it, so that every replica has the same
        chance."""
        self._connection.execute(
            update(owner_lease).where(owner_lease.c.id == _ROW).values(holder="", lease_until_ms=now_ms + LEASE_MS // 4)
        )

    def _insert(self, holder: str, address: str, now_ms: int) -> bool:
        try:
            with self._connection.begin_nested():
                self._connection.execute(insert(owner_lease).values(id=_ROW, **_new_hands(holder, address, 1, now_ms)))
        except IntegrityError:
            return False
        return True


def _new_hands(holder: str, address: str, term: int, now_ms: int) -> dict[str, str | int]:
    return {
        "holder": holder,
        "address": address,
        "term": term,
        "since_ms": now_ms,
        "lease_until_ms": now_ms + LEASE_MS,
    }
