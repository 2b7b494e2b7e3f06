"""Which part a word plays inside an expression or query: name, keyword, function, or part of a literal.

Most of MySQL's keywords may also be names, so the place decides: what follows an operand without an operator is a
keyword or an alias, what stands before a parenthesis a function, what stands beside a dot a name. A word that is no
keyword of its place is a name, and then gets backquotes, which never changes what it means.
"""

from enum import Enum
from typing import Final

import msgspec

from spark_jobs.cdc.ddl.tokens import Kind, words


class Role(Enum):
    NAME = "a name"
    KEYWORD = "a keyword, after which an operand may come"
    VALUE = "a keyword that is an operand itself"
    CALL = "a function before its parenthesis"
    BARE_CALL = "a function that needs no parentheses"
    PERCENT = "the operator MOD"
    CHARSET = "a charset or collation"
    QUOTED_CHARSET = "a charset that TiDB writes as a string"
    INTRODUCER = "a charset before a string"
    NATIONAL = "the N before a string"
    TIME_LITERAL = "DATE, TIME or TIMESTAMP before a string"


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a word stands. ``before`` and ``after``: the neighbours' words; ``function``: whose parentheses it is in;
    ``behind_operand``: no operator stands between; ``in_type``: where CAST and the like want words."""

    before: str
    after: str
    after_kind: Kind
    function: str
    behind_operand: bool
    in_type: bool


_KEYWORDS: Final = words(
    "AND OR XOR NOT IS IN LIKE BETWEEN DIV REGEXP RLIKE CASE WHEN THEN ELSE AS FROM COLLATE ESCAPE USING INTERVAL "
    "BINARY DISTINCT SELECT ALL DISTINCTROW WHERE GROUP BY HAVING ORDER LIMIT OFFSET ASC DESC UNION EXCEPT INTERSECT "
    "JOIN LEFT RIGHT INNER OUTER CROSS NATURAL STRAIGHT_JOIN ON WITH ROLLUP RECURSIVE EXISTS FOR OVER PARTITION ROWS "
    "WINDOW ANY SOME FORCE USE IGNORE INDEX KEY LATERAL LOCK UPDATE OF SQL_CALC_FOUND_ROWS SQL_NO_CACHE HIGH_PRIORITY "
    "RANGE UNBOUNDED PRECEDING FOLLOWING"
)
_VALUES: Final = words("NULL TRUE FALSE DEFAULT MAXVALUE END DUAL")
_UNITS: Final = words(
    "MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND "
    "HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH"
)
_BEHIND_OPERAND: Final = _UNITS | words("REGIONS SEPARATOR MEMBER SOUNDS")
_ALSO_FUNCTIONS: Final = words("LEFT RIGHT DEFAULT MOD INTERVAL ROW")
_BARE_CALLS: Final = words(
    "CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_DATE CURRENT_TIME CURRENT_USER UTC_DATE UTC_TIME UTC_TIMESTAMP"
)
_FIRST_ARGUMENTS: Final = {
    "EXTRACT": _UNITS,
    "TIMESTAMPDIFF": _UNITS,
    "TIMESTAMPADD": _UNITS,
    "TRIM": words("BOTH LEADING TRAILING"),
    "GET_FORMAT": words("DATE TIME DATETIME"),
}
_CHARSETS: Final = {"COLLATE": Role.CHARSET, "USING": Role.QUOTED_CHARSET}
_BEFORE_STRING: Final = {"N": Role.NATIONAL} | dict.fromkeys(words("DATE TIME TIMESTAMP"), Role.TIME_LITERAL)
_LITERALS: Final = frozenset({Kind.STRING, Kind.HEX, Kind.BIT})


def role(word: str, place: Place) -> Role:
    """The part that this word plays in this place."""
    if "." in (place.before, place.after):
        return Role.NAME
    if place.in_type:
        return Role.VALUE
    if place.before == "(" and word in _FIRST_ARGUMENTS.get(place.function, ()):
        return Role.KEYWORD
    if place.before in _CHARSETS and place.after not in (".", "("):
        return _CHARSETS[place.before]
    if place.before == "AS" and place.after != "(":
        return Role.NAME
    if place.after_kind in _LITERALS:
        found = _before_literal(word, place)
        if found is not None:
            return found
    return _call(word, place) or _keyword(word, place) or Role.NAME


def _before_literal(word: str, place: Place) -> Role | None:
    if word.startswith("_"):
        return Role.INTRODUCER
    if word == "SEPARATOR":
        return Role.KEYWORD
    return _BEFORE_STRING.get(word) if place.after_kind is Kind.STRING else None


def _call(word: str, place: Place) -> Role | None:
    if place.after != "(":
        return Role.BARE_CALL if word in _BARE_CALLS and not place.behind_operand else None
    if word == "AGAINST":
        return Role.CALL
    known = word in _KEYWORDS or word in _VALUES or word == "MOD"
    return Role.CALL if not place.behind_operand and (not known or word in _ALSO_FUNCTIONS) else None


def _keyword(word: str, place: Place) -> Role | None:
    if word in _VALUES or (word == "UNKNOWN" and place.before in ("IS", "NOT")) or place.before == "CURRENT":
        return Role.VALUE
    if word == "MOD" and place.behind_operand:
        return Role.PERCENT
    if word in _UNITS and place.behind_operand:
        return Role.VALUE
    behind = place.behind_operand and word in _BEHIND_OPERAND
    return Role.KEYWORD if word in _KEYWORDS or behind or (word == "CURRENT" and place.after == "ROW") else None
