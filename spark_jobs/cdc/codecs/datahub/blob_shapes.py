"""What the ``schema`` of a DataHub Blob record decides; the rules stand in ``datahub/blob``."""

from collections.abc import Mapping

import msgspec

from spark_jobs.cdc.codecs.datahub import blob_message as wire
from spark_jobs.cdc.codecs.datahub.blob_message import NAME
from spark_jobs.cdc.codecs.datahub.streamx import READ_AS, UNSIGNED_LONG, Read, read_unsigned
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.events import Column, Index, Origin, TableSchema


class Shape(msgspec.Struct, frozen=True):
    """What one text of ``schema`` decided. ``columns`` is None where the message has no ``dataColumn``."""

    schema: str
    table: str
    origin: Origin
    columns: TableSchema | None
    readers: tuple[tuple[str, Read], ...]


def shape_of(schema: wire.Schema, read_as: Mapping[str, Read]) -> Shape:
    source = schema.source or wire.Source()
    origin = Origin(db_type=source.dbType or "", db_version=source.dbVersion or "", schema_name=source.schemaName or "")
    database, table = source.dbName or "", source.tableName or ""
    if not schema.dataColumn:
        return Shape(database, table, origin, None, ())
    types = _types(schema.dataColumn)
    # the documented skeleton lists key names that are no columns
    keys = tuple(name for name in schema.primaryKey or () if name in types)
    columns = tuple(Column(name, READ_AS[streamx], is_key=name in keys) for name, streamx in types.items())
    in_table_order = tuple(column.name for column in columns if column.is_key)
    indexes = None if keys == in_table_order else (Index("PRIMARY", keys),)
    return Shape(
        database,
        table,
        origin,
        TableSchema(database, table, columns, indexes),
        tuple((name, read_as[streamx]) for name, streamx in types.items()),
    )


def _types(columns: list[wire.DataColumn]) -> dict[str, str]:
    types = {column.name: column.type.upper() for column in columns}
    if len(types) < len(columns):
        raise DecodeError(NAME, "schema.dataColumn names a column twice")
    for name, streamx in types.items():
        if streamx not in READ_AS:
            raise DecodeError(NAME, f"column {name!r} has type {streamx[:40]!r}, which is none of {', '.join(READ_AS)}")
    return types


def widened(shape: Shape, name: str) -> Shape:
    assert shape.columns is not None
    columns = tuple(
        msgspec.structs.replace(column, type=UNSIGNED_LONG) if column.name == name else column
        for column in shape.columns.columns
    )
    return msgspec.structs.replace(
        shape,
        columns=msgspec.structs.replace(shape.columns, columns=columns),
        readers=tuple((key, read_unsigned if key == name else read) for key, read in shape.readers),
    )
