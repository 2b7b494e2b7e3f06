"""Names in the sink (``target-schema``, ``target-table``): text with ``{schema}`` and ``{table}``."""

import re
from typing import Final

from spark_jobs.cdc.errors import ConfigError

INVALID: Final = "CDC:ErrInvalidTableRoutingRule"
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


class NameExpression:
    """A checked expression; ``ConfigError`` says what is wrong with one."""

    def __init__(self, text: str) -> None:
        named = set(_PLACEHOLDER.findall(text)) - {"schema", "table"}
        rest = _PLACEHOLDER.sub("", text)
        if not text or named or "{" in rest or "}" in rest:
            raise ConfigError(
                f"invalid name {text!r} of a target: write the name itself, with {{schema}} and {{table}} for those of "
                "the source",
                code=INVALID,
            )
        self._text = text

    def name(self, schema: str, table: str) -> str:
        """The name for a table."""
        return _PLACEHOLDER.sub(lambda found: schema if found[1] == "schema" else table, self._text)
