"""A source message that cannot be decoded, or not be written as the sink wants it: an error with its position, or a
dead letter.
"""

from typing import Final

from spark_jobs.cdc.errors import DataError, DecodeError, EncodeError

MAX_DEAD_LETTERS = 10_000
"""In one batch: beyond it the source speaks another format, and going on would only hide that."""


MESSAGE_ERRORS: Final = (DecodeError, EncodeError)
"""What is wrong with one message alone."""


class BadMessage(DataError):
    """The message at ``position`` cannot be carried, for the reason that ``error`` gives; nothing was skipped."""

    def __init__(self, position: str, error: DecodeError | EncodeError) -> None:
        super().__init__(
            f"{position}: {error.message}; nothing was skipped. Mend the source, or set bad-message=dead-letter "
            "in the source URI to put such messages aside",
            code=error.code,
        )
        self.position = position


def refuse_too_many(count: int) -> None:
    """Raises when a batch has more dead letters than an accident explains."""
    if count > MAX_DEAD_LETTERS:
        raise DecodeError("", f"more than {MAX_DEAD_LETTERS} bad messages in one batch; is the protocol right?")
