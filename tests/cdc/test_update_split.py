"""Splitting of updates, against the files that TiCDC wrote for the same transactions."""

import json
from itertools import groupby
from pathlib import Path

import pytest

from spark_jobs.cdc.codecs.csv import Encoder
from spark_jobs.cdc.events import ABSENT, DELETE, INSERT, UPDATE, Column, ColumnType, Index, RowChange, TableSchema
from spark_jobs.cdc.rows.update_split import UpdateSplitter, key_places

CASES = json.loads((Path(__file__).parents[1] / "data" / "csv_update_split.json").read_text())
INT, TEXT = ColumnType("int"), ColumnType("varchar", length=100)
ID, PAD = Column("id", INT, is_key=True, nullable=False), Column("pad", TEXT, nullable=False)
TABLES = {
    "pk": TableSchema("test", "update_pk", (ID, PAD)),
    "uk": TableSchema(
        "test",
        "update_uk",
        (ID, Column("uk", INT, nullable=False), PAD),
        indexes=(Index("PRIMARY", ("id",)), Index("uk", ("uk",))),
    ),
}


def insert(*row):
    return INSERT, None, row


def update(before, after):
    return UPDATE, before, after


def moved(before, after):
    """What TiKV delivers when a clustered key changes: the row goes, and comes again."""
    return [(DELETE, before, None), (INSERT, None, after)]


INSERTED = {
    "pk": [
        [insert(1, "example1"), insert(2, "example2")],
        [insert(10, "example10"), insert(20, "example20")],
        [insert(100, "example100")],
        [insert(1000, "example1000")],
    ],
    "uk": [
        [insert(1, 1, "example1"), insert(2, 2, "example2")],
        [insert(10, 10, "example10"), insert(20, 20, "example20")],
        [insert(100, 100, "example100")],
        [insert(1000, 1000, "example1000")],
    ],
}
UPDATED = {
    # with a clustered key TiKV sees rows by key: an exchange changes the other columns of both
    ("clustered", "pk"): [
        [update((1, "example1"), (1, "example2")), update((2, "example2"), (2, "example1"))],
        [
            (DELETE, (10, "example10"), None),
            (DELETE, (20, "example20"), None),
            insert(30, "example10"),
            insert(40, "example20"),
        ],
        moved((100, "example100"), (200, "example100")),
        [update((1000, "example1000"), (1000, "example1001"))],
    ],
    ("nonclustered", "pk"): [
        [update((1, "example1"), (2, "example1")), update((2, "example2"), (1, "example2"))],
        [update((10, "example10"), (30, "example10")), update((20, "example20"), (40, "example20"))],
        [update((100, "example100"), (200, "example100"))],
        [update((1000, "example1000"), (1000, "example1001"))],
    ],
    "uk": [
        [update((1, 1, "example1"), (1, 2, "example1")), update((2, 2, "example2"), (2, 1, "example2"))],
        [update((10, 10, "example10"), (10, 30, "example10")), update((20, 20, "example20"), (20, 40, "example20"))],
        [update((100, 100, "example100"), (100, 200, "example100"))],
        [update((1000, 1000, "example1000"), (1000, 1000, "example1001"))],
    ],
}
GOLDEN = [
    pytest.param(clustering, name.rpartition("_")[2], result, id=f"{clustering} {name}")
    for clustering, case in CASES.items()
    for name, result in case["results"].items()
]


@pytest.mark.parametrize(("clustering", "key", "golden"), GOLDEN)
def test_the_rows_are_those_that_ticdc_wrote(clustering, key, golden):
    table, raw = TABLES[key], golden["config"]["outputRawChangeEvent"]
    transactions = INSERTED[key] + (UPDATED["uk"] if key == "uk" else UPDATED[clustering, key])
    commits = [commit_ts for commit_ts, _ in groupby(int(line.split(",")[3]) for line in golden["lines"])]
    old_value = str(golden["config"]["outputOldValue"]).lower()
    encoder = Encoder({"include-commit-ts": "true", "output-old-value": old_value})
    splitter = UpdateSplitter()
    written = []
    for commit_ts, transaction in zip(commits, transactions, strict=True):
        changes = [
            RowChange(kind=kind, table=table, before=before, after=after, commit_ts=commit_ts)
            for kind, before, after in transaction
        ]
        for change in changes if raw else splitter.split(changes):
            written += [line.decode() for line in encoder.encode(change)]
    assert written == golden["lines"]


WIDE = TableSchema(
    "s",
    "t",
    tuple(Column(name, INT) for name in "abcde"),
    indexes=(
        Index("k", ("B", "c"), unique=True),
        Index("plain", ("d",), unique=False),
        Index("hidden", ("e",), visible=False),
    ),
)


def test_every_column_of_a_unique_index_is_a_key_and_no_other_is():
    assert key_places(WIDE) == (1, 2, 4)
    assert key_places(TABLES["pk"]) == (0,)
    assert key_places(TableSchema("s", "t", (PAD,))) == ()


@pytest.mark.parametrize(
    ("before", "after", "is_cut"),
    [
        ((1, 1, 1, 1, 1), (2, 1, 1, 2, 1), False),
        ((1, 1, 1, 1, 1), (1, 1, 2, 1, 1), True),
        ((1, 1, None, 1, 1), (1, 1, 0, 1, 1), True),
        ((1, None, None, 1, 1), (2, None, None, 1, 1), False),
        ((1, 1, 1, 1, 1), (1, 1, 1, 1, 2), True),
        ((1, ABSENT, 1, 1, 1), (2, 1, 1, 1, 1), False),
        ((1, 1, 1, 1, 1), (2, ABSENT, 1, 1, 1), False),
        (None, (2, 1, 1, 1, 1), False),
    ],
)
def test_only_a_change_of_a_key_cuts_an_update(before, after, is_cut):
    change = RowChange(kind=UPDATE, table=WIDE, before=before, after=after)
    splitter = UpdateSplitter()
    assert splitter.changes_key(change) is is_cut
    expected = [DELETE, INSERT] if is_cut else [UPDATE]
    assert [part.kind for part in splitter.split([change])] == expected


def test_a_transaction_without_a_key_change_stays_as_it_is():
    table = TABLES["pk"]
    changes = [
        RowChange(kind=INSERT, table=table, after=(1, "a")),
        RowChange(kind=UPDATE, table=table, before=(1, "a"), after=(1, "b")),
        RowChange(kind=DELETE, table=table, before=(1, "b")),
    ]
    assert UpdateSplitter().split(changes) is changes


def test_deletes_stand_before_updates_and_inserts_behind_them():
    table = TABLES["pk"]
    changes = [
        RowChange(kind=INSERT, table=table, after=(5, "new"), commit_ts=9),
        RowChange(kind=UPDATE, table=table, before=(5, "x"), after=(6, "x"), commit_ts=9),
        RowChange(kind=UPDATE, table=table, before=(7, "y"), after=(7, "z"), commit_ts=9),
        RowChange(kind=DELETE, table=table, before=(8, "d"), commit_ts=9),
    ]
    parts = UpdateSplitter().split(changes)
    assert [(part.kind, part.before, part.after) for part in parts] == [
        (DELETE, (5, "x"), None),
        (DELETE, (8, "d"), None),
        (UPDATE, (7, "y"), (7, "z")),
        (INSERT, None, (5, "new")),
        (INSERT, None, (6, "x")),
    ]
    assert {part.commit_ts for part in parts} == {9}
