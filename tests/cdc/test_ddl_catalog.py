"""A table's structure, followed through a stream of statements."""

import pytest

from spark_jobs.cdc import ddl
from spark_jobs.cdc.events import Column, ColumnType, Index, TableSchema
from spark_jobs.cdc.mysql.types import full_text

T = ("db", "t")
BASE = "create table t (id bigint primary key, a int, b varchar(10) not null, unique key ub (b), key ia (a))"


def run(*queries, catalog=None):
    catalog = ddl.Catalog() if catalog is None else catalog
    for query in queries:
        for statement in ddl.parse(query, "db"):
            assert statement.reason == ""
            catalog = ddl.apply(statement, catalog)
    return catalog


def shown(table):
    """A table in short: ``!`` marks NOT NULL, ``*`` a key column; indexes as name(columns), unique ones with ``!``."""
    columns = [
        f"{column.name}{'*' if column.is_key else ''}{'' if column.nullable else '!'} {full_text(column.type)}"
        for column in table.columns
    ]
    indexes = [f"{index.name}{'!' if index.unique else ''}({','.join(index.columns)})" for index in table.indexes]
    return ", ".join(columns) + " | " + " ".join(indexes)


BASE_SHOWN = "id*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(id) ub!(b) ia(a)"

ALTERED = {
    "add c int": "id*! bigint(20), a int(11), b! varchar(10), c int(11) | PRIMARY!(id) ub!(b) ia(a)",
    "add c int first": "c int(11), id*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(id) ub!(b) ia(a)",
    "add c int not null after ID": "id*! bigint(20), c! int(11), a int(11), b! varchar(10) | PRIMARY!(id) ub!(b) ia(a)",
    "add (c int, d int, key (d))": "id*! bigint(20), a int(11), b! varchar(10), c int(11), d int(11)"
    " | PRIMARY!(id) ub!(b) ia(a) d(d)",
    "add c int first, add d int after c": "c int(11), d int(11), id*! bigint(20), a int(11), b! varchar(10)"
    " | PRIMARY!(id) ub!(b) ia(a)",
    "add column if not exists A bigint": BASE_SHOWN,
    "add column a bigint": "id*! bigint(20), a bigint(20), b! varchar(10) | PRIMARY!(id) ub!(b) ia(a)",
    "add c int unique": "id*! bigint(20), a int(11), b! varchar(10), c int(11) | PRIMARY!(id) ub!(b) ia(a) c!(c)",
    "drop a": "id*! bigint(20), b! varchar(10) | PRIMARY!(id) ub!(b)",
    "drop column B": "id*! bigint(20), a int(11) | PRIMARY!(id) ia(a)",
    "drop column if exists nothing": BASE_SHOWN,
    "drop column nothing": BASE_SHOWN,
    "drop id": "a int(11), b! varchar(10) | ub!(b) ia(a)",
    "modify a bigint unsigned not null": "id*! bigint(20), a! bigint(20) unsigned, b! varchar(10)"
    " | PRIMARY!(id) ub!(b) ia(a)",
    "modify b text": "id*! bigint(20), a int(11), b text | PRIMARY!(id) ub!(b) ia(a)",
    "modify b varchar(20) first": "b varchar(20), id*! bigint(20), a int(11) | PRIMARY!(id) ub!(b) ia(a)",
    "modify id int": "id*! int(11), a int(11), b! varchar(10) | PRIMARY!(id) ub!(b) ia(a)",
    "modify column if exists nothing int": BASE_SHOWN,
    "change a A2 int not null after b": "id*! bigint(20), b! varchar(10), A2! int(11) | PRIMARY!(id) ub!(b) ia(A2)",
    "change id key_ bigint": "key_*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(key_) ub!(b) ia(a)",
    "rename column b to c": "id*! bigint(20), a int(11), c! varchar(10) | PRIMARY!(id) ub!(c) ia(a)",
    "rename column a to b, rename column b to a": "id*! bigint(20), b int(11), a! varchar(10)"
    " | PRIMARY!(id) ub!(a) ia(b)",
    "change a b int, change b a text": "id*! bigint(20), b int(11), a text | PRIMARY!(id) ub!(a) ia(b)",
    "rename column gone to a": BASE_SHOWN,
    "add index (a)": "id*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(id) ub!(b) ia(a) a(a)",
    "add key (a), add unique (a), add unique (a, b)": "id*! bigint(20), a int(11), b! varchar(10)"
    " | PRIMARY!(id) ub!(b) ia(a) a(a) a_2!(a) a_3!(a,b)",
    "add constraint u unique (a desc)": "id*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(id) ub!(b) ia(a) u!(a)",
    "add unique e ((a + 1), b)": "id*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(id) ub!(b) ia(a) e!((`a`+1),b)",
    "drop index ub": "id*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(id) ia(a)",
    "drop key UB, drop index nothing": "id*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(id) ia(a)",
    "rename index ub to u2": "id*! bigint(20), a int(11), b! varchar(10) | PRIMARY!(id) u2!(b) ia(a)",
    "drop primary key": "id! bigint(20), a int(11), b! varchar(10) | ub!(b) ia(a)",
    "drop primary key, add primary key (b, a)": "id! bigint(20), a*! int(11), b*! varchar(10)"
    " | PRIMARY!(b,a) ub!(b) ia(a)",
    "drop index `PRIMARY`": "id! bigint(20), a int(11), b! varchar(10) | ub!(b) ia(a)",
    "add foreign key (a) references p (id)": BASE_SHOWN,
    "add check (a > 1), engine=innodb, lock=none": BASE_SHOWN,
    "auto_increment = 5": BASE_SHOWN,
    "truncate partition p0": BASE_SHOWN,
    "exchange partition p with table n": BASE_SHOWN,
}


@pytest.mark.parametrize("clauses", ALTERED)
def test_alter_table_leads_to_the_structure(clauses):
    assert shown(run(BASE, f"alter table t {clauses}")[T]) == ALTERED[clauses]


@pytest.mark.parametrize("clauses", ALTERED)
def test_a_statement_that_comes_twice_changes_nothing_the_second_time(clauses):
    if "drop primary key" in clauses or "rename column a to b," in clauses or "change a b int," in clauses:
        return  # these mean something else the second time
    if "add unique (a)" in clauses or clauses in ("add index (a)", "add (c int, d int, key (d))"):
        return  # an index without a name is another one each time
    once = run(BASE, f"alter table t {clauses}")
    assert run(f"alter table t {clauses}", catalog=once)[T] == once[T]


@pytest.mark.parametrize(
    ("query", "expected"),
    {
        "create index i on t (a, b)": "PRIMARY!(id) ub!(b) ia(a) i(a,b)",
        "create unique index i on t (a)": "PRIMARY!(id) ub!(b) ia(a) i!(a)",
        "create fulltext index f on t (b)": "PRIMARY!(id) ub!(b) ia(a) f(b)",
        "drop index ub on t": "PRIMARY!(id) ia(a)",
        "drop index nothing on t": "PRIMARY!(id) ub!(b) ia(a)",
    }.items(),
)
def test_index_statements_are_followed(query, expected):
    assert shown(run(BASE, query)[T]).partition(" | ")[2] == expected


def test_an_index_can_be_hidden_and_shown_again():
    hidden = run(BASE, "alter table t alter index ub invisible")
    assert hidden[T].indexes[1] == Index("ub", ("b",), unique=True, visible=False)
    assert run("alter table t alter index ub visible", catalog=hidden) == run(BASE)


def test_keys_of_create_table_mark_their_columns():
    table = run("create table t (primary key (b, A), a int, b int, c int unique, constraint x unique (a, c))")[T]
    assert shown(table) == "a*! int(11), b*! int(11), c int(11) | PRIMARY!(b,A) c!(c) x!(a,c)"
    assert table.key_columns == ("a", "b")


def test_table_options_are_kept_and_changed():
    catalog = run("create table t (a text, b varchar(3)) charset=utf8 collate utf8_bin comment 'x'")
    assert (catalog[T].charset, catalog[T].collation, catalog[T].comment) == ("utf8", "utf8_bin", "x")
    assert [column.type.charset for column in catalog[T].columns] == ["utf8", "utf8"]
    changed = run("alter table t default charset latin1", "alter table t comment = 'y', add c text", catalog=catalog)
    assert changed[T].comment == "y"
    assert [column.type.charset for column in changed[T].columns] == ["utf8", "utf8", "latin1"]


def test_converting_changes_text_columns_and_only_these():
    catalog = run("create table t (a text, b varchar(3), c enum('x'), d blob, e int) charset=latin1")
    catalog = run("alter table t convert to character set utf8mb4 collate utf8mb4_bin", catalog=catalog)
    assert [column.type.charset for column in catalog[T].columns] == ["utf8mb4", "utf8mb4", "utf8mb4", "", ""]
    assert [column.type.collation for column in catalog[T].columns[:3]] == ["utf8mb4_bin"] * 3


def test_converting_to_binary_makes_blobs_of_texts():
    catalog = run("create table t (a text, b varchar(3), c char(2), d longtext, e json) charset=latin1")
    catalog = run("alter table t convert to charset binary", catalog=catalog)
    assert [column.type.name for column in catalog[T].columns] == ["blob", "varbinary", "binary", "longblob", "json"]


def test_a_table_with_the_charset_binary_has_blobs_from_the_start():
    catalog = run("create table t (a text, b varchar(3), c text charset utf8) charset=binary")
    assert [column.type.name for column in catalog[T].columns] == ["blob", "varbinary", "text"]


def test_a_default_is_set_and_dropped():
    catalog = run(BASE, "alter table t alter a set default 5, alter column b set default 'x'")
    assert [column.default for column in catalog[T].columns] == [None, "5", "x"]
    catalog = run("alter table t alter a set default (b + 1), alter b drop default", catalog=catalog)
    assert [(column.default, column.default_is_expression) for column in catalog[T].columns[1:]] == [
        ("`b`+1", True),
        (None, False),
    ]


def test_partitioning_comes_and_goes():
    catalog = run("create table t (a int) partition by hash (a) partitions 4", "create table u (a int)")
    assert (catalog[T].partitioned, catalog["db", "u"].partitioned) == (True, False)
    catalog = run("alter table t remove partitioning", "alter table u partition by key (a)", catalog=catalog)
    assert (catalog[T].partitioned, catalog["db", "u"].partitioned) == (False, True)
    assert run("alter table u drop partition p1", catalog=catalog)["db", "u"].partitioned


def test_create_like_copies_the_structure():
    catalog = run(BASE, "create table x.copy like t")
    assert shown(catalog["x", "copy"]) == BASE_SHOWN
    assert (catalog["x", "copy"].schema, catalog["x", "copy"].table) == ("x", "copy")


def test_an_existing_table_is_kept_by_if_not_exists_and_replaced_otherwise():
    assert shown(run(BASE, "create table if not exists t (x int)")[T]) == BASE_SHOWN
    assert shown(run(BASE, "create table t (x int)")[T]) == "x int(11) | "


def test_truncate_keeps_the_structure():
    assert run(BASE, "truncate table t") == run(BASE)


@pytest.mark.parametrize(
    "query", ["drop table t", "drop table if exists x, db.T", "drop database db", "drop schema DB"]
)
def test_a_dropped_table_is_gone(query):
    assert T not in run(BASE, query)


def test_dropping_a_database_leaves_the_others():
    assert list(run(BASE, "create table x.t (a int)", "drop database db")) == [("x", "t")]


@pytest.mark.parametrize(
    "query", ["rename table t to x.u", "alter table t rename to x.u", "rename table nothing to y, db.t to x.u"]
)
def test_a_renamed_table_has_its_structure_under_the_new_name(query):
    catalog = run(BASE, query)
    assert list(catalog) == [("x", "u")]
    assert shown(catalog["x", "u"]) == BASE_SHOWN
    assert catalog["x", "u"].schema == "x"


def test_tables_can_be_swapped_by_renaming():
    catalog = run(BASE, "create table u (x int)", "rename table t to tmp, u to t, tmp to u")
    assert shown(catalog[T]) == "x int(11) | "
    assert shown(catalog["db", "u"]) == BASE_SHOWN


def test_altering_and_renaming_at_once_does_both():
    catalog = run(BASE, "alter table t drop a, rename to u, add z int")
    assert list(catalog) == [("db", "u")]
    assert shown(catalog["db", "u"]) == "id*! bigint(20), b! varchar(10), z int(11) | PRIMARY!(id) ub!(b)"


def test_a_table_is_found_in_any_letter_case_but_rather_in_its_own():
    catalog = run("create table Orders (a int)")
    assert catalog["DB", "ORDERS"].table == "Orders"
    both = run("create table t (a int)", catalog=ddl.Catalog({("db", "T"): TableSchema("db", "T", ())}))
    assert list(both) == [T]


UNKNOWN_AFTER = {
    "an unknown table stays unknown": [
        "alter table t add c int",
        "create index i on t (a)",
        "alter table t comment 'x'",
    ],
    "a copy of an unknown table is unknown": ["create table t like nothing"],
    "a known table that becomes a copy of an unknown one is unknown": [BASE, "create table t like nothing"],
    "what a query makes is unknown": ["create table t as select * from u", "create table t (a int) select 1 as b"],
    "a recovered table is unknown": [BASE, "drop table t", "flashback table t"],
    "a column behind one that is not there makes it unknown": [BASE, "alter table t add c int after nothing"],
    "a changed column that is not there makes it unknown": [BASE, "alter table t modify nothing int"],
    "a default of a column that is not there makes it unknown": [BASE, "alter table t alter nothing drop default"],
    "a primary key of columns that are not there makes it unknown": [BASE, "alter table t add primary key (nothing)"],
    "renaming a column that is not there makes it unknown": [BASE, "alter table t rename column nothing to other"],
    "renaming an unknown table": ["rename table nothing to t"],
    "a temporary table never enters": ["create temporary table t (a int)"],
    "a view is no table": ["create view t as select 1"],
    "no server has so many columns": [f"create table t ({','.join(f'c{number} int' for number in range(4097))})"],
}


@pytest.mark.parametrize("queries", UNKNOWN_AFTER.values(), ids=UNKNOWN_AFTER)
def test_structure_that_cannot_be_known(queries):
    assert T not in run(*queries)


@pytest.mark.parametrize("query", ["create temporary table t (a int)", "drop temporary table t", "drop view t"])
def test_temporary_tables_and_views_do_not_touch_the_table(query):
    assert shown(run(BASE, query)[T]) == BASE_SHOWN


@pytest.mark.parametrize(
    "query", ["alter table t add c someword oddly", "alter table db.t frobnicate", "drop table t !"]
)
def test_a_statement_that_cannot_be_parsed_makes_its_table_unknown(query):
    (statement,) = ddl.parse(query, "db")
    assert not statement.parsed
    assert list(ddl.apply(statement, run(BASE, "create table u (a int)"))) == [("db", "u")]


def test_a_statement_that_cannot_be_parsed_and_names_no_table_changes_nothing():
    (statement,) = ddl.parse("frobnicate the table t", "db")
    assert ddl.apply(statement, run(BASE)) == run(BASE)


def test_a_table_whose_indexes_are_not_known_keeps_its_key_columns():
    seen = TableSchema("db", "t", (Column("id", ColumnType("int"), is_key=True), Column("a", ColumnType("int"))))
    catalog = run("alter table t add b int, add unique (a), change id no bigint", catalog=ddl.Catalog({T: seen}))
    assert catalog[T].indexes is None
    assert catalog[T].key_columns == ("no",)
    catalog = run("alter table t drop primary key, add primary key (b)", catalog=catalog)
    assert catalog[T].key_columns == ("b",)


def test_a_catalog_is_never_changed():
    before = run(BASE)
    kept = dict(before)
    run("alter table t add c int", "drop table t", "create table u (a int)", catalog=before)
    assert dict(before) == kept
