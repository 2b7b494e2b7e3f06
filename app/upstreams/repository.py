"""All SQL about upstreams: named sources."""

import msgspec
from sqlalchemy import Connection, Row, delete, insert, select, update

from app.sealing import Seal
from app.tables import upstreams


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """A named source; ``source_uri`` in the clear."""

    id: int = 0
    name: str
    source_uri: str
    is_default: bool = False


class UpstreamRepository:
    """Upstreams within one transaction."""

    def __init__(self, connection: Connection, seal: Seal) -> None:
        self._connection = connection
        self._seal = seal

    def all(self) -> list[Upstream]:
        return [self._record(row) for row in self._connection.execute(select(upstreams).order_by(upstreams.c.id))]

    def get(self, upstream_id: int) -> Upstream | None:
        return self._one(upstreams.c.id == upstream_id)

    def by_name(self, name: str) -> Upstream | None:
        return self._one(upstreams.c.name == name)

    def default(self) -> Upstream | None:
        return self._one(upstreams.c.is_default.is_(True))

    def add(self, upstream: Upstream) -> Upstream:
        """Stores a new one. A new default takes the place of the old."""
        self._make_room(upstream)
        result = self._connection.execute(insert(upstreams).values(self._values(upstream)))
        assert result.inserted_primary_key is not None
        return msgspec.structs.replace(upstream, id=result.inserted_primary_key[0])

    def save(self, upstream: Upstream) -> None:
        self._make_room(upstream)
        self._connection.execute(update(upstreams).where(upstreams.c.id == upstream.id).values(self._values(upstream)))

    def delete(self, upstream_id: int) -> None:
        self._connection.execute(delete(upstreams).where(upstreams.c.id == upstream_id))

    def _make_room(self, upstream: Upstream) -> None:
        if upstream.is_default:
            self._connection.execute(update(upstreams).values(is_default=False))

    def _values(self, upstream: Upstream) -> dict[str, str | bool]:
        return {
            "name": upstream.name,
            "source_uri": self._seal.close(upstream.source_uri),
            "is_default": upstream.is_default,
        }

    def _one(self, condition: object) -> Upstream | None:
        row = self._connection.execute(select(upstreams).where(condition)).first()  # type: ignore[arg-type]
        return None if row is None else self._record(row)

    def _record(self, row: Row[tuple[object, ...]]) -> Upstream:
        values = dict(row._mapping)
        return Upstream(**values | {"source_uri": self._seal.open(values["source_uri"])})
