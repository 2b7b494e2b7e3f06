"""``decode(encode(event)) == event`` on what each dialect can carry, over every type at its extremes.

What Canal-JSON cannot carry, and is therefore not generated: NaN and infinity (written as 0), bytes that are not UTF-8
in texts (U+FFFD), partition ids, column defaults and comments; TiCDC's dialect no type parameters, batch ids and GTIDs;
Canal's no commit-ts. Columns of ``old`` that are ABSENT read back as in ``data``.
"""

import json
import struct

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.events import (
    DELETE,
    INSERT,
    NO_ORIGIN,
    UPDATE,
    Column,
    Ddl,
    Origin,
    RowChange,
    TableSchema,
    TransactionMark,
    Watermark,
)
from spark_jobs.cdc.mysql.types import canal_text, full_text, parse_type, short_text
from tests.cdc.canal_json_cases import Pair

pytestmark = pytest.mark.usefixtures("both_ways")

MAX_TSO = 2**63 - 1
EXTENSION = {"enable-tidb-extension": "true"}


def integers(low, high):
    return st.sampled_from([low, high]) | st.integers(low, high)


def widened(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


times = st.sampled_from(["-838:59:59.000000", "838:59:59.999999", "00:00:00.000000", "26:00:00.000001"])
dates = st.sampled_from(["0000-00-00", "9999-12-31", "1000-01-01", "2024-02-29"])
moments = st.sampled_from(["0000-00-00 00:00:00.000", "9999-12-31 23:59:59.999", "1970-01-01 00:00:01.000"])
decimals = st.sampled_from(["0.00", "-0.01", "1.50", "9" * 63 + ".99", "-" + "9" * 63 + ".99"])
texts = st.sampled_from(["", "\0", "\U0001f600", '<&>\u2028\\"\b\f\t', "null", "\x7f\x80"]) | st.text(max_size=12)
blobs = st.sampled_from([b"", b"\0", bytes(range(256)), b"\xc3\x28"]) | st.binary(max_size=12)
doubles = st.sampled_from([0.0, -0.0, 5e-324, 1.7976931348623157e308, 1e20]) | st.floats(
    allow_nan=False, allow_infinity=False
)
floats = doubles.filter(lambda value: abs(value) < 3e38).map(widened)

VALUES = {
    "tinyint(4)": integers(-(2**7), 2**7 - 1),
    "tinyint(3) unsigned": integers(0, 2**8 - 1),
    "smallint(5) unsigned": integers(0, 2**16 - 1),
    "mediumint(8) unsigned": integers(0, 2**24 - 1),
    "int(11)": integers(-(2**31), 2**31 - 1),
    "int(10) unsigned zerofill": integers(0, 2**32 - 1),
    "bigint(20)": integers(-(2**63), 2**63 - 1),
    "bigint(20) unsigned": integers(0, 2**64 - 1),
    "year(4)": st.sampled_from([0, 1901, 2155]),
    "bit(64)": integers(0, 2**64 - 1),
    "enum('a','b''c')": integers(0, 2),
    "set('a','b','c')": integers(0, 7),
    "float": floats,
    "double": doubles,
    "decimal(65,2)": decimals,
    "date": dates,
    "datetime(3)": moments,
    "timestamp(3)": moments,
    "time(6)": times,
    "json": st.sampled_from(["null", '{"a": "\\"<é>"}', "[]"]),
    "char(255)": texts,
    "varchar(255)": texts,
    "longtext": texts,
    "vector(3)": st.just("[1,2,3]"),
    "binary(3)": blobs,
    "varbinary(255)": blobs,
    "mediumblob": blobs,
    "geometry": blobs,
}


def column(name, text, is_key):
    return Column(name, parse_type(text), is_key=is_key, source_type=text)


def tables(write):
    """Tables whose types lose nothing when ``write`` puts them into text."""
    names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
    columns = st.lists(st.tuples(names, st.sampled_from(sorted(VALUES)), st.booleans()), min_size=1, max_size=6)
    unique = columns.filter(lambda found: len({name for name, _, _ in found}) == len(found))
    return st.builds(
        lambda schema, table, found: TableSchema(
            schema, table, tuple(column(name, write(parse_type(text)), is_key) for name, text, is_key in found)
        ),
        names,
        names,
        unique,
    )


def values(full_types, table):
    return st.tuples(
        *(st.none() | VALUES[full_types[column.type.name, column.type.unsigned]] for column in table.columns)
    )


FULL_TYPES = {(parse_type(text).name, parse_type(text).unsigned): text for text in VALUES}
milliseconds = st.integers(1, tso.MAX_MS)


@st.composite
def changes(draw, /, write, **carried):
    table = draw(tables(write))
    rows = values(FULL_TYPES, table)
    kind = draw(st.sampled_from([INSERT, UPDATE, DELETE]))
    return RowChange(
        kind=kind,
        table=table,
        before=None if kind is INSERT else draw(rows),
        after=None if kind is DELETE else draw(rows),
        es_ms=draw(milliseconds),
        ts_ms=draw(milliseconds),
        **{name: draw(strategy) for name, strategy in carried.items()},
    )


def round_trip(event, options):
    (message,) = Encoder(options).encode(event)
    json.loads(message)
    assert b"\n" not in message
    (read,) = Decoder({}).decode(message)
    return read


EXTENDED = {
    "commit_ts": integers(0, MAX_TSO),
    "only_handle_key": st.booleans(),
    "claim_check": st.sampled_from(["", "s3://b/<x>.json"]),
    "row_key": st.binary(max_size=5),
}
OF_CANAL = {
    "sequence": integers(0, 2**63 - 1),
    "origin": st.sampled_from([NO_ORIGIN, Origin(gtid="0b1c:1-7,2a:1")]),
}
DIALECTS = {
    "ticdc": ({}, changes(short_text)),
    "ticdc with extension": (EXTENSION, changes(short_text, **EXTENDED)),
    "ticdc content-compatible": (EXTENSION | {"content-compatible": "true"}, changes(full_text, **EXTENDED)),
    "ticdc only updated": ({"only-output-updated-columns": "true"}, changes(short_text)),
    "ticdc before v5.4": ({"delete-old": "true"}, changes(short_text)),
    "canal": ({"dialect": "canal"}, changes(canal_text, **OF_CANAL)),
}


@pytest.mark.parametrize(("options", "events"), DIALECTS.values(), ids=DIALECTS)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_row_change_reads_back_as_it_was(options, events, data):
    event = data.draw(events)
    read = round_trip(event, options)
    assert read == event
    assert repr(read) == repr(event)  # types too, and the sign of zero


@given(event=changes(short_text, **EXTENDED))
@settings(max_examples=100, deadline=None)
def test_a_change_that_is_passed_on_is_the_encoded_one(event):
    (message,) = Encoder(EXTENSION).encode(event)
    assert json.loads(Pair(EXTENSION).written(message)) == json.loads(message)


@pytest.mark.parametrize("options", [EXTENSION, {"dialect": "canal"}], ids=str)
@given(schema=st.text(max_size=5), table=st.text(max_size=5), query=texts, is_ddl=st.booleans(), es=milliseconds)
@settings(max_examples=60)
def test_a_statement_reads_back_as_it_was(options, schema, table, query, is_ddl, es):
    event = Ddl(schema=schema, table=table, query=query, canal_type="QUERY", is_ddl=is_ddl, es_ms=es, ts_ms=es + 1)
    assert round_trip(event, options) == event


@given(integers(1, MAX_TSO), milliseconds)
@settings(max_examples=30)
def test_a_watermark_reads_back_as_it_was(watermark_ts, es):
    event = Watermark(watermark_ts=watermark_ts, es_ms=es, ts_ms=es + 1)
    assert round_trip(event, EXTENSION) == event


def test_an_xa_mark_reads_back_as_it_was():
    event = TransactionMark(kind="XAROLLBACK", query="XA ROLLBACK 'x'", es_ms=1, ts_ms=2, sequence=3)
    assert round_trip(event, {"dialect": "canal"}) == event


EXTREMES = {
    "the greatest unsigned 64-bit number": 2**64 - 1,
    "the least 64-bit number": -(2**63),
    "a negative time": "-838:59:59.000000",
    "a time beyond a day": "838:59:59.999999",
    "a zero date": "0000-00-00",
    "NUL": "\0",
    "four bytes of UTF-8": "\U0001f600",
    "invalid UTF-8 in bytes": b"\xc3\x28",
    "empty text": "",
    "empty bytes": b"",
    "null": None,
}


@pytest.mark.parametrize("extreme", EXTREMES.values(), ids=EXTREMES)
def test_the_generator_makes_extremes(extreme):
    one_of_each = st.one_of(st.none(), *VALUES.values())
    found = find(one_of_each, lambda value: value == extreme and type(value) is type(extreme), settings=MANY)
    assert found == extreme


MANY = settings(max_examples=20_000, deadline=None, database=None)


def test_every_type_of_the_model_is_generated():
    made = {name for name, _ in FULL_TYPES}
    assert made >= {
        "tinyint",
        "smallint",
        "mediumint",
        "int",
        "bigint",
        "year",
        "bit",
        "enum",
        "set",
        "float",
        "double",
    }
    assert made >= {"decimal", "date", "datetime", "timestamp", "time", "json", "char", "varchar", "longtext", "vector"}
    assert made >= {"binary", "varbinary", "mediumblob", "geometry"}
