"""DDL text in Drainer's local files: with the ``use`` that says where it ran."""

import re
from typing import Final

from spark_jobs.cdc.codecs.sql.text import SPACE, quoted_name

_CREATE_DATABASE: Final = re.compile(
    rf"{SPACE}create\b{SPACE}(?:database|schema)\b{SPACE}(?:if\s+not\s+exists\b)?{SPACE}(?:`((?:[^`]|``)*)`|([\w$]+))?",
    re.IGNORECASE | re.DOTALL,
)
_USE: Final = re.compile(r"use `((?:[^`]|``)*)`; (.*);\Z", re.DOTALL)


def stored_statement(schema: str, query: str) -> str:
    """The text as Drainer stores it."""
    if not schema:
        return query
    if _CREATE_DATABASE.match(query):
        return f"{query};"
    return f"use {quoted_name(schema)}; {query};"


def read_statement(stored: str) -> tuple[str, str]:
    """Schema and statement of a stored text; the schema is "" where none is told."""
    match = _USE.match(stored)
    if match is not None:
        return match[1].replace("``", "`"), match[2]
    created = _CREATE_DATABASE.match(stored)
    if created is None or not stored.endswith(";"):
        return "", stored
    return (created[1] or created[2] or "").replace("``", "`"), stored[:-1]
