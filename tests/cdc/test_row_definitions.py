"""Structures of rows beside definitions of tables."""

import msgspec
import pytest

from spark_jobs.cdc.events import Column, ColumnType, TableSchema
from spark_jobs.cdc.rows.definitions import enriched, is_part_of, same_structure


class SignedType(ColumnType, frozen=True, gc=False):
    """A type of a source that may not know the sign."""

    sign_known: bool = True


def table(*columns: Column) -> TableSchema:
    return TableSchema("shop", "t", columns)


ID = Column("id", ColumnType("bigint"), is_key=True)
UNSIGNED = Column("n", ColumnType("int", unsigned=True))
SIGNED = Column("n", ColumnType("int"))
UNKNOWN = Column("n", SignedType("int", sign_known=False))


@pytest.mark.parametrize(
    ("row", "definition", "same"),
    [
        (table(ID, SIGNED), table(ID, SIGNED), True),
        (table(ID, SIGNED), table(ID, UNSIGNED), False),
        (table(ID, UNKNOWN), table(ID, UNSIGNED), True),
        (table(ID, UNSIGNED), table(ID, UNKNOWN), True),
        (table(SIGNED, ID), table(ID, SIGNED), False),
        (table(ID), table(ID, SIGNED), False),
        (table(ID), table(ID, Column("v", ColumnType("int"), generated="virtual")), True),
        (table(ID), table(Column("ID", ColumnType("bigint", length=20))), True),
    ],
)
def test_rows_fit_a_definition_with_the_same_names_and_types_in_order(row, definition, same):
    assert same_structure(row, definition) is same


def test_an_image_of_some_columns_is_part_of_a_definition():
    assert is_part_of(table(ID), table(SIGNED, ID))
    assert not is_part_of(table(UNSIGNED), table(SIGNED, ID))


def test_columns_get_what_the_definition_says_where_the_types_agree():
    told = table(ID, Column("n", ColumnType("int", length=7), nullable=False))
    made = enriched(table(msgspec.structs.replace(ID, source_type="bigint(20)"), SIGNED), told)
    assert made.columns[0].source_type == "bigint(20)"
    assert (made.columns[1].type.length, made.columns[1].nullable) == (7, False)
    assert enriched(table(UNSIGNED), told).columns == (UNSIGNED,)
