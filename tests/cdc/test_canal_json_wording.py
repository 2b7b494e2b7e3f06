"""Messages that are worded as earlier ones are read by what differs; the result is that of reading them as a whole."""

import json

import pytest

from spark_jobs.cdc.codecs.canal_json import decoder as canal_json_decoder
from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.codecs.canal_json.envelope import open_envelope
from spark_jobs.cdc.codecs.canal_json.relay import Relay
from spark_jobs.cdc.errors import DecodeError, EncodeError
from spark_jobs.cdc.events import RowChange
from tests.cdc.canal_json_cases import COMMIT_TS, ES, flat_message, message

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
RELAYED = ["insert", "update", "update of some columns", "without extension"]
EXTENSION = {"enable-tidb-extension": "true"}
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

    monkeypatch.setattr(canal_json_decoder, "open_envelope", open_it)
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


def test_types_as_long_that_say_something_else_are_read():
    decoder = Decoder({})
    names = [{"name": "varchar", "id": "int"}, {"name": "varbina", "id": "int"}]
    tables = [table_of(decoder, message(mysqlType=types)) for types in names]
    assert [table.columns[1].type.name for table in tables] == ["varchar", "varbina"]


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

    def forgetful(cache, key, value):
        if len(cache) >= 2:
            cache.clear()
        cache[key] = value

    for module in ("structure", "cache"):
        monkeypatch.setattr(f"spark_jobs.cdc.codecs.canal_json.{module}.remember", forgetful)
    decoder = Decoder({})
    before = table_of(decoder, message())
    for name in "uvwx":
        table_of(decoder, message(table=name))
    update = table_of(decoder, message(type="UPDATE", old=OLD))
    assert update is not before
    assert table_of(decoder, message()) is update


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


@pytest.mark.parametrize("raw", [WORDED[name] for name in DAMAGED], ids=DAMAGED)
def test_damage_anywhere_has_the_outcome_that_it_has_without_a_known_wording(raw):
    decoder, whole = Decoder({}), Decoder({})
    expected = outcome(as_a_whole, raw)
    for at in range(len(raw)):
        for new in BYTES:
            damaged = raw[:at] + new + raw[at + 1 :]
            assert outcome(decoder.decode, raw) == expected
            found = outcome(lambda one: whole.events(open_envelope(one)), damaged)
            assert outcome(decoder.decode, damaged) == found, damaged


@pytest.mark.parametrize("raw", [WORDED[name] for name in RELAYED], ids=RELAYED)
def test_damage_anywhere_is_relayed_or_refused_as_without_a_known_wording(raw):
    relay, decoder, encoder = Relay(EXTENSION), Decoder({}), Encoder(EXTENSION)

    def relayed(one):
        opened = relay.open(one)
        text = relay.rewrite(opened)
        return (
            [text] if text is not None else [text for event in relay.events(opened) for text in encoder.encode(event)]
        )

    def encoded(one):
        return [text for event in decoder.events(open_envelope(one)) for text in encoder.encode(event)]

    def said(write, one):
        try:
            return [json.loads(text) for text in write(one)]
        except (DecodeError, EncodeError) as error:
            return str(error)

    expected = said(encoded, raw)
    for at in range(len(raw)):
        for new in BYTES:
            damaged = raw[:at] + new + raw[at + 1 :]
            assert said(relayed, raw) == expected
            assert said(relayed, damaged) == said(encoded, damaged), damaged
