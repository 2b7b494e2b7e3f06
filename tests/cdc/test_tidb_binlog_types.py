"""What TiDB Binlog tells by values alone: the kind of a column without a type, and whether an integer is unsigned."""

import json
from typing import Any

import pytest

from spark_jobs.cdc.codecs import CODECS, tidb_binlog
from spark_jobs.cdc.events import INSERT, Column, ColumnType, RowChange, TableSchema
from spark_jobs.cdc.proto import tidb_binlog_pb2 as wire
from tests.cdc.test_tidb_binlog import binlog, decode, only_value, table_of

pytestmark = pytest.mark.usefixtures("both_ways")

UNTYPED: list[tuple[dict[str, Any], Any]] = [
    ({"int64_value": 42}, 42),
    ({"int64_value": -1}, -1),
    ({"uint64_value": 2**64 - 1}, 2**64 - 1),
    ({"double_value": 1.5}, 1.5),
    ({"bytes_value": b"\xff\x00"}, b"\xff\x00"),
    ({"string_value": "42"}, "42"),
    ({"is_null": True}, None),
]


@pytest.mark.parametrize(("field", "value"), UNTYPED, ids=str)
def test_a_column_without_a_type_keeps_the_kind_of_its_value(field, value):
    found = only_value("", **field)
    assert (found, type(found)) == (value, type(value))


def test_columns_without_types_keep_their_kinds_row_by_row():
    rows = [
        [wire.Column(**one), wire.Column(**other), wire.Column(**one)]
        for one, _ in UNTYPED
        for other, _ in reversed(UNTYPED)
    ]
    message = binlog(table_of([("a", ""), ("b", ""), ("c", "")], *rows)).SerializeToString()
    decoder: Any = tidb_binlog.decoder({})
    for _ in range(2):
        found = [event.after for event in decoder.decode(message)]
        assert found == [(one, other, one) for _, one in UNTYPED for _, other in reversed(UNTYPED)]


@pytest.mark.parametrize("value", [value for _, value in UNTYPED], ids=str)
def test_a_column_without_a_type_is_written_as_what_it_holds(value):
    table = TableSchema("s", "t", (Column("c", ColumnType("")),))
    change = RowChange(INSERT, table, None, (value,), 1 << 50, 1, 1)
    encoder = tidb_binlog.encoder({})
    [message] = [*encoder.encode(change), *encoder.flush()]
    assert [event.after for event in decode(message)] == [(value,)]
    text = None if value is None else value.decode("latin-1") if isinstance(value, bytes) else str(value)
    said = {}
    for name in ("canal-json", "canal", "datahub-blob", "datahub-tuple"):
        [message] = CODECS[name].encoder({}).encode(change)  # type: ignore[misc]
        said[name] = message
    assert json.loads(said["canal-json"])["data"] == [{"c": text}]
    [back] = CODECS["canal"].decoder({}).decode(said["canal"])  # type: ignore[misc]
    assert back.after == (text,)  # type: ignore[union-attr]
    for name in ("datahub-blob", "datahub-tuple"):
        [back] = CODECS[name].decoder({}).decode(said[name])  # type: ignore[misc]
        assert back.after == (text,)  # type: ignore[union-attr]
    assert CODECS["csv"].encoder({}).encode(change)  # type: ignore[misc]
    assert CODECS["sql"].encoder({}).encode(change)  # type: ignore[misc]
    assert CODECS["drainer"].encoder({}).encode(change) == ()  # type: ignore[misc]


def signs(*rows):
    """Of a signed and an unsigned column, and a text, as a message with these rows shows them."""
    columns = [("a", "int"), ("b", "bigint"), ("c", "varchar")]
    cells = [[wire.Column(**cell) for cell in row] for row in rows]
    events: list[Any] = decode(binlog(table_of(columns, *cells)).SerializeToString())
    assert len({id(event.table) for event in events}) == 1
    return [(column.type.unsigned, column.type.sign_known) for column in events[0].table.columns]


def test_the_sign_of_a_column_without_a_number_is_not_known():
    null, number, unsigned = {"is_null": True}, {"int64_value": 1}, {"uint64_value": 1}
    assert signs([number, unsigned, null]) == [(False, True), (True, True), (False, True)]
    assert signs([null, null, null]) == [(False, False), (False, False), (False, True)]
    assert signs([null, unsigned, null], [number, null, null]) == [(False, True), (True, True), (False, True)]
    assert signs([null, {"string_value": "5"}, null]) == [(False, False), (False, False), (False, True)]
