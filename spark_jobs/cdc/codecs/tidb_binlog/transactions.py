"""Gathers rows to transactions, for the formats in which a message is a whole one.

Rules

1. A transaction is consecutive row changes of equal commit-ts. It is complete when another commit-ts, a DDL statement
   or a watermark at or above it comes, or ``flush`` is called.
2. It is never cut: more rows of the same commit-ts in a second message would be dropped by readers as a repeat. So a
   caller flushes between transactions only, and one larger than 1 GiB (Drainer's limit) is refused.
3. Rows without a commit-ts (0) tell no transaction; a message of them ends after ``UNTIMED_ROWS``.
4. What fails leaves everything gathered before as it was.
"""

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import Ddl, Event, RowChange, Watermark
from spark_jobs.cdc.rows.key_only import refuse_key_only
from spark_jobs.cdc.tso import MAX_TSO

MAX_MESSAGE_BYTES: Final = 1 << 30
UNTIMED_ROWS: Final = 1000

T = TypeVar("T")


class TransactionEncoder(Generic[T]):
    """``write_row`` gives a row's table and bytes, ``write_transaction`` a message of these."""

    def __init__(
        self,
        protocol: str,
        write_row: Callable[[RowChange], tuple[T, bytes]],
        write_transaction: Callable[[int, list[tuple[T, bytes]]], bytes],
        write_ddl: Callable[[Ddl], bytes],
    ) -> None:
        self._protocol = protocol
        self._write_row = write_row
        self._write_transaction = write_transaction
        self._write_ddl = write_ddl
        self._begin(0)

    def _begin(self, commit_ts: int) -> None:
        self._commit_ts = commit_ts
        self._rows: list[tuple[T, bytes]] = []
        self._bytes = 0

    def encode(self, event: Event, /) -> Sequence[bytes]:
        if isinstance(event, RowChange):
            return self._row(event)
        if isinstance(event, Ddl) and event.is_ddl:
            message = self._ddl(event)
            return [*self.flush(), message]
        if isinstance(event, Watermark) and event.watermark_ts >= self._commit_ts:
            return self.flush()
        return ()

    def flush(self) -> Sequence[bytes]:
        rows = self._rows
        if not rows:
            return ()
        commit_ts = self._commit_ts
        self._begin(0)
        return (self._write_transaction(commit_ts, rows),)

    def _row(self, event: RowChange) -> Sequence[bytes]:
        if event.only_handle_key or event.claim_check:
            refuse_key_only(event, self._protocol)
        row = self._write_row(event)
        size = len(row[1])
        commit_ts = event.commit_ts
        finished: Sequence[bytes] = ()
        if commit_ts != self._commit_ts or (not commit_ts and len(self._rows) >= UNTIMED_ROWS):
            self._check(commit_ts, size)
            finished = self.flush()
            self._begin(commit_ts)
        elif self._bytes + size > MAX_MESSAGE_BYTES:
            self._check(commit_ts, self._bytes + size)
        self._rows.append(row)
        self._bytes += size
        return finished

    def _ddl(self, event: Ddl) -> bytes:
        self._check(event.commit_ts, len(event.query))
        try:
            return self._write_ddl(event)
        except UnicodeEncodeError as error:
            where = f"the statement at commit-ts {event.commit_ts}"
            raise EncodeError(self._protocol, f"{where} is not text: {error}") from None

    def _check(self, commit_ts: int, size: int) -> None:
        if not 0 <= commit_ts <= MAX_TSO:
            raise EncodeError(self._protocol, f"{commit_ts} is not a commit-ts")
        if size > MAX_MESSAGE_BYTES:
            raise EncodeError(self._protocol, f"transaction {commit_ts} is larger than {MAX_MESSAGE_BYTES} bytes")
