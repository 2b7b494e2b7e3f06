"""TSO to time and back."""

import json

import pytest

from tests.cli.running import weir, weir_command

# 1692862944123 ms = 2023-08-24T07:42:24.123Z; shifted by 18 bits, with 4 in the counter
TS = (1692862944123 << 18) + 4


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([TS], "2023-08-24T07:42:24.123Z"),
        (["--zone", "Asia/Shanghai", TS], "2023-08-24T15:42:24.123+08:00"),
        (["2023-08-24T15:42:24.123+08:00"], str(TS - 4)),
        (["2023-08-24T07:42:24.123Z"], str(TS - 4)),
        (["--zone", "Asia/Shanghai", "2023-08-24 15:42:24.123"], str(TS - 4)),
        (["0"], "1970-01-01T00:00:00.000Z"),
        ([(1 << 63) - 1], "3084-12-12T12:41:28.831Z"),
    ],
)
def test_a_value_gets_its_other_form(words, line):
    assert weir("tso", *words) == (0, f"{line}\n".encode(), "")


def test_each_value_has_its_line():
    assert weir("tso", TS, "1970-01-01T00:00:01Z").out == f"2023-08-24T07:42:24.123Z\n{1000 << 18}\n".encode()


def test_all_parts_as_json():
    assert json.loads(weir("tso", "--json", TS).out) == {
        "tso": TS,
        "unix_ms": 1692862944123,
        "logical": 4,
        "time": "2023-08-24T07:42:24.123Z",
    }


@pytest.mark.parametrize(
    "value", ["x", str(1 << 63), "9" * 5000, "1969-12-31T23:59:59Z", "3084-12-13", "2023-02-30", "٣"]
)
def test_what_is_neither_is_said_in_one_sentence(value):
    status, out, err = weir("tso", value)
    assert (status, out) == (2, b"")
    assert err.startswith("weir: ")
    assert err.count("\n") == 1


def test_an_unknown_zone_is_said():
    assert "Mars" in weir("tso", "--zone", "Mars", TS).err


def test_now_is_a_tso_of_this_century():
    status, out, _ = weir_command("tso", "now")
    assert status == 0
    assert 1_700_000_000_000 < int(out) >> 18 < 4_102_444_800_000
