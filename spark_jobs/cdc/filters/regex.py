r"""Whether a Go regular expression is found in a text.

TiDB's table filters, event filters and filter expressions promise Go's syntax, which is that of RE2: so RE2 reads it.
Time is linear in the text whatever the pattern: a rule such as ``(a+)+$`` would stop a changefeed for hours with
Python's ``re``. There are no captures here; the answer is yes or no.

A lone surrogate (text that was no UTF-8, read with ``surrogateescape``) counts as U+FFFD, as Go counts a byte that is
no UTF-8. Where RE2 and Go differ is listed in ``docs/decisions.md``.
"""

import re
from typing import Final

import re2

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_IN_GO: Final = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "pattern too large - compile failed": "expression too large",
    "trailing \\": "trailing backslash at end of expression",
}
"""What RE2 says, as Go says it, where they use other words."""


class RegexError(ValueError):
    """A pattern that is refused; ``at`` is the character offset of what is wrong, None where that is not known."""

    def __init__(self, reason: str, at: int | None = None) -> None:
        super().__init__(f"error parsing regexp: {reason}")
        self.at = at


class GoRegex:
    """A compiled pattern; ``RegexError`` (a ValueError) for one that RE2 refuses."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        self.pattern = pattern
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.case_sensitive = not ignore_case
        try:
            self._regex = re2.compile(pattern.encode(), options)
        except UnicodeEncodeError as error:
            raise RegexError("invalid UTF-8: ``", error.start) from None
        except re2.error as error:
            raise _refusal(pattern, error.args[0].decode("utf-8", "replace")) from None

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            data = _SURROGATE.sub("\ufffd", text).encode()
        return self._regex.search(data) is not None


def _refusal(pattern: str, text: str) -> RegexError:
    """RE2 says what is wrong and quotes it; where that stands is known if it stands there once."""
    what, _, quoted = text.partition(": ")
    at = pattern.find(quoted) if quoted and pattern.count(quoted) == 1 else None
    return RegexError(f"{_IN_GO.get(what, what)}: `{quoted}`", at)
