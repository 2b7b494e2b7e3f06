"""What the first words of a statement tell when it cannot be parsed.

Only the beginning of the text is looked at, as far as it is made of tokens. The table is named only where the words
leave no doubt; the action is the one of the verb (ALTER TABLE is a multi-schema change, whatever it does).
"""

from contextlib import suppress
from itertools import islice
from typing import Final

from spark_jobs.cdc.ddl.actions import Action, canal_type
from spark_jobs.cdc.ddl.statement import Statement
from spark_jobs.cdc.ddl.tokens import DdlSyntaxError, Kind, Token, tokens

_LOOKED_AT: Final = 30
_BEGINNING: Final = 4096
_PASSED_OVER: Final = frozenset({"OR", "REPLACE", "IF", "NOT", "EXISTS", "ONLINE", "OFFLINE", "IGNORE", "TEMPORARY"})

_VERBS: Final = {
    ("CREATE", "TABLE"): Action.CREATE_TABLE,
    ("ALTER", "TABLE"): Action.MULTI_SCHEMA_CHANGE,
    ("DROP", "TABLE"): Action.DROP_TABLE,
    ("DROP", "VIEW"): Action.DROP_VIEW,
    ("CREATE", "VIEW"): Action.CREATE_VIEW,
    ("RENAME", "TABLE"): Action.RENAME_TABLE,
    ("TRUNCATE", "TABLE"): Action.TRUNCATE_TABLE,
    ("CREATE", "DATABASE"): Action.CREATE_SCHEMA,
    ("CREATE", "SCHEMA"): Action.CREATE_SCHEMA,
    ("DROP", "DATABASE"): Action.DROP_SCHEMA,
    ("DROP", "SCHEMA"): Action.DROP_SCHEMA,
    ("ALTER", "DATABASE"): Action.MODIFY_SCHEMA_CHARSET,
    ("ALTER", "SCHEMA"): Action.MODIFY_SCHEMA_CHARSET,
    ("CREATE", "INDEX"): Action.ADD_INDEX,
    ("CREATE", "UNIQUE"): Action.ADD_INDEX,
    ("DROP", "INDEX"): Action.DROP_INDEX,
}
_DATABASE_ACTIONS: Final = frozenset({Action.CREATE_SCHEMA, Action.DROP_SCHEMA, Action.MODIFY_SCHEMA_CHARSET})
_INDEX_ACTIONS: Final = frozenset({Action.ADD_INDEX, Action.DROP_INDEX})


def guess(query: str, schema: str, reason: str) -> Statement:
    """The statement as far as its first words tell."""
    read = _beginning(query)
    words = [token for token in read if token.word not in _PASSED_OVER]
    action = _VERBS.get((words[0].word, words[1].word), Action.NONE) if len(words) > 1 else Action.NONE
    return Statement(
        query=query,
        action=action,
        canal_type=canal_type(action),
        schema=schema,
        tables=_tables(action, words, schema),
        reason=reason,
    )


def _beginning(query: str) -> list[Token]:
    read: list[Token] = []
    with suppress(DdlSyntaxError):
        read.extend(islice(tokens(query[:_BEGINNING]), _LOOKED_AT))
    return read


def _tables(action: Action, words: list[Token], schema: str) -> tuple[tuple[str, str], ...]:
    if action is Action.NONE or action is Action.RENAME_TABLE:
        return ()
    rest = words[2:]
    if action in _INDEX_ACTIONS:
        on = next((at for at, token in enumerate(rest) if token.word == "ON"), len(rest))
        rest = rest[on + 1 :]
    names = [token for token in rest[:3] if token.kind in (Kind.WORD, Kind.QUOTED) or token.word == "."]
    if not names or names[0].word == ".":
        return ()
    if action in _DATABASE_ACTIONS:
        return ((names[0].text, ""),)
    if len(names) == 3 and names[1].word == ".":
        return ((names[0].text, names[2].text),)
    return ((schema, names[0].text),)
