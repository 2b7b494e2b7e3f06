"""The grammar of a default value.

A default is a literal, a call of a function, or an expression in parentheses. Nothing can follow it without an
operator, so its end is known without understanding it.
"""

from typing import Final

from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.nodes import Default, Tokens
from spark_jobs.cdc.ddl.tokens import Kind, Token, words

_BARE: Final = words(
    "NULL TRUE FALSE CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_DATE CURRENT_TIME CURRENT_USER UTC_TIMESTAMP "
    "NOW"
)
"""Words that are a default by themselves."""


def default_value(cursor: Cursor) -> Default:
    """What may stand behind DEFAULT and ON UPDATE."""
    if cursor.at("("):
        return Default(cursor.group(), bracketed=True)
    if cursor.accept("NEXT", "VALUE", "FOR"):
        return Default(_next_value(cursor))
    if cursor.at_any(("-", "+")):
        return Default((cursor.next(), _number(cursor)))
    return Default(_word(cursor) if cursor.peek().kind is Kind.WORD else _literal(cursor))


def _number(cursor: Cursor) -> Token:
    if cursor.peek().kind is not Kind.NUMBER:
        cursor.fail("a number")
    return cursor.next()


def _literal(cursor: Cursor) -> Tokens:
    if cursor.peek().kind not in (Kind.STRING, Kind.NUMBER, Kind.HEX, Kind.BIT):
        cursor.fail("a default value")
    taken = [cursor.next()]
    while taken[0].kind is Kind.STRING and cursor.peek().kind is Kind.STRING:
        taken.append(cursor.next())
    return tuple(taken)


def _word(cursor: Cursor) -> Tokens:
    name = _dotted(cursor)
    if cursor.at("("):
        return (*name, *cursor.bracketed())
    if name[0].text.startswith("_") or name[0].word in ("N", "DATE", "TIME", "TIMESTAMP"):
        return (*name, *_literal(cursor))
    if name[-1].word not in _BARE:
        cursor.fail("a default value")
    return name


def _dotted(cursor: Cursor) -> Tokens:
    taken = [cursor.next()]
    while cursor.at("."):
        taken += [cursor.next(), cursor.next()]
    return tuple(taken)


def _next_value(cursor: Cursor) -> Tokens:
    """``NEXT VALUE FOR s`` is ``NEXTVAL(s)``."""
    start = cursor.last_end
    call = Token(Kind.WORD, "NEXTVAL", "NEXTVAL", start, start)
    opening, closing = (Token(Kind.OPERATOR, text, text, start, start) for text in "()")
    return (call, opening, *_dotted(cursor), closing)
