"""The handle key: which columns tell rows apart."""

import pytest

from spark_jobs.cdc.events import Index
from spark_jobs.cdc.rows.eligibility import handle_key, is_eligible
from tests.cdc.routing_tables import column, table

A, B, C = column("a"), column("b"), column("c")
MAYBE = column("n", nullable=True)
UNTOLD = column("u", nullable=None)  # type: ignore[arg-type]
VIRTUAL = column("v", generated="virtual")
STORED = column("s", generated="stored")

CASES = [
    ("the primary key, in table order", (column("a", key=True), B, column("c", key=True)), (), (0, 2)),
    ("the primary key before any unique one", (A, column("b", key=True)), (Index("u", ("a",)),), (1,)),
    ("a unique key over NOT NULL columns", (A, B), (Index("u", ("B",)),), (1,)),
    ("the one with the fewest columns", (A, B, C), (Index("x", ("a", "b")), Index("y", ("c",))), (2,)),
    ("the first of equals", (A, B), (Index("x", ("b",)), Index("y", ("a",))), (1,)),
    ("none over a nullable column", (A, MAYBE), (Index("u", ("a", "n")),), ()),
    ("none over a column that may be nullable", (UNTOLD,), (Index("u", ("u",)),), ()),
    ("none over a virtual column", (VIRTUAL,), (Index("u", ("v",)),), ()),
    ("one over a stored generated column", (STORED,), (Index("u", ("s",)),), (0,)),
    ("none if not unique", (A,), (Index("u", ("a",), unique=False),), ()),
    ("none over a column that the table lacks", (A,), (Index("u", ("a", "gone")),), ()),
    ("none without any index", (A,), (), ()),
]


@pytest.mark.parametrize(("columns", "indexes", "expected"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_the_handle_key_is(columns, indexes, expected):
    structure = table(*columns, indexes=indexes)
    assert handle_key(structure) == expected
    assert is_eligible(structure) is bool(expected)
    assert is_eligible(structure, force_replicate=True)


def test_a_source_that_tells_nothing_of_indexes_is_trusted():
    assert is_eligible(table(A, indexes=None))
