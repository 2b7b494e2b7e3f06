"""CSV rows as read, against TiCDC's cases, and both ways for everything that a row can carry."""

import contextlib
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from spark_jobs.cdc import tso
from spark_jobs.cdc.codecs.csv import Decoder, Encoder, RowSplitter, csv_format, join_halves
from spark_jobs.cdc.codecs.csv import fields as csv_fields
from spark_jobs.cdc.errors import ConfigError, DecodeError
from spark_jobs.cdc.events import DELETE, INSERT, UPDATE, Column, ColumnType, RowChange, TableSchema
from spark_jobs.cdc.storage import schema_file
from tests.cdc.csv_cases import COLUMNS, ROWS, TEXTS

pytestmark = pytest.mark.usefixtures("both_ways")

CASES = json.loads((Path(__file__).parents[1] / "data" / "csv.json").read_text())
COMMITTED = {"include-commit-ts": "true"}
EMPLOYEE = TableSchema(
    "hr",
    "employee",
    tuple(Column(name, ColumnType(kind)) for name, kind in zip("abcde", ["int", *["varchar"] * 4], strict=True)),
)


def test_ticdcs_file_is_read():
    case = CASES["decode_ok"]
    options = COMMITTED | {"terminator": "\n"}
    splitter = RowSplitter(csv_format(options))
    decoder = Decoder(options, EMPLOYEE)
    events = [event for row in splitter.feed(case["text"].encode()) for event in decoder.decode(row)]
    assert splitter.finish() == []
    assert len(events) == case["rows"]
    assert [event.kind for event in events] == [INSERT, UPDATE, DELETE, INSERT, UPDATE]
    assert events[1].after == (101, "Smith", "Bob", "2015-10-08", "Los Angeles")
    assert (events[2].before, events[2].after) == ((101, "Smith", "Bob", "2017-03-13", "Dallas"), None)
    assert (events[0].commit_ts, events[0].es_ms) == (433305438660591626, tso.physical_ms(433305438660591626))


@pytest.mark.parametrize("case", CASES["decode_bad"], ids=lambda case: case["error"])
def test_ticdcs_bad_rows_are_refused(case):
    with pytest.raises(DecodeError):
        Decoder(COMMITTED if case.get("commitTs") else {}).decode(",".join(case["row"]).encode())


def test_columns_that_a_selector_left_are_read_by_the_same_selection():
    case = CASES["column_selector"][0]
    table = TableSchema("test", "t", (Column("id", ColumnType("int")), Column("visible", ColumnType("varchar"))))
    (event,) = Decoder(COMMITTED, table).decode(case["text"].encode())
    assert event.after == (1, "visible-value")
    with pytest.raises(DecodeError, match="2 columns"):
        Decoder(COMMITTED, TableSchema("test", "t", (*table.columns, Column("more", ColumnType("int"))))).decode(
            case["text"].encode()
        )


def test_without_a_structure_every_column_is_text():
    decoder = Decoder({})
    (one,) = decoder.decode(b'"I","t","s",1,"a,""b",\\N,"\\N"')
    (other,) = decoder.decode(b'"D","t","s",2,"",\\N,x\r\n')
    assert one.after == ("1", 'a,"b', None, r"\N")
    assert other.before == ("2", "", None, "x")
    assert [column.name for column in one.table.columns] == ["c1", "c2", "c3", "c4"]
    assert one.table is other.table


def test_a_schema_file_gives_the_structure():
    table = TableSchema(
        "s", "t", (Column("id", ColumnType("bigint", unsigned=True), is_key=True), Column("b", ColumnType("blob")))
    )
    content = schema_file.of_table(table, 1).encode().decode()
    (event,) = Decoder({"schema-file": content}).decode(b'"I","t","s",18446744073709551615,"AP8="')
    assert event.after == (2**64 - 1, b"\x00\xff")
    assert event.table.key_columns == ("id",)


def test_a_bad_schema_file_is_refused():
    with pytest.raises(ConfigError, match="schema-file"):
        Decoder({"schema-file": "{}"})


def test_a_row_of_another_table_is_refused():
    with pytest.raises(DecodeError, match=r"hr\.employee"):
        Decoder({}, EMPLOYEE).decode(b'"I","employees","hr",1,"a","b","c","d"')


def test_a_header_is_passed_over():
    options = {"output-field-header": "true"}
    header = csv_format(options).header(EMPLOYEE)
    assert Decoder(options, EMPLOYEE).decode(header.upper()) == ()
    assert len(Decoder(options, EMPLOYEE).decode(b'"I","employee","hr",1,"a","b","c","d"')) == 1


@pytest.mark.parametrize(("element", "value"), [("1", 1), ('"1"', "1"), ('"a,b"', "a,b"), (r"\N", None)])
def test_an_enum_of_unknown_elements_is_a_number_when_it_is_bare(element, value):
    table = TableSchema("s", "t", (Column("e", ColumnType("enum")),))
    (event,) = Decoder({}, table).decode(f'"I","t","s",{element}'.encode())
    assert event.after == (value,)


def test_names_without_quotes_are_plain_text_that_every_format_takes():
    (event,) = Decoder({}).decode(b"I,t,s,1")
    assert [type(name) for name in (event.table.schema, event.table.table, *(event.after or ()))] == [str] * 3
    assert msgspec.json.encode(event.table).startswith(b'{"schema":"s","table":"t"')


def test_two_rows_of_one_update_are_joined():
    options = {"output-old-value": "true"}
    rows = [
        b'"D","t","s",true,1',
        b'"I","t","s",true,2',
        b'"D","t","s",false,2',
        b'"D","t","s",true,3',
        b'"I","t","s",false,4',
    ]
    events = list(join_halves(event for row in rows for event in Decoder(options).decode(row)))
    assert [(event.kind, event.half, event.before, event.after) for event in events] == [
        (UPDATE, "", ("1",), ("2",)),
        (DELETE, "", ("2",), None),
        (UPDATE, "before", ("3",), None),
        (INSERT, "", None, ("4",)),
    ]


TYPED = TableSchema(
    "s",
    "t",
    (
        Column("i", ColumnType("int")),
        Column("f", ColumnType("float")),
        Column("b", ColumnType("blob")),
        Column("e", ColumnType("enum", elements=("x",))),
    ),
)
BAD_ROWS = [
    b"",
    b"\r\n",
    b",,,",
    b'"I"',
    b'"X","t","s",7,1,1,"","x"',
    b'\\N,"t","s",7,1,1,"","x"',
    b'"I",\\N,"s",7,1,1,"","x"',
    b'"I","t","s",-7,1,1,"","x"',
    b'"I","t","s",99999999999999999999,1,1,"","x"',
    b'"I","t","s",\\N,1,1,"","x"',
    '"I","t","s",१,1,1,"","x"'.encode(),
    b'"I","t","s",7,1,1,""',
    b'"I","t","s",7,1,1,"","x",',
    b'"I","t","s",7,x,1,"","x"',
    b'"I","t","s",7,' + b"9" * 5000 + b',1,"","x"',
    b'"I","t","s",7,1,nan,"","x"',
    b'"I","t","s",7,1,1e999,"","x"',
    b'"I","t","s",7,1,1,"=","x"',
    b'"I","t","s",7,1,1,"","y"',
    b'"I","t","s",7,1,1,"","x',
    b'"I","t","s",7,1,1,"","x"y',
    b'"I","t","s",7,1,1,""","x"',
    b'"' + b'"' * 100001,
    b"\xff\xfe",
]


@pytest.mark.parametrize("row", BAD_ROWS, ids=range(len(BAD_ROWS)))
def test_other_rows_are_one_decode_error(row):
    assert Decoder(COMMITTED, TYPED).decode(b'"I","t","s",7,1,1,"","x"')
    with pytest.raises(DecodeError):
        Decoder(COMMITTED, TYPED).decode(row)


def test_the_error_says_where():
    with pytest.raises(DecodeError, match="at byte 9") as caught:
        Decoder({}).decode('"I","é","s'.encode())
    assert caught.value.offset == 9


@pytest.mark.parametrize("row", [b"I,t,s,7,a\\", b"I\\,t,s,7,a", b"I,t,s"])
def test_other_rows_without_a_quote_are_one_decode_error(row):
    with pytest.raises(DecodeError):
        Decoder(COMMITTED | {"quote": ""}).decode(row)


@settings(max_examples=200)
@given(st.binary(max_size=60) | st.text('"IUD,\\N01ts\r\n', max_size=60).map(str.encode), st.sampled_from(['"', ""]))
def test_garbage_is_read_or_refused(row, quote):
    with contextlib.suppress(DecodeError):
        (event,) = Decoder({"quote": quote}).decode(row)
        assert event.table.columns


# Round trips

NAMES = st.text(st.characters(codec="utf-8") | st.sampled_from('",\\\r\n%'), min_size=1, max_size=6)
# delimiters that cannot overlap themselves and stand for no escape
DELIMITERS = st.sampled_from([",", "\t", "|", "[*]", "é", "%s", "ab"])


@st.composite
def formats(draw):
    return {
        "delimiter": draw(DELIMITERS),
        "quote": draw(st.sampled_from(['"', "'", "", "%", "^"])),
        "null": draw(st.sampled_from([r"\N", "\\N%s"])),
        "include-commit-ts": "true",
        "binary-encoding-method": draw(st.sampled_from(["hex", "base64"])),
        "output-old-value": "true",
        "output-handle-key": draw(st.sampled_from(["true", "false"])),
        "terminator": draw(st.sampled_from(["\r\n", "\n", "|EOR|"])),
    }


@settings(max_examples=150, deadline=None)
@given(formats(), NAMES, NAMES, ROWS, ROWS, st.sampled_from([INSERT, UPDATE, DELETE]), st.integers(1, tso.MAX_TSO))
def test_what_was_written_is_read_back(options, schema, name, before, after, kind, commit_ts):
    # what TiCDC refuses, or nobody could read
    assume(not options["quote"] or options["quote"] not in options["delimiter"] + options["null"])
    assume(options["delimiter"] not in options["null"])
    table = TableSchema(schema, name, COLUMNS)
    event = RowChange(
        kind=kind,
        table=table,
        before=before if kind is not INSERT else None,
        after=after if kind is not DELETE else None,
        commit_ts=commit_ts,
        es_ms=tso.physical_ms(commit_ts),
    )
    decoder = Decoder(options, table)
    block = Encoder(options).encode_row(event)
    rows = (
        RowSplitter(csv_format(options)).feed(block)
        if options["terminator"] != "|EOR|"
        else Encoder(options).encode(event)
    )
    assert list(join_halves(back for row in rows for back in decoder.decode(row))) == [event]


# Rows of a file


@settings(max_examples=100)
@given(
    st.lists(TEXTS, max_size=5), st.sampled_from(["\r\n", "\n", "|EOR|"]), st.sampled_from(['"', ""]), st.integers(1, 9)
)
@example(["a\r\nb", '"\n"'], "\n", '"', 1)
def test_a_file_is_cut_into_its_rows_however_it_comes(texts, terminator, quote, size):
    assume(quote or not any("|EOR|" in text for text in texts))
    options = {"terminator": terminator, "quote": quote}
    table = TableSchema("s", "t", (Column("v", ColumnType("varchar")),))
    encoder = Encoder(options)
    events = [RowChange(kind=INSERT, table=table, after=(text,)) for text in texts]
    content = b"".join(map(encoder.encode_row, events))
    splitter = RowSplitter(csv_format(options))
    rows = [row for at in range(0, len(content), size) for row in splitter.feed(content[at : at + size])]
    assert splitter.finish() == []
    assert [event.after for row in rows for event in Decoder(options, table).decode(row)] == [(text,) for text in texts]


def test_a_last_row_needs_no_terminator():
    splitter = RowSplitter(csv_format({}))
    assert splitter.feed(b'"I","t","s",1\r\n"I","t"') == [b'"I","t","s",1']
    assert splitter.finish() == [b'"I","t"']
    assert splitter.finish() == []


@pytest.mark.parametrize("piece", [b"x" * 1000, b'"' + b"\r\n" * 500], ids=["no terminator", "no closing quote"])
def test_a_row_without_end_is_refused_before_it_fills_the_memory(piece, monkeypatch):
    monkeypatch.setattr(csv_fields, "MAX_ROW_BYTES", 10_000)
    splitter = RowSplitter(csv_format({}))
    splitter.feed(piece)
    splitter.feed(b"x" * 10_000)
    with pytest.raises(DecodeError, match="10000 bytes"):
        splitter.feed(b"x")


def test_rows_without_a_terminator_cannot_be_cut():
    with pytest.raises(ConfigError, match="terminator"):
        RowSplitter(csv_format({"terminator": ""}))
