"""Functions that write whole row messages of one table and kind, so that no row pays for deciding about its columns.

They are generated (``spark_jobs.cdc.memory``). In their texts ``c0`` and ``b0`` are values of the row and of the one
before the change, ``f0`` the conversion of a column.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_json.layout import CANAL_ROW, NEXT_ROW, TAIL, Times, marked_tail
from spark_jobs.cdc.codecs.canal_json.options import EncodeOptions
from spark_jobs.cdc.codecs.canal_json.rows import Conversion
from spark_jobs.cdc.codecs.canal_json.text import JSON, go_escaped, json_of, json_of_any_text
from spark_jobs.cdc.events import ABSENT, DELETE, UPDATE, Row, RowChange, RowKind
from spark_jobs.cdc.memory import define, is_plain
from spark_jobs.cdc.mysql.types import Dialect

WriteMessage: TypeAlias = Callable[[RowChange], bytes | None]


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """How messages of one table and kind are written.

    ``conversions`` is parallel to the row; ``indexes`` are the columns that a message holds, and ``make`` gives of
    their texts what JSON writes as an object. ``usual`` is what messages have in common if ``is_usual``, an expression
    over the row's values, holds; ``unusual(row)`` if it does not. ``changes(before, after)`` is ``old`` with the
    changed columns alone, ``cells(before)`` with those that the row has.
    """

    kind: RowKind
    options: EncodeOptions
    conversions: Sequence[Conversion]
    indexes: Sequence[int]
    make: Callable[..., object]
    is_usual: str
    usual: tuple[Any, ...]
    unusual: Callable[[Row], tuple[Any, ...]]
    changes: Callable[[Row, Row], object]
    cells: Callable[[Row], object]
    times: Times


def message_writer(form: Pattern) -> WriteMessage:
    """Writes the message of a change; None where the row lacks a column, or a mark of the change has no place.

    For a change without its row and for values of another type it raises whatever Python does (``TypeError``,
    ``ValueError``, ``AttributeError``).
    """
    if is_plain():
        return lambda change: _plain_message(change, form)
    missing = [f"c{index} is ABSENT" for index in form.indexes]
    if not form.options.extension:
        missing += ["change.only_handle_key", "change.claim_check"]
    source = f"""
def made(change):
    row = change.{"before" if form.kind is DELETE else "after"}
    {_names("c", form)} = row
    if {" or ".join(missing) or "False"}:
        return None
    new_row = make({_cells("c", form)})
{_rows(form)}    es = change.es_ms or physical_ms(change.commit_ts)
    ts = change.ts_ms or es
{_canal(form) if form.options.dialect is Dialect.CANAL else _ticdc(form)}"""
    functions = {f"f{index}": function for index, function in enumerate(form.conversions)}
    own = {name: getattr(form, name) for name in ("make", "usual", "unusual", "changes", "cells", "times")}
    made: WriteMessage = define(source, _NAMES | functions | own)
    return made


def parts_finder(form: Pattern) -> Callable[[Row], tuple[Any, ...]]:
    """From a row to what its message has in common with others; raises as ``message_writer``."""
    if is_plain():
        return form.unusual
    source = f"def made(row):\n    {_names('c', form)} = row\n    return usual if {form.is_usual} else unusual(row)\n"
    made: Callable[[Row], tuple[Any, ...]] = define(source, {"usual": form.usual, "unusual": form.unusual})
    return made


def usual_row(limits: Sequence[tuple[int, int]], never_null: Sequence[int]) -> str:
    """An expression: the columns in ``limits`` are numbers up to a limit, and those in ``never_null`` are not NULL."""
    tests = [f"c{index} is not None and c{index} <= {limit}" for index, limit in limits]
    tests += [f"c{index} is not None" for index in never_null]
    return " and ".join(tests) or "True"


def _names(letter: str, form: Pattern) -> str:
    return "".join(f"{letter}{index}, " for index in range(len(form.conversions))) or "()"


def _cells(letter: str, form: Pattern) -> str:
    return ", ".join(_cell(f"{letter}{index}", index, form.conversions[index]) for index in form.indexes)


def _cell(value: str, index: int, conversion: Conversion) -> str:
    if conversion is None:
        return value
    text = f"f'{{{value}}}'" if conversion is str else f"f{index}({value})"  # the same, without a call
    return f"None if {value} is None else {text}"


def _rows(form: Pattern) -> str:
    """``new`` and, of an update, ``old`` as JSON."""
    if form.kind is not UPDATE:
        return """
    try:
        new = encode(new_row)
    except UnicodeEncodeError:
        new = json_of_any_text(new_row)
"""
    if form.options.only_updated:
        old = "    old_row = changes(change.before, row)"
    else:
        missing = " or ".join(f"b{index} is ABSENT" for index in form.indexes) or "False"
        old = f"""
    {_names("b", form)} = change.before
    old_row = cells(change.before) if {missing} else make({_cells("b", form)})"""
    return f"""{old}
    try:
        new, old = encode(new_row), encode(old_row)
    except UnicodeEncodeError:
        new, old = json_of_any_text(new_row), json_of_any_text(old_row)
"""


def _ticdc(form: Pattern) -> str:
    if form.kind is UPDATE:
        rows, parts = f"{_escaped('old')}{_escaped('new')}", "old, NEXT_ROW, new"
    else:
        rows, parts = _escaped("new"), "new"
        if form.kind is DELETE and form.options.delete_old:
            parts = "new, NEXT_ROW, new"
    return f"""{rows}
    head, middle = usual if {form.is_usual} else unusual(row)
    if es != times.es or ts != times.ts:
        times.set(es, ts)
{_TAIL_WITH_TS if form.options.extension else "    tail = TAIL"}
    return join((head, times.times, middle, {parts}, tail))
"""


def _escaped(rows: str) -> str:
    """The test of ``go_escaped``, here because nearly all rows pass it."""
    return f"""
    if 60 in {rows} or 62 in {rows} or 38 in {rows} or 92 in {rows} or 0xE2 in {rows}:
        {rows} = go_escaped({rows})
"""


_TAIL_WITH_TS: Final = """
    if change.row_key or change.only_handle_key or change.claim_check:
        tail = marked_tail(change.commit_ts, change.only_handle_key, change.claim_check, change.row_key)
    else:
        if change.commit_ts != times.commit_ts:
            times.set_commit_ts(change.commit_ts)
        tail = times.tail
"""


def _canal(form: Pattern) -> str:
    return f"""
    database, middle, names, type_ = usual if {form.is_usual} else unusual(row)
    gtid = json_of(change.origin.gtid, CANAL)
    old = {'b"[%b]" % old' if form.kind is UPDATE else 'b"null"'}
    return CANAL_ROW % (new, database, es, gtid, change.sequence, middle, old, names, ts, type_)
"""


_NAMES: Final[dict[str, object]] = {
    "ABSENT": ABSENT,
    "CANAL": Dialect.CANAL,
    "CANAL_ROW": CANAL_ROW,
    "NEXT_ROW": NEXT_ROW,
    "TAIL": TAIL,
    "encode": JSON.encode,
    "go_escaped": go_escaped,
    "join": b"".join,
    "json_of": json_of,
    "json_of_any_text": json_of_any_text,
    "marked_tail": marked_tail,
    "physical_ms": tso.physical_ms,
}


def _plain_message(change: RowChange, form: Pattern) -> bytes | None:
    """The same without a function of its own."""
    row = change.before if form.kind is DELETE else change.after
    if row is None or len(row) != len(form.conversions):
        raise ValueError("the row has not one value for each column")
    if any(row[index] is ABSENT for index in form.indexes):
        return None
    if not form.options.extension and (change.only_handle_key or change.claim_check):
        return None
    rows = [_plain_json(form.make(*_plain_cells(row, form)))]
    if form.kind is UPDATE:
        rows.insert(0, _plain_json(_plain_old(change.before, row, form)))
    es = change.es_ms or tso.physical_ms(change.commit_ts)
    ts = change.ts_ms or es
    if form.options.dialect is Dialect.CANAL:
        database, middle, names, type_ = form.unusual(row)
        gtid = json_of(change.origin.gtid, Dialect.CANAL)
        old = b"[%b]" % rows[0] if form.kind is UPDATE else b"null"
        return CANAL_ROW % (rows[-1], database, es, gtid, change.sequence, middle, old, names, ts, type_)
    if form.kind is DELETE and form.options.delete_old:
        rows *= 2
    head, middle = form.unusual(row)
    tail = TAIL
    if form.options.extension:
        tail = marked_tail(change.commit_ts, change.only_handle_key, change.claim_check, change.row_key)
    return b"".join((head, b'%d,"ts":%d' % (es, ts), middle, NEXT_ROW.join(map(go_escaped, rows)), tail))


def _plain_old(before: Row | None, row: Row, form: Pattern) -> object:
    if before is None or len(before) != len(form.conversions):
        raise ValueError("the old row has not one value for each column")
    if form.options.only_updated:
        return form.changes(before, row)
    if any(before[index] is ABSENT for index in form.indexes):
        return form.cells(before)
    return form.make(*_plain_cells(before, form))


def _plain_cells(row: Row, form: Pattern) -> list[str | None]:
    cells: list[Any] = []
    for index in form.indexes:
        value, convert = row[index], form.conversions[index]
        cells.append(value if value is None or convert is None else convert(value))
    return cells


def _plain_json(row: object) -> bytes:
    try:
        return JSON.encode(row)
    except UnicodeEncodeError:
        return json_of_any_text(row)
