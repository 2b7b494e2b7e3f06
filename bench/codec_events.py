"""Rows for the codec benchmarks: four shapes, every row different, the same for the same number."""

from collections.abc import Callable
from typing import Final

import msgspec

from spark_jobs.cdc.events import Column, ColumnType, Index, RowChange, RowKind, TableSchema, Value

ROWS_PER_TRANSACTION: Final = 4
FIRST_TS: Final = 464_558_595_768_057_859
_TEXT: Final = (
    "the parcel was handed to a neighbour on the second floor; deliver after six; größere Menge auf Anfrage; "
)
_KINDS: Final = (RowKind.INSERT, RowKind.UPDATE, RowKind.INSERT, RowKind.DELETE)


def _column(name: str, type_name: str, **type_fields: int | bool) -> Column:
    return Column(name, ColumnType(type_name, **type_fields), is_key=name == "id")  # type: ignore[arg-type]


TEN: Final = (
    _column("id", "bigint"),
    _column("user_id", "int", unsigned=True),
    _column("status", "tinyint"),
    _column("amount", "decimal", length=12, scale=2),
    _column("name", "varchar", length=64),
    _column("email", "varchar", length=128),
    _column("created_at", "datetime", scale=0),
    _column("updated_at", "timestamp", scale=6),
    _column("note", "text"),
    _column("score", "double"),
)


def _again(part: int) -> tuple[Column, ...]:
    return tuple(msgspec.structs.replace(column, name=f"{column.name}_{part}", is_key=False) for column in TEN)


SHAPES: Final[dict[str, tuple[Column, ...]]] = {
    "4 columns": (TEN[0], TEN[1], TEN[4], TEN[6]),
    "10 columns": TEN,
    "100 columns": sum((_again(part) for part in range(1, 10)), TEN),
    "10 KB text": TEN,
}


class Rows:
    """The rows of one shape."""

    def __init__(self, shape: str) -> None:
        columns = SHAPES[shape]
        self._writers = [_VALUES[column.name.rstrip("_123456789")] for column in columns]
        self._long = shape == "10 KB text"
        self.table = TableSchema("shop", "orders", columns, (Index("PRIMARY", ("id",)),))

    def events(self, first: int, last: int) -> list[RowChange]:
        """Changes number ``first`` up to ``last``: half inserts, a quarter updates, a quarter deletes."""
        return [self._event(number) for number in range(first, last)]

    def _event(self, number: int) -> RowChange:
        kind = _KINDS[number % 4]
        ts = FIRST_TS + number // ROWS_PER_TRANSACTION
        row = self._row(number, number)
        return RowChange(
            kind=kind,
            table=self.table,
            before=row if kind is RowKind.DELETE else self._row(number, number + 7) if kind is RowKind.UPDATE else None,
            after=None if kind is RowKind.DELETE else row,
            commit_ts=ts,
            es_ms=ts >> 18,
            ts_ms=(ts >> 18) + 40,
        )

    def _row(self, key: int, number: int) -> tuple[Value, ...]:
        mixed = (number + 1) * 2_654_435_761 % 4_294_967_296
        row = [write(key, mixed + place * 97) for place, write in enumerate(self._writers)]
        if self._long:
            row[8] = f"{mixed} " + _TEXT * 95
        return tuple(row)


_VALUES: Final[dict[str, Callable[[int, int], Value]]] = {
    "id": lambda key, mixed: key,
    "user_id": lambda key, mixed: mixed % 900_000,
    "status": lambda key, mixed: mixed % 7,
    "amount": lambda key, mixed: f"{mixed % 90_000}.{mixed % 90 + 10}",
    "name": lambda key, mixed: f"Customer {mixed}",
    "email": lambda key, mixed: f"customer.{mixed % 900_000}@example.com",
    "created_at": lambda key, mixed: f"2026-02-{key % 28 + 1:02d} 08:51:01",
    "updated_at": lambda key, mixed: f"2026-02-27 {mixed % 24:02d}:{mixed % 60:02d}:01.{mixed % 900_000 + 100_000}",
    "note": lambda key, mixed: None if mixed % 16 == 0 else _TEXT[mixed % 40 :] + _TEXT[: mixed % 60],
    "score": lambda key, mixed: mixed % 1000 + 0.25,
}
