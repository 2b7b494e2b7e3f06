"""No two tables of the source under one name in the sink: their rows could not be told apart there.

Asked with every batch, since only what comes tells which tables there are. A table that was dropped or renamed lets go
of its name. What an earlier owner saw is not known.
"""

from collections.abc import Iterable

from spark_jobs.cdc.ddl.effects import effects
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.events import Ddl
from spark_jobs.cdc.filters.selection import Selection

Key = tuple[str, str]


class Routes:
    """By name in the sink, the table of the source that has it."""

    def __init__(self, select: Selection) -> None:
        self._select = select
        self._owners: dict[Key, Key] = {}

    def claim(self, tables: Iterable[Key], statements: Iterable[Ddl]) -> None:
        """The tables of which rows came, and what was said about tables; ``ConfigError`` where two have one name."""
        if not self._select.renames:
            return
        told = [effect for ddl in statements for effect in effects(ddl, {}, self._select.passes).each if effect.table]
        ended = {(effect.schema, effect.table) for effect in told if effect.dropped}
        made = {(effect.schema, effect.table) for effect in told if not effect.dropped}
        for source in sorted({*tables, *made}, key=lambda source: source not in ended):
            target = self._select.routed(*source)
            owner = self._owners.get(target, source)
            if owner != source and not {owner, source} & ended:
                raise ConfigError(
                    f"replica_config.sink.dispatchers: the tables {'.'.join(owner)} and {'.'.join(source)} would both "
                    f"be {'.'.join(target)} in the sink; give them names of their own, such as "
                    "target-table={schema}_{table}",
                    code="CDC:ErrTableRouteConflict",
                )
            self._owners[target] = source
        for target in [target for target, owner in self._owners.items() if owner in ended]:
            del self._owners[target]
