"""Readers of rows that are made for one list of columns, so that no row pays for deciding about its columns.

They are generated (``spark_jobs.cdc.memory``): a loop over the columns that need a conversion costs twice as much per
row.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec.structs import astuple

from spark_jobs.cdc.events import ABSENT, Row
from spark_jobs.cdc.memory import define, is_plain

Conversion: TypeAlias = Callable[[Any], Any] | None
"""From a column's value that is neither NULL nor ABSENT; None: it stays as it is."""

R = TypeVar("R")


def row_reader(
    read: Callable[[Any], object],
    conversions: Sequence[Conversion],
    doubles: Sequence[int],
    check: Callable[[float, Any], None],
    refused: tuple[type[Exception], ...],
    otherwise: Callable[[Any], R],
) -> Callable[[Any], Row | R]:
    """A function from the JSON of a row to its values.

    ``read`` gives a struct whose fields are the columns, ``c0`` and so on. Its values are converted, and
    ``check(value, json)`` looks at suspicious doubles: 0, NaN and infinity, where reading JSON is not exact. Where any
    of them raises what ``refused`` names, the row is ``otherwise(json)``.
    """
    if is_plain():
        return _plain_reader(read, conversions, doubles, check, refused, otherwise)
    functions = {f"f{index}": function for index, function in enumerate(conversions)}
    has_value = "        c = row.c{0}\n        if c is not None and c is not ABSENT"
    converts = [
        f"{has_value.format(index)}:\n            row.c{index} = f{index}(c)\n"
        for index, conversion in enumerate(conversions)
        if conversion is not None
    ]
    checks = [f"{has_value.format(index)} and (not c or c - c):\n            check(c, json)\n" for index in doubles]
    source = f"""
def made(json):
    try:
        row = read(json)
{"".join(converts + checks)}        return astuple(row)
    except refused:
        return otherwise(json)
"""
    names = {"ABSENT": ABSENT, "read": read, "check": check, "refused": refused, "otherwise": otherwise}
    names["astuple"] = astuple
    made: Callable[[Any], Row | R] = define(source, functions | names)
    return made


def _plain_reader(
    read: Callable[[Any], object],
    conversions: Sequence[Conversion],
    doubles: Sequence[int],
    check: Callable[[float, Any], None],
    refused: tuple[type[Exception], ...],
    otherwise: Callable[[Any], R],
) -> Callable[[Any], Row | R]:
    def value_of(index: int, value: Any, json: Any) -> Any:
        if value is None or value is ABSENT:
            return value
        if index in doubles and (not value or value - value):
            check(value, json)
        convert = conversions[index]
        return value if convert is None else convert(value)

    def row_of(json: Any) -> Row | R:
        try:
            return tuple([value_of(index, value, json) for index, value in enumerate(astuple(read(json)))])  # type: ignore[arg-type]
        except refused:
            return otherwise(json)

    return row_of
