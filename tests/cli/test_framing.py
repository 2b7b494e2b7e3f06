"""Streams are cut into messages, and what cannot be cut says where and why."""

import io
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs.drainer.files import frame
from spark_jobs.cdc.framing import FRAMINGS, Cut, Frame


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def __init__(self, data: bytes, step: int) -> None:
        self._data = data
        self._step = step

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part, self._data = self._data[: min(self._step, len(buffer))], self._data[min(self._step, len(buffer)) :]
        buffer[: len(part)] = part
        return len(part)


def trickle(data: bytes, step: int) -> BinaryIO:
    return io.BufferedReader(Trickle(data, step), buffer_size=max(step, 1))


def frames(framing: str, data: bytes, **cut: object) -> list[Frame]:
    return list(FRAMINGS[framing].read(io.BytesIO(data), Cut(**cut)))  # type: ignore[arg-type]


def messages(framing: str, data: bytes, **cut: object) -> list[bytes]:
    return [found.data for found in frames(framing, data, **cut)]


CASES = {
    "lines": ("lines", b"a\nbc\n", {}, [Frame(0, b"a"), Frame(2, b"bc")]),
    "no line end at the end": ("lines", b"a\nbc", {}, [Frame(0, b"a"), Frame(2, b"bc")]),
    "CR LF": ("lines", b"a\r\nbc\r\n", {}, [Frame(0, b"a"), Frame(3, b"bc")]),
    "empty lines": ("lines", b"\n\na\n\n", {}, [Frame(2, b"a")]),
    "nothing": ("lines", b"", {}, []),
    "a line break between quotes": (
        "lines",
        b'1,"a\r\nb"\r\n2,""""\n',
        {"quote": b'"'},
        [Frame(0, b'1,"a\r\nb"'), Frame(10, b'2,""""')],
    ),
    "a line end of one's own": (
        "lines",
        b"a||b|||",
        {"line_end": b"||"},
        [Frame(0, b"a"), Frame(3, b"b"), Frame(6, b"|")],
    ),
    "hex": ("hex", b"00ff\n  61 62 \n\n", {}, [Frame(0, b"\0\xff"), Frame(5, b"ab")]),
    "length": ("length", b"\0\0\0\1a\0\0\0\0\0\0\0\2bc", {}, [Frame(0, b"a"), Frame(5, b""), Frame(9, b"bc")]),
    "drainer": ("drainer", frame(b"ab") + frame(b"c"), {}, [Frame(0, b"ab"), Frame(18, b"c")]),
    "drainer with junk": ("drainer", b"junk" + frame(b"ab"), {}, [Frame(4, b"ab")]),
}


@pytest.mark.parametrize(("framing", "data", "cut", "expected"), CASES.values(), ids=CASES.keys())
def test_a_stream_is_cut(framing, data, cut, expected):
    assert frames(framing, data, **cut) == expected


@pytest.mark.parametrize("step", [1, 3, 7])
@pytest.mark.parametrize(("framing", "data", "cut", "expected"), CASES.values(), ids=CASES.keys())
def test_a_stream_that_trickles_is_cut_alike(framing, data, cut, expected, step):
    assert list(FRAMINGS[framing].read(trickle(data, step), Cut(**cut))) == expected


@pytest.mark.parametrize("framing", FRAMINGS)
@settings(max_examples=50, deadline=None)
@given(given=st.lists(st.binary(min_size=1, max_size=40)))
def test_what_is_written_is_read(framing, given):
    if FRAMINGS[framing].text_only:
        given = [message.hex().encode() for message in given]
    assert messages(framing, b"".join(map(FRAMINGS[framing].write, given))) == given


FAULTS = {
    "not hex": ("hex", b"00\n0x\n01\n", {}, [(0, False), (3, True), (6, False)]),
    "half a byte": ("hex", b"000\n01\n", {}, [(0, True), (4, False)]),
    "not ASCII": ("hex", "é\n".encode(), {}, [(0, True)]),
    "a long line": ("lines", b"ab\nabcdef\nab\n", {"max_bytes": 4}, [(0, False), (3, True), (10, False)]),
    "a long line at the end": ("lines", b"ab\nabcdef", {"max_bytes": 4}, [(0, False), (3, True)]),
    "a quote that is never closed": (
        "lines",
        b'a\n"b\nc\nd\n',
        {"max_bytes": 4, "quote": b'"'},
        [(0, False), (2, True)],
    ),
    "a long message": ("length", b"\xff\xff\xff\xffx", {}, [(0, True)]),
    "cut off in the length": ("length", b"\0\0\0\1a\0\0", {}, [(0, False), (5, True)]),
    "cut off in the message": ("length", b"\0\0\0\2a", {}, [(0, True)]),
    "a wrong sum": ("drainer", frame(b"ab")[:-1] + b"?" + frame(b"c"), {}, [(0, True), (18, False)]),
    "a length beyond the end": (
        "drainer",
        frame(b"ab").replace(b"\2", b"\x7f", 1) + frame(b"c") + frame(b"d"),
        {},
        [(0, True), (18, False), (35, False)],
    ),
    "no frame at all": ("drainer", b'{"a": 1}\n', {}, [(0, True)]),
    "cut off, and a file follows": ("drainer", frame(b"ab")[:-1], {"last_file": False}, [(0, True)]),
    "cut off in the last file": ("drainer", frame(b"ab")[:-1], {"last_file": True}, []),
    "a frame that says it is long": (
        "drainer",
        b"\x04\x05\x1b\x1c\x00\x00\x00\x40\x00\x00\x00\x00" + bytes(200_000),
        {"max_bytes": 1000},
        [(0, True)],
    ),
}


@pytest.mark.parametrize(("framing", "data", "cut", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_what_cannot_be_cut_is_a_fault_with_its_place(framing, data, cut, expected):
    assert [(found.offset, bool(found.fault)) for found in frames(framing, data, **cut)] == expected
