"""Row messages that are worded as an earlier one of their table: TiCDC's, nearly all of them.

What messages of one table, kind and structure have in common is compared as bytes, and only the rest is read: times,
rows and commit-ts. An earlier message that was read as a whole has shown what the common bytes mean.

Rules

1. A wording is ``head`` times ``common`` rows [``,"_tidb":{"commitTs":`` TSO] with nothing between and behind::

       {"id":0,"database":…,"type":"INSERT"  ,"es":<13 digits>,"ts":<13 digits>
       ,"sql":"","sqlType":{…},"mysqlType":{…},"old":null,"data":[  {…}  ],"_tidb":{"commitTs":<18 digits>}}

   Digits as of years 2001 to 2090. Everything else (other orders of keys, Canal's dialect among them, several rows,
   marks in ``_tidb``) is not read here, nor is what is wrong: such a message is read as a whole, which tells why.
2. A quote that stands in a JSON text has a backslash before it. So each of the bytes looked for, which begin with
   ``,"`` or ``],"``, is a member's beginning wherever it stands in valid JSON; and what lies between is read as JSON.
   They are members of the outermost object, because nothing but its brace closes behind them.
3. TiCDC's order of ``mysqlType`` is random, so hardly two messages have the same bytes there. Other bytes of the same
   length are read, as a struct that takes nothing but the table's own names and types (``Structure.has_types``).
4. Codes in ``sqlType`` depend on values, so that the rows of one table come in several wordings by turns.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from spark_jobs.cdc.codecs.canal_json.envelope import Envelope, Int64, Milliseconds, Tso
from spark_jobs.cdc.codecs.canal_json.structure import Structure
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, RowKind
from spark_jobs.cdc.memory import Memory

MAX_WORDINGS: Final = 16
"""Of one head: four unsigned columns have as many sets of codes. One more, and the oldest is forgotten."""

_MAX_BYTES: Final = 1 << 26

_ES, _TS, _TIDB = b',"es":', b',"ts":', b'],"_tidb":{"commitTs":'
_KINDS: Final = {"INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE}

# where things stand, counted from behind ``,"es":``
_ES_END, _TS_AT, _TIMES_END = 13, 19, 32
# and in the end of a message, from ``],"_tidb"`` on
_TAIL, _TSO_AT, _TSO_END = -42, 22, 40

_read_es = msgspec.json.Decoder(Milliseconds).decode
_read_ts = msgspec.json.Decoder(Int64).decode
_read_tso = msgspec.json.Decoder(Tso).decode
_REFUSED = (msgspec.MsgspecError, ValueError)


T = TypeVar("T")


class Wording(msgspec.Struct, frozen=True, eq=False):
    """``common`` is ``codes``, the value of ``mysqlType`` and ``rows``: all between the times and the row.

    ``types_begin``, ``types_end``, ``begin``: where that value and the row stand, counted from behind ``,"es":``.
    """

    begin: int
    common: bytes
    codes: bytes
    types_begin: int
    types_end: int
    rows: bytes
    structure: Structure
    kind: RowKind
    sequence: int
    has_tso: bool


class Wordings(Generic[T]):
    """Reads messages in the wordings seen so far by ``make``, and all others by ``otherwise``, which calls ``learn``.

    ``make(wording, rows, es, ts, commit_ts)``: ``rows`` is the JSON of the row, or of the old and the new one with
    ``NEXT_ROW`` between them; None if the message must be read otherwise. The last times are remembered, since the rows
    of a transaction have the same.
    """

    def __init__(
        self, make: Callable[[Wording, bytes, int, int, int], T | None], otherwise: Callable[[bytes], T]
    ) -> None:
        self._make = make
        self._otherwise = otherwise
        self._by_head: Memory[bytes, tuple[Wording, ...]] = Memory(_MAX_BYTES)
        self._times = self._tail = b""
        self._es = self._ts = self._tso = 0

    def read(self, message: bytes, /) -> T:
        """What is made of a message; raises what ``otherwise`` raises."""
        head, _, rest = message.partition(_ES)
        known = self._by_head.get(head)
        if known is None:
            return self._otherwise(message)
        times = rest[:_TIMES_END]
        if times != self._times and not self._read_times(times):
            return self._otherwise(message)
        wording = known[0]
        begin = wording.begin
        if rest[_TIMES_END:begin] != wording.common:
            for wording in known:
                if _says_the_same(rest, wording):
                    break
            else:
                return self._otherwise(message)
            begin = wording.begin
        if wording.has_tso:
            tail = rest[_TAIL:]
            if tail != self._tail and not self._read_tail(tail):
                return self._otherwise(message)
            end, tso = _TAIL, self._tso
        elif rest.endswith(b"]}"):
            end, tso = -2, 0
        else:
            return self._otherwise(message)
        made = self._make(wording, rest[begin:end], self._es, self._ts, tso)
        return self._otherwise(message) if made is None else made

    def _read_times(self, times: bytes) -> bool:
        """Whether these are ``es`` and ``ts``."""
        try:
            es, ts = _read_es(times[:_ES_END]), _read_ts(times[_TS_AT:])
        except _REFUSED:
            return False
        if times[_ES_END:_TS_AT] != _TS:
            return False
        self._times, self._es, self._ts = times, es, ts
        return True

    def _read_tail(self, tail: bytes) -> bool:
        """Whether this is the end of ``data``, and a ``_tidb`` with a commit-ts alone."""
        if tail[:_TSO_AT] != _TIDB or tail[_TSO_END:] != b"}}":
            return False
        try:
            self._tso = _read_tso(tail[_TSO_AT:_TSO_END])
        except _REFUSED:
            return False
        self._tail = tail
        return True

    def learn(self, message: bytes, envelope: Envelope, structure_of: Callable[[Envelope], Structure]) -> None:
        """Of a message with one row that has been read as a whole; raises what ``structure_of`` raises."""
        head, _, rest = message.partition(_ES)
        times = b"%d%b%d" % (envelope.es, _TS, envelope.ts)
        if len(times) != _TIMES_END or not rest.startswith(times) or envelope.gtid:
            return
        kind = _KINDS[envelope.type]
        codes = b',"sql":"","sqlType":%b,"mysqlType":' % envelope.sql_type
        rows = b',"old":[' if kind is UPDATE else b',"old":null,"data":['
        common = codes + bytes(envelope.mysql_type) + rows
        if rest.startswith(common, _TIMES_END):
            structure = structure_of(envelope)
            known = self._by_head.get(head, ())[1 - MAX_WORDINGS :]
            has_tso = envelope.extension is not None
            begin = _TIMES_END + len(common)
            places = _TIMES_END + len(codes), begin - len(rows)
            wording = Wording(begin, common, codes, *places, rows, structure, kind, envelope.id, has_tso)
            size = len(head) + 2 * len(common) * (len(known) + 1)
            self._by_head.remember(head, (*known, wording), size)  # what is common is mostly seen first


def _says_the_same(rest: bytes, wording: Wording) -> bool:
    """Whether ``common`` comes, be it with another order of the types."""
    if not rest.startswith(wording.codes, _TIMES_END):
        return False
    end = wording.types_end
    return rest.startswith(wording.rows, end) and wording.structure.has_types(rest[wording.types_begin : end])
