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
3. TiCDC's order of ``mysqlType`` is random: other bytes of the same length may say the same.
"""

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from spark_jobs.cdc.codecs.canal_json.cache import same_types
from spark_jobs.cdc.codecs.canal_json.envelope import Envelope, Int64, Milliseconds, Tso
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, RowKind, TableSchema
from spark_jobs.cdc.memory import remember

MAX_WORDINGS: Final = 4
"""Of one head; codes in ``sqlType`` may depend on values. One more, and all are forgotten."""

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


class Subject(Protocol):
    """What is known of a table, or more than its structure."""

    @property
    def table(self) -> TableSchema: ...


S = TypeVar("S", bound=Subject)
T = TypeVar("T")


class Wording(msgspec.Struct, Generic[S], frozen=True, eq=False):
    """``common`` is ``codes``, ``types`` and ``rows``: up to the value of ``mysqlType``, that, and up to the row.

    ``begin``: where the row begins, counted from behind ``,"es":``. ``subject``: what is known of the table.
    """

    begin: int
    common: bytes
    codes: bytes
    types: bytes
    rows: bytes
    subject: S
    kind: RowKind
    sequence: int
    has_tso: bool


class Wordings(Generic[S, T]):
    """Reads messages in the wordings seen so far by ``make``, and all others by ``otherwise``, which calls ``learn``.

    ``make(wording, rows, es, ts, commit_ts)``: ``rows`` is the JSON of the row, or of the old and the new one with
    ``NEXT_ROW`` between them; None if the message must be read otherwise. The last times are remembered, since the rows
    of a transaction have the same.
    """

    def __init__(
        self, make: Callable[[Wording[S], bytes, int, int, int], T | None], otherwise: Callable[[bytes], T]
    ) -> None:
        self._make = make
        self._otherwise = otherwise
        self._by_head: dict[bytes, tuple[Wording[S], ...]] = {}
        self._tables: dict[tuple[str, str, int], TableSchema] = {}
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
            others = [wording for wording in known if _says_the_same(rest, wording)]
            if not others:
                return self._otherwise(message)
            wording = others[0]
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

    def learn(self, message: bytes, envelope: Envelope, subject_of: Callable[[Envelope], S]) -> None:
        """Of a message with one row that has been read as a whole; raises what ``subject_of`` raises."""
        head, _, rest = message.partition(_ES)
        times = b"%d%b%d" % (envelope.es, _TS, envelope.ts)
        if len(times) != _TIMES_END or not rest.startswith(times) or envelope.gtid:
            return
        kind = _KINDS[envelope.type]
        codes = b',"sql":"","sqlType":%b,"mysqlType":' % envelope.sql_type
        types = bytes(envelope.mysql_type)
        rows = b',"old":[' if kind is UPDATE else b',"old":null,"data":['
        common = codes + types + rows
        if rest.startswith(common, _TIMES_END):
            subject = subject_of(envelope)
            self._expect_one_object(subject.table)
            known = self._by_head.get(head, ())
            if len(known) >= MAX_WORDINGS:
                known = ()
            has_tso = envelope.extension is not None
            begin = _TIMES_END + len(common)
            wording = Wording(begin, common, codes, types, rows, subject, kind, envelope.id, has_tso)
            remember(self._by_head, head, (wording, *known))

    def _expect_one_object(self, table: TableSchema) -> None:
        """If another object stood for this table, structures have been forgotten, and wordings must go with them."""
        key = table.schema, table.table, len(table.columns)
        known = self._tables.get(key, table)
        if known is not table and known == table:
            self._by_head.clear()
        remember(self._tables, key, table)


def _says_the_same(rest: bytes, wording: Wording[S]) -> bool:
    """Whether ``common`` comes, be it with another order of the types."""
    codes, types = wording.codes, wording.types
    if not rest.startswith(codes, _TIMES_END):
        return False
    begin = _TIMES_END + len(codes)
    end = begin + len(types)
    return rest.startswith(wording.rows, end) and same_types(rest[begin:end], types)
