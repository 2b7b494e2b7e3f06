"""SQL text: every row change and DDL statement as statements for a MySQL-compatible database. Written, not read.

Rules

1. A message is one statement with its values in it and ``;`` behind it, on one line (``sql_text.one_line``).
2. Which statements: ``sql/statements``. A DDL is two messages: ``USE`` its schema, and the statement.
3. The session that runs them needs: client character set utf8mb4, the default string escapes, an ``sql_mode`` that
   takes the zero dates of the source, and the ``time_zone`` in which the source wrote TIMESTAMP.

Watermarks, heartbeats and transaction marks have no form here.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from spark_jobs.cdc.codec import Codec, Option
from spark_jobs.cdc.codec_options import Options
from spark_jobs.cdc.codecs.sql.statements import Statement, StatementWriter
from spark_jobs.cdc.codecs.sql.text import one_line
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import Ddl, Event

NAME: Final = "sql"

_ENCODE_OPTIONS: Final = (
    Option(
        name="insert",
        kind="choice",
        default="replace",
        meaning="how an insert is written: REPLACE, which may be repeated, or INSERT",
        choices=("replace", "insert"),
    ),
    Option(
        name="safe-mode",
        kind="bool",
        default="false",
        meaning="write an update as DELETE and REPLACE, so that it may be repeated",
    ),
)


class SqlEncoder:
    """One message for a statement."""

    def __init__(self, writer: StatementWriter) -> None:
        self._writer = writer

    def encode(self, event: Event, /) -> Sequence[bytes]:
        try:
            return [_line(statement, isinstance(event, Ddl)) for statement in self._writer.write(event)]
        except UnicodeEncodeError as error:
            raise EncodeError(NAME, f"a name or a statement is not text: {error}") from None

    def flush(self) -> Sequence[bytes]:
        return ()


def _line(statement: Statement, raw: bool) -> bytes:
    text = statement.literal_text
    return f"{one_line(text) if raw else text};".encode()


def encoder(options: Mapping[str, str], /) -> SqlEncoder:
    given = Options(NAME, options, _ENCODE_OPTIONS)
    return SqlEncoder(StatementWriter(replace=given.text("insert") == "replace", safe=given.flag("safe-mode")))


CODEC: Final = Codec(name=NAME, encoder=encoder, encode_options=_ENCODE_OPTIONS, text=True)
