from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SealedRowView(_message.Message):
    __slots__ = ("columns",)
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, columns: _Optional[_Iterable[bytes]] = ...) -> None: ...

class MergedRowView(_message.Message):
    __slots__ = ("columns",)
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: ColumnsView
    def __init__(self, columns: _Optional[_Union[ColumnsView, _Mapping]] = ...) -> None: ...

class ColumnsView(_message.Message):
    __slots__ = ("is_null", "int64_value", "uint64_value", "double_value", "bytes_value", "string_value")
    IS_NULL_FIELD_NUMBER: _ClassVar[int]
    INT64_VALUE_FIELD_NUMBER: _ClassVar[int]
    UINT64_VALUE_FIELD_NUMBER: _ClassVar[int]
    DOUBLE_VALUE_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    is_null: _containers.RepeatedScalarFieldContainer[bool]
    int64_value: _containers.RepeatedScalarFieldContainer[int]
    uint64_value: _containers.RepeatedScalarFieldContainer[int]
    double_value: _containers.RepeatedScalarFieldContainer[float]
    bytes_value: _containers.RepeatedScalarFieldContainer[bytes]
    string_value: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, is_null: _Optional[_Iterable[bool]] = ..., int64_value: _Optional[_Iterable[int]] = ..., uint64_value: _Optional[_Iterable[int]] = ..., double_value: _Optional[_Iterable[float]] = ..., bytes_value: _Optional[_Iterable[bytes]] = ..., string_value: _Optional[_Iterable[str]] = ...) -> None: ...

class TableMutationView(_message.Message):
    __slots__ = ("type", "row", "change_row")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    CHANGE_ROW_FIELD_NUMBER: _ClassVar[int]
    type: int
    row: bytes
    change_row: bytes
    def __init__(self, type: _Optional[int] = ..., row: _Optional[bytes] = ..., change_row: _Optional[bytes] = ...) -> None: ...

class TableView(_message.Message):
    __slots__ = ("schema_name", "table_name", "column_info", "mutations", "unique_keys")
    SCHEMA_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    COLUMN_INFO_FIELD_NUMBER: _ClassVar[int]
    MUTATIONS_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_KEYS_FIELD_NUMBER: _ClassVar[int]
    schema_name: bytes
    table_name: bytes
    column_info: _containers.RepeatedScalarFieldContainer[bytes]
    mutations: _containers.RepeatedCompositeFieldContainer[TableMutationView]
    unique_keys: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, schema_name: _Optional[bytes] = ..., table_name: _Optional[bytes] = ..., column_info: _Optional[_Iterable[bytes]] = ..., mutations: _Optional[_Iterable[_Union[TableMutationView, _Mapping]]] = ..., unique_keys: _Optional[_Iterable[bytes]] = ...) -> None: ...

class DMLDataView(_message.Message):
    __slots__ = ("tables",)
    TABLES_FIELD_NUMBER: _ClassVar[int]
    tables: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, tables: _Optional[_Iterable[bytes]] = ...) -> None: ...

class DDLDataView(_message.Message):
    __slots__ = ("schema_name", "table_name", "ddl_query")
    SCHEMA_NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    DDL_QUERY_FIELD_NUMBER: _ClassVar[int]
    schema_name: bytes
    table_name: bytes
    ddl_query: bytes
    def __init__(self, schema_name: _Optional[bytes] = ..., table_name: _Optional[bytes] = ..., ddl_query: _Optional[bytes] = ...) -> None: ...

class BinlogView(_message.Message):
    __slots__ = ("type", "commit_ts", "dml_data", "ddl_data")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    COMMIT_TS_FIELD_NUMBER: _ClassVar[int]
    DML_DATA_FIELD_NUMBER: _ClassVar[int]
    DDL_DATA_FIELD_NUMBER: _ClassVar[int]
    type: int
    commit_ts: int
    dml_data: DMLDataView
    ddl_data: DDLDataView
    def __init__(self, type: _Optional[int] = ..., commit_ts: _Optional[int] = ..., dml_data: _Optional[_Union[DMLDataView, _Mapping]] = ..., ddl_data: _Optional[_Union[DDLDataView, _Mapping]] = ...) -> None: ...

class ColumnInfoView(_message.Message):
    __slots__ = ("name", "mysql_type", "is_primary_key", "flen", "decimal")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MYSQL_TYPE_FIELD_NUMBER: _ClassVar[int]
    IS_PRIMARY_KEY_FIELD_NUMBER: _ClassVar[int]
    FLEN_FIELD_NUMBER: _ClassVar[int]
    DECIMAL_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    mysql_type: bytes
    is_primary_key: bool
    flen: int
    decimal: int
    def __init__(self, name: _Optional[bytes] = ..., mysql_type: _Optional[bytes] = ..., is_primary_key: _Optional[bool] = ..., flen: _Optional[int] = ..., decimal: _Optional[int] = ...) -> None: ...

class KeyView(_message.Message):
    __slots__ = ("name", "column_names")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COLUMN_NAMES_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    column_names: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, name: _Optional[bytes] = ..., column_names: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ColumnView(_message.Message):
    __slots__ = ("is_null", "int64_value", "uint64_value", "double_value", "bytes_value", "string_value")
    IS_NULL_FIELD_NUMBER: _ClassVar[int]
    INT64_VALUE_FIELD_NUMBER: _ClassVar[int]
    UINT64_VALUE_FIELD_NUMBER: _ClassVar[int]
    DOUBLE_VALUE_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    is_null: bool
    int64_value: int
    uint64_value: int
    double_value: float
    bytes_value: bytes
    string_value: bytes
    def __init__(self, is_null: _Optional[bool] = ..., int64_value: _Optional[int] = ..., uint64_value: _Optional[int] = ..., double_value: _Optional[float] = ..., bytes_value: _Optional[bytes] = ..., string_value: _Optional[bytes] = ...) -> None: ...
