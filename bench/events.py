"""The input: Canal-JSON with ``_tidb`` as TiCDC writes it, the same bytes for the same arguments.

Eight tables of ten columns; of every twenty events ten are inserts, seven updates (``old`` with all columns) and three
deletes, about 0.9 KB each. A key belongs to one table only, so that a row tells its table even where a format has no
field for it. Updates and deletes concern rows that are there.

What varies from message to message of a table, besides times and rows:

* the order of ``mysqlType``, which TiCDC writes from a Go map: any, for each message anew;
* the code of an unsigned column in ``sqlType``, which is wider where the value is (one row in sixteen has one).

``ONE_ORDER`` is no wording that TiCDC has: its keys of ``mysqlType`` always come in the order of the columns. It shows
what the order costs.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import msgspec

TICDC: Final = "ticdc"
ONE_ORDER: Final = "one-order"
WORDINGS: Final = {TICDC: "", ONE_ORDER: ", one order"}
"""By name, what is added to a contender that reads it."""
TABLES: Final = tuple(f"orders_{number}" for number in range(8))
SCHEMA: Final = "shop"
COLUMNS: Final = (
    ("id", "bigint", -5),
    ("user_id", "int unsigned", 4),
    ("status", "tinyint", -6),
    ("amount", "decimal", 3),
    ("name", "varchar", 12),
    ("email", "varchar", 12),
    ("created_at", "datetime", 93),
    ("updated_at", "timestamp", 93),
    ("note", "text", 2005),
    ("score", "double", 8),
)
NAMES: Final = tuple(name for name, _, _ in COLUMNS)
FIRST_MS: Final = 1_772_150_400_000
EVENTS_PER_MS: Final = 4
IDS_PER_TABLE: Final = 1_000_000_000
_KINDS: Final = "IUIUIDIUIUIDIUIUIDIU"
_TYPE: Final = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
_WORDS: Final = (
    "the parcel was handed to a neighbour on the second floor; deliver after six; ring twice; invoice by mail; "
    'größere Menge auf Anfrage; the customer asked for a \\"gift\\" box; call before delivery; fragile; keep dry; '
)
_TEXT: Final = _WORDS * 4
_LENGTH: Final = len(_WORDS)
_HEAD: Final = (
    '{"id":0,"database":"%s","table":"%s","pkNames":["id"],"isDdl":false,"type":"%s","es":%d,"ts":%d,"sql":"",%s'
)
_CODES: Final = {name: code for name, _, code in COLUMNS}
_SQL_TYPES: Final = tuple(
    f'"sqlType":{msgspec.json.encode(codes).decode()},"mysqlType":' for codes in (_CODES, _CODES | {"user_id": -5})
)
_MYSQL_TYPES: Final = {name: text for name, text, _ in COLUMNS}
_WIDE: Final = 1 << 31
"""From here on an ``int unsigned`` has the code of a bigint."""


def commit_ts(number: int) -> int:
    """The TSO of event ``number``."""
    return FIRST_MS + number // EVENTS_PER_MS << 18 | number % EVENTS_PER_MS


def shuffled(types: dict[str, str], random: Random) -> str:
    """``mysqlType`` in any order."""
    return msgspec.json.encode(dict(random.sample(list(types.items()), len(types)))).decode()


def _types(wording: str) -> Callable[[], str]:
    random, once = Random(1), msgspec.json.encode(_MYSQL_TYPES).decode()
    return (lambda: once) if wording == ONE_ORDER else lambda: shuffled(_MYSQL_TYPES, random)


def events(count: int, wording: str = TICDC) -> Iterator[tuple[int, bytes]]:
    """(key, message) of each event, in commit order."""
    types = _types(wording)
    tables = [_Table(place) for place in range(len(TABLES))]
    for number in range(count):
        place = number % len(tables)
        kind = _KINDS[(number // len(tables)) % len(_KINDS)]
        key, changed, data, old = tables[place].change(kind, number)
        ms = FIRST_MS + number // EVENTS_PER_MS
        codes = _SQL_TYPES[_user(_mixed(changed)) >= _WIDE]
        head = _HEAD % (SCHEMA, TABLES[place], _TYPE[kind], ms, ms + 40, codes)
        yield key, f'{head}{types()},"old":{old},"data":[{data}],"_tidb":{{"commitTs":{commit_ts(number)}}}}}'.encode()


def watermark(watermark_ts: int) -> bytes:
    """Everything up to ``watermark_ts`` was sent."""
    ms = watermark_ts >> 18
    return (
        '{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,"type":"TIDB_WATERMARK",'
        f'"es":{ms},"ts":{ms + 40},"sql":"","sqlType":null,"mysqlType":null,"data":null,"old":null,'
        f'"_tidb":{{"watermarkTs":{watermark_ts}}}}}'
    ).encode()


class _Table:
    """Rows of one table that exist: those from ``first`` on, each with the number of its last change."""

    def __init__(self, place: int) -> None:
        self._base = place * IDS_PER_TABLE
        self._first = 0
        self._changed: list[int] = []

    def change(self, kind: str, number: int) -> tuple[int, int, str, str]:
        """(key, the change that ``data`` is as of, data, old) of the next change."""
        if kind == "I":
            self._changed.append(number)
            key = self._base + len(self._changed)
            return key, number, _row(key, number), "null"
        if kind == "D":
            place = self._first
            self._first += 1
            key, number = self._base + place + 1, self._changed[place]
            return key, number, _row(key, number), "null"
        place = self._first + number * 7919 % (len(self._changed) - self._first)
        key, before = self._base + place + 1, self._changed[place]
        self._changed[place] = number
        return key, number, _row(key, number), f"[{_row(key, before)}]"


def _mixed(number: int) -> int:
    return (number + 1) * 2_654_435_761 % 4_294_967_296


def _user(mixed: int) -> int:
    return mixed % 900_000 + (3_000_000_000 if mixed >> 8 & 15 == 1 else 0)


def _row(key: int, number: int) -> str:
    """The row as of change ``number``."""
    mixed = _mixed(number)
    at = mixed % _LENGTH
    if _TEXT[at - 1] == "\\" or (at > 1 and _TEXT[at - 2] == "\\"):
        at = 0
    note = "null" if mixed % 16 == 0 else f'"{_TEXT[at : at + 40 + mixed % 56].rstrip(chr(92))}"'
    clock = f"{mixed % 24:02d}:{mixed % 60:02d}:{number % 60:02d}"
    return (
        f'{{"id":"{key}","user_id":"{_user(mixed)}","status":"{mixed % 7}",'
        f'"amount":"{mixed % 90_000}.{mixed % 90 + 10}","name":"Customer {mixed}",'
        f'"email":"customer.{mixed % 900_000}@example.com","created_at":"2026-02-{key % 28 + 1:02d} 08:51:01",'
        f'"updated_at":"2026-02-27 {clock}.{mixed % 900_000 + 100_000}","note":{note},"score":"{mixed % 1000}.25"}}'
    )
