"""Which columns tell the rows of a table apart (the handle key), and whether a table has such columns at all.

* The handle key is the primary key; else, among the unique indexes whose columns are all NOT NULL and not virtual, the
  one with the fewest columns, the first of those; else there is none.
* A table is eligible if it has a handle key, or if ``force_replicate`` says so.
* A source that tells nothing about indexes (``TableSchema.indexes`` is None) may hide a unique key: its tables count as
  eligible, because it chose to send them.
"""

from spark_jobs.cdc.events import Column, TableSchema


def handle_key(table: TableSchema) -> tuple[int, ...]:
    """Places of the handle key's columns, in table order; empty if there is none."""
    primary = tuple(at for at, column in enumerate(table.columns) if column.is_key)
    return primary or _smallest_unique_key(table)


def is_eligible(table: TableSchema, *, force_replicate: bool = False) -> bool:
    """Whether rows of the table can be delivered so that a consumer can find them again."""
    return force_replicate or table.indexes is None or bool(handle_key(table))


def index_places(table: TableSchema, columns: tuple[str, ...]) -> tuple[int, ...] | None:
    """Places of columns by name, case ignored, in table order; None if the table lacks one."""
    names = {name.lower() for name in columns}
    places = tuple(at for at, column in enumerate(table.columns) if column.name.lower() in names)
    return places if len(places) == len(names) else None


def _smallest_unique_key(table: TableSchema) -> tuple[int, ...]:
    keys = [index_places(table, index.columns) for index in table.indexes or () if index.unique]
    usable = [key for key in keys if key and all(_tells_apart(table.columns[at]) for at in key)]
    return min(usable, key=len, default=())


def _tells_apart(column: Column) -> bool:
    return column.nullable is False and column.generated != "virtual"
