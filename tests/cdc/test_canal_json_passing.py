"""Rows passed from Canal-JSON to Canal-JSON, against decoder and encoder: the same messages, without the values."""

import json
from typing import Any

import pytest

from spark_jobs.cdc.codecs.canal_json.decoder import Decoder
from spark_jobs.cdc.codecs.canal_json.encoder import Encoder
from spark_jobs.cdc.codecs.canal_json.opener import Opener, OpenRow, OpenRows
from spark_jobs.cdc.errors import DecodeError, EncodeError
from spark_jobs.cdc.events import Ddl, Heartbeat, RowChange, Watermark
from tests.cdc.canal_json_cases import (
    BAD_LINES,
    COMMIT_TS,
    ES,
    EXTENSION,
    FLOAT,
    LONG_WAY,
    MARKS,
    MESSAGES,
    OPTIONS,
    ROW,
    Pair,
    flat_message,
    message,
)

pytestmark = pytest.mark.usefixtures("both_ways")


def the_rows(opener, raw):
    """The one ``Rows`` of a message."""
    (opened,) = opener.open(raw)
    assert isinstance(opened, OpenRow | OpenRows)
    return opened


def parsed(text: str) -> list[Any]:
    """JSON objects one after another."""
    found: list[Any] = []
    at, read = 0, json.JSONDecoder()
    while at < len(text):
        value, at = read.raw_decode(text, at)
        found.append(value)
    return found


@pytest.fixture
def values(monkeypatch):
    """The messages whose rows were written by their values."""
    found = []
    encode = Encoder.encode

    def counted(self, event):
        found.append(event)
        return encode(self, event)

    monkeypatch.setattr(Encoder, "encode", counted)
    return found


@pytest.mark.parametrize("options", [*OPTIONS, {"dialect": "canal"}], ids=str)
@pytest.mark.parametrize("raw", MESSAGES.values(), ids=MESSAGES)
def test_what_is_passed_on_says_what_decoder_and_encoder_would_write(raw, options):
    pair, encoder = Pair(options), Encoder(options)
    events = Decoder({}).decode(raw)
    for _ in range(2):  # the second time the wording is known
        if raw == MESSAGES["marks"] and options.get("enable-tidb-extension") != "true":
            with pytest.raises(EncodeError, match="only the key"):
                pair.written(raw)
        else:
            expected = b"".join([text for event in events for text in encoder.encode(event)])
            assert parsed(pair.written(raw).decode()) == parsed(expected.decode())
            if any(isinstance(event, RowChange) for event in events):
                assert pair.changed(raw) == expected


@pytest.mark.parametrize("name", MESSAGES)
def test_ordinary_rows_go_the_short_way(name, values):
    pair = Pair(EXTENSION)
    for _ in range(2):
        values.clear()
        pair.written(MESSAGES[name])
        assert bool(values) == (name in LONG_WAY - {"no rows"})


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"only-output-updated-columns": "true"}, "update"),
        ({"content-compatible": "true"}, "update"),
        ({"delete-only-output-handle-key-columns": "true"}, "delete"),
    ],
    ids=str,
)
def test_rows_that_must_lose_columns_take_the_long_way(options, name, values):
    pair = Pair(options)
    for _ in range(2):
        pair.written(MESSAGES["insert"])
        assert not values
        pair.written(MESSAGES[name])
        assert values
        values.clear()


def test_rows_are_written_as_they_were_read():
    raw = message(type="UPDATE", data=[ROW], old=[{"name": "x", "id": "1"}])
    pair = Pair(EXTENSION, b"\r\n")
    for _ in range(2):
        assert (
            pair.written(raw)
            == (
                '{"id":0,"database":"test","table":"t","pkNames":["id"],"isDdl":false,"type":"UPDATE",'
                '"es":1640007049196,"ts":1640007050196,"sql":"","sqlType":{"id":4,"name":12},'
                '"mysqlType":{"id":"int","name":"varchar"},"old":[{"name":"x","id":"1"}],'
                '"data":[{"id":"1","name":"<a>\u2028\U0001f600"}],"_tidb":{"commitTs":429918007904436226}}\r\n'
            ).encode()
        )


@pytest.mark.parametrize("text", [b'"', b'"<a>'], ids=["everywhere", "in the row"])
@pytest.mark.parametrize("space", [b"\n", b"\r", b"\r\n", b" \r \n "], ids=repr)
def test_a_message_on_several_lines_is_written_on_one(space, text):
    raw = message(type="UPDATE", data=[ROW], old=[{"name": "x", "id": "1"}]).replace(
        b'"name":' + text, b'"name":' + space + text
    )
    pair = Pair(EXTENSION, b"\n")
    for one in (raw, raw.replace(space, b""), raw):
        line = pair.written(one)
        assert line.count(b"\n") == 1
        assert b"\r" not in line
        assert json.loads(line)["data"] == [ROW]


def test_another_commit_ts_may_be_set():
    body = json.loads(Pair(EXTENSION).written(message(_tidb=..., es=...), commit_ts=COMMIT_TS))
    assert (body["_tidb"], body["es"]) == ({"commitTs": COMMIT_TS}, ES)
    body = json.loads(Pair(EXTENSION).written(message(data=[{"id": "1"}]), commit_ts=COMMIT_TS + 1))
    assert body["_tidb"] == {"commitTs": COMMIT_TS + 1}


def test_what_the_source_says_of_its_rows():
    opener = Opener({})
    for _ in range(2):
        opened = the_rows(opener, message())
        assert (opened.schema, opened.name, opened.commit_ts, opened.es_ms) == ("test", "t", COMMIT_TS, ES)
        assert not opened.is_partial
        opened = the_rows(opener, message(type="DELETE", _tidb=...))
        assert (opened.is_partial, opened.commit_ts) == (True, 0)
    for mark in ({"onlyHandleKey": True}, {"claimCheckLocation": "s3://b/x"}, MARKS):
        opened = the_rows(opener, message(_tidb={"commitTs": COMMIT_TS} | mark))
        assert (opened.is_partial, opened.commit_ts) == (True, COMMIT_TS)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("several rows", OpenRows), ("ddl", Ddl), ("watermark", Watermark), ("heartbeat", Heartbeat)],
)
def test_a_message_holds_one_thing(name, kind):
    assert [type(opened) for opened in Opener({}).open(MESSAGES[name])] == [kind]


@pytest.mark.parametrize("raw", [b"", b"\r", b" \t\n", MESSAGES["no rows"]], ids=repr)
def test_what_holds_nothing_is_nothing(raw):
    assert list(Opener({}).open(raw)) == []


def test_the_structure_stays_the_same_object():
    opener = Opener({})
    raws = [message(), message(mysqlType={"id": "int", "name": "varchar"}), message(type="DELETE"), flat_message()]
    found = [the_rows(opener, raw).table for raw in raws * 2]
    assert found[0] is found[1] is found[2] is found[4] is found[5] is found[6]
    assert found[3] is found[7] is not found[0]
    for raw in raws:
        opened = the_rows(opener, raw)
        assert {id(change.table) for change in opened.changes()} == {id(opened.table)}


@pytest.mark.parametrize("bad", BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_found_though_its_rows_are_never_read(bad):
    opener = Opener({})
    for _ in range(2):
        opener.open(message())
        with pytest.raises(DecodeError):
            opener.open(bad)


@pytest.mark.parametrize(
    "changed",
    [
        *({"data": data} for data in ([5], [None], ["x"], [{"id": "x", "name": "a"}], [{"id": "1", "name": 5}])),
        {"data": [{"id": "1", "name": "a", "new": "1"}]},
        {"sqlType": {"c": 1}, "mysqlType": {"c": "bigint unsigned"}, "data": [{"c": str(2**64)}]},
        {"sqlType": {"c": 1}, "mysqlType": {"c": "double"}, "data": [{"c": "nan"}]},
        {**FLOAT, "data": [{"f": "x"}]},
        {"mysqlType": {"id": "int", "name": "("}},
    ],
    ids=str,
)
def test_rows_that_are_wrong_are_neither_read_nor_passed_on(changed):
    pair = Pair({}, b"\n")
    for _ in range(2):
        opened = the_rows(pair.opener, message(**changed))
        assert (opened.schema, opened.name) == ("test", "t")
        output = bytearray(b"before")
        with pytest.raises(DecodeError):
            opened.changes()
        with pytest.raises(DecodeError):
            pair.writer.rows(opened, 1, output)
        assert output == b"before"
        pair.written(message())
