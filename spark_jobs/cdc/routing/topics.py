"""Names of topics that a rule makes out of the names of schema and table.

An expression is literal text of ``A-Z a-z 0-9 . _ -`` with at most one ``{schema}`` and, behind it, at most one
``{table}``. In the names put in, every other character becomes ``_``; the result is cut at 249 bytes; the names ``.``
and ``..``, which Kafka forbids, become ``_`` and ``__``. Case is kept.
"""

import re
from typing import Final

from spark_jobs.cdc.errors import ConfigError

INVALID: Final = "CDC:ErrKafkaInvalidConfig"
MAX_BYTES: Final = 249
_EXPRESSION: Final = re.compile(r"[A-Za-z0-9._-]*(\{schema\})?([A-Za-z0-9._-]*\{table\})?[A-Za-z0-9._-]*")
_FORBIDDEN: Final = re.compile(r"[^A-Za-z0-9._-]")
_DOTS: Final = {".": "_", "..": "__"}


class TopicExpression:
    """A checked expression; ``ConfigError`` says what is wrong with one."""

    def __init__(self, text: str) -> None:
        if not text or _EXPRESSION.fullmatch(text) is None:
            raise ConfigError(
                f"invalid topic expression {text!r}: write letters, digits, '.', '_' and '-', with {{schema}} at most "
                "once and {table} at most once behind it",
                code=INVALID,
            )
        self.text = text

    def topic(self, schema: str, table: str) -> str:
        """The topic for a table, or for a schema where ``table`` is empty."""
        named = self.text.replace("{schema}", _plain(schema)).replace("{table}", _plain(table))
        cut = named[:MAX_BYTES]
        return _DOTS.get(cut, cut)


def _plain(name: str) -> str:
    return _FORBIDDEN.sub("_", name)
