"""Writes rows of one format in another: the one door for everything that is faster than decoding and encoding.

Rules

1. ``SHORTCUTS`` names the pairs of formats with a way of their own. It is told the long way, and takes it for every row
   that its own cannot serve.
2. The long way: rows, their values, with what is known of their structure beyond the message, the target's encoder.
3. A call writes whole messages. So an encoder that gathers, be it transactions or packets, is flushed after each.
4. CSV knows its terminator itself, because a row change may be two of its rows.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pkgutil import resolve_name
from typing import Final, Protocol, TypeAlias, cast

import msgspec

from spark_jobs.cdc.codec import Opener, Rows, RowWriter
from spark_jobs.cdc.errors import ConfigError, EncodeError
from spark_jobs.cdc.events import RowChange, TableSchema

StructureOf: TypeAlias = Callable[[TableSchema, int], TableSchema]
"""From a structure as a message tells it, and a commit-ts, to what is known of it then."""

Encode: TypeAlias = Callable[[Sequence[RowChange]], list[bytes]]
"""Rows to what stands in the sink, terminators included."""


class Shortcut(Protocol):
    """Makes the writer of a pair of formats from options, terminator and the long way."""

    def __call__(self, options: Mapping[str, str], terminator: bytes, otherwise: RowWriter, /) -> RowWriter: ...


SHORTCUTS: Final[dict[tuple[str, str], str]] = {
    ("canal-json", "canal-json"): "spark_jobs.cdc.codecs.canal_json.passing:passing_writer",
}
"""By source and target, where the ``Shortcut`` is."""


def row_writer(
    opener: Opener,
    to: str,
    options: Mapping[str, str],
    terminator: bytes,
    structure_of: StructureOf | None = None,
) -> RowWriter:
    """A writer of rows that ``opener`` opened, in the format ``to`` with its encoder's ``options``.

    ``terminator`` stands behind each message; binary ones mostly have none. ``structure_of`` adds to the structure of
    rows whose values are written; rows that pass through as they are do not need it. Raises ``ConfigError``.
    """
    values = _ValuesWriter(_encode(to, options, terminator), structure_of)
    path = SHORTCUTS.get((opener.protocol, to))
    if path is None:
        return values
    return cast(Shortcut, resolve_name(path))(options, terminator, values)


def header(to: str, options: Mapping[str, str], terminator: bytes) -> Callable[[TableSchema], bytes]:
    """What a data file of rows of a table begins with."""
    if to == "csv":
        from spark_jobs.cdc.codecs.csv.format import csv_format

        form = csv_format(_csv_options(options, terminator))
        if form.output_field_header:
            return form.header
    return lambda table: b""


class _ValuesWriter:
    """The long way."""

    def __init__(self, encode: Encode, structure_of: StructureOf | None) -> None:
        self._encode = encode
        self._structure_of = structure_of

    def rows(self, rows: Rows, commit_ts: int, output: bytearray, /) -> None:
        self.changes(rows.changes(), commit_ts, output)

    def changes(self, changes: Sequence[RowChange], commit_ts: int, output: bytearray, /) -> None:
        output += b"".join(self._encode(self._with_structure(changes, commit_ts)))

    def _with_structure(self, changes: Sequence[RowChange], commit_ts: int) -> Sequence[RowChange]:
        """The rows with what is known of their tables, and with this commit-ts."""
        tables = {id(change.table): change.table for change in changes}
        if self._structure_of is not None:
            tables = {key: self._structure_of(table, commit_ts) for key, table in tables.items()}
        if all(tables[id(change.table)] is change.table and change.commit_ts == commit_ts for change in changes):
            return changes
        replace = msgspec.structs.replace
        return [replace(change, table=tables[id(change.table)], commit_ts=commit_ts) for change in changes]


def _encode(to: str, options: Mapping[str, str], terminator: bytes) -> Encode:
    if to == "csv":
        from spark_jobs.cdc.codecs.csv.encoder import Encoder

        encode_row = Encoder(_csv_options(options, terminator)).encode_row
        return lambda changes: [encode_row(change) for change in changes]
    from spark_jobs.cdc.codecs import codec

    make = codec(to).encoder
    if make is None:
        raise ConfigError(f"protocol {to!r} can be read and not written", code="CDC:ErrSinkUnknownProtocol")
    encoder = make(options)

    def encode(changes: Sequence[RowChange]) -> list[bytes]:
        try:
            messages = [message for change in changes for message in encoder.encode(change)]
            messages += encoder.flush()
        except EncodeError:
            with suppress(EncodeError):
                encoder.flush()  # what was gathered before the one that failed
            raise
        return [message + terminator for message in messages] if terminator else messages

    return encode


def _csv_options(options: Mapping[str, str], terminator: bytes) -> dict[str, str]:
    return {**options, "terminator": terminator.decode("utf-8", "surrogateescape")}
