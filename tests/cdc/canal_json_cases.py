"""Canal-JSON messages and tables for tests."""

import json
from pathlib import Path

from spark_jobs.cdc.codecs import row_writer
from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.codecs.canal_json.opener import Opener, OpenRow, OpenRows
from spark_jobs.cdc.events import Column, Ddl, Heartbeat, RowChange, TableSchema, TransactionMark, Watermark
from spark_jobs.cdc.mysql.types import parse_type

DATA = Path(__file__).parent.parent / "data"
COMMIT_TS = 429918007904436226
ES = 1640007049196


def message(**members):
    """A TiCDC INSERT into test.t, with members replaced; a member that is ... is left out."""
    base = {
        "id": 0,
        "database": "test",
        "table": "t",
        "pkNames": ["id"],
        "isDdl": False,
        "type": "INSERT",
        "es": ES,
        "ts": ES + 1000,
        "sql": "",
        "sqlType": {"id": 4, "name": 12},
        "mysqlType": {"name": "varchar", "id": "int"},
        "old": None,
        "data": [{"id": "1", "name": "a"}],
        "_tidb": {"commitTs": COMMIT_TS},
    }
    return written({name: value for name, value in (base | members).items() if value is not ...})


def written(body):
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def flat_message(**members):
    """An UPDATE of two rows as Canal's own server writes it."""
    base = {
        "data": [{"id": "1", "name": "b", "score": "1.0E7"}, {"id": "2", "name": None, "score": "1.0"}],
        "database": "test",
        "es": 1700000000000,
        "gtid": "u:1-7",
        "id": 5,
        "isDdl": False,
        "mysqlType": {"id": "BIGINT unsigned", "name": "varchar(20)", "score": "double"},
        "old": [{"name": "a"}, {}],
        "pkNames": ["id"],
        "sql": "",
        "sqlType": {"id": -5, "name": 12, "score": 8},
        "table": "t",
        "ts": 1700000000123,
        "type": "UPDATE",
    }
    return written(base | members)


def rows(*messages):
    """The row changes of messages, read by one decoder."""
    decoder = Decoder({})
    return [event for raw in messages for event in decoder.decode(raw) if isinstance(event, RowChange)]


def table(key="id", **columns):
    """A table of columns by name and type text."""
    return TableSchema(
        "test",
        "t",
        tuple(Column(name, parse_type(text), is_key=name == key, source_type=text) for name, text in columns.items()),
    )


_LINES = [line.encode() for line in json.loads((DATA / "canal_json_messages.json").read_text())["lines"]]
EXTENSION = {"enable-tidb-extension": "true"}
OPTIONS = [
    {},
    EXTENSION,
    {"content-compatible": "true"},
    {"only-output-updated-columns": "true"},
    {"delete-only-output-handle-key-columns": "true"},
    EXTENSION | {"delete-old": "true"},
]
ROW = {"id": "1", "name": "<a>\u2028\U0001f600"}
UNSIGNED = {"sqlType": {"n": 3}, "mysqlType": {"n": "bigint unsigned"}, "data": [{"n": str(2**64 - 1)}], "pkNames": []}
FLOAT = {"sqlType": {"f": 7}, "mysqlType": {"f": "float"}, "data": [{"f": "0.5"}]}
MARKS = {"commitTs": COMMIT_TS, "onlyHandleKey": True, "claimCheckLocation": "s3://b/<x>", "rowkey": "dIAB"}
MESSAGES = {
    "insert": message(),
    "update": message(type="UPDATE", data=[ROW], old=[{"id": "1", "name": None}]),
    "update of some columns": message(type="UPDATE", old=[{"name": "x"}]),
    "update of nothing": message(type="UPDATE", old=None),
    "delete": message(type="DELETE"),
    "delete before v5.4": message(type="DELETE", old=[{"id": "1", "name": "a"}]),
    "no extension": message(_tidb=...),
    "no times": message(es=..., ts=...),
    "marks": message(_tidb=MARKS),
    "full types": message(mysqlType={"id": "int(11)", "name": "varchar(20)"}),
    "value-dependent code": message(**UNSIGNED),
    "impossible code": message(**UNSIGNED | {"sqlType": {"n": 12}, "data": [{"n": "1"}]}),
    "code of Canal for null": message(
        sqlType={"j": 1111, "s": 2004}, mysqlType={"j": "json", "s": "set('a')"}, data=[{"j": None, "s": None}]
    ),
    "float": message(**FLOAT),
    "float of Canal": message(id=7, **FLOAT),
    "no key": message(pkNames=None),
    "odd names": message(sqlType={'a"%': 4}, mysqlType={'a"%': "int"}, data=[{'a"%': "1"}], database="%s", table='"<'),
    "missing column": message(data=[{"id": "1"}]),
    "pretty": json.dumps(json.loads(message()), indent=1).encode(),
    "spaces": json.dumps(json.loads(message())).encode(),
    "keys backwards": written(dict(reversed(json.loads(message()).items()))),
    "several rows": flat_message(),
    "one row of Canal": flat_message(data=[ROW | {"score": "1.0E7"}], old=[{"name": "x"}]),
    "ddl": message(type="ALTER", isDdl=True, sql="ALTER TABLE t ADD c INT", data=None, sqlType=None, mysqlType=None),
    "watermark": message(type="TIDB_WATERMARK", data=None, _tidb={"watermarkTs": COMMIT_TS}),
    "heartbeat": flat_message(type="MHEARTBEAT", data=None, old=None),
    "no rows": message(data=[]),
} | {f"line {number}": line for number, line in enumerate(_LINES)}
LONG_WAY = {
    *("update of some columns", "update of nothing", "float of Canal", "missing column", "several rows"),
    *("one row of Canal", "ddl", "watermark", "heartbeat", "no rows", "odd names"),
}
BAD_LINES = {
    "not JSON": b"nonsense",
    "cut": message()[:-1],
    "two messages": message() + message(),
    "broken UTF-8 in a value": message(data=[{"id": "1", "name": "X"}]).replace(b"X", b"\xff"),
    "broken UTF-8 in an unknown member": message(new="X").replace(b'"X"', b'"\xc3"'),
    "control character in a value": message(data=[{"id": "1", "name": "X"}]).replace(b"X", b"\x01"),
    "bad escape in a value": message(data=[{"id": "1", "name": "X"}]).replace(b"X", b"\\x"),
    "lone surrogate in a value": message(data=[{"id": "1", "name": "X"}]).replace(b"X", b"\\ud800"),
    "bad number in a value": message(data=[{"id": "1", "name": "X"}]).replace(b'"X"', b"01"),
    "deep nesting in a value": message(data=[{"id": "1", "name": "X"}]).replace(b'"X"', b"[" * 100_000),
    "data is no array": message(data={"id": "1"}),
}


class Pair:
    """An opener and a writer for its rows."""

    def __init__(self, options, terminator=b""):
        self.opener = Opener({})
        self.writer = row_writer(self.opener, "canal-json", options, terminator)
        self.encoder = Encoder(options)

    def written(self, raw, commit_ts=None):
        """What comes of a message."""
        output = bytearray()
        for opened in self.opener.open(raw):
            if isinstance(opened, OpenRow | OpenRows):
                self.writer.rows(opened, opened.commit_ts if commit_ts is None else commit_ts, output)
            elif isinstance(opened, Ddl | Watermark | Heartbeat | TransactionMark):
                output += b"".join(self.encoder.encode(opened))
        return bytes(output)

    def changed(self, raw):
        """The same by way of its events."""
        output = bytearray()
        for opened in self.opener.open(raw):
            if isinstance(opened, OpenRow | OpenRows):
                self.writer.changes(opened.changes(), opened.commit_ts, output)
        return bytes(output)
