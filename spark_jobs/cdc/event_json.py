"""Events as JSON for people: one object a line, the same keys for every format it was read from.

    {"message": 3, "kind": "UPDATE", "schema": "shop", "table": "orders",
     "commit_ts": 443773863624179716, "commit_time": "2023-08-24T07:42:24.123Z",
     "key": ["id"], "types": {"id": "bigint unsigned", "blob": "blob"},
     "before": {"id": 7, "blob": null}, "after": {"id": 7, "blob": {"base64": "/w=="}}}

- ``message``: number of the message in its file, from 1; ``file`` where several are read.
- ``kind``: INSERT, UPDATE, DELETE, DDL, WATERMARK, HEARTBEAT, BEGIN, END, XACOMMIT, XAROLLBACK, GTID.
- Every ``*_ts`` (a TSO) and ``*_ms`` has a ``*_time`` beside it. Numbers are exact, also above 2**53.
- Values have the forms of ``spark_jobs/cdc/events.py``: numbers, texts, null. Bytes are ``{"base64": "…"}``, text that
  is not UTF-8 is ``{"text_base64": "…"}``. A column that the message does not carry has no key in its image.
- What is empty or unknown is left out. New keys may come; none changes its meaning.
"""

import base64
from datetime import tzinfo
from typing import Final, TypeAlias

import msgspec

from spark_jobs.cdc import tso
from spark_jobs.cdc.events import (
    ABSENT,
    Ddl,
    Event,
    Heartbeat,
    Origin,
    Row,
    RowChange,
    TableSchema,
    TransactionMark,
    Watermark,
)
from spark_jobs.cdc.mysql.types import canal_text

Tree: TypeAlias = dict[str, "Tree"] | list["Tree"] | str | int | float | bytes | bool | None

_KINDS: Final[dict[type, str]] = {Ddl: "DDL", Watermark: "WATERMARK", Heartbeat: "HEARTBEAT"}
_SHOWN_APART: Final = frozenset({"kind", "table", "schema", "before", "after"})
_DEFAULTS: Final = {
    kind: [(field.name, field.default) for field in msgspec.structs.fields(kind) if field.name not in _SHOWN_APART]
    for kind in (RowChange, Ddl, Watermark, Heartbeat, TransactionMark)
}
_CACHED_TABLES: Final = 1000


class EventJson:
    """Writes events as JSON lines, times in ``zone``."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._tables: dict[int, tuple[TableSchema, dict[str, Tree]]] = {}

    def line(self, event: Event, where: dict[str, Tree]) -> bytes:
        """The JSON of an event, without line end, after the keys that say where it stood."""
        tree = where | {"kind": _kind(event)} | self._tree(event)
        try:
            return msgspec.json.encode(tree)
        except UnicodeEncodeError:
            return msgspec.json.encode(_printable(tree))

    def _tree(self, event: Event) -> dict[str, Tree]:
        if isinstance(event, RowChange):
            tree = self._table(event.table) | self._fields(event)
            return tree | _image("before", event.before, event.table) | _image("after", event.after, event.table)
        names: dict[str, Tree] = {}
        if isinstance(event, Ddl | TransactionMark):
            names = _without_empty({"schema": event.schema, "table": event.table})
        return names | self._fields(event)

    def _table(self, table: TableSchema) -> dict[str, Tree]:
        known = self._tables.get(id(table))
        if known is None:
            if len(self._tables) >= _CACHED_TABLES:
                self._tables.clear()
            known = self._tables[id(table)] = (table, _table_tree(table))
        return known[1]

    def _fields(self, event: Event) -> dict[str, Tree]:
        """The fields that are not at their defaults, with their times."""
        tree: dict[str, Tree] = {}
        for name, default in _DEFAULTS[type(event)]:
            value = getattr(event, name)
            if value == default:
                continue
            tree[name] = _value(value)
            if name.endswith(("_ts", "_ms")):
                self._add_time(tree, name, value)
        return tree

    def _add_time(self, tree: dict[str, Tree], name: str, value: int) -> None:
        text = time_text(value if name.endswith("_ts") else tso.compose(value), self._zone)
        if text:
            tree[f"{name[:-3]}_time"] = text


def time_text(ts: int, zone: tzinfo) -> str:
    """The time of a TSO in RFC 3339 with milliseconds; "" for one outside the calendar."""
    try:
        return tso.to_datetime(ts, zone).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError):
        return ""


def _kind(event: Event) -> str:
    if isinstance(event, RowChange | TransactionMark):
        return str(event.kind)
    return _KINDS[type(event)]


def _table_tree(table: TableSchema) -> dict[str, Tree]:
    tree: dict[str, Tree] = {"schema": table.schema, "table": table.table}
    if table.key_columns:
        tree["key"] = list(table.key_columns)
    if table.indexes:
        tree["indexes"] = {index.name: list(index.columns) for index in table.indexes}
    return tree | {"types": {column.name: column.source_type or canal_text(column.type) for column in table.columns}}


def _image(name: str, row: Row | None, table: TableSchema) -> dict[str, Tree]:
    if row is None:
        return {}
    pairs = zip(table.columns, row, strict=True)
    return {name: {column.name: _value(value) for column, value in pairs if value is not ABSENT}}


def _origin(origin: Origin) -> dict[str, Tree]:
    tree = {field: getattr(origin, field) for field in origin.__struct_fields__ if field != "props"}
    return _without_empty(tree | {"props": dict(origin.props)})


def _without_empty(tree: dict[str, Tree]) -> dict[str, Tree]:
    return {name: value for name, value in tree.items() if value}


def _value(value: object) -> Tree:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, tuple):
        return dict(value)
    if isinstance(value, Origin):
        return _origin(value)
    return value  # type: ignore[return-value]


def _printable(tree: Tree) -> Tree:
    """The tree with every text that is not UTF-8 in base64; in names the broken bytes become question marks."""
    if isinstance(tree, dict):
        return {name.encode("utf-8", "replace").decode(): _printable(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_printable(value) for value in tree]
    if isinstance(tree, str) and not _is_utf8(tree):
        return {"text_base64": base64.b64encode(_as_bytes(tree)).decode()}
    return tree


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _as_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
