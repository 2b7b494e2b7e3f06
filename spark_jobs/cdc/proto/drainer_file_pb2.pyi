from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Column(_message.Message):
    __slots__ = ("name", "tp", "mysql_type", "value", "changed_value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TP_FIELD_NUMBER: _ClassVar[int]
    MYSQL_TYPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    CHANGED_VALUE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    tp: bytes
    mysql_type: bytes
    value: bytes
    changed_value: bytes
    def __init__(self, name: _Optional[bytes] = ..., tp: _Optional[bytes] = ..., mysql_type: _Optional[bytes] = ..., value: _Optional[bytes] = ..., changed_value: _Optional[bytes] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("schema_name", "table_name", "tp", "row")
    SCHEMA_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    TP_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    schema_name: bytes
    table_name: bytes
    tp: int
    row: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, schema_name: _Optional[bytes] = ..., table_name: _Optional[bytes] = ..., tp: _Optional[int] = ..., row: _Optional[_Iterable[bytes]] = ...) -> None: ...

class DMLData(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ...) -> None: ...

class Binlog(_message.Message):
    __slots__ = ("tp", "commit_ts", "dml_data", "ddl_query")
    TP_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    DML_DATA_FIELD_NUMBER: _ClassVar[int]
    DDL_QUERY_FIELD_NUMBER: _ClassVar[int]
    tp: int
    commit_ts: int
    dml_data: DMLData
    ddl_query: bytes
    def __init__(self, tp: _Optional[int] = ..., commit_ts: _Optional[int] = ..., dml_data: _Optional[_Union[DMLData, _Mapping]] = ..., ddl_query: _Optional[bytes] = ...) -> None: ...
