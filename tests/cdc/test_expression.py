"""Filter expressions: what MySQL answers, and that nothing else can be reached."""

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.errors import ConfigError, DataError
from spark_jobs.cdc.events import ABSENT, Column, ColumnType, TableSchema, Value
from spark_jobs.cdc.filters.expression import Expression

COLUMNS: dict[str, tuple[ColumnType, Value]] = {
    "i": (ColumnType("int"), 7),
    "big": (ColumnType("bigint", unsigned=True), 2**64 - 1),
    "dec": (ColumnType("decimal"), "1.50"),
    "dbl": (ColumnType("double"), 0.1),
    "flt": (ColumnType("float"), 0.10000000149011612),
    "s": (ColumnType("varchar"), "Abc"),
    "ci": (ColumnType("varchar", collation="utf8mb4_general_ci"), "Äbc "),
    "num": (ColumnType("varchar"), "12abc"),
    "by": (ColumnType("blob"), b"\xffA"),
    "d": (ColumnType("date"), "2024-02-29"),
    "dt": (ColumnType("datetime"), "2024-02-29 13:14:15.5"),
    "zero": (ColumnType("datetime"), "0000-00-00 00:00:00"),
    "tm": (ColumnType("time"), "-838:59:59"),
    "y": (ColumnType("year"), 2024),
    "e": (ColumnType("enum", elements=("red", "green")), 2),
    "st": (ColumnType("set", elements=("a", "b")), 3),
    "e2": (ColumnType("enum"), 2),
    "bit": (ColumnType("bit"), 5),
    "js": (ColumnType("json"), '{"a": 1}'),
    "n": (ColumnType("int"), None),
    "gone": (ColumnType("int"), ABSENT),
    "a b": (ColumnType("int"), 1),
    "end": (ColumnType("int"), 1),
}
TABLE = TableSchema("db", "t", tuple(Column(name, type_) for name, (type_, _) in COLUMNS.items()))
ROW = tuple(value for _, value in COLUMNS.values())

TRUE = [
    # whole numbers, exact numbers and others
    "i = 7",
    "i <> 8 and i != 8",
    "big = 18446744073709551615",
    "big > 18446744073709551614",
    "big + 1 = 18446744073709551616",
    "big = '18446744073709551615'",
    "dec = 1.5",
    "dec = '1.5'",
    "dec < 1.51",
    "dec * 2 = 3",
    "dbl = 0.1",
    "flt <> 0.1",
    "0.1 + 0.2 = 0.3",
    "dbl + 0.2e0 <> 0.3e0",
    "i / 2 = 3.5",
    "1 / 3 = 0.3333",
    "i DIV 2 = 3",
    "-7 DIV 2 = -3",
    "-7 % 3 = -1",
    "MOD(i, 4) = 3",
    "i % 0 IS NULL",
    "i / 0 IS NULL",
    "i DIV 0 IS NULL",
    "i & 3 = 3",
    "i | 8 = 15",
    "1 << 63 = 9223372036854775808",
    "1 << 64 = 0",
    "~0 = big",
    "-i = -7",
    "1e3 = 1000",
    # texts and numbers
    "num = 12",
    "num + 1 = 13",
    "s = 0",
    "'1e2' = 100",
    "'' = 0",
    # texts
    "s = 'Abc'",
    "s = 'Abc  '",
    "s <> 'abc'",
    "s COLLATE utf8mb4_general_ci = 'aBC'",
    "ci = 'äBC'",
    "ci = 'abc'",
    "ci COLLATE utf8mb4_bin <> 'äbc'",
    "s > 'AAA' and s < 'a'",
    "BINARY s <> 'Abc '",
    "by = x'FF41'",
    "by > 'A'",
    "x'41' = 'A'",
    "x'41' = 65",
    "0x41 + 0 = 65",
    "b'101' = bit",
    "'it''s \\n' = \"it's \\n\"",
    "js = '{\"a\": 1}'",
    # patterns
    "s LIKE 'A%'",
    "s LIKE 'a%' COLLATE utf8mb4_general_ci",
    "s NOT LIKE 'a%'",
    "s LIKE '_b_'",
    "s LIKE '%'",
    "'a%b' LIKE 'a\\%b'",
    "'axb' NOT LIKE 'a\\%b'",
    "'a%b' LIKE 'a!%b' ESCAPE '!'",
    "'axb' NOT LIKE 'a!%b' ESCAPE '!'",
    "s LIKE CONCAT('A', '%')",
    "s REGEXP '^A.c$'",
    "s NOT REGEXP 'abc'",
    "ci RLIKE '^äB'",
    # dates and times
    "d = '2024-02-29'",
    "d = '2024-2-29'",
    "d = 20240229",
    "d > DATE'2024-02-28'",
    "d < dt",
    "d = DATE(dt)",
    "dt = '2024-02-29 13:14:15.500000'",
    "dt > TIMESTAMP'2024-02-29 13:14:15'",
    "dt BETWEEN '2024-02-29' AND '2024-03-01'",
    "dt = 20240229131415.5",
    "zero < '1000-01-01'",
    "zero = '0000-00-00'",
    "zero = 0",
    "tm < '-24:00:00'",
    "tm < TIME'00:00:00'",
    "tm = -8385959",
    "HOUR(tm) = 838 AND MINUTE(tm) = 59 AND SECOND(tm) = 59",
    "YEAR(d) = 2024 AND MONTH(d) = 2 AND DAY(d) = 29 AND DAYOFMONTH(dt) = 29",
    "HOUR(dt) = 13 AND MINUTE(dt) = 14 AND SECOND(dt) = 15",
    "y = 2024",
    # enum and set
    "e = 'green' AND e = 2 AND e <> 'red'",
    "e IN ('red', 'green')",
    "st = 'a,b' AND st = 3 AND st & 2",
    "e2 = 2",
    # NULL and logic
    "n IS NULL AND i IS NOT NULL",
    "n <=> NULL AND NOT (i <=> NULL) AND i <=> 7",
    "(n = 1) IS NULL",
    "(n = 1) IS UNKNOWN",
    "(n = 1 AND 0) IS FALSE",
    "(n = 1 OR 1) IS TRUE",
    "(n XOR 1) IS NULL",
    "1 XOR 0",
    "NOT (1 XOR 1)",
    "(NOT n) IS NULL",
    "!0",
    "i IN (1, 7, NULL)",
    "(i IN (1, NULL)) IS NULL",
    "(i NOT IN (1, NULL)) IS NULL",
    "i NOT IN (1, 2)",
    "i BETWEEN 7 AND 7",
    "i NOT BETWEEN 8 AND 9",
    "(i BETWEEN NULL AND 9) IS NULL",
    "i BETWEEN NULL AND 6 IS FALSE",
    "i || 0",
    "i && TRUE",
    "'1'",
    "gone IS NULL",
    # precedence
    "1 OR 0 AND 0",
    "NOT i = 8",
    "i = 7 = 1",
    "1 + 2 * 3 = 7",
    # choices and functions
    "IF(n, 1, 2) = 2",
    "IFNULL(n, 5) = 5 AND COALESCE(n, NULL, s) = 'Abc'",
    "NULLIF(i, 7) IS NULL AND NULLIF(i, 8) = 7",
    "ISNULL(n)",
    "CASE WHEN n THEN 'a' WHEN i THEN 'b' ELSE 'c' END = 'b'",
    "CASE i WHEN 1 THEN 'a' WHEN 7 THEN 'b' END = 'b'",
    "CASE i WHEN 1 THEN 'a' END IS NULL",
    "GREATEST(i, 2.5, 3) = 7 AND LEAST(i, 2.5) = 2.5 AND GREATEST(i, n) IS NULL",
    "GREATEST('a', 'b') = 'b'",
    "ABS(-3) = 3 AND SIGN(-2) = -1 AND CEIL(1.2) = 2 AND CEILING(-1.2) = -1 AND FLOOR(-1.2) = -2",
    "ROUND(2.5) = 3 AND ROUND(-2.5) = -3 AND ROUND(1.255, 2) = 1.26 AND ROUND(1234, -2) = 1200",
    "LENGTH('äb') = 3 AND CHAR_LENGTH('äb') = 2 AND LENGTH(by) = 2 AND CHAR_LENGTH(by) = 2",
    "LOWER(s) = 'abc' AND UPPER(s) = 'ABC' AND LCASE(s) = UCASE('x') IS FALSE",
    "CONCAT(s, i) = 'Abc7' AND CONCAT(s, n) IS NULL AND CONCAT_WS('-', s, n, i) = 'Abc-7'",
    "LEFT(s, 2) = 'Ab' AND RIGHT(s, 2) = 'bc' AND LEFT(s, -1) = '' AND RIGHT(s, 9) = 'Abc'",
    "SUBSTRING(s, 2) = 'bc' AND SUBSTR(s, -2, 1) = 'b' AND MID(s, 1, 1) = 'A' AND SUBSTRING(s, 0) = ''",
    "TRIM('  x ') = 'x' AND LTRIM(' x') = 'x' AND RTRIM('x ') = 'x' AND TRIM(LEADING 'x' FROM 'xxa') = 'a'",
    "REPLACE(s, 'b', 'xx') = 'Axxc' AND REVERSE(s) = 'cbA'",
    "INSTR(s, 'c') = 3 AND LOCATE('b', s) = 2 AND INSTR(s, 'z') = 0 AND LOCATE('a', 'aba', 2) = 3",
    "CAST(dec AS SIGNED) = 2 AND CAST(i AS CHAR) = '7' AND CAST('2024-01-01' AS DATE) < d",
    "CAST(-1 AS UNSIGNED) = 18446744073709551615 AND CAST('-5' AS UNSIGNED) = 18446744073709551611",
    "CAST(18446744073709551615 AS SIGNED) = -1 AND CAST(9223372036854775808 AS SIGNED) = -9223372036854775808",
    "CAST(1e30 AS SIGNED) = 9223372036854775807 AND CAST(-1e30 AS SIGNED) = -9223372036854775808",
    "CAST(1e30 AS UNSIGNED) = 18446744073709551615 AND CAST(-1.5 AS UNSIGNED) = 0 AND CAST(-1e0 AS UNSIGNED) > 1",
    # names
    "`a b` = 1 AND end = 1 AND I = 7 AND t.i = 7 AND T.I = 7",
    "/* a comment */ i = 7 -- another",
]
NOT_TRUE = ["n = 1", "n <> 1", "NOT n", "NULL", "gone = 1", "i = 8", "0", "'abc'", "0.0", "i > 1 AND i < 2", "d = dt"]

INVALID = "CDC:ErrInvalidFilterExpression"
REFUSED = [
    "",
    "i =",
    "(i",
    "i = 1; DROP TABLE t",
    "i, n",
    "i = 1 LIMIT 1",
    "SELECT 1",
    "i IN (SELECT 1)",
    "EXISTS (SELECT 1)",
    "i > ALL (SELECT 1)",
    "i = @a",
    "i = @@version",
    "i := 1",
    "NOW() > d",
    "CURRENT_TIMESTAMP > dt",
    "CURDATE() > d",
    "RAND() > 1",
    "SLEEP(10)",
    "COUNT(*) > 1",
    "SUM(i) > 1",
    "UUID() = s",
    "LOAD_FILE('/etc/passwd') = s",
    "USER() = s",
    "i ? 1",
    "(i, n) = (1, 2)",
    "d + INTERVAL 1 DAY > dt",
    "JSON_EXTRACT(js, '$.a') = 1",
    "js -> '$.a' = 1",
    "i ^ 1",
    "MATCH (s) AGAINST ('x')",
    "i = __import__('os')",
    "CAST(i AS DECIMAL(10,2)) = 1",
    "*",
    "i n",
    "i AS n",
    "i = 1) OR (1",
    "1) + (1",
    "?",
    ":a = 1",
    "'unfinished",
    "x'4g' = 1",
]
UNFIT = [
    "0E = 0",
    "1e+ = 1",
    "i IN ()",
    "s REGEXP s",
    "s REGEXP '(?=a)'",
    "s LIKE 'a' ESCAPE 'ab'",
    "d = 'yesterday'",
    "tm = d",
    "tm = 'noon'",
]


def holds(text):
    return Expression(text).bind(TABLE)(ROW)


@pytest.mark.parametrize("text", TRUE)
def test_this_is_true(text):
    assert holds(text)


@pytest.mark.parametrize("text", TRUE)
def test_what_is_true_is_false_when_negated(text):
    assert not holds(f"NOT ({text.removesuffix(' -- another')})")


@pytest.mark.parametrize("text", NOT_TRUE)
def test_this_is_false_or_unknown(text):
    assert not holds(text)


@pytest.mark.parametrize("text", REFUSED)
def test_this_is_refused_before_any_table_is_known(text):
    with pytest.raises(ConfigError) as caught:
        Expression(text)
    assert caught.value.code == INVALID


@pytest.mark.parametrize("text", UNFIT)
def test_this_is_refused_for_the_types_of_a_table(text):
    with pytest.raises(ConfigError) as caught:
        Expression(text).bind(TABLE)
    assert caught.value.code == INVALID


@pytest.mark.parametrize("text", ["nothing = 1", "i = nothing", "other.i = 1", "db.t.i = 1", "LENGTH(x) = 1"])
def test_an_unknown_column_is_named(text):
    with pytest.raises(ConfigError, match=r"table db\.t has no column") as caught:
        Expression(text).bind(TABLE)
    assert caught.value.code == "CDC:ErrExpressionColumnNotFound"


LONG = "'" + "a" * 7000 + "'"


@pytest.mark.parametrize(
    "text",
    ["e2 = 'green'", f"REPLACE(REPLACE({LONG}, 'a', '{'a' * 2000}'), 'a', '{'a' * 6000}') = s"],
    ids=["names of an enum that are not known", "a text that grows without end"],
)
def test_a_value_that_cannot_be_used_is_an_error_with_the_expression(text):
    with pytest.raises(DataError, match="cannot be evaluated") as caught:
        holds(text)
    assert caught.value.code == INVALID
    assert len(caught.value.message) < 500


def test_a_decimal_that_is_none_is_an_error():
    table = TableSchema("db", "t", (Column("dec", ColumnType("decimal")),))
    with pytest.raises(DataError, match="is not a decimal number"):
        Expression("dec > 1").bind(table)(("1e999999999",))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000 + "i" + ")" * 3000,
        "NOT " * 3000 + "i",
        "-" + " -" * 3000 + "1",
        "CASE WHEN " * 200 + "1",
        "i+" * 5000 + "1",
    ],
    ids=["parentheses", "not", "minus", "case", "plus"],
)
def test_deep_nesting_is_refused_at_once(text):
    started = time.monotonic()
    with pytest.raises(ConfigError):
        Expression(text)
    assert time.monotonic() - started < 5


def test_a_long_list_of_alternatives_is_not_deep():
    assert holds(" OR ".join(f"i = {number}" for number in range(500)))


def test_like_takes_no_longer_than_text_times_pattern():
    table = TableSchema("db", "t", (Column("s", ColumnType("text")),))
    started = time.monotonic()
    assert not Expression("s LIKE '" + "%a" * 30 + "b'").bind(table)(("a" * 20_000,))
    assert time.monotonic() - started < 5


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("inds ()'%_.,=<>!+-*/&|~^0123456789`\"\\ANDORNOTLIKEINx"), max_size=25))
def test_any_text_is_evaluated_or_refused(text):
    with contextlib.suppress(ConfigError, DataError):
        holds(text)


@settings(max_examples=150, deadline=None)
@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70))
def test_whole_numbers_are_compared_and_reckoned_exactly(one, other):
    table = TableSchema("db", "t", (Column("a", ColumnType("bigint")), Column("b", ColumnType("bigint"))))
    row = (one, other)
    assert Expression("a < b").bind(table)(row) is (one < other)
    assert Expression(f"a + b = {one + other} AND a - b = {one - other} AND a * b = {one * other}").bind(table)(row)
    if other:
        quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
        assert Expression(f"a DIV b = {quotient} AND a % b = {one - quotient * other}").bind(table)(row)
