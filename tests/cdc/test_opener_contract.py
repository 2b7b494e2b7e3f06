"""What every opener and every writer of rows promises, run over the registry."""

import contextlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from spark_jobs.cdc.codec import Opened, Rows
from spark_jobs.cdc.codecs import CODECS, codec, header, row_writer
from spark_jobs.cdc.codecs.opened import ROWLESS
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError
from spark_jobs.cdc.events import INSERT, UPDATE, Column, ColumnType, Event, RowChange, TableSchema
from tests.cdc.carrier_views import Carrier
from tests.cdc.event_strategies import events, row_changes
from tests.cdc.test_codec_contract import HOSTILE, QUICK, by_carrier, written

READABLE = [name for name, found in CODECS.items() if found.opener]
WRITABLE = [name for name, found in CODECS.items() if found.encoder]
TS = 429918007904436226


def opener_of(name, options):
    make = CODECS[name].opener
    assert make is not None
    return make(options)


def decoder_of(name, options):
    make = CODECS[name].decoder
    assert make is not None
    return make(options)


def is_rows(opened: Opened) -> bool:
    return type(opened) not in ROWLESS


def flattened(found: Sequence[Opened]) -> list[Event]:
    """The events of what was opened, and that it says of its rows what they say."""
    flat: list[Event] = []
    for opened in found:
        if type(opened) in ROWLESS:
            flat.append(opened)  # type: ignore[arg-type]
            continue
        rows: Rows = opened  # type: ignore[assignment]
        changes = rows.changes()
        assert changes
        assert {id(change.table) for change in changes} == {id(rows.table)}
        assert (rows.schema, rows.name) == (rows.table.schema, rows.table.table)
        assert {(change.commit_ts, change.es_ms) for change in changes} == {(rows.commit_ts, rows.es_ms)}
        assert isinstance(rows.is_partial, bool)
        assert list(rows.changes()) == list(changes)
        flat += changes
    return flat


def test_every_codec_that_reads_has_an_opener():
    assert set(READABLE) == {name for name, found in CODECS.items() if found.decoder}


@pytest.mark.parametrize("name", READABLE)
def test_an_opener_says_what_it_is(name):
    opener = opener_of(name, {})
    assert opener.protocol == name
    assert opener.timed == (name in ("tidb-binlog", "drainer"))
    assert opener.marks == ((b"TIDB_WATERMARK",) if name == "canal-json" else ())
    assert opener.halves == name.startswith("datahub")


@by_carrier
def test_what_is_opened_is_what_is_decoded(carrier: Carrier):
    @QUICK
    @given(st.lists(events(), min_size=1, max_size=3))
    def check(several: list[Event]) -> None:
        for event in several:
            if any(refusal.applies(event) for refusal in carrier.refusals):
                return
        options = carrier.reading(several[0])
        if any(carrier.reading(event) != options for event in several):
            return
        opener, decoder = opener_of(carrier.codec, options), decoder_of(carrier.codec, options)
        messages = [message for event in several for message in written(carrier, event)]
        for message in messages * 2:
            assert flattened(opener.open(message)) == list(decoder.decode(message))

    check()


@by_carrier
def test_a_table_is_the_same_object_as_long_as_it_stays(carrier: Carrier):
    @QUICK
    @given(row_changes(partial=False))
    def check(change: RowChange) -> None:
        if any(refusal.applies(change) for refusal in carrier.refusals):
            return
        opener = opener_of(carrier.codec, carrier.reading(change))
        for message in written(carrier, change):
            first, second = opener.open(message), opener.open(message)
            for one, other in zip(first, second, strict=True):
                assert one.table is other.table

    check()


@pytest.mark.parametrize("name", READABLE)
@pytest.mark.parametrize("message", HOSTILE, ids=lambda message: repr(message[:16]))
def test_a_hostile_message_is_opened_or_refused(name, message):
    opener = opener_of(name, {})
    for _ in range(2):
        with contextlib.suppress(DecodeError):
            flattened(opener.open(message))


TABLE = TableSchema(
    "s", "t", (Column("id", ColumnType("int"), is_key=True), Column("name", ColumnType("varchar", length=20)))
)
OTHER = TableSchema("s", "u", TABLE.columns)
CHANGES = [
    RowChange(INSERT, TABLE, None, (1, "a"), TS, TS >> 18, 1_640_007_050_196),
    RowChange(UPDATE, TABLE, (1, "a"), (1, "b"), TS, TS >> 18, 1_640_007_050_196),
]


@pytest.mark.parametrize("to", WRITABLE)
@by_carrier
def test_rows_are_written_in_every_format(carrier, to):
    """By way of ``rows`` and of ``changes``, and with the commit-ts that is given."""
    source = CODECS[carrier.codec].encoder
    make = CODECS[to].encoder
    assert source is not None
    assert make is not None
    encoder = source(carrier.options)
    messages = [message for change in CHANGES for message in encoder.encode(change)] + [*encoder.flush()]
    opener = opener_of(carrier.codec, carrier.reading(CHANGES[0]))
    decoder = decoder_of(carrier.codec, carrier.reading(CHANGES[0]))
    for message in messages:
        found = [opened for opened in opener.open(message) if is_rows(opened)]
        if any(change.kind is UPDATE and None in (change.before, change.after) for change in decoder.decode(message)):
            continue  # half an update, which most formats refuse
        target = make({"terminator": "!\n"} if to == "csv" else {})
        changes = [replace(change, commit_ts=TS + 1) for change in decoder.decode(message)]
        expected = [text for change in changes for text in target.encode(change)] + [*target.flush()]
        for way in ("rows", "changes"):
            output = bytearray(b"before")
            for rows in found:
                given_rows = rows if way == "rows" else rows.changes()
                getattr(row_writer(opener, to, {}, b"!\n"), way)(given_rows, TS + 1, output)
            assert output == b"before" + b"".join(text + b"!\n" for text in expected)


@pytest.mark.parametrize("to", WRITABLE)
def test_what_cannot_be_written_leaves_nothing_behind(to):
    opener = opener_of("canal-json", {})
    writer = row_writer(opener, to, {}, b"")
    bad = RowChange(INSERT, TABLE, None, (1, 2), TS, 1, 1, only_handle_key=True)
    output = bytearray(b"before")
    with pytest.raises(EncodeError):
        writer.changes([CHANGES[0], bad], TS, output)
    assert output == b"before"
    writer.changes(CHANGES[:1], TS, output)
    alone = bytearray(b"before")
    row_writer(opener, to, {}, b"").changes(CHANGES[:1], TS, alone)
    assert output == alone or to.startswith("datahub")  # which counts


def test_what_is_known_of_a_structure_is_added_to_it():
    enum = TableSchema("s", "t", (Column("e", ColumnType("enum")),))
    known = TableSchema("s", "t", (Column("e", ColumnType("enum", elements=("x", "y"))),))
    asked = []

    def structure_of(table, commit_ts):
        asked.append((table, commit_ts))
        return known

    writer = row_writer(opener_of("canal-json", {}), "csv", {}, b"\n", structure_of)
    output = bytearray()
    writer.changes([RowChange(INSERT, enum, None, (2,), 5)], TS, output)
    assert (asked, bytes(output)) == ([(enum, TS)], b'"I","t","s","y"\n')


def test_rows_of_several_tables_keep_theirs():
    writer = row_writer(opener_of("canal-json", {}), "csv", {}, b"\n")
    output = bytearray()
    writer.changes([CHANGES[0], RowChange(INSERT, OTHER, None, (2, "c"), 5)], TS, output)
    assert output == b'"I","t","s",1,"a"\n"I","u","s",2,"c"\n'


def test_only_csv_has_a_header():
    for name in WRITABLE:
        assert header(name, {}, b"\n")(TABLE) == b""
    named = header("csv", {"output-field-header": "true"}, b"\r\n")
    assert named(TABLE) == b"ticdc-meta$operation,ticdc-meta$table,ticdc-meta$schema,id,name\r\n"


def test_a_format_that_there_is_not_is_refused():
    with pytest.raises(ConfigError, match="unknown protocol"):
        row_writer(opener_of("canal-json", {}), "nonsense", {}, b"")
    with pytest.raises(ConfigError, match="unknown protocol"):
        codec("nonsense")
