"""Columns as terms of a filter expression."""

from collections.abc import Callable
from typing import Final

from spark_jobs.cdc.events import ABSENT, BINARY_TYPES, CHOICE_TYPES, NUMBER_TYPES, Column, Row
from spark_jobs.cdc.filters.expression_terms import Term
from spark_jobs.cdc.filters.expression_values import Datum, Kind, exact
from spark_jobs.cdc.mysql.values import choice_number, to_names


def column_term(column: Column, place: int) -> Term:
    """The column at this place; NULL where a row does not carry it."""
    kind, read = _reading(column)

    def get(row: Row) -> Datum:
        value = row[place]
        return None if value is None or value is ABSENT else read(value)

    if column.type.name not in CHOICE_TYPES:
        return Term(kind, get, collation=column.type.collation)
    number = choice_number(column.type)
    names = to_names(column.type)

    def name(row: Row) -> Datum:
        value = row[place]
        if isinstance(value, int) and column.type.elements is None:
            raise ValueError(f"the elements of column {column.name!r} are not known, compare it with numbers")
        return None if value is None or value is ABSENT else names(value)

    def index(row: Row) -> Datum:
        value = row[place]
        return None if value is None or value is ABSENT else number(value)

    return Term(Kind.TEXT, name, collation=column.type.collation, choice=index)


_KINDS: Final[dict[str, Kind]] = (
    dict.fromkeys(NUMBER_TYPES, Kind.NUMBER)
    | dict.fromkeys(BINARY_TYPES, Kind.BYTES)
    | {"float": Kind.DOUBLE, "double": Kind.DOUBLE, "decimal": Kind.NUMBER}
    | {"date": Kind.DATE, "datetime": Kind.DATETIME, "timestamp": Kind.DATETIME, "time": Kind.TIME}
)


def _reading(column: Column) -> tuple[Kind, Callable[..., Datum]]:
    if column.type.name == "decimal":
        return Kind.NUMBER, exact
    return _KINDS.get(column.type.name, Kind.TEXT), lambda value: value
