"""Rows of which the source sent the key alone, because the whole message would have been too big.

TiCDC does so with ``large-message-handle`` (fact sheet ticdc_formats §1.2) and marks the message: ``onlyHandleKey``, or
the ``claimCheckLocation`` of the whole one. A format without such a mark would pass the key off as the whole row, and
whoever reads it would empty all other columns. A DELETE needs no more than the key.
"""

from typing import Final

from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import DELETE, RowChange

_REMEDY: Final = "read the row upstream, or let TiCDC send larger messages"


def refuse_key_only(change: RowChange, protocol: str, *, deletes: bool = False) -> None:
    """Raises ``EncodeError`` for a row whose source sent the key alone; for a DELETE only if ``deletes``."""
    if not (change.only_handle_key or change.claim_check) or (change.kind is DELETE and not deletes):
        return
    where = f", the whole one is at {change.claim_check}" if change.claim_check else ""
    name = f"{change.table.schema}.{change.table.table}"
    raise EncodeError(protocol, f"{name}: the source sent only the key of this {change.kind}{where}; {_REMEDY}")
