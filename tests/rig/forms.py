"""A workload's changes in protocols other than canal-json: one ordered stream without watermarks."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from spark_jobs.cdc.codec import Encoder
from spark_jobs.cdc.codecs import codec
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, Column, ColumnType, Ddl, Event, RowChange, TableSchema
from spark_jobs.cdc.events import TransactionMark as Mark

if TYPE_CHECKING:
    from tests.rig.workload import Change, Image

_TYPES: Final = {
    "bigint": ColumnType("bigint", length=20),
    "varchar": ColumnType("varchar", length=64),
    "decimal": ColumnType("decimal", length=10, scale=2),
    "text": ColumnType("text"),
    "int": ColumnType("int", length=11),
    "datetime": ColumnType("datetime"),
}
_KINDS: Final = {"I": INSERT, "U": UPDATE, "D": DELETE}


class Form:
    """Writes with the encoder of ``protocol``. ``timed``: its messages say commit-ts; else a reader makes them up, one
    for each message of a row or statement (contract §5)."""

    def __init__(self, protocol: str, schema: str) -> None:
        make = codec(protocol).encoder
        assert make is not None
        self.timed: Final = protocol in ("tidb-binlog", "drainer")
        self._encoder: Encoder = make({})
        self._schema = schema
        self._tables: dict[tuple[str, tuple[str, ...]], TableSchema] = {}

    def transaction(self, changes: "Sequence[Change]", columns: Mapping[str, Mapping[str, str]]) -> list[bytes]:
        """``columns``: name → type of each table."""
        if not changes:
            return []
        ms = changes[0].commit_ts >> 18
        rows = [self._row(change, columns[change.table]) for change in changes]
        return self._messages([Mark(kind="BEGIN", es_ms=ms), *rows, Mark(kind="END", transaction_id="1", es_ms=ms)])

    def statement(self, table: str, query: str, kind: str, commit_ts: int) -> list[bytes]:
        ms = commit_ts >> 18
        event = Ddl(
            schema=self._schema,
            table=table,
            query=query,
            canal_type=kind,
            commit_ts=commit_ts,
            es_ms=ms,
            ts_ms=ms,
        )
        return self._messages([event])

    def _messages(self, events: Sequence[Event]) -> list[bytes]:
        return [message for event in events for message in self._encoder.encode(event)] + [*self._encoder.flush()]

    def _row(self, change: "Change", columns: Mapping[str, str]) -> RowChange:
        table = self._table(change.table, columns)
        ms = change.commit_ts >> 18
        before, after = (None if one is None else _values(one, columns) for one in (change.before, change.after))
        return RowChange(_KINDS[change.operation], table, before, after, change.commit_ts, ms, ms)

    def _table(self, name: str, columns: Mapping[str, str]) -> TableSchema:
        key = name, tuple(columns)
        if key not in self._tables:
            made = tuple(Column(one, _TYPES[kind], is_key=one == "id") for one, kind in columns.items())
            self._tables[key] = TableSchema(self._schema, name, made)
        return self._tables[key]


def _values(image: "Image", columns: Mapping[str, str]) -> tuple[int | str | None, ...]:
    return tuple(
        int(value) if value is not None and columns[name] in ("bigint", "int") else value
        for name, value in image.items()
    )
