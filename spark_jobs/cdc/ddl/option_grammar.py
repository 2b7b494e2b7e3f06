"""The grammar of table and database options.

Rules

1. Options may be separated by blanks or commas, ``=`` is optional, ``DEFAULT`` may stand before charset and collation.
2. ``CHARSET``, ``CHAR SET`` and ``CHARACTER SET`` are one option, ``CHARACTER SET``.
3. An option is in ``TABLE_OPTIONS`` with the form of its value; that form also says how it is written again.
"""

from enum import Enum
from typing import Final

from spark_jobs.cdc.ddl.cursor import Cursor
from spark_jobs.cdc.ddl.nodes import (
    Option,
)
from spark_jobs.cdc.ddl.tokens import Kind, words


class Form(Enum):
    """What an option's value is."""

    PLAIN = "a word, written as it is"
    UPPER = "a word, written in upper case"
    STRING = "a string"
    NUMBER = "a whole number, or DEFAULT"
    NAME = "a name"
    TABLES = "a list of tables"
    INTERVAL = "column + INTERVAL n unit"


TABLE_OPTIONS: Final = (
    {
        "ENGINE": Form.PLAIN,
        "ROW_FORMAT": Form.UPPER,
        "INSERT_METHOD": Form.UPPER,
        "STORAGE": Form.UPPER,
        "TABLESPACE": Form.NAME,
        "PLACEMENT POLICY": Form.NAME,
        "UNION": Form.TABLES,
        "TTL": Form.INTERVAL,
        "STATS_SAMPLE_RATE": Form.PLAIN,
        "AUTOEXTEND_SIZE": Form.PLAIN,
    }
    | dict.fromkeys(
        words(
            "COMMENT COMPRESSION CONNECTION PASSWORD ENCRYPTION SECONDARY_ENGINE ENGINE_ATTRIBUTE "
            "SECONDARY_ENGINE_ATTRIBUTE TTL_ENABLE TTL_JOB_INTERVAL STATS_COL_CHOICE STATS_COL_LIST"
        )
        | {"DATA DIRECTORY", "INDEX DIRECTORY"},
        Form.STRING,
    )
    | dict.fromkeys(
        words(
            "AUTO_INCREMENT AUTO_ID_CACHE AUTO_RANDOM_BASE AVG_ROW_LENGTH CHECKSUM TABLE_CHECKSUM KEY_BLOCK_SIZE "
            "MAX_ROWS MIN_ROWS DELAY_KEY_WRITE STATS_PERSISTENT STATS_AUTO_RECALC STATS_SAMPLE_PAGES NODEGROUP "
            "SHARD_ROW_ID_BITS PRE_SPLIT_REGIONS PACK_KEYS STATS_BUCKETS STATS_TOPN PAGE_CHECKSUM TRANSACTIONAL "
            "PAGE_COMPRESSED PAGE_COMPRESSION_LEVEL"
        ),
        Form.NUMBER,
    )
)
"""Every table option by its canonical name."""

_TWO_WORDS: Final = {"DATA": "DIRECTORY", "INDEX": "DIRECTORY", "PLACEMENT": "POLICY"}
_CHARSET_WORDS: Final = (("CHARACTER", "SET"), ("CHAR", "SET"), ("CHARSET",))


def table_options(cursor: Cursor, *, commas: bool = True) -> tuple[Option, ...]:
    """All options that stand here, none included; with ``commas`` also those behind a comma."""
    options: list[Option] = []
    while True:
        if commas and cursor.at(",") and _at_option(cursor, 1):
            cursor.next()
        option = table_option(cursor)
        if option is None:
            break
        options.append(option)
    return tuple(options)


def table_option(cursor: Cursor) -> Option | None:
    """One option, if one stands here."""
    if not _at_option(cursor, 0):
        return None
    if cursor.at_any(("DEFAULT", "CHARACTER", "CHAR", "CHARSET", "COLLATE")):
        return charset_option(cursor)
    force = cursor.accept("FORCE")
    name = cursor.next().word
    if name in _TWO_WORDS:
        name = f"{name} {cursor.next().word}"
    cursor.accept("=")
    return _valued(cursor, name, force)


def _at_option(cursor: Cursor, ahead: int) -> bool:
    word, behind = cursor.peek(ahead).word, cursor.peek(ahead + 1).word
    if word == "DEFAULT":
        return behind in ("CHARACTER", "CHAR", "CHARSET", "COLLATE")
    if word in ("CHARACTER", "CHAR"):
        return behind == "SET"
    if word == "FORCE":
        return behind in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE")
    if word in _TWO_WORDS:
        return behind == _TWO_WORDS[word]
    return word in TABLE_OPTIONS or word in ("CHARSET", "COLLATE")


def charset_option(cursor: Cursor) -> Option:
    """``[DEFAULT] CHARACTER SET [=] x`` or ``[DEFAULT] COLLATE [=] x``"""
    cursor.accept("DEFAULT")
    name = "COLLATE" if cursor.accept("COLLATE") else "CHARACTER SET"
    if name == "CHARACTER SET" and not any(cursor.accept(*words) for words in _CHARSET_WORDS):
        cursor.fail("a charset or collation")
    cursor.accept("=")
    is_default = cursor.accept("DEFAULT")
    return Option(name, "" if is_default else cursor.name_or_string().lower(), is_default)


def _valued(cursor: Cursor, name: str, force: bool) -> Option:
    form = TABLE_OPTIONS[name]
    if form is Form.INTERVAL:
        return _interval(cursor, name)
    if form is Form.TABLES:
        return Option(name, tokens=cursor.group())
    if form is Form.NUMBER and cursor.peek().kind is Kind.NUMBER:
        return Option(name, str(cursor.integer()), force=force)
    if cursor.accept("SET", "DEFAULT") or (form is not Form.UPPER and cursor.accept("DEFAULT")):
        return Option(name, is_default=True)
    if cursor.at("NULL"):
        return Option(name, tokens=(cursor.next(),))
    return Option(name, _word_or_literal(cursor), force=force)


def _word_or_literal(cursor: Cursor) -> str:
    if cursor.peek().kind not in (Kind.STRING, Kind.WORD, Kind.QUOTED, Kind.NUMBER):
        cursor.fail("the option's value")
    return cursor.next().text


def _interval(cursor: Cursor, name: str) -> Option:
    column = cursor.name()
    cursor.expect("+", "INTERVAL")
    number = cursor.next()
    unit = cursor.next()
    if number.kind not in (Kind.NUMBER, Kind.STRING) or unit.kind is not Kind.WORD:
        cursor.fail("a number and a time unit")
    return Option(name, column, tokens=(number, unit))


def database_options(cursor: Cursor) -> tuple[Option, ...]:
    """Options of CREATE and ALTER DATABASE."""
    options: list[Option] = []
    while not cursor.at_end:
        cursor.accept(",")
        options.append(_database_option(cursor))
    return tuple(options)


def _database_option(cursor: Cursor) -> Option:
    if cursor.at_any(("CHARACTER", "CHAR", "CHARSET", "COLLATE")) or (_at_option(cursor, 0) and cursor.at("DEFAULT")):
        return charset_option(cursor)
    if cursor.accept("PLACEMENT", "POLICY"):
        cursor.accept("=")
        cursor.accept("SET")
        return Option("PLACEMENT POLICY", cursor.name())
    if cursor.accept("SET", "TIFLASH", "REPLICA"):
        return Option("SET TIFLASH REPLICA", tokens=cursor.rest())
    cursor.accept("DEFAULT")
    if cursor.accept("READ", "ONLY"):
        cursor.accept("=")
        return Option("READ ONLY", _word_or_literal(cursor))
    word = cursor.accept_any(("ENCRYPTION", "COMMENT"))
    if not word:
        cursor.fail("a database option")
    cursor.accept("=")
    return Option(word, cursor.string())
