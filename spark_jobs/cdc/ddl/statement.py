"""What ``parse`` says about a statement."""

import msgspec

from spark_jobs.cdc.ddl.actions import REPLICATED, Action, CanalType, action_name
from spark_jobs.cdc.ddl.classify import TableId
from spark_jobs.cdc.ddl.tree import (
    Change,
)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement about one table or database; about two tables for EXCHANGE PARTITION.

    ``query``: its text as it was. ``schema``: the current database. ``tables``: (schema, table), the message's first;
    a table "" is the database itself; of a renamed table the new name, the old one in ``old_tables``. ``change``: what
    it does, None if it could not be parsed; then ``reason`` says why, and the rest is what its first words tell.
    """

    query: str
    action: Action
    canal_type: CanalType
    schema: str = ""
    tables: tuple[TableId, ...] = ()
    old_tables: tuple[TableId, ...] = ()
    change: Change | None = None
    reason: str = ""

    @property
    def parsed(self) -> bool:
        """Whether ``change`` says all that the statement does."""
        return self.change is not None

    @property
    def action_name(self) -> str:
        """TiDB's name of the action."""
        return action_name(self.action)

    @property
    def is_replicated(self) -> bool:
        """Whether TiCDC would hand it to a sink."""
        return self.action in REPLICATED
