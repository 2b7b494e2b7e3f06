"""Compiled parts of a filter expression: terms, their comparison, arithmetic and patterns, by MySQL's rules.

Two terms are compared as what their kinds say, decided once:

* text with text by collation; with bytes on either side as bytes;
* a date or time with a text as dates or times (a text that is none is NULL, a literal that is none an error);
* a DOUBLE on either side as doubles; all other mixtures as exact numbers, dates and times as theirs (``20240131``);
* a time with a date is refused: MySQL takes today's date for it, and a replay must not depend on the day.
"""

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Final, NoReturn, TypeAlias

import msgspec

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.events import Row
from spark_jobs.cdc.filters.expression_values import (
    EXACT,
    MOMENTS,
    NUMERIC,
    TEMPORAL,
    TO_NUMBER,
    Datum,
    Kind,
    bytes_of,
    folding,
    microseconds,
    moment,
    sorting,
    text_of,
)

INVALID: Final = "CDC:ErrInvalidFilterExpression"

Get: TypeAlias = Callable[[Row], Datum]
Key: TypeAlias = Callable[[Datum], object]
Test: TypeAlias = Callable[[Row], bool | None]

_MASK: Final = (1 << 64) - 1
_MAX_SIGNED: Final = (1 << 63) - 1
_BINARY: Final = frozenset({Kind.BYTES, Kind.HEX})
_STRINGS: Final = _BINARY | {Kind.TEXT}


class Term(msgspec.Struct, frozen=True):
    """A part of an expression, ready to be asked for its value in a row.

    ``literal``: it is the same in every row. ``choice``: of an enum or set column, its number beside its name.
    """

    kind: Kind
    get: Get
    literal: bool = False
    collation: str = ""
    choice: Get | None = None


def refuse(what: str) -> NoReturn:
    raise ConfigError(what, code=INVALID)


def shown(text: str) -> str:
    """A text for a message: quoted, and not endless."""
    return repr(text if len(text) <= 200 else text[:200] + "…")


def literal(kind: Kind, value: Datum) -> Term:
    return Term(kind, lambda _row: value, literal=True)


def truth(term: Term) -> Test:
    """MySQL's boolean: NULL is unknown, 0 false, everything else true."""
    number = as_number(term).get

    def holds(row: Row) -> bool | None:
        value = number(row)
        return None if value is None else value != 0

    return holds


def from_test(test: Test) -> Term:
    """1, 0 or NULL."""

    def get(row: Row) -> Datum:
        value = test(row)
        return None if value is None else int(value)

    return Term(Kind.NUMBER, get)


def as_number(term: Term) -> Term:
    """The term as a number, exact if it can be."""
    if term.choice is not None:
        return Term(Kind.NUMBER, term.choice, term.literal)
    if term.kind in NUMERIC:
        return term
    kind = Kind.DOUBLE if term.kind in (Kind.TEXT, Kind.BYTES) else Kind.NUMBER
    return Term(kind, mapped(term.get, TO_NUMBER[term.kind]), term.literal)


def as_text(term: Term) -> Term:
    """The term as text."""
    if term.kind is Kind.TEXT:
        return term
    return Term(Kind.TEXT, mapped(term.get, text_of), term.literal)


def mapped(get: Get, change: Callable[[Datum], Datum]) -> Get:
    """The values of ``get``, changed; NULL stays NULL."""

    def changed(row: Row) -> Datum:
        value = get(row)
        return None if value is None else change(value)

    return changed


# comparison

COMPARISONS: Final[dict[str, Callable[[int], bool]]] = {
    "EQ": lambda order: order == 0,
    "NEQ": lambda order: order != 0,
    "LT": lambda order: order < 0,
    "LTE": lambda order: order <= 0,
    "GT": lambda order: order > 0,
    "GTE": lambda order: order >= 0,
}


def comparing(left: Term, right: Term) -> Callable[[Row], int | None]:
    """-1, 0 or 1 as left is below, equal or above; None where either is NULL."""
    left, right = _numbers_of_choices(left, right)
    key = _key(left, right)
    left_key, right_key = key(left), key(right)
    left_get, right_get = left.get, right.get

    def order(row: Row) -> int | None:
        one, other = left_get(row), right_get(row)
        if one is None or other is None:
            return None
        first, second = left_key(one), right_key(other)
        if first is None or second is None:
            return None
        return -1 if first < second else int(first != second)  # type: ignore[operator]

    return order


def _numbers_of_choices(left: Term, right: Term) -> tuple[Term, Term]:
    if left.choice is not None and right.kind in NUMERIC:
        return as_number(left), right
    if right.choice is not None and left.kind in NUMERIC:
        return left, as_number(right)
    return left, right


def _key(left: Term, right: Term) -> Callable[[Term], Key]:
    kinds = {left.kind, right.kind}
    if Kind.NULL in kinds:
        return lambda _term: lambda _value: None
    if kinds & TEMPORAL and not kinds & (NUMERIC | {Kind.HEX}):
        return _temporal_key(kinds)
    if kinds <= _STRINGS:
        if kinds & _BINARY:
            return lambda _term: bytes_of
        sort = sorting(left.collation or right.collation)
        return lambda _term: lambda value: sort(str(value))
    if Kind.DOUBLE in kinds:
        return lambda term: _double_key(TO_NUMBER[term.kind])
    return lambda term: TO_NUMBER[term.kind]


def _temporal_key(kinds: set[Kind]) -> Callable[[Term], Key]:
    if Kind.TIME in kinds and kinds & MOMENTS:
        refuse("a time is compared with a date here, which would depend on today's date; compare TIME with TIME")
    parse: Callable[[str], object] = microseconds if Kind.TIME in kinds else moment

    def key(term: Term) -> Key:
        if term.literal and parse(text_of(term.get(()))) is None:
            refuse(f"{text_of(term.get(()))!r} is compared with a date or time, and is none")
        return lambda value: parse(text_of(value))

    return key


def _double_key(to_number: Callable[[Datum], Datum]) -> Key:
    def key(value: Datum) -> object:
        number = to_number(value)
        return None if number is None else float(number)

    return key


# arithmetic


def arithmetic(name: str, left: Term, right: Term) -> Term:
    """``Add Sub Mul Div IntDiv Mod``: exact unless a DOUBLE or a text takes part; dividing by 0 gives NULL."""
    left, right = as_number(left), as_number(right)
    inexact = Kind.DOUBLE in (left.kind, right.kind)
    compute = (_INEXACT if inexact else _EXACT)[name]
    left_get, right_get = left.get, right.get

    def get(row: Row) -> Datum:
        one, other = left_get(row), right_get(row)
        if one is None or other is None:
            return None
        return compute(float(one), float(other)) if inexact else compute(one, other)

    return Term(Kind.DOUBLE if inexact and name != "IntDiv" else Kind.NUMBER, get, left.literal and right.literal)


def _exact(whole: Callable[[int, int], int], decimal: Callable[[Decimal, Decimal], Decimal]) -> Callable[..., Datum]:
    def compute(one: Datum, other: Datum) -> Datum:
        if isinstance(one, int) and isinstance(other, int):
            return whole(one, other)
        return decimal(Decimal(one), Decimal(other))  # type: ignore[arg-type]

    return compute


def _divide(one: Datum, other: Datum) -> Datum:
    left, right = Decimal(one), Decimal(other)  # type: ignore[arg-type]
    if not right:
        return None
    scale = max(0, -int(left.as_tuple().exponent)) + 4
    return EXACT.divide(left, right).quantize(Decimal(1).scaleb(-scale), context=EXACT)


def _unless_zero(compute: Callable[..., Datum]) -> Callable[..., Datum]:
    return lambda one, other: compute(one, other) if other else None


def _truncated(one: Datum, other: Datum) -> Datum:
    left, right = Decimal(one), Decimal(other)  # type: ignore[arg-type]
    return int(EXACT.divide_int(left, right))


def _remainder(one: Datum, other: Datum) -> Datum:
    rest = EXACT.remainder(Decimal(one), Decimal(other))  # type: ignore[arg-type]
    return int(rest) if isinstance(one, int) and isinstance(other, int) else rest


_EXACT: Final[dict[str, Callable[..., Datum]]] = {
    "Add": _exact(operator.add, EXACT.add),
    "Sub": _exact(operator.sub, EXACT.subtract),
    "Mul": _exact(operator.mul, EXACT.multiply),
    "Div": _divide,
    "IntDiv": _unless_zero(_truncated),
    "Mod": _unless_zero(_remainder),
}
_INEXACT: Final[dict[str, Callable[..., Datum]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": _unless_zero(operator.truediv),
    "IntDiv": _unless_zero(lambda one, other: int(one / other)),
    "Mod": _unless_zero(lambda one, other: EXACT.remainder(Decimal(one), Decimal(other))),
}

BITS: Final[dict[str, Callable[[int, int], int]]] = {
    "BitwiseAnd": operator.and_,
    "BitwiseOr": operator.or_,
    "BitwiseLeftShift": lambda one, other: one << other if other < 64 else 0,
    "BitwiseRightShift": lambda one, other: one >> other if other < 64 else 0,
}


def bits(compute: Callable[[int, int], int], left: Term, right: Term) -> Term:
    """A bit operation on unsigned 64-bit numbers."""
    left_get, right_get = as_number(left).get, as_number(right).get

    def get(row: Row) -> Datum:
        one, other = left_get(row), right_get(row)
        return None if one is None or other is None else compute(whole(one) & _MASK, whole(other) & _MASK) & _MASK

    return Term(Kind.NUMBER, get)


def whole(value: Datum) -> int:
    """A number rounded half away from zero."""
    if isinstance(value, int):
        return value
    return int(Decimal(value).to_integral_value(context=EXACT))  # type: ignore[arg-type]


def signed(value: Datum) -> int:
    """A number as CAST … AS SIGNED gives it: an unsigned integer's 64 bits, the nearest limit for any other too big."""
    number = whole(value)
    if isinstance(value, int) and _MAX_SIGNED < number <= _MASK:
        return number - _MASK - 1
    return max(-_MAX_SIGNED - 1, min(number, _MAX_SIGNED))


def unsigned(value: Datum) -> int:
    """A number as CAST … AS UNSIGNED gives it: a negative one's 64 bits, but 0 for a negative DECIMAL."""
    number = whole(value)
    if number < 0:
        return 0 if isinstance(value, Decimal) else max(number, -_MAX_SIGNED - 1) & _MASK
    return min(number, _MASK)


# patterns


def like(term: Term, pattern: Term, escape: str) -> Test:
    """LIKE: ``%`` any run, ``_`` one character, of the whole text; never more than (text × pattern) steps."""
    binary = term.kind in _BINARY or pattern.kind in _BINARY
    fold = folding("binary" if binary else term.collation or pattern.collation)
    text_get, pattern_get = as_text(term).get, as_text(pattern).get
    fixed = None
    if pattern.literal:
        text = pattern_get(())
        fixed = None if text is None else _tokens(str(text), escape, fold)

    def matches(row: Row) -> bool | None:
        text, wanted = text_get(row), pattern_get(row)
        if text is None or wanted is None:
            return None
        return _like(fold(str(text)), fixed if fixed is not None else _tokens(str(wanted), escape, fold))

    return matches


_ANY, _ONE = object(), object()


def _tokens(pattern: str, escape: str, fold: Callable[[str], str]) -> list[object]:
    tokens: list[object] = []
    chars = iter(pattern)
    for char in chars:
        if char == escape:
            tokens.extend(fold(next(chars, escape)))
        elif char in "%_":
            tokens.append(_ANY if char == "%" else _ONE)
        else:
            tokens.extend(fold(char))
    return tokens


def _like(text: str, tokens: list[object]) -> bool:
    at = want = 0
    again: tuple[int, int] | None = None
    while at < len(text):
        token = tokens[want] if want < len(tokens) else None
        if token is _ANY:
            again = at, want = at, want + 1
        elif token is _ONE or token == text[at]:
            at, want = at + 1, want + 1
        elif again is not None:
            again = again[0] + 1, again[1]
            at, want = again
        else:
            return False
    return all(token is _ANY for token in tokens[want:])
