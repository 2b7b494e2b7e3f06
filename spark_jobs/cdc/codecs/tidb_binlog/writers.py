"""Functions that write whole rows of one table as TiDB Binlog's columns, so that no row pays for deciding about them.

They are generated (``spark_jobs.cdc.memory``). In their texts ``c0`` is a value, ``f0`` what writes any value of the
column, ``h0`` and ``t0`` its cell in two parts. Cells are those of ``tidb_binlog/cells``.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from spark_jobs.cdc.codecs.protobuf_bytes import LAST, MORE, varint
from spark_jobs.cdc.codecs.tidb_binlog.cells import NULL_CELL, Cell
from spark_jobs.cdc.codecs.tidb_binlog.values import BYTES, INT, STRING, UINT, Form, form_of
from spark_jobs.cdc.events import ColumnType, Row
from spark_jobs.cdc.memory import define, is_plain

WriteRow: TypeAlias = Callable[[Row], bytes]

_COLUMN: Final = b"\x0a"
_REMEMBERED: Final = 1 << 12


class Heads(dict[int, bytes]):
    """What stands before a text in its cell, by the length of the text; the short ones are remembered."""

    def __init__(self, field: int) -> None:
        super().__init__()
        self._tag = bytes((field,))

    def __missing__(self, length: int) -> bytes:
        size = varint(length)
        head = _COLUMN + varint(1 + len(size) + length) + self._tag + size
        if length < _REMEMBERED:
            self[length] = head
        return head


def row_writer(types: Sequence[ColumnType], cells: Sequence[Cell]) -> WriteRow:
    """Writes rows; for a row that is not whole or has a value of another type it raises whatever Python does."""
    if is_plain():
        return lambda row: b"".join(
            [NULL_CELL if value is None else cell(value) for cell, value in zip(cells, row, strict=True)]
        )
    lines = []
    for at, type_ in enumerate(types):
        text = _TEXTS.get(form_of(type_.name), "        h{at}, t{at} = f{at}(c{at}), b''")
        lines += [
            f"    if c{at} is None:",
            f"        h{at}, t{at} = NULL, b''",
            "    else:",
            text.format(at=at, heads="unsigned" if type_.unsigned else "signed"),
        ]
    names = "".join(f"c{at}, " for at in range(len(types))) or "()"
    parts = "".join(f"h{at}, t{at}, " for at in range(len(types)))
    source = "\n".join([f"def made(row):\n    {names} = row", *lines, f"    return join(({parts}))"])
    made: WriteRow = define(source, _NAMES | {f"f{at}": cell for at, cell in enumerate(cells)})
    return made


_INTEGER: Final = """
        if 0 <= c{at} < 16384:
            t{at} = last[c{at}]
            h{at} = {heads}[len(t{at})]
        elif 0 <= c{at} < 268435456:
            t{at} = more[c{at} & 16383] + last[c{at} >> 14]
            h{at} = {heads}[len(t{at})]
        else:
            h{at}, t{at} = f{at}(c{at}), b''
"""

_TEXTS: Final[dict[Form, str]] = {
    Form.INTEGER: _INTEGER,
    Form.TEXT: "        t{at} = c{at}.encode()\n        h{at} = string[len(t{at})]",
    Form.JSON: "        t{at} = c{at}.encode()\n        h{at} = data[len(t{at})]",
}
"""How the usual values of a form are written; all others by the column's own function."""

_NAMES: Final[dict[str, object]] = {
    "NULL": NULL_CELL,
    "data": Heads(BYTES),
    "join": b"".join,
    "last": LAST,
    "more": MORE,
    "signed": [_COLUMN + bytes((size + 1, INT)) for size in range(5)],
    "string": Heads(STRING),
    "unsigned": [_COLUMN + bytes((size + 1, UINT)) for size in range(5)],
}
