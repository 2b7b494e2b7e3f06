"""How a row is had from the texts of its image, which the view of ``canal_view.proto`` has in one list.

The rules stand in ``canal_protobuf/quick``.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from spark_jobs.cdc.codecs.canal_protobuf.images import Image, Read
from spark_jobs.cdc.codecs.pick import Pick, picker
from spark_jobs.cdc.events import Row
from spark_jobs.cdc.mysql.values import read_double, read_doubles, read_integer, read_integers
from spark_jobs.cdc.proto import canal_view_pb2 as views

_SURELY_64_BITS: Final = 18
"""Digits that fit 64 bits whatever they are."""

_MANY_NUMBERS: Final = 8


class _Many(msgspec.Struct, frozen=True, eq=False):
    """How a row with many numbers is had of its texts: numbers are read all at once, which saves nothing for a few.

    ``integers``, ``doubles``: pick the texts of these. ``row`` picks the row from the texts (the others are read by
    then), behind which come the integers and the doubles.
    """

    integers: Pick
    doubles: Pick
    row: Pick


class Columns(msgspec.Struct, frozen=True, eq=False):
    """The columns of an image, and how their values are read.

    ``integers`` and ``doubles`` are mostly written as Python writes them, which is quick to see; ``reads`` are others
    that are more than their text. ``zeros``: the writer spells out zeros, whatever the row.
    """

    image: Image
    integers: tuple[int, ...]
    doubles: tuple[int, ...]
    reads: tuple[tuple[int, Read], ...]
    many: _Many | None
    zeros: bool


class Layout(msgspec.Struct, frozen=True, eq=False):
    """An image with a certain set of NULLs: how many values there must be, and where the NULLs go."""

    columns: Columns
    count: int
    nulls: tuple[int, ...]


def layout_of(view: views.ImageView, known: Mapping[bytes, Columns]) -> Layout:
    """The layout of an image without its values.

    ``ValueError`` if its columns are not known, or rule 2 does not hold.
    """
    data = view.SerializeToString()
    flags = views.FlagsView.FromString(data)
    stated = flags.isNull[:]
    nulls = tuple([at for at, is_null in enumerate(stated) if is_null])
    some_zeros = bool(nulls) and False in flags.updated[:]
    columns = known.get(structure_of(flags))
    if columns is None:
        raise ValueError
    width = len(columns.image.table.columns)
    if nulls and not (len(stated) == width and (columns.zeros or some_zeros)):
        raise ValueError
    return Layout(columns, width - len(nulls), nulls)


def columns_of(image: Image, structure: bytes) -> Columns:
    integers = tuple(at for at, read in image.reads if read is read_integer)
    doubles = tuple(at for at, read in image.reads if read is read_double)
    others = tuple((at, read) for at, read in image.reads if read not in (read_integer, read_double))
    many = None
    if len(integers) + len(doubles) >= _MANY_NUMBERS:
        width = len(image.table.columns)
        behind = {at: width + turn for turn, at in enumerate((*integers, *doubles))}
        places = [behind.get(at, at) for at in range(width)]
        many = _Many(picker(integers), picker(doubles), picker(places))
    zeros = views.ZerosView.FromString(structure)
    return Columns(image, integers, doubles, others, many, 0 in zeros.index[:] or False in zeros.isKey[:])


def structure_of(flags: views.FlagsView) -> bytes:
    """What an image says of its columns apart from values, NULLs and the codes that depend on values."""
    for name in ("sqlType", "updated", "isNull"):
        flags.ClearField(name)
    structure: bytes = flags.SerializeToString()
    return structure


def values_of(layout: Layout, texts: list[Any]) -> Row:
    """The texts of an image as values. ``ValueError`` if the exact reader must have it."""
    if len(texts) != layout.count:
        raise ValueError
    for at in layout.nulls:
        texts.insert(at, None)
    columns = layout.columns
    for at, read in columns.reads:
        text = texts[at]
        if text is not None:
            texts[at] = read(text)
    many = columns.many
    if many is not None:
        try:
            numbers = read_integers(many.integers(texts)) + read_doubles(many.doubles(texts))
            return many.row(texts + numbers)
        except TypeError:  # one of the numbers is NULL
            pass
    for at in columns.integers:
        text = texts[at]
        if text is not None:
            number = texts[at] = int(text)
            if len(text) > _SURELY_64_BITS or str(number) != text:
                texts[at] = read_integer(text)
    for at in columns.doubles:
        text = texts[at]
        if text is not None:
            double = texts[at] = float(text)
            if repr(double) != text or double - double:  # the latter of NaN and infinity
                texts[at] = read_double(text)
    return tuple(texts)
