"""Whatever the bytes are: events or the one error, with a position where there is one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.errors import DecodeError
from tests.cdc.canal_json_cases import flat_message, message

pytestmark = pytest.mark.usefixtures("both_ways")

DECODER = Decoder({})
SAMPLES = [message(), message(type="UPDATE", old=[{"id": "2"}]), flat_message(), message(type="DELETE", old=[{}])]


def row(**cells):
    return message(data=[{"id": "1", "name": "a"} | cells])


CASES = {
    "nothing": (b"", None, "truncated"),
    "no JSON": (b"nonsense", 1, "malformed"),
    "no object": (b"[]", None, "object"),
    "byte order mark": (b"\xef\xbb\xbf" + message(), 0, "malformed"),
    "two messages": (message() + message(), len(message()), "trailing"),
    "broken UTF-8": (row(name="X").replace(b"X", b"\xc3("), message().index(b'a"}]'), "UTF-8"),
    "broken UTF-8 that nobody reads": (
        message(new="X").replace(b'"X"', b'"\xff"'),
        message(new="X").index(b'X"'),
        "UTF-8",
    ),
    "overlong UTF-8": (row(name="X").replace(b"X", b"\xc0\x80"), message().index(b'a"}]'), "UTF-8"),
    "lone surrogate": (row(name="X").replace(b"X", b"\\ud800\\u0041"), message().index(b'a"}]') + 11, "surrogate"),
    "raw surrogate": (row(name="X").replace(b"X", b"\xed\xa0\x80"), message().index(b'a"}]'), "UTF-8"),
    "deep nesting": (b'{"type":"INSERT","data":' + b"[" * 1_000_000, None, "nested|truncated"),
    "deep nesting that nobody reads": (b'{"new":' + b'{"a":' * 1_000_000, None, "nested|truncated"),
    "huge time": (message(es=10**400), None, "range|int"),
    "time beyond 64 bits": (message(es=2**63), None, "int"),
    "time in microseconds": (message(es=1_700_000_000_000_000), None, r"int.* <= 35184372088831.*\$\.es"),
    "commit-ts as a text": (message(_tidb={"commitTs": "1"}), None, "commitTs"),
    "commit-ts as a float": (message(_tidb={"commitTs": 1.5}), None, "commitTs"),
    "negative commit-ts": (message(_tidb={"commitTs": -1}), None, "commitTs"),
    "no type": (message(type=...), None, "type"),
    "unknown type": (message(type="UPSERT"), None, "no message has the type 'UPSERT'"),
    "number for a name": (message(table=5), None, "table"),
    "data is an object": (message(data={"id": "1"}), None, "data"),
    "no data": (message(data=None), None, "INSERT has no data"),
    "row is no object": (message(data=["x"]), None, "object"),
    "row is null": (message(data=[None]), None, "object"),
    "text that is no number": (row(id="12a"), None, "column 'id': '12a' is not a 64-bit number"),
    "number beyond 64 bits": (row(id=str(2**64)), None, "column 'id'"),
    "number of 5000 digits": (row(id="9" * 5000), None, "column 'id'"),
    "number for a text": (row(name=5), None, "column 'name': a number where text belongs"),
    "object for a text": (row(name={"a": 1}), None, "name"),
    "boolean": (row(id=True), None, "id"),
    "column that sqlType has not": (row(new="x"), None, "column 'new' is in data or old but not in sqlType"),
    "wide character in bytes": (
        message(sqlType={"b": 2004}, mysqlType={"b": "blob"}, data=[{"b": "\u0100"}]),
        None,
        "column 'b': .* above U\\+00FF at index 0",
    ),
    "nan": (message(sqlType={"d": 8}, mysqlType={"d": "double"}, data=[{"d": "nan"}]), None, "column 'd': 'nan'"),
    "infinity": (message(sqlType={"d": 8}, mysqlType={"d": "double"}, data=[{"d": "1e999"}]), None, "column 'd'"),
    "fewer rows in old": (flat_message(old=[{}]), None, "2 rows in data and 1 in old"),
    "insert with old": (message(old=[{"id": "1"}]), None, "an INSERT with old"),
    "no sqlType": (message(sqlType=None), None, "rows without sqlType and mysqlType"),
    "no mysqlType": (message(mysqlType=None), None, "rows without sqlType and mysqlType"),
    "empty mysqlType": (message(mysqlType={}), None, "'id' is in sqlType but not in mysqlType"),
    "sqlType is an array": (message(sqlType=[4, 12]), None, "sqlType, mysqlType or pkNames"),
    "column without mysqlType": (message(mysqlType={"id": "int"}), None, "'name' is in sqlType but not in mysqlType"),
    "mysqlType that is none": (message(mysqlType={"id": "int", "name": "("}), None, "mysqlType of column 'name'"),
    "key names that are numbers": (message(pkNames=[1]), None, "pkNames"),
    "too many columns": (
        message(sqlType={f"c{n}": 4 for n in range(5000)}, mysqlType={f"c{n}": "int" for n in range(5000)}),
        None,
        "5000 columns",
    ),
    "watermark without its TSO": (message(type="TIDB_WATERMARK", data=None), None, "without _tidb.watermarkTs"),
    "row key that is no base64": (message(_tidb={"rowkey": "?"}), None, "rowkey is not base64"),
}


@pytest.mark.parametrize(("raw", "offset", "reason"), CASES.values(), ids=CASES)
def test_garbage_is_refused_with_its_place_and_reason(raw, offset, reason):
    with pytest.raises(DecodeError, match=reason) as caught:
        Decoder({}).decode(raw)
    assert caught.value.protocol == "canal-json"
    assert caught.value.offset == offset or abs(caught.value.offset - offset) <= 3  # where the reader noticed it


def refused_or_read(raw):
    try:
        DECODER.decode(raw)
    except DecodeError:
        return True
    return True


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_any_bytes_are_read_or_refused(raw):
    assert refused_or_read(raw)


@given(st.sampled_from(SAMPLES), st.integers(0, 10_000), st.integers(0, 40), st.binary(max_size=6))
@settings(max_examples=600)
def test_damaged_messages_are_read_or_refused(sample, at, length, patch):
    at %= len(sample)
    assert refused_or_read(sample[:at] + patch + sample[at + length :])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["id", "int", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "name", ""]), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = ["type", "data", "old", "sqlType", "mysqlType", "pkNames", "_tidb", "es", "isDdl", "sql", "database"]


@given(st.dictionaries(st.sampled_from(MEMBERS), json_values, max_size=3))
@settings(max_examples=400)
def test_messages_with_members_of_other_types_are_read_or_refused(members):
    assert refused_or_read(message(**members))
