"""Messages that are worded as earlier ones are read by what differs; the result is that of reading them as a whole."""

import json

import pytest

from spark_jobs.cdc.codecs.canal_json import opener as canal_json_opener
from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.codecs.canal_json.envelope import open_envelope
from spark_jobs.cdc.errors import DecodeError, EncodeError
from spark_jobs.cdc.events import RowChange
from spark_jobs.cdc.memory import Memory
from tests.cdc.canal_json_cases import COMMIT_TS, ES, EXTENSION, Pair, flat_message, message

OLD = [{"id": "1", "name": "b"}]
WORDED = {
    "insert": message(),
    "delete": message(type="DELETE"),
    "update": message(type="UPDATE", old=OLD),
    "update of some columns": message(type="UPDATE", old=[{"name": "b"}]),
    "without extension": message(_tidb=...),
    "other than ASCII": message(data=[{"id": "1", "name": "größer"}]),
    "null and escapes": message(data=[{"id": None, "name": 'a"],"data":[{"id":"1"}],"_tidb":{"commitTs":1}}'}]),
    "double": message(sqlType={"d": 8}, mysqlType={"d": "double"}, pkNames=[], data=[{"d": "-0.0"}]),
    "bytes": message(sqlType={"b": 2004}, mysqlType={"b": "blob"}, pkNames=[], data=[{"b": "ÿ"}]),
    "no columns": message(sqlType={}, mysqlType={}, pkNames=[], data=[{}]),
}
"""One message for each wording that is known after it."""

DAMAGED = ["insert", "update", "double", "without extension"]
PASSED = ["insert", "update", "update of some columns", "without extension"]
BYTES = [b"", b'"', b"{", b"}", b"[", b"]", b",", b":", b" ", b"\\", b"1", b"-", b".", b"e", b"\n", b"\xff", b"\xc3"]


def outcome(read, raw):
    """The events, or what is said against the message."""
    try:
        return list(read(raw))
    except DecodeError as error:
        return str(error), error.offset


def table_of(decoder, raw):
    """The table of a message's only row."""
    (change,) = decoder.decode(raw)
    assert isinstance(change, RowChange)
    return change.table


def as_a_whole(raw):
    return Decoder({}).events(open_envelope(raw))


@pytest.fixture
def opened(monkeypatch):
    """The messages that were opened as a whole."""
    found = []

    def open_it(raw):
        found.append(raw)
        return open_envelope(raw)

    monkeypatch.setattr(canal_json_opener, "open_envelope", open_it)
    return found


@pytest.mark.parametrize("raw", WORDED.values(), ids=WORDED)
def test_only_the_first_message_of_a_wording_is_opened(raw, opened):
    decoder = Decoder({})
    later = raw.replace(str(ES).encode(), str(ES + 3).encode()).replace(str(COMMIT_TS).encode(), b"429918007904436230")
    expected = [outcome(as_a_whole, raw), outcome(as_a_whole, later)]
    assert [outcome(decoder.decode, one) for one in (raw, later, raw, later)] == expected * 2
    assert opened == [raw]


def test_types_in_another_order_say_the_same(opened):
    decoder = Decoder({})
    first = table_of(decoder, message())
    assert table_of(decoder, message(mysqlType={"id": "int", "name": "varchar"})) is first
    assert len(opened) == 1


ODD_TYPES = {
    "commas": {"a": "decimal(10,2)", "b": "enum('a,b','c\",\"d')", "c": "set('x','y')", "d": "int"},
    "names": {'a","b': "int", "größe": "varchar(3)", ",": "int", ":": "date", "d": "bigint"},
    "one column": {"d": "int"},
    "many columns": {f"c{number}": ("int", "text", "date")[number % 3] for number in range(100)},
}


@pytest.mark.parametrize("types", ODD_TYPES.values(), ids=ODD_TYPES)
def test_any_types_in_any_order_say_the_same(types, opened):
    decoder = Decoder({})
    names = sorted(types, reverse=True)
    codes = dict.fromkeys(types, 1)
    orders = [names, names[::-1], names[1:] + names[:1], names[2:] + names[:2]]
    row = dict.fromkeys(types)
    raws = [
        message(sqlType=codes, mysqlType={name: types[name] for name in order}, data=[row], pkNames=[])
        for order in orders
    ]
    assert len({id(table_of(decoder, raw)) for raw in raws}) == len(opened) == 1


SAME_LENGTH = {
    "another type": b'{"id":"int","name":"varchaR"}',
    "another name": b'{"id":"int","namE":"varchar"}',
    "types changed": b'{"id":"varchar","name":"int"}',
    "a name twice": b'{"id":"int","id":"varchar"  }',
    "a member twice": b'{"id":"int","id":"int"      }',
    "one missing": b'{"name":"varchar"           }',
    "null": b'{"id":null,"name":"varchar" }',
    "a number": b'{"id":12345,"name":"varchar"}',
    "cut": b'{"id":"int","name":"varchar" ',
    "no comma": b'{"id":"int" "name":"varchar"}',
    "a bracket": b'["id":"int","name":"varchar"}',
    "a list": b'["id","int","name","varchar"]',
    "more behind it": b'{"id":"int"},"mysqlType":{  }',
    "spaces": b'{"id":"int","name":"in"     }',
    "broken UTF-8": b'{"id":"int","name":"varcha\xff"}',
    "an escape": b'{"id":"int","name":"\\u0069n"}',
}


@pytest.mark.parametrize("types", SAME_LENGTH.values(), ids=SAME_LENGTH)
def test_types_as_long_that_say_something_else_are_read(types):
    decoder, known = Decoder({}), b'{"name":"varchar","id":"int"}'
    assert len(types) == len(known)
    raw = message()
    other = raw.replace(known, types)
    assert raw != other
    for one in (raw, other, raw, other):
        assert outcome(decoder.decode, one) == outcome(as_a_whole, one)


@pytest.mark.parametrize(
    "changed", [{"database": "other"}, {"table": "u"}, {"pkNames": []}, {"id": 7}, {"type": "DELETE"}]
)
def test_what_stands_before_the_times_is_part_of_the_wording(changed):
    decoder = Decoder({})
    for raw in (message(), message(**changed), message()):
        assert outcome(decoder.decode, raw) == outcome(as_a_whole, raw)


def test_codes_that_alternate_are_wordings_of_their_own(opened):
    decoder = Decoder({})
    messages = [message(sqlType={"id": code, "name": 12}) for code in (4, -5, 4, -5, 4)]
    tables = {id(table_of(decoder, raw)) for raw in messages}
    assert (len(tables), len(opened)) == (1, 2)


def test_more_wordings_than_are_remembered_are_all_read():
    decoder = Decoder({})
    messages = [message(sqlType={"id": code, "name": 12}) for code in range(20)]
    assert [outcome(decoder.decode, raw) for raw in messages * 2] == [outcome(as_a_whole, raw) for raw in messages * 2]


def test_one_object_stands_for_a_table_also_when_structures_have_been_forgotten(monkeypatch):
    """Or rows of two kinds would be cut apart as if they had other columns."""
    for module in ("structure", "cache"):
        monkeypatch.setattr(f"spark_jobs.cdc.codecs.canal_json.{module}.Memory", lambda room: Memory(1))
    decoder = Decoder({})
    before = table_of(decoder, message())
    for name in "uvwx":
        table_of(decoder, message(table=name))
    assert table_of(decoder, message(type="UPDATE", old=OLD)) is before
    assert table_of(decoder, message()) is before


@pytest.mark.parametrize(
    "other",
    [
        message(_tidb={"commitTs": COMMIT_TS, "onlyHandleKey": True}),
        message(_tidb={"commitTs": str(COMMIT_TS)[:16]}),
        message(_tidb={"commitTs": COMMIT_TS}, new=1),
        message(_tidb={"commitTs": 5}),
        message(_tidb=None),
        b'{"gtid":"u:1-7",' + message()[1:],
        b'{"es":%d,"ts":1,"new":{"id":1,' % ES + message()[1:-1] + b"}}",
        message(es=str(ES)[:11]),
        message(es=12, ts=12345678901234567890123),
        message(es=f"{ES}", ts=1),
        message(es=ES * 10),
        message(ts=...),
        message(data=[{"id": "1", "name": "a"}] * 2),
        message(data=[]),
        message(data=None),
        message(data=[{"id": "1"}]),
        message(data=[{"id": "1", "name": "a", "new": "b"}]),
        message(data=[{"id": "1", "name": "X"}]).replace(b'"X"', b"[" * 100_000),
        message(old=OLD),
        message() + b"\n",
        b" " + message(),
        flat_message(),
        json.dumps(json.loads(message()), indent=1).encode(),
        json.dumps(dict(reversed(json.loads(message()).items()))).encode(),
    ],
    ids=lambda raw: raw[-150:],
)
def test_a_message_that_only_looks_alike_is_read_as_a_whole(other):
    decoder = Decoder({})
    messages = (message(), other, other, message())
    assert [outcome(decoder.decode, raw) for raw in messages] == [outcome(as_a_whole, raw) for raw in messages]


@pytest.mark.parametrize("order", ["same", "other"])
@pytest.mark.parametrize("raw", [WORDED[name] for name in DAMAGED], ids=DAMAGED)
def test_damage_anywhere_has_the_outcome_that_it_has_without_a_known_wording(raw, order):
    decoder, whole = Decoder({}), Decoder({})
    expected = outcome(as_a_whole, raw)
    decoder.decode(raw)
    if order == "other":
        raw = raw.replace(b'{"name":"varchar","id":"int"}', b'{"id":"int","name":"varchar"}')
    for at in range(len(raw)):
        for new in BYTES:
            damaged = raw[:at] + new + raw[at + 1 :]
            assert outcome(decoder.decode, raw) == expected
            found = outcome(lambda one: whole.events(open_envelope(one)), damaged)
            assert outcome(decoder.decode, damaged) == found, damaged


@pytest.mark.parametrize("raw", [WORDED[name] for name in PASSED], ids=PASSED)
def test_damage_anywhere_is_passed_on_or_refused_as_without_a_known_wording(raw):
    pair, decoder, encoder = Pair(EXTENSION), Decoder({}), Encoder(EXTENSION)

    def encoded(one):
        return b"".join([text for event in decoder.events(open_envelope(one)) for text in encoder.encode(event)])

    def said(write, one):
        try:
            text = write(one)
            return json.loads(text) if text else None
        except (DecodeError, EncodeError) as error:
            return str(error)

    expected = said(encoded, raw)
    for at in range(len(raw)):
        for new in BYTES:
            damaged = raw[:at] + new + raw[at + 1 :]
            assert said(pair.written, raw) == expected
            assert said(pair.written, damaged) == said(encoded, damaged), damaged
