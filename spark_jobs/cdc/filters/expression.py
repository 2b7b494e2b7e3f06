"""Value expressions of event filters: a SQL condition over the columns of a row.

The text is parsed with MySQL's grammar, checked against a closed list of operators and functions, and compiled once for
each table structure. Nothing else is reachable from it: no Python, variables, sub-queries, clock, chance.

* Operators: ``AND && OR || XOR NOT !``, ``= <> != < <= > >= <=>``, ``IS [NOT] NULL|TRUE|FALSE|UNKNOWN``,
  ``[NOT] IN (…)``, ``[NOT] BETWEEN``, ``[NOT] LIKE … [ESCAPE]``, ``[NOT] REGEXP|RLIKE`` (Go's syntax as in TiDB),
  ``+ - * / DIV % MOD``, ``& | << >> ~``, ``COLLATE``, ``BINARY``, ``CAST`` to SIGNED, UNSIGNED, CHAR, BINARY, DATE,
  DATETIME, TIME; ``CASE``. Functions: see ``filters/expression_functions``.
* Literals: numbers, texts, ``x'…'``, ``0x…``, ``b'…'``, ``DATE'…'``, ``TIME'…'``, ``TIMESTAMP'…'``, TRUE, FALSE, NULL.
* Logic has three values: NULL is neither true nor false. Whole numbers do not overflow. Names of columns ignore case.
* A column that a message does not carry (``ABSENT``) is NULL here: nothing is known about it.
* enum and set are names beside texts and numbers beside numbers; bit is a number; JSON is its text.
"""

from collections.abc import Callable
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from spark_jobs.cdc.errors import ConfigError, DataError
from spark_jobs.cdc.events import Row, TableSchema
from spark_jobs.cdc.filters.expression_columns import column_term
from spark_jobs.cdc.filters.expression_functions import FUNCTIONS, NAMED_FUNCTIONS, Function
from spark_jobs.cdc.filters.expression_terms import (
    BITS,
    COMPARISONS,
    INVALID,
    Term,
    Test,
    arithmetic,
    as_number,
    as_text,
    bits,
    comparing,
    from_test,
    like,
    literal,
    mapped,
    refuse,
    shown,
    signed,
    truth,
    unsigned,
)
from spark_jobs.cdc.filters.expression_values import Datum, Kind, bytes_of, exact
from spark_jobs.cdc.filters.regex import GoRegex, RegexError

COLUMN_NOT_FOUND: Final = "CDC:ErrExpressionColumnNotFound"
MAX_LENGTH: Final = 16_384
MAX_DEPTH: Final = 60

Compile = Callable[[exp.Expr, "_Scope"], Term]


class Expression:
    """A parsed condition; ``ConfigError`` if it is none, or uses what is not in the list."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree = _parse(text)
        _check(self._tree, 0)

    def bind(self, table: TableSchema) -> Callable[[Row], bool]:
        """Whether the condition is true (not false, not unknown) of a row of this table.

        ``ConfigError`` for a column that the table has not and for types that cannot be compared. The function
        that is returned raises ``DataError`` where a value cannot be used.
        """
        holds = truth(_Scope(self.text, table).term(self._tree))

        def true_of(row: Row) -> bool:
            try:
                return holds(row) is True
            except (ArithmeticError, ValueError) as error:
                raise DataError(f"{shown(self.text)} cannot be evaluated: {error}", code=INVALID) from error

        return true_of


class _Scope:
    """The columns that an expression can see."""

    def __init__(self, text: str, table: TableSchema) -> None:
        self.text = text
        self._table = table
        self._places = {column.name.lower(): at for at, column in enumerate(table.columns)}

    def term(self, node: exp.Expr) -> Term:
        """The compiled form of a node."""
        compile_node = _NODES.get(type(node))
        if compile_node is not None:
            return compile_node(node, self)
        function = _function(node)
        if function is None:
            refuse(f"{shown(node.sql('mysql'))} is not available in filter expressions")
        return function(node, self.term)

    def column(self, node: exp.Column) -> Term:
        place = self._places.get(node.name.lower())
        foreign = node.table and node.table.lower() != self._table.table.lower()
        if place is None or foreign or node.args.get("db"):
            named = f"{self._table.schema}.{self._table.table}"
            raise ConfigError(
                f"table {named} has no column {node.sql('mysql')} that filter expression {shown(self.text)} names",
                code=COLUMN_NOT_FOUND,
            )
        return column_term(self._table.columns[place], place)


def _parse(text: str) -> exp.Expr:
    if len(text) > MAX_LENGTH:
        refuse(f"a filter expression has {len(text)} characters; {MAX_LENGTH} are allowed")
    try:
        # the parentheses keep the parser from taking a leading REPLACE for a statement
        tree = sqlglot.parse_one(f"(\n{text}\n)", into=exp.Condition, dialect="mysql")
    except (SqlglotError, RecursionError) as error:
        raise ConfigError(
            f"filter expression {shown(text)} is no SQL condition{_place(error)}", code=INVALID
        ) from error
    if type(tree) is not exp.Paren:
        refuse(f"filter expression {shown(text)} has parentheses that do not match")
    return tree


def _place(error: Exception) -> str:
    found = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    line, column = found.get("line"), found.get("col")
    return f": it cannot be read beyond line {line - 1}, character {column}" if line and column else ""


def _check(node: exp.Expr, depth: int) -> None:
    """Refuses what is nested too deeply, and what is not in the list, before any table is known."""
    if depth > MAX_DEPTH:
        refuse(f"a filter expression is nested more than {MAX_DEPTH} deep")
    if not (isinstance(node, _PARTS) or type(node) in _NODES or _function(node)):
        refuse(f"{shown(node.sql('mysql'))} is not available in filter expressions")
    for child in node.flatten() if isinstance(node, exp.And | exp.Or) else node.iter_expressions():
        _check(child, depth + 1)


def _function(node: exp.Expr) -> Function | None:
    if isinstance(node, exp.Anonymous):
        return NAMED_FUNCTIONS.get(node.name.lower())
    return FUNCTIONS.get(type(node))


_PARTS: Final = (exp.Identifier, exp.Var, exp.DataType)
"""Nodes that are parts of others."""


# nodes


def _logic(node: exp.Expr, scope: _Scope) -> Term:
    tests = [truth(scope.term(part)) for part in node.flatten()]
    deciding = isinstance(node, exp.Or)

    def test(row: Row) -> bool | None:
        result: bool | None = not deciding
        for part in tests:
            value = part(row)
            if value is deciding:
                return deciding
            if value is None:
                result = None
        return result

    return from_test(test)


def _xor(node: exp.Expr, scope: _Scope) -> Term:
    left, right = truth(scope.term(node.this)), truth(scope.term(node.expression))

    def test(row: Row) -> bool | None:
        one, other = left(row), right(row)
        return None if one is None or other is None else one is not other

    return from_test(test)


def _not(node: exp.Expr, scope: _Scope) -> Term:
    return from_test(_negated(truth(scope.term(node.this))))


def _negated(inner: Test) -> Test:
    def test(row: Row) -> bool | None:
        value = inner(row)
        return None if value is None else not value

    return test


def _comparison(node: exp.Expr, scope: _Scope) -> Term:
    order = comparing(scope.term(node.this), scope.term(node.expression))
    decide = COMPARISONS[type(node).__name__]

    def test(row: Row) -> bool | None:
        found = order(row)
        return None if found is None else decide(found)

    return from_test(test)


def _null_safe_equal(node: exp.Expr, scope: _Scope) -> Term:
    left, right = scope.term(node.this), scope.term(node.expression)
    order = comparing(left, right)

    def test(row: Row) -> bool | None:
        one, other = left.get(row), right.get(row)
        return one is other if one is None or other is None else order(row) == 0

    return from_test(test)


def _is(node: exp.Expr, scope: _Scope) -> Term:
    wanted = node.expression.unnest()
    if isinstance(wanted, exp.Null):
        get = scope.term(node.this).get
        return from_test(lambda row: get(row) is None)
    if not isinstance(wanted, exp.Boolean):
        refuse(f"IS is followed by NULL, TRUE, FALSE or UNKNOWN, not by {wanted.sql('mysql')}")
    holds = truth(scope.term(node.this))
    return from_test(lambda row: holds(row) is wanted.this)


def _in(node: exp.Expr, scope: _Scope) -> Term:
    if not node.expressions:
        refuse(f"{shown(node.sql('mysql'))}: IN is followed by a list of values")
    left = scope.term(node.this)
    orders = [comparing(left, scope.term(item)) for item in node.expressions]

    def test(row: Row) -> bool | None:
        result: bool | None = False
        for order in orders:
            found = order(row)
            if found == 0:
                return True
            if found is None:
                result = None
        return result

    return from_test(test)


def _between(node: exp.Expr, scope: _Scope) -> Term:
    if node.args.get("symmetric"):
        refuse("BETWEEN SYMMETRIC is not MySQL")
    term = scope.term(node.this)
    low, high = comparing(term, scope.term(node.args["low"])), comparing(term, scope.term(node.args["high"]))

    def test(row: Row) -> bool | None:
        above, below = low(row), high(row)
        if (above is not None and above < 0) or (below is not None and below > 0):
            return False
        return None if above is None or below is None else True

    return from_test(test)


def _like_node(node: exp.Expr, scope: _Scope, escape: str = "\\") -> Term:
    test = like(scope.term(node.this), scope.term(node.expression), escape)
    return from_test(_negated(test) if node.args.get("negate") else test)


def _escape(node: exp.Expr, scope: _Scope) -> Term:
    sign = node.expression
    inner = node.this
    negated = isinstance(inner, exp.Not)
    found = inner.this if negated else inner
    if not isinstance(found, exp.Like) or not sign.is_string or len(sign.this) > 1:
        refuse(f"{shown(node.sql('mysql'))}: ESCAPE follows a LIKE and is one character")
    term = _like_node(found, scope, sign.this)
    return from_test(_negated(truth(term))) if negated else term


def _regexp(node: exp.Expr, scope: _Scope) -> Term:
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or node.args.get("flag"):
        refuse(f"{shown(node.sql('mysql'))}: REGEXP takes a literal pattern")
    term = scope.term(node.this)
    try:
        regex = GoRegex(pattern.this, ignore_case=term.collation.endswith("_ci"))
    except RegexError as error:
        refuse(f"{shown(node.sql('mysql'))}: {error}")
    text = as_text(term).get

    def test(row: Row) -> bool | None:
        value = text(row)
        return None if value is None else regex.search(str(value))

    return from_test(test)


def _arithmetic(node: exp.Expr, scope: _Scope) -> Term:
    return arithmetic(type(node).__name__, scope.term(node.this), scope.term(node.expression))


def _negative(node: exp.Expr, scope: _Scope) -> Term:
    return arithmetic("Sub", literal(Kind.NUMBER, 0), scope.term(node.this))


def _bits(node: exp.Expr, scope: _Scope) -> Term:
    return bits(BITS[type(node).__name__], scope.term(node.this), scope.term(node.expression))


def _inverted(node: exp.Expr, scope: _Scope) -> Term:
    return bits(lambda one, _other: ~one, scope.term(node.this), literal(Kind.NUMBER, 0))


def _literal(node: exp.Expr, scope: _Scope) -> Term:
    if node.is_string:
        return literal(Kind.TEXT, node.this)
    try:
        if "e" in node.this.lower():
            return literal(Kind.DOUBLE, float(node.this))
        return literal(Kind.NUMBER, exact(node.this) if "." in node.this else int(node.this))
    except ValueError as error:
        refuse(f"number {node.this[:40]}… in {shown(scope.text)}: {error}")


def _hex(node: exp.Expr, _scope: _Scope) -> Term:
    digits = node.this if len(node.this) % 2 == 0 else "0" + node.this
    try:
        return literal(Kind.HEX, bytes.fromhex(digits))
    except ValueError:
        refuse(f"x'{node.this}' is no hexadecimal literal")


def _bit_literal(node: exp.Expr, _scope: _Scope) -> Term:
    if set(node.this) - {"0", "1"}:
        refuse(f"b'{node.this}' is no bit literal")
    return literal(Kind.HEX, int(node.this or "0", 2).to_bytes((len(node.this) + 7) // 8))


def _collate(node: exp.Expr, scope: _Scope) -> Term:
    term = as_text(scope.term(node.this))
    return Term(Kind.TEXT, term.get, term.literal, node.expression.name.lower())


_CASTS: Final[dict[str, Kind]] = {
    "BIGINT": Kind.NUMBER,
    "UBIGINT": Kind.NUMBER,
    "CHAR": Kind.TEXT,
    "BINARY": Kind.BYTES,
    "VARBINARY": Kind.BYTES,
    "DATE": Kind.DATE,
    "DATETIME": Kind.DATETIME,
    "TIMESTAMP": Kind.DATETIME,
    "TIMESTAMPTZ": Kind.DATETIME,
    "TIME": Kind.TIME,
}


def _cast(node: exp.Expr, scope: _Scope) -> Term:
    kind = _CASTS.get(node.args["to"].this.name)
    if kind is None or node.args["to"].expressions:
        refuse(
            f"{shown(node.sql('mysql'))}: a cast goes to SIGNED, UNSIGNED, CHAR, BINARY, DATE, DATETIME or TIME here"
        )
    term = scope.term(node.this)
    source = as_number(term) if kind is Kind.NUMBER else as_text(term)
    change = _CONVERSIONS.get(node.args["to"].this.name)
    return Term(kind, source.get if change is None else mapped(source.get, change), term.literal)


_CONVERSIONS: Final[dict[str, Callable[[Datum], Datum]]] = {"BIGINT": signed, "UBIGINT": unsigned} | dict.fromkeys(
    ("BINARY", "VARBINARY"), bytes_of
)


_NODES: Final[dict[type, Callable[..., Term]]] = {
    exp.Paren: lambda node, scope: scope.term(node.this),
    exp.Column: lambda node, scope: scope.column(node),
    exp.Literal: _literal,
    exp.Null: lambda _node, _scope: literal(Kind.NULL, None),
    exp.Boolean: lambda node, _scope: literal(Kind.NUMBER, int(node.this)),
    exp.HexString: _hex,
    exp.BitString: _bit_literal,
    exp.And: _logic,
    exp.Or: _logic,
    exp.Xor: _xor,
    exp.Not: _not,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _comparison),
    exp.NullSafeEQ: _null_safe_equal,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like_node,
    exp.Escape: _escape,
    exp.RegexpLike: _regexp,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod), _arithmetic),
    exp.Neg: _negative,
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseLeftShift, exp.BitwiseRightShift), _bits),
    exp.BitwiseNot: _inverted,
    exp.Collate: _collate,
    exp.Cast: _cast,
}
