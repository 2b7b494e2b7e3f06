"""The relay against decoder and encoder: the same messages, without building the rows."""

import json

import pytest

from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.codecs.canal_json.envelope import Kind
from spark_jobs.cdc.codecs.canal_json.relay import BLANK, Relay
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError
from spark_jobs.cdc.events import RowChange
from tests.cdc.canal_json_cases import COMMIT_TS, DATA, ES, flat_message, message, written

LINES = [line.encode() for line in json.loads((DATA / "canal_json_messages.json").read_text())["lines"]]
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
} | {f"line {number}": line for number, line in enumerate(LINES)}
LONG_WAY = {
    *("update of some columns", "update of nothing", "float of Canal", "missing column", "several rows"),
    *("one row of Canal", "ddl", "watermark", "heartbeat", "no rows", "odd names"),
}


def the_long_way(relay, opened):
    return [text for event in relay.events(opened) for text in relay.encoder.encode(event)]


def written_by(relay, raw):
    """The messages that come of one, opened as a whole or, if its wording is known, by that."""
    opened = relay.open(raw)
    rewritten = relay.rewrite(opened)
    return the_long_way(relay, opened) if rewritten is None else [rewritten]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("raw", MESSAGES.values(), ids=MESSAGES)
def test_a_relayed_message_says_what_decoder_and_encoder_would_write(raw, options):
    relay, encoder = Relay(options), Encoder(options)
    for _ in range(2):  # the second time the wording is known
        if raw == MESSAGES["marks"] and options.get("enable-tidb-extension") != "true":
            assert relay.rewrite(relay.open(raw)) is None
            with pytest.raises(EncodeError, match="only the key"):
                written_by(relay, raw)
        else:
            events = Decoder({}).decode(raw)
            assert list(relay.events(relay.open(raw))) == list(events)
            expected = [text for event in events for text in encoder.encode(event)]
            assert [json.loads(text) for text in written_by(relay, raw)] == [json.loads(text) for text in expected]


@pytest.mark.parametrize("name", MESSAGES)
def test_ordinary_rows_go_the_short_way(name):
    relay = Relay(EXTENSION)
    for _ in range(2):
        assert (relay.rewrite(relay.open(MESSAGES[name])) is None) == (name in LONG_WAY)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"only-output-updated-columns": "true"}, "update"),
        ({"content-compatible": "true"}, "update"),
        ({"delete-only-output-handle-key-columns": "true"}, "delete"),
    ],
    ids=str,
)
def test_rows_that_must_lose_columns_take_the_long_way(options, name):
    relay = Relay(options)
    for _ in range(2):
        assert relay.rewrite(relay.open(MESSAGES[name])) is None
        assert relay.rewrite(relay.open(MESSAGES["insert"])) is not None


def test_rows_are_written_as_they_were_read():
    raw = message(type="UPDATE", data=[ROW], old=[{"name": "x", "id": "1"}])
    relay = Relay(EXTENSION)
    for _ in range(2):
        assert (
            relay.rewrite(relay.open(raw))
            == (
                '{"id":0,"database":"test","table":"t","pkNames":["id"],"isDdl":false,"type":"UPDATE",'
                '"es":1640007049196,"ts":1640007050196,"sql":"","sqlType":{"id":4,"name":12},'
                '"mysqlType":{"id":"int","name":"varchar"},"old":[{"name":"x","id":"1"}],'
                '"data":[{"id":"1","name":"<a>\u2028\U0001f600"}],"_tidb":{"commitTs":429918007904436226}}'
            ).encode()
        )


@pytest.mark.parametrize("text", [b'"', b'"<a>'], ids=["everywhere", "in the row"])
@pytest.mark.parametrize("space", [b"\n", b"\r", b"\r\n", b" \r \n "], ids=repr)
def test_a_message_on_several_lines_is_written_on_one(space, text):
    raw = message(type="UPDATE", data=[ROW], old=[{"name": "x", "id": "1"}]).replace(
        b'"name":' + text, b'"name":' + space + text
    )
    relay = Relay(EXTENSION, end=b"\n")
    [opened] = relay.open_each([raw])
    relay.open(raw.replace(space, b""))
    for again in (opened, *relay.open_each([raw])):
        assert again is not None
        for text in (relay.rewrite(again) or b"", the_long_way(relay, again)[0] + b"\n"):
            assert text.count(b"\n") == 1
            assert b"\r" not in text
            assert json.loads(text)["data"] == [ROW]


def test_what_cannot_be_opened_is_none_among_those_that_can():
    relay = Relay({})
    bad = message(data=[{"id": "1", "name": "X"}]).replace(b"X", b"\r")
    for _ in range(2):
        opened = relay.open_each([message(), bad, message(), b"\xff"])
        assert [one is None for one in opened] == [False, True, False, True]


def test_another_commit_ts_may_be_set():
    relay = Relay(EXTENSION)
    body = json.loads(relay.rewrite(relay.open(message(_tidb=..., es=...)), commit_ts=COMMIT_TS) or b"")
    assert (body["_tidb"], body["es"]) == ({"commitTs": COMMIT_TS}, ES)


def test_an_envelope_says_what_a_pipeline_needs():
    relay = Relay({})
    envelope = relay.open(message(_tidb=MARKS))
    assert (envelope.database, envelope.table, envelope.type, envelope.kind) == ("test", "t", "INSERT", Kind.ROWS)
    assert (envelope.commit_ts, envelope.is_partial) == (COMMIT_TS, True)
    assert relay.open(message(_tidb=...)).commit_ts == 0
    for _ in range(2):
        opened = relay.open(message())
        assert (opened.database, opened.table, opened.type, opened.kind) == ("test", "t", "INSERT", Kind.ROWS)
        assert (opened.commit_ts, opened.es, opened.is_partial, opened.is_row) == (COMMIT_TS, ES, False, True)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("insert", Kind.ROWS),
        ("several rows", Kind.ROWS),
        ("ddl", Kind.STATEMENT),
        ("watermark", Kind.WATERMARK),
        ("heartbeat", Kind.HEARTBEAT),
        ("no rows", Kind.NOTHING),
    ],
)
def test_an_envelope_knows_its_kind(name, kind):
    assert Relay({}).open(MESSAGES[name]).kind is kind


def test_the_structure_is_that_of_the_decoder_and_stays_the_same_object():
    relay = Relay({})
    first, second = relay.open(message()), relay.open(message(mysqlType={"id": "int", "name": "varchar"}))
    table = relay.form(first).table
    assert relay.form(second).table is relay.form(first).table is table
    for opened in (first, second):
        assert [event.table is table for event in relay.events(opened) if isinstance(event, RowChange)] == [True]
    assert relay.form(relay.open(message(table="u"))).table is not table


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"], ids=repr)
@pytest.mark.parametrize("between", [b"\n", b"\r\n"], ids=repr)
def test_a_block_of_lines_is_one_envelope_a_line(between, end):
    raws = [MESSAGES[name] for name in ("insert", "update", "ddl", "watermark")]
    relay = Relay(EXTENSION)
    for _ in range(2):
        opened = list(relay.open_lines(between.join(raws) + end))
        assert [one.kind for one in opened] == [Kind.ROWS, Kind.ROWS, Kind.STATEMENT, Kind.WATERMARK]
        assert [relay.rewrite(one) for one in opened] == [relay.rewrite(relay.open(raw)) for raw in raws]


def test_a_blank_line_keeps_its_place():
    relay = Relay({})
    envelopes = relay.open_lines(b"\n" + message() + b"\n\r\n" + message())
    assert [envelope is BLANK for envelope in envelopes] == [True, False, True, False]
    assert BLANK.kind is Kind.NOTHING
    assert relay.rewrite(BLANK) is None


def test_no_lines_are_no_envelopes():
    assert list(Relay({}).open_lines(b"")) == []


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


@pytest.mark.parametrize("bad", BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_found_though_its_rows_are_never_read(bad):
    relay = Relay({})
    for _ in range(2):
        opened = relay.open_lines(b"\n".join([message(), b"", bad, message()]))
        assert [next(opened).kind, next(opened).kind] == [Kind.ROWS, Kind.NOTHING]
        with pytest.raises(DecodeError):
            next(opened)


def test_a_message_over_two_lines_is_two_bad_lines():
    opened = Relay({}).open_lines(message() + b"\n" + message()[:-1] + b"\n}\n" + message() + message() + b"\n")
    assert next(opened).kind is Kind.ROWS
    for _ in range(2):
        with pytest.raises(DecodeError):
            next(opened)


@pytest.mark.parametrize(
    "data",
    [[5], [None], ["x"], [{"id": "x", "name": "a"}], [{"id": "1", "name": 5}], [{"id": "1", "name": "a", "new": "1"}]],
    ids=str,
)
def test_a_row_that_is_wrong_is_not_relayed(data):
    relay = Relay({})
    relay.open(message())
    for _ in range(2):
        opened = relay.open(message(data=data))
        assert relay.rewrite(opened) is None
        with pytest.raises(DecodeError):
            relay.events(opened)


@pytest.mark.parametrize(
    ("type_", "text"), [("bigint unsigned", str(2**64)), ("double", "nan"), ("float", "x"), ("blob", "\u0100")]
)
def test_a_value_that_is_none_of_its_type_is_not_relayed(type_, text):
    relay = Relay({})
    for _ in range(2):
        opened = relay.open(message(sqlType={"c": 1}, mysqlType={"c": type_}, data=[{"c": text}]))
        assert relay.rewrite(opened) is None
        with pytest.raises(DecodeError, match="column 'c'"):
            relay.events(opened)


def test_what_is_wrong_with_a_structure_is_said_when_it_is_asked_for():
    relay = Relay({})
    for _ in range(2):
        opened = relay.open(message(mysqlType={"id": "int", "name": "("}))
        assert (opened.table, opened.kind) == ("t", Kind.ROWS)
        with pytest.raises(DecodeError, match="mysqlType of column 'name'"):
            relay.form(opened)


def test_canals_dialect_cannot_be_relayed():
    with pytest.raises(ConfigError, match="dialect=canal"):
        Relay({"dialect": "canal"})
