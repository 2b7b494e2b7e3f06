"""The codec: every message is one insert, its values are texts. The key is the first pair."""

from collections.abc import Mapping, Sequence

from spark_jobs.cdc.codec import Codec, Opened
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import INSERT, Column, ColumnType, Event, RowChange, TableSchema

NAME = "example-pairs"


class PairRows:
    """The one row of a message."""

    commit_ts = 0
    is_partial = False

    def __init__(self, schema: str, name: str, es_ms: int, pairs: list[tuple[str, str]]) -> None:
        self.schema, self.name, self.es_ms = schema, name, es_ms
        self._pairs = pairs
        columns = tuple(
            Column(column, ColumnType("varchar"), is_key=not place) for place, (column, _) in enumerate(pairs)
        )
        self.table = TableSchema(schema, name, columns)

    def changes(self) -> Sequence[RowChange]:
        after = tuple(value for _, value in self._pairs)
        return (RowChange(INSERT, self.table, None, after, 0, self.es_ms),)


class Opener:
    protocol = NAME
    timed = False
    marks: tuple[bytes, ...] = ()
    halves = False

    def open(self, message: bytes, /) -> Sequence[Opened]:
        try:
            place, es_ms, *pairs = message.decode().split()
            schema, name = place.split(".")
            row = PairRows(schema, name, int(es_ms), [(pair.split("=")[0], pair.split("=")[1]) for pair in pairs])
        except (ValueError, IndexError, UnicodeDecodeError) as error:
            raise DecodeError(NAME, str(error)) from None
        return (row,)


class Decoder:
    def decode(self, message: bytes, /) -> Sequence[Event]:
        return [change for rows in Opener().open(message) for change in rows.changes()]  # type: ignore[union-attr]


class Encoder:
    def encode(self, event: Event, /) -> Sequence[bytes]:
        if not isinstance(event, RowChange) or event.after is None:
            return ()
        pairs = zip(event.table.columns, event.after, strict=True)
        words = [f"{event.table.schema}.{event.table.table}", str(event.es_ms)]
        return (" ".join([*words, *(f"{column.name}={value!s}" for column, value in pairs)]).encode(),)

    def flush(self) -> Sequence[bytes]:
        return ()


def opener(options: Mapping[str, str], /) -> Opener:
    return Opener()


def decoder(options: Mapping[str, str], /) -> Decoder:
    return Decoder()


def encoder(options: Mapping[str, str], /) -> Encoder:
    return Encoder()


CODEC = Codec(name=NAME, opener=opener, decoder=decoder, encoder=encoder, text=True)
