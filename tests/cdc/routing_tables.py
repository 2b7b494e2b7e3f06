"""Small tables and rows for tests of filters and routing."""

from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, Column, ColumnType, Index, Row, RowChange, TableSchema


def column(name: str, type_: str = "int", *, key: bool = False, nullable: bool = False, generated: str = "") -> Column:
    return Column(name, ColumnType(type_), is_key=key, nullable=nullable, generated=generated)


def table(*columns: Column, name: str = "test.t1", indexes: tuple[Index, ...] | None = ()) -> TableSchema:
    schema, _, table_name = name.partition(".")
    return TableSchema(schema, table_name, columns, indexes=indexes)


def insert(structure: TableSchema, row: Row, commit_ts: int = 0) -> RowChange:
    return RowChange(kind=INSERT, table=structure, after=row, commit_ts=commit_ts)


def update(structure: TableSchema, before: Row, after: Row) -> RowChange:
    return RowChange(kind=UPDATE, table=structure, before=before, after=after)


def delete(structure: TableSchema, row: Row) -> RowChange:
    return RowChange(kind=DELETE, table=structure, before=row)
