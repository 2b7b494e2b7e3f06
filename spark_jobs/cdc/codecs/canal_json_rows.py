"""Functions over rows that are made for one list of columns, so that no row pays for deciding about its columns.

They are generated as source text, as ``dataclasses`` does it: a loop over the columns that need a conversion costs
twice as much per row. The text holds names of our own only (``c0``, ``f0`` …), nothing that comes with the data.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from spark_jobs.cdc.events import ABSENT, Row

Conversion: TypeAlias = Callable[[Any], Any] | None
"""From a column's value that is neither NULL nor ABSENT; None: it stays as it is."""

Finish: TypeAlias = Callable[[Row, bytes], Row]
"""From a row and the JSON that it was read from to the row with its final values."""


def row_finisher(
    conversions: Sequence[Conversion], doubles: Sequence[int], check: Callable[[float, Any], None]
) -> Finish:
    """A function that converts the values of a row, and has ``check(value, json)`` look at suspicious doubles.

    Suspicious are 0, NaN and infinity, where reading JSON is not exact.
    """
    names, functions = _names(conversions)
    converts = "".join(
        f"    if c{index} is not None and c{index} is not ABSENT:\n        c{index} = f{index}(c{index})\n"
        for index, conversion in enumerate(conversions)
        if conversion is not None
    )
    suspicious = "{0}.__class__ is float and (not {0} or {0} - {0})"
    checks = "".join(f"    if {suspicious.format(f'c{index}')}:\n        check(c{index}, json)\n" for index in doubles)
    source = f"def made(row, json):\n    {names} = row\n{converts}{checks}    return ({names})\n"
    made: Finish = _define(source, functions | {"check": check})
    return made


def object_maker(
    conversions: Sequence[Conversion], indexes: Sequence[int], make: Callable[..., object]
) -> Callable[[Row], object | None]:
    """A function from a row to ``make(text of each column in indexes)``; to None where one of these is ABSENT.

    ``conversions`` is parallel to the row. Raises ``ValueError`` for a row of another length.
    """
    names, functions = _names(conversions)
    absent = " or ".join(f"c{index} is ABSENT" for index in indexes) or "False"
    cells = ", ".join(_cell(index, conversions[index]) for index in indexes)
    source = f"def made(row):\n    {names} = row\n    if {absent}:\n        return None\n    return make({cells})\n"
    made: Callable[[Row], object | None] = _define(source, functions | {"make": make})
    return made


def _cell(index: int, conversion: Conversion) -> str:
    return f"c{index}" if conversion is None else f"None if c{index} is None else f{index}(c{index})"


def _names(conversions: Sequence[Conversion]) -> tuple[str, dict[str, object]]:
    names = "".join(f"c{index}, " for index in range(len(conversions))) or "()"
    return names, {f"f{index}": function for index, function in enumerate(conversions)}


def _define(source: str, functions: dict[str, object]) -> Any:
    scope: dict[str, object] = {"ABSENT": ABSENT, **functions}
    exec(source, scope)
    return scope["made"]
