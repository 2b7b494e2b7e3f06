"""Rows into lanes: what may share a data file, and how its lines look."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.cdc import tso
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import DELETE, INSERT, Column, ColumnType, RowChange, TableSchema
from spark_jobs.sinks import parse_sink
from spark_jobs.sinks.base import Definition, Serializer
from tests.sinks.storage_scene import DecodedRows

ID = Column("id", ColumnType("bigint"), is_key=True)
SIZE = Column("size", ColumnType("enum"))
ORDERS = TableSchema("shop", "orders", (ID, SIZE))
KEYS = TableSchema("shop", "orders", (ID,))


class AnyOpener:
    """Stands for whatever read the rows."""

    protocol = "any"
    timed = True
    marks: tuple[bytes, ...] = ()
    halves = False

    def open(self, message: bytes, /) -> Sequence[DecodedRows]:
        return ()


def serializer(
    options: str = "protocol=canal-json", definitions: Sequence[Definition] = (), zone: str = "UTC"
) -> Serializer:
    return parse_sink(f"file:///nowhere?{options}").serializer(AnyOpener(), definitions, zone)


def inserted(table: TableSchema = ORDERS, size: int | str = 2, partition_id: int = 0) -> DecodedRows:
    image = (1, size)[: len(table.columns)]
    return DecodedRows([RowChange(INSERT, table, after=image, commit_ts=9)], partition_id)


def deleted(table: TableSchema = KEYS) -> DecodedRows:
    return DecodedRows([RowChange(DELETE, table, before=(1, 2)[: len(table.columns)], commit_ts=9)])


def test_a_lane_is_a_table_and_a_partition_where_partitions_have_folders():
    made = serializer()
    assert [lane for lane, _ in made.serialize(inserted(partition_id=7), 9)] == [("shop", "orders", 7)]
    apart = parse_sink("file:///nowhere?protocol=csv", {"sink": {"enable_partition_separator": False}})
    ((lane, _),) = apart.serializer(AnyOpener(), (), "UTC").serialize(inserted(partition_id=7), 9)
    assert lane == ("shop", "orders", 0)


def test_rows_are_written_with_their_terminator_and_the_commit_ts_that_they_are_delivered_with():
    ((_, line),) = serializer("protocol=canal-json&enable-tidb-extension=true").serialize(inserted(), 77)
    assert line.endswith(b'"_tidb":{"commitTs":77}}\r\n')


def test_the_label_is_the_same_object_as_long_as_the_structure_stays():
    made = serializer()
    again = TableSchema("shop", "orders", (ID, SIZE))
    assert made.label(inserted()) is made.label(inserted(again))
    assert made.label(inserted()) is not made.label(inserted(TableSchema("shop", "orders", (ID, SIZE, ID))))


def test_thousands_of_tables_do_not_forget_one_another():
    made = serializer()
    tables = [TableSchema("shop", f"t{n}", (ID,)) for n in range(5000)]
    labels = [made.label(inserted(table)) for table in tables]
    assert all(made.label(inserted(table)) is label for table, label in zip(tables, labels, strict=True))


def test_an_image_that_may_lack_columns_defines_nothing_and_joins_rows_that_have_them():
    made = serializer()
    full, partial = made.label(inserted()), made.label(deleted())
    assert (full.full, partial.full) == (True, False)
    assert made.joins(partial, full)
    assert not made.joins(full, partial)
    other = made.label(inserted(TableSchema("shop", "orders", (SIZE,))))
    assert not made.joins(partial, other)


def test_in_csv_a_delete_with_more_than_its_keys_has_a_structure_of_its_own_and_none_joins_another():
    made = serializer("protocol=csv")
    assert [made.label(rows).full for rows in (inserted(), deleted(), deleted(ORDERS))] == [True, False, True]
    assert not made.joins(made.label(deleted()), made.label(inserted()))
    assert made.joins(made.label(deleted()), made.label(deleted()))


def test_csv_writes_names_of_elements_from_what_was_told_before_the_row():
    def told(*elements: str) -> TableSchema:
        return TableSchema("shop", "orders", (ID, Column("size", ColumnType("enum", elements=elements))))

    made = serializer(
        "protocol=csv",
        [Definition("shop", "orders", 10, told("XS", "S")), Definition("shop", "orders", 0, told("S", "M"))],
    )
    lines = [made.serialize(inserted(), at)[0][1] for at in (10, 11)]
    assert [line.rsplit(b",", 1)[1] for line in lines] == [b'"M"\r\n', b'"S"\r\n']


@pytest.mark.parametrize("name", ["", "n" * 256, "\udcff"])
def test_a_name_that_no_folder_can_have_is_refused_with_the_row(name):
    with pytest.raises(EncodeError):
        serializer().serialize(inserted(TableSchema("shop", name, (ID,))), 9)


@pytest.mark.parametrize(
    ("separator", "zone", "name", "first", "following"),
    [
        ("day", "UTC", "2026-03-29", datetime(2026, 3, 29), datetime(2026, 3, 30)),
        ("day", "Europe/Berlin", "2026-03-29", datetime(2026, 3, 28, 23), datetime(2026, 3, 29, 22)),
        ("month", "UTC", "2026-03", datetime(2026, 3, 1), datetime(2026, 4, 1)),
        ("year", "UTC", "2026", datetime(2026, 1, 1), datetime(2027, 1, 1)),
    ],
)
def test_a_section_is_a_date_folder_with_its_first_commit_ts_and_the_next_ones(separator, zone, name, first, following):
    at = tso.from_datetime(datetime(2026, 3, 29, 12, tzinfo=UTC))
    made = serializer(f"protocol=csv&date-separator={separator}", zone=zone)
    bounds = [tso.from_datetime(one.replace(tzinfo=UTC)) for one in (first, following)]
    assert made.section(at) == (name, *bounds)


def test_without_date_folders_the_whole_of_time_is_one_section():
    assert serializer("protocol=csv&date-separator=none").section(5) == ("", 0, 1 << 63)


def test_a_piece_ends_at_the_size_of_a_file(tmp_path: Path):
    assert serializer("protocol=csv&file-size=2048").piece_bytes == 2048
