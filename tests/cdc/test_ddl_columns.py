"""Column definitions: every spelling of every type, and what its options make of the column."""

import json
from pathlib import Path

import msgspec
import pytest

from spark_jobs.cdc import ddl
from spark_jobs.cdc.events import Column
from spark_jobs.cdc.mysql.types import full_text

CASES = json.loads((Path(__file__).parents[1] / "data" / "ddl_columns.json").read_text())["cases"]
IDS = [case["definition"] for case in CASES]
COLUMN_FIELDS = set(Column.__struct_fields__)


def column_of(definition):
    (statement,) = ddl.parse(f"create table t ({definition})", "db")
    assert statement.reason == ""
    return ddl.apply(statement, ddl.Catalog())["db", "t"].columns[0]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_definition_makes_its_column(case):
    column = column_of(case["definition"])
    assert full_text(column.type) == case["type"]
    said = {name: value for name, value in case.items() if name in COLUMN_FIELDS - {"type"}}
    plain = Column("a", column.type, nullable=True)
    assert column == msgspec.structs.replace(plain, **said)
    assert column.type.charset == case.get("charset", "")
    assert column.type.collation == case.get("collation", "")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_definition_is_written_as_tidb_writes_it(case):
    assert ddl.normalise(f"create table t ({case['definition']})") == (f"CREATE TABLE `t` ({case['out']})",)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_written_definition_makes_the_same_column(case):
    again = column_of(case["out"])
    column = column_of(case["definition"])
    # TiDB's text says nothing of NATIONAL
    assert msgspec.structs.replace(again.type, charset="") == msgspec.structs.replace(column.type, charset="")
    assert msgspec.structs.replace(again, type=column.type, default=column.default) == column
    assert (again.default is None) == (column.default is None)


@pytest.mark.parametrize("case", [case for case in CASES if case["definition"].startswith("a ")], ids=IDS)
def test_alter_table_makes_the_same_column_as_create_table(case):
    catalog = ddl.Catalog()
    for query in ("create table t (z int)", f"alter table t add column {case['definition']} first"):
        catalog = ddl.apply(ddl.parse(query, "db")[0], catalog)
    assert catalog["db", "t"].columns[0] == column_of(case["definition"])
