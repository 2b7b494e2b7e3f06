from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ImageView(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, value: _Optional[_Iterable[str]] = ...) -> None: ...

class FlagsView(_message.Message):
    __slots__ = ("sqlType", "updated", "isNull")
    SQLTYPE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    ISNULL_FIELD_NUMBER: _ClassVar[int]
    sqlType: _containers.RepeatedScalarFieldContainer[int]
    updated: _containers.RepeatedScalarFieldContainer[bool]
    isNull: _containers.RepeatedScalarFieldContainer[bool]
    def __init__(self, sqlType: _Optional[_Iterable[int]] = ..., updated: _Optional[_Iterable[bool]] = ..., isNull: _Optional[_Iterable[bool]] = ...) -> None: ...

class ZerosView(_message.Message):
    __slots__ = ("index", "isKey")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ISKEY_FIELD_NUMBER: _ClassVar[int]
    index: _containers.RepeatedScalarFieldContainer[int]
    isKey: _containers.RepeatedScalarFieldContainer[bool]
    def __init__(self, index: _Optional[_Iterable[int]] = ..., isKey: _Optional[_Iterable[bool]] = ...) -> None: ...

class RowDataView(_message.Message):
    __slots__ = ("beforeColumns", "afterColumns")
    BEFORECOLUMNS_FIELD_NUMBER: _ClassVar[int]
    AFTERCOLUMNS_FIELD_NUMBER: _ClassVar[int]
    beforeColumns: ImageView
    afterColumns: ImageView
    def __init__(self, beforeColumns: _Optional[_Union[ImageView, _Mapping]] = ..., afterColumns: _Optional[_Union[ImageView, _Mapping]] = ...) -> None: ...

class RowChangeView(_message.Message):
    __slots__ = ("rowDatas",)
    ROWDATAS_FIELD_NUMBER: _ClassVar[int]
    rowDatas: _containers.RepeatedCompositeFieldContainer[RowDataView]
    def __init__(self, rowDatas: _Optional[_Iterable[_Union[RowDataView, _Mapping]]] = ...) -> None: ...

class HeaderView(_message.Message):
    __slots__ = ("logfileOffset", "executeTime", "eventLength")
    LOGFILEOFFSET_FIELD_NUMBER: _ClassVar[int]
    EXECUTETIME_FIELD_NUMBER: _ClassVar[int]
    EVENTLENGTH_FIELD_NUMBER: _ClassVar[int]
    logfileOffset: int
    executeTime: int
    eventLength: int
    def __init__(self, logfileOffset: _Optional[int] = ..., executeTime: _Optional[int] = ..., eventLength: _Optional[int] = ...) -> None: ...

class EntryView(_message.Message):
    __slots__ = ("header", "entryType", "storeValue")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ENTRYTYPE_FIELD_NUMBER: _ClassVar[int]
    STOREVALUE_FIELD_NUMBER: _ClassVar[int]
    header: HeaderView
    entryType: int
    storeValue: RowChangeView
    def __init__(self, header: _Optional[_Union[HeaderView, _Mapping]] = ..., entryType: _Optional[int] = ..., storeValue: _Optional[_Union[RowChangeView, _Mapping]] = ...) -> None: ...

class MessagesView(_message.Message):
    __slots__ = ("batch_id", "messages")
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    batch_id: int
    messages: _containers.RepeatedCompositeFieldContainer[EntryView]
    def __init__(self, batch_id: _Optional[int] = ..., messages: _Optional[_Iterable[_Union[EntryView, _Mapping]]] = ...) -> None: ...

class PacketView(_message.Message):
    __slots__ = ("type", "compression", "body")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    type: int
    compression: int
    body: MessagesView
    def __init__(self, type: _Optional[int] = ..., compression: _Optional[int] = ..., body: _Optional[_Union[MessagesView, _Mapping]] = ...) -> None: ...
