"""Functions that write whole row images of one table, so that no row pays for deciding about its columns.

They are generated (``spark_jobs.cdc.memory``). In their texts ``c0`` is a value, ``t0`` its text, ``h0`` what stands
before the text, and the cells (``Cell`` of ``canal_protobuf/rows``) are ``s0`` by the length of the text, ``n0`` for
NULL, ``w0`` for the wider sqlType.

A row must be whole: without a row, for one of another length, for a column that is ABSENT and a value of another type
they raise whatever Python does (``TypeError``, ``ValueError``, ``AttributeError`` …).
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from spark_jobs.cdc.events import Row
from spark_jobs.cdc.memory import define

WriteImage: TypeAlias = Callable[[Row | None], bytes]
WriteImages: TypeAlias = Callable[[Row | None, Row | None], bytes]


class Cells(Protocol):
    """What a writer needs of a column of one image."""

    null: bytes

    @property
    def wide(self) -> "Cells": ...

    def __getitem__(self, length: int, /) -> bytes: ...


class TextForm(msgspec.Struct, frozen=True):
    """How a column's values become text.

    ``inline``: the same as an expression over ``{value}`` and ``{write}``, the name of the function; a call takes
    longer than most of them. ``limit``: numbers above it need the wider sqlType; None: none do.
    """

    write: Callable[[Any], bytes]
    inline: str
    limit: int | None


def image_writer(forms: Sequence[TextForm], cells: Sequence[Cells], end: bytes) -> WriteImage:
    """Writes the only image of a row; ``end`` is that of the last column."""
    lines = []
    for at, form in enumerate(forms):
        lines += [
            f"    if c{at} is None:",
            f"        h{at}, t{at} = n{at}, b''",
            "    else:",
            f"        t{at} = {_text(form, f'c{at}', at)}",
            f"        h{at} = {_cell(form, 's', f'c{at}', at)}[len(t{at})]",
        ]
    parts = "".join(f"h{at}, t{at}, " for at in range(len(forms)))
    source = [f"def made(row):\n    {_names('c', len(forms))} = row", *lines, f"    return join(({parts}end,))"]
    made: WriteImage = _define(source, forms, {"s": cells}, end)
    return made


def images_writer(
    forms: Sequence[TextForm], old: Sequence[Cells], same: Sequence[Cells], updated: Sequence[Cells], end: bytes
) -> WriteImages:
    """Writes both images of an update: ``old`` are the cells before it, ``same`` and ``updated`` those after it."""
    count = len(forms)
    lines = []
    for at, form in enumerate(forms):
        before, after = f"b{at}", f"c{at}"
        lines += [
            f"    if {before} is None:",
            f"        o{at}, u{at} = no{at}, b''",
            "    else:",
            f"        u{at} = {_text(form, before, at)}",
            f"        o{at} = {_cell(form, 'so', before, at)}[len(u{at})]",
            f"    if {after} is None:",
            f"        h{at}, t{at} = (nk{at} if {before} is None else n{at}), b''",
            "    else:",
            f"        t{at} = u{at} if {after} is {before} else {_text(form, after, at)}",
            f"        if t{at} == u{at} and {before} is not None:",
            f"            h{at} = {_cell(form, 'sk', after, at)}[len(t{at})]",
            "        else:",
            f"            h{at} = {_cell(form, 's', after, at)}[len(t{at})]",
        ]
    old_parts = "".join(f"o{at}, u{at}, " for at in range(count))
    parts = "".join(f"h{at}, t{at}, " for at in range(count))
    source = [
        f"def made(before, after):\n    {_names('b', count)} = before\n    {_names('c', count)} = after",
        *lines,
        f"    return join(({old_parts}end, {parts}end))",
    ]
    made: WriteImages = _define(source, forms, {"so": old, "sk": same, "s": updated}, end)
    return made


def _names(letter: str, count: int) -> str:
    return "".join(f"{letter}{at}, " for at in range(count)) or "()"


def _text(form: TextForm, value: str, at: int) -> str:
    return form.inline.format(value=value, write=f"f{at}")


def _cell(form: TextForm, cells: str, value: str, at: int) -> str:
    if form.limit is None:
        return f"{cells}{at}"
    return f"({cells.replace('s', 'w', 1)}{at} if {value} > {form.limit} else {cells}{at})"


def _define(source: list[str], forms: Sequence[TextForm], cells: dict[str, Sequence[Cells]], end: bytes) -> Any:
    scope: dict[str, object] = {"join": b"".join, "end": end}
    for at, form in enumerate(forms):
        scope[f"f{at}"] = form.write
        for name, listed in cells.items():
            scope[f"{name}{at}"] = listed[at]
            scope[f"{name.replace('s', 'n', 1)}{at}"] = listed[at].null
            scope[f"{name.replace('s', 'w', 1)}{at}"] = listed[at].wide
    return define("\n".join(source), scope)
