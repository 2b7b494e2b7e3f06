"""Canal-JSON messages and tables for tests."""

import json
from pathlib import Path

from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.events import Column, RowChange, TableSchema
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
