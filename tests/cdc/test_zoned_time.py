"""MySQL's date texts as instants and back."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.cdc.mysql.zoned_time import from_epoch_us, to_epoch_us

SHANGHAI, BERLIN = ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "zone", "epoch_us"),
    [
        ("1970-01-01 00:00:00", UTC, 0),
        ("1970-01-01", UTC, 0),
        ("1970-01-01 08:00:00.000001", SHANGHAI, 1),
        ("1969-12-31 23:59:59.5", UTC, -500_000),
        # clocks went back at 03:00: 02:30 was twice, the first one at UTC+2
        ("2023-10-29 02:30:00", BERLIN, 1_698_539_400_000_000),
        # clocks went from 02:00 to 03:00: 02:30 never was, UTC+1 still holds for it
        ("2023-03-26 02:30:00", BERLIN, 1_679_794_200_000_000),
    ],
)
def test_a_text_is_an_instant(text, zone, epoch_us):
    assert to_epoch_us(text, zone) == epoch_us


@pytest.mark.parametrize("text", ["0000-00-00", "0000-00-00 00:00:00.000", "2020-00-10", "2020-01-00", "0000-05-05"])
def test_a_date_with_a_zero_part_is_no_instant(text):
    assert to_epoch_us(text, UTC) is None


@pytest.mark.parametrize("text", ["", "x", "2021-02-31", "ab00-00-00", "2020-01-01T00:00:00Z", "2020-01-01 25:00:00"])
def test_any_other_text_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        to_epoch_us(text, UTC)


@pytest.mark.parametrize(("digits", "text"), [(0, "05"), (3, "05.123"), (6, "05.123456")])
def test_fraction_digits_are_as_many_as_asked_for(digits, text):
    assert from_epoch_us(5_123_456, UTC, digits) == f"1970-01-01 00:00:{text}"


@pytest.mark.parametrize("epoch_us", [10**20, -(10**20), 253_402_300_800_000_000, -62_135_596_800_000_001])
def test_years_outside_1_to_9999_are_refused(epoch_us):
    with pytest.raises(OverflowError):
        from_epoch_us(epoch_us, UTC, 6)


@given(
    st.integers(-62_135_596_800_000_000 + 10**12, 253_402_300_799_999_999 - 10**12), st.sampled_from([UTC, SHANGHAI])
)
def test_an_instant_comes_back_where_no_clock_goes_back(epoch_us, zone):
    text = from_epoch_us(epoch_us, zone, 6)
    back = to_epoch_us(text, zone)
    # Shanghai's clocks went back some autumns of the 20th century: then the first of two instants comes back
    assert back is not None
    assert 0 <= epoch_us - back <= 3_600_000_000
    assert zone is not UTC or back == epoch_us
