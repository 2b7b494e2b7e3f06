"""What every codec promises, run over the registry: a new codec gets these tests by being registered.

What comes back is what ``carries`` says of each codec and its options, no less.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs import CODECS
from spark_jobs.cdc.errors import ConfigError, DecodeError, EncodeError
from spark_jobs.cdc.events import INSERT, UPDATE, Column, ColumnType, Event, RowChange, TableSchema
from spark_jobs.cdc.rows.halves import HalfJoiner
from tests.cdc.carrier_views import Carrier, kept, shown, view
from tests.cdc.carries import CARRIERS
from tests.cdc.event_strategies import FEATURES, events, features, row_changes

QUICK = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
by_carrier = pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.name)
readable = pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if codec.decoder])


def written(carrier: Carrier, event: Event) -> list[bytes]:
    make = CODECS[carrier.codec].encoder
    assert make is not None
    encoder = make(carrier.options)
    return [*encoder.encode(event), *encoder.flush()]


def read(carrier: Carrier, messages: Sequence[bytes], event: Event) -> list[Event]:
    make = CODECS[carrier.codec].decoder
    assert make is not None
    decoder, joiner = make(carrier.reading(event)), HalfJoiner()
    joined = [whole for message in messages for half in decoder.decode(message) for whole in joiner.add(half)]
    return joined + joiner.flush()


def check_round_trip(carrier: Carrier, event: Event) -> list[Event]:
    """Writes and reads the event, and compares with what the carrier says; returns what was read."""
    if any(refusal.applies(event) for refusal in carrier.refusals):
        with pytest.raises(EncodeError):
            written(carrier, event)
        return []
    back = read(carrier, written(carrier, event), event)
    left = carrier.left(view(event))
    assert [shown(view(one)) for one in back] == ([] if left is None else [left])
    return back


@pytest.fixture(scope="module")
def sample() -> list[Event]:
    """Many events, the same in every run."""
    found: list[Event] = []

    @settings(QUICK, max_examples=1500, derandomize=True)
    @given(events())
    def collect(event: Event) -> None:
        found.append(event)

    collect()
    return found


def test_the_generators_produce_every_type_at_its_extremes(sample):
    assert {feature for event in sample for feature in features(event)} >= FEATURES


def test_every_codec_with_both_directions_says_what_it_carries():
    both = {name for name, codec in CODECS.items() if codec.decoder and codec.encoder}
    assert both == {carrier.codec for carrier in CARRIERS}


KEY_TABLE = TableSchema("s", "t", (Column("id", ColumnType("int"), is_key=True),))
CARRY_THE_MARK = {"canal-json": {"enable-tidb-extension": "true"}}


@pytest.mark.parametrize(
    "mark", [{"only_handle_key": True}, {"claim_check": "s3://b/x.json"}], ids=lambda mark: next(iter(mark))
)
@pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if codec.encoder])
def test_a_key_that_its_source_sent_for_a_row_never_passes_for_the_row(name, mark):
    make = CODECS[name].encoder
    assert make is not None
    insert = RowChange(kind=INSERT, table=KEY_TABLE, after=(1,), commit_ts=1 << 50, **mark)
    update = RowChange(kind=UPDATE, table=KEY_TABLE, before=(1,), after=(1,), commit_ts=1 << 50, **mark)
    for event in (insert, update):
        with pytest.raises(EncodeError, match="the source sent only the key"):
            make({}).encode(event)
    if name in CARRY_THE_MARK:
        assert make(CARRY_THE_MARK[name]).encode(insert)


@by_carrier
def test_what_is_written_is_read_as_it_was(carrier):
    @settings(QUICK, max_examples=80)
    @given(events())
    def check(event: Event) -> None:
        check_round_trip(carrier, event)

    check()


def effective(carrier: Carrier, event: Event) -> Iterator[str]:
    """The refusals that apply to the event, and the losses that change it."""
    yield from (refusal.what for refusal in carrier.refusals if refusal.applies(event))
    seen = view(event)
    for loss in carrier.losses:
        left = loss.change(seen)
        if left is None or shown(left) != shown(seen):
            yield loss.what
        if left is None:
            return
        seen = left


@by_carrier
def test_every_loss_is_one(carrier, sample):
    """A loss that changes nothing, and a refusal that refuses nothing, would be untrue sentences for users."""
    told = {one.what for one in carrier.losses} | {one.what for one in carrier.refusals if not one.converted}
    assert told <= {what for event in sample for what in effective(carrier, event)}


@pytest.mark.parametrize("target", CARRIERS, ids=lambda carrier: f"to {carrier.name}")
@by_carrier
def test_a_conversion_keeps_what_both_formats_carry(carrier, target):
    @settings(QUICK, max_examples=8)
    @given(events())
    def check(event: Event) -> None:
        if any(refusal.applies(event) for refusal in carrier.refusals):
            return
        for between in read(carrier, written(carrier, event), event):
            if any(refusal.applies(between) for refusal in target.refusals):
                continue
            back = read(target, written(target, between), between)
            expected = kept(target.left(view(between)))
            assert [kept(shown(view(one))) for one in back] == ([] if expected is None else [expected])

    check()


@by_carrier
def test_rows_of_one_structure_share_one_table(carrier):
    @settings(QUICK, max_examples=40)
    @given(row_changes(partial=False))
    def check(change: RowChange) -> None:
        if any(refusal.applies(change) for refusal in carrier.refusals):
            return
        make = CODECS[carrier.codec].decoder
        assert make is not None
        decoder = make(carrier.reading(change))
        for message in written(carrier, change):
            first, second = decoder.decode(message), decoder.decode(message)
            pairs = [(one, other) for one, other in zip(first, second, strict=True) if isinstance(one, RowChange)]
            assert all(isinstance(other, RowChange) and one.table is other.table for one, other in pairs)

    check()


HOSTILE = [
    b"",
    b"\0",
    b"\xff" * 64,
    b"{}",
    b"[]",
    b"null",
    b'"',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"9" * 100_000,
    b'{"es":1e999999999}',
    b"\x0a\xff\xff\xff\xff\x0f",
    b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x0a" * 10_000,
    b"\x08" + b"\xff" * 20,
    b"\x0b" * 5_000,
    b"," * 100_000,
    b'"I","t","s",' + b'"' * 50_001,
    b"\xef\xbb\xbf{}",
    "\ud800".encode("utf-8", "surrogatepass"),
]


def decode_or_refuse(name: str, message: bytes, options: Mapping[str, str] | None = None) -> None:
    make = CODECS[name].decoder
    assert make is not None
    with contextlib.suppress(DecodeError):
        for event in make(options or {}).decode(message):
            view(event)


@readable
@pytest.mark.parametrize("message", HOSTILE, ids=lambda message: repr(message[:16]))
def test_a_hostile_message_is_read_or_refused(name, message):
    decode_or_refuse(name, message)


@readable
def test_any_bytes_are_read_or_refused(name):
    @settings(QUICK, max_examples=150)
    @given(st.binary(max_size=200))
    def check(message: bytes) -> None:
        decode_or_refuse(name, message)

    check()


@st.composite
def damage(draw: st.DrawFn, message: bytes) -> bytes:
    """The message with a few bytes changed, cut out, doubled or put in."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(message)))
        end = min(len(message), at + draw(st.integers(0, 8)))
        new = draw(
            st.sampled_from([b"", message[at:end] * 2, b"\xff", b"\0", b'"', b"9999999999"]) | st.binary(max_size=4)
        )
        message = message[:at] + new + message[end:]
    return message


@by_carrier
def test_a_damaged_message_is_read_or_refused(carrier):
    @settings(QUICK, max_examples=80)
    @given(st.data(), events())
    def check(data: st.DataObject, event: Event) -> None:
        if any(refusal.applies(event) for refusal in carrier.refusals):
            return
        for message in written(carrier, event):
            decode_or_refuse(carrier.codec, data.draw(damage(message)), carrier.reading(event))

    check()


@pytest.mark.parametrize("name", CODECS)
def test_an_unknown_option_is_refused_by_name(name):
    for make in (CODECS[name].decoder, CODECS[name].encoder):
        if make is not None:
            with pytest.raises(ConfigError, match="no-such-option"):
                make({"no-such-option": "1"})


@pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if codec.encoder])
def test_an_event_is_written_or_refused(name):
    make = CODECS[name].encoder
    assert make is not None

    @settings(QUICK, max_examples=60)
    @given(events())
    def check(event: Event) -> None:
        encoder = make({})
        with contextlib.suppress(EncodeError):
            messages = [*encoder.encode(event), *encoder.flush()]
            assert all(isinstance(message, bytes) for message in messages)
            assert not (
                CODECS[name].text and any(b"\n" in message.rstrip(b"\r\n") for message in messages) and name != "csv"
            )

    check()
