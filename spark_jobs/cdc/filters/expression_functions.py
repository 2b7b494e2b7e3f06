"""The functions of filter expressions; nothing that depends on the clock, the session or chance.

* Choices: ``IF IFNULL COALESCE NULLIF ISNULL GREATEST LEAST``, ``CASE``
* Numbers: ``ABS CEIL CEILING FLOOR ROUND SIGN MOD``
* Texts: ``LENGTH CHAR_LENGTH LOWER LCASE UPPER UCASE CONCAT CONCAT_WS LEFT RIGHT SUBSTRING SUBSTR MID TRIM LTRIM RTRIM
  REPLACE REVERSE INSTR LOCATE``
* Times: ``DATE YEAR MONTH DAY DAYOFMONTH HOUR MINUTE SECOND``

``LENGTH`` counts bytes of UTF-8. A text result is at most ``MAX_TEXT`` characters long.
"""

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final, TypeAlias

from sqlglot import exp

from spark_jobs.cdc.events import Row
from spark_jobs.cdc.filters.expression_terms import (
    Term,
    Test,
    as_number,
    as_text,
    comparing,
    literal,
    refuse,
    truth,
    whole,
)
from spark_jobs.cdc.filters.expression_values import (
    EXACT,
    MOMENTS,
    NUMERIC,
    Datum,
    Kind,
    bytes_of,
    folding,
    microseconds,
    moment,
    text_of,
)

MAX_TEXT: Final = 64 * 1024 * 1024

Compile: TypeAlias = Callable[[exp.Expr], Term]
Function: TypeAlias = Callable[[exp.Expr, Compile], Term]


def _of(kind: Kind, compute: Callable[..., Datum], *terms: Term, collation: str = "") -> Term:
    """A term that is NULL where one of its parts is."""
    gets = [term.get for term in terms]

    def get(row: Row) -> Datum:
        values = [part(row) for part in gets]
        return None if None in values else compute(*values)

    return Term(kind, get, all(term.literal for term in terms), collation)


# choices


def _alike(terms: Sequence[Term]) -> list[Term]:
    """The terms as one kind: what a CASE of them has."""
    kinds = {term.kind for term in terms} - {Kind.NULL}
    plain = not any(term.choice for term in terms)
    if len(kinds) <= 1 and plain:
        return list(terms)
    if kinds <= NUMERIC:
        return [Term(Kind.DOUBLE, term.get, term.literal) for term in terms]
    if kinds <= MOMENTS:
        return [Term(Kind.DATETIME, term.get, term.literal) for term in terms]
    return [as_text(term) for term in terms]


def _kind(terms: Sequence[Term]) -> Kind:
    return next((term.kind for term in terms if term.kind is not Kind.NULL), Kind.NULL)


def _first(tests: Sequence[tuple[Test, Term]], default: Term) -> Term:
    results = _alike([*(term for _, term in tests), default])
    branches = [(test, term.get) for (test, _), term in zip(tests, results, strict=False)]
    otherwise = results[-1].get

    def get(row: Row) -> Datum:
        for test, result in branches:
            if test(row) is True:
                return result(row)
        return otherwise(row)

    return Term(_kind(results), get)


def _if(node: exp.Expr, term: Compile) -> Term:
    return _first([(truth(term(node.this)), term(node.args["true"]))], _optional(node.args.get("false"), term))


def _case(node: exp.Expr, term: Compile) -> Term:
    subject = None if node.this is None else term(node.this)
    tests = []
    for branch in node.args["ifs"]:
        when = term(branch.this)
        tests.append((truth(when) if subject is None else _equal(subject, when), term(branch.args["true"])))
    return _first(tests, _optional(node.args.get("default"), term))


def _equal(left: Term, right: Term) -> Test:
    order = comparing(left, right)

    def test(row: Row) -> bool | None:
        found = order(row)
        return None if found is None else found == 0

    return test


def _optional(node: exp.Expr | None, term: Compile) -> Term:
    return literal(Kind.NULL, None) if node is None else term(node)


def _coalesce(node: exp.Expr, term: Compile) -> Term:
    terms = _alike([term(node.this), *map(term, node.expressions)])
    gets = [one.get for one in terms]

    def get(row: Row) -> Datum:
        return next((value for part in gets if (value := part(row)) is not None), None)

    return Term(_kind(terms), get, all(one.literal for one in terms), terms[0].collation)


def _nullif(node: exp.Expr, term: Compile) -> Term:
    left = term(node.this)
    same = _equal(left, term(node.expression))
    return Term(left.kind, lambda row: None if same(row) else left.get(row), collation=left.collation)


def _extreme(sign: int) -> Function:
    def build(node: exp.Expr, term: Compile) -> Term:
        terms = _alike([term(node.this), *map(term, node.expressions)])
        result = terms[0]
        for other in terms[1:]:
            result = _further(result, other, sign)
        return result

    return build


def _further(left: Term, right: Term, sign: int) -> Term:
    order = comparing(left, right)

    def get(row: Row) -> Datum:
        found = order(row)
        if found is None:
            return None
        return left.get(row) if found * sign >= 0 else right.get(row)

    return Term(left.kind if left.kind is not Kind.NULL else right.kind, get, left.literal and right.literal)


# numbers


def _number(compute: Callable[[Datum], Datum]) -> Function:
    def build(node: exp.Expr, term: Compile) -> Term:
        value = as_number(term(node.this))
        return _of(value.kind, compute, value)

    return build


def _to_whole(rounding: str) -> Callable[[Datum], Datum]:
    def compute(value: Datum) -> Datum:
        if isinstance(value, int):
            return value
        result = Decimal(value).to_integral_value(rounding, EXACT)  # type: ignore[arg-type]
        return float(result) if isinstance(value, float) else int(result)

    return compute


def _sign(value: Datum) -> Datum:
    return (value > 0) - (value < 0)  # type: ignore[operator]


def _round(node: exp.Expr, term: Compile) -> Term:
    value = as_number(term(node.this))
    digits = _optional_number(node.args.get("decimals"), term)
    return _of(value.kind, _rounded, value, digits)


def _optional_number(node: exp.Expr | None, term: Compile) -> Term:
    return literal(Kind.NUMBER, 0) if node is None else as_number(term(node))


def _rounded(value: Datum, digits: Datum) -> Datum:
    places = max(-80, min(30, whole(digits)))
    if isinstance(value, float):
        return round(value, places)
    exact = Decimal(value)  # type: ignore[arg-type]
    if places >= -int(exact.as_tuple().exponent):
        return value
    result = exact.quantize(Decimal(1).scaleb(-places), context=EXACT)
    return int(result) if isinstance(value, int) or places <= 0 else result


# texts


def _texts(compute: Callable[..., Datum], *parts: str, kind: Kind = Kind.TEXT) -> Function:
    """A function of texts, which stand in these arguments of the node."""

    def build(node: exp.Expr, term: Compile) -> Term:
        terms = [term(node.args[part]) for part in parts]
        return _of(kind, compute, *map(as_text, terms), collation=terms[0].collation)

    return build


def _length(node: exp.Expr, term: Compile) -> Term:
    value = term(node.this)
    if node.args.get("binary") or value.kind in (Kind.BYTES, Kind.HEX):
        return _of(Kind.NUMBER, lambda one: len(bytes_of(one)), value)
    return _of(Kind.NUMBER, lambda one: len(text_of(one)), as_text(value))


def _concat(node: exp.Expr, term: Compile) -> Term:
    return _of(Kind.TEXT, lambda *texts: "".join(texts), *(as_text(term(one)) for one in node.expressions))


def _concat_ws(node: exp.Expr, term: Compile) -> Term:
    separator, *parts = (as_text(term(one)).get for one in node.expressions)

    def get(row: Row) -> Datum:
        between = separator(row)
        texts = [text for part in parts if (text := part(row)) is not None]
        return None if between is None else str(between).join(map(str, texts))

    return Term(Kind.TEXT, get)


def _ends(take: Callable[[str, int], str]) -> Function:
    def build(node: exp.Expr, term: Compile) -> Term:
        text = term(node.this)
        count = as_number(term(node.expression))
        return _of(
            Kind.TEXT, lambda one, n: take(one, max(0, whole(n))), as_text(text), count, collation=text.collation
        )

    return build


def _substring(node: exp.Expr, term: Compile) -> Term:
    return _part([node.this, node.args.get("start"), node.args.get("length")], term)


def _mid(node: exp.Expr, term: Compile) -> Term:
    return _part([*node.expressions, None, None][:3], term)


def _part(parts: list[exp.Expr | None], term: Compile) -> Term:
    if parts[0] is None or parts[1] is None:
        refuse("SUBSTRING takes a text and a position")
    text = term(parts[0])
    terms = [as_text(text), as_number(term(parts[1]))]
    terms += [as_number(term(parts[2]))] if parts[2] is not None else []
    return _of(Kind.TEXT, _cut, *terms, collation=text.collation)


def _cut(text: str, start: Datum, length: Datum = MAX_TEXT) -> Datum:
    first, count = whole(start), whole(length)
    begin = first - 1 if first > 0 else len(text) + first
    if first == 0 or begin < 0 or count <= 0:
        return ""
    return text[begin : begin + count]


def _trim(node: exp.Expr, term: Compile) -> Term:
    text = term(node.this)
    blank = node.expression
    signs = literal(Kind.TEXT, " ") if blank is None else as_text(term(blank))
    where = str(node.args.get("position") or "BOTH")
    return _of(Kind.TEXT, lambda one, sign: _stripped(one, sign, where), as_text(text), signs, collation=text.collation)


def _stripped(text: str, sign: str, where: str) -> str:
    begin, end, width = 0, len(text), len(sign)
    while width and where != "TRAILING" and text.startswith(sign, begin, end):
        begin += width
    while width and where != "LEADING" and text.endswith(sign, begin, end):
        end -= width
    return text[begin:end]


def _replaced(text: str, old: str, new: str) -> str:
    if not old:
        return text
    if text.count(old) * len(new) > MAX_TEXT:
        raise ValueError(f"REPLACE would give more than {MAX_TEXT} characters")
    return text.replace(old, new)


def _position(node: exp.Expr, term: Compile) -> Term:
    text, part = term(node.this), term(node.args["substr"])
    fold = folding(text.collation or part.collation)
    start = _optional_number(node.args.get("position"), term) if node.args.get("position") else literal(Kind.NUMBER, 1)

    def find(one: str, other: str, at: Datum) -> Datum:
        first = whole(at)
        return 0 if first < 1 else fold(one).find(fold(other), first - 1) + 1

    return _of(Kind.NUMBER, find, as_text(text), as_text(part), start)


# times


def _moment_part(place: int) -> Function:
    def build(node: exp.Expr, term: Compile) -> Term:
        def part(value: Datum) -> Datum:
            parts = moment(text_of(value))
            return None if parts is None else parts[place]

        return _of(Kind.NUMBER, part, _inner_date(node.this, term))

    return build


def _clock_part(place: int, micros: int, modulo: int) -> Function:
    """HOUR, MINUTE or SECOND, of a time (where hours go beyond 23) or of a date and time."""

    def build(node: exp.Expr, term: Compile) -> Term:
        def part(value: Datum) -> Datum:
            text = text_of(value)
            time = microseconds(text)
            if time is not None:
                return abs(time) // micros % modulo
            parts = moment(text)
            return None if parts is None else parts[place]

        return _of(Kind.NUMBER, part, _inner_date(node.this, term))

    return build


def _date(node: exp.Expr, term: Compile) -> Term:
    def date(value: Datum) -> Datum:
        parts = moment(text_of(value))
        return None if parts is None else "{:04d}-{:02d}-{:02d}".format(*parts)

    return _of(Kind.DATE, date, term(node.this))


def _inner_date(node: exp.Expr, term: Compile) -> Term:
    """The argument itself: the parser wraps it in a conversion to a date, which would lose the time."""
    return term(node.this if isinstance(node, exp.TsOrDsToDate) else node)


FUNCTIONS: Final[dict[type, Function]] = {
    exp.If: _if,
    exp.Case: _case,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Greatest: _extreme(1),
    exp.Least: _extreme(-1),
    exp.Abs: _number(abs),  # type: ignore[arg-type]
    exp.Ceil: _number(_to_whole(ROUND_CEILING)),
    exp.Floor: _number(_to_whole(ROUND_FLOOR)),
    exp.Sign: _number(_sign),
    exp.Round: _round,
    exp.Length: _length,
    exp.Lower: _texts(str.lower, "this"),
    exp.Upper: _texts(str.upper, "this"),
    exp.Reverse: _texts(lambda text: text[::-1], "this"),
    exp.Replace: _texts(_replaced, "this", "expression", "replacement"),
    exp.Concat: _concat,
    exp.ConcatWs: _concat_ws,
    exp.Left: _ends(lambda text, count: text[:count]),
    exp.Right: _ends(lambda text, count: text[len(text) - min(count, len(text)) :]),
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Year: _moment_part(0),
    exp.Month: _moment_part(1),
    exp.Day: _moment_part(2),
    exp.DayOfMonth: _moment_part(2),
    exp.Hour: _clock_part(3, 3_600_000_000, 1_000_000),
    exp.Minute: _clock_part(4, 60_000_000, 60),
    exp.Second: _clock_part(5, 1_000_000, 60),
    exp.TsOrDsToDate: _date,
    exp.Date: _date,
}
NAMED_FUNCTIONS: Final[dict[str, Function]] = {"mid": _mid}
"""Functions that the parser knows by name only."""
