"""Packed files are read as what they hold, and are whole or an error."""

import gzip
import io
from typing import BinaryIO

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.framing import FRAMINGS, FileChanged, FramingError, blocks
from spark_jobs.sources.packed import PackedFileDamaged, is_packed, unpacked


def zstd(data: bytes) -> bytes:
    packed = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(data)
    return bytes(packed.getvalue())


PACK = {"a.json.gz": gzip.compress, "a.json.zst": zstd}
NOISE = bytes((at * at * 7919 >> 7) & 255 for at in range(200_000))

packings = pytest.mark.parametrize(("name", "pack"), PACK.items(), ids=PACK.keys())


def held_in(packed: bytes, name: str) -> bytes:
    parts = []
    stream = unpacked(io.BytesIO(packed), name)
    while part := stream.read(1 << 16):
        parts.append(part)
    return b"".join(parts)


def found_in(name: str, framing: str, file: BinaryIO, start: int = 0, step: int = 100) -> list[tuple[int, bytes]]:
    parts = blocks(FRAMINGS[framing], unpacked(file, name), start, None, None, step)
    return [(part.place(at), message) for part in parts for at, message in enumerate(part.messages)]


def test_the_ending_of_its_name_says_whether_a_file_is_packed():
    assert [is_packed(name) for name in ("a.gz", "x/a.json.zst", "a.json", "gz", "a.gz/b")] == [True, True] + [
        False
    ] * 3
    file = io.BytesIO(b"a")
    assert unpacked(file, "a.json") is file


@packings
@pytest.mark.parametrize("framing", FRAMINGS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_packed_file_has_the_messages_of_what_it_holds_and_is_resumed_at_any_of_them(name, pack, framing, data):
    messages = data.draw(st.lists(st.binary(min_size=1, max_size=60).map(lambda message: message.hex().encode())))
    content = b"".join(map(FRAMINGS[framing].write, messages))
    whole = found_in("plain", framing, io.BytesIO(content))
    assert [message for _, message in whole] == messages
    packed = io.BytesIO(pack(content))
    assert found_in(name, framing, packed) == whole
    for count, (offset, _) in enumerate(whole):
        assert found_in(name, framing, packed, offset) == whole[count:]


@packings
def test_one_goes_to_any_offset_and_the_file_stays_open(name, pack):
    file = io.BytesIO(pack(NOISE))
    stream = unpacked(file, name)
    for offset in (150_000, 10, 0, 199_999, 10):
        assert stream.seek(offset) == stream.tell() == offset
        assert stream.read(5) == NOISE[offset : offset + 5]
    assert stream.seek(1 << 30) == len(NOISE)
    assert stream.read(1) == b""
    stream.close()
    del stream
    assert not file.closed


@packings
def test_members_behind_each_other_are_one_file(name, pack):
    assert held_in(pack(b"a\n") + pack(b"") + pack(NOISE), name) == b"a\n" + NOISE
    assert held_in(pack(b""), name) == b""


@packings
@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: b"",
        lambda packed: packed[:3],
        lambda packed: packed[: len(packed) // 2],
        lambda packed: packed[:-1],
        lambda packed: packed + packed[:100],
        lambda packed: packed + b"junk",
        lambda packed: b'{"a": 1}\n',
    ],
    ids=["empty", "head", "half", "all but a byte", "a second one cut off", "junk behind it", "not packed"],
)
def test_a_damaged_file_is_an_error_that_names_file_and_byte(name, pack, damage):
    packed = damage(pack(NOISE))
    with pytest.raises(PackedFileDamaged, match=rf"{name} is damaged.* before its byte {len(packed)} ") as caught:
        held_in(packed, name)
    assert 0 <= caught.value.offset <= len(NOISE)


def test_a_wrong_sum_is_an_error():
    packed = gzip.compress(NOISE)
    with pytest.raises(PackedFileDamaged, match="incorrect data check"):
        held_in(packed[:-8] + b"\0\0\0\0" + packed[-4:], "a.gz")


@packings
def test_what_cannot_be_cut_out_of_it_is_an_error_with_its_place(name, pack):
    with pytest.raises(FramingError, match="framing length at byte 5: the input ends after 0 of the 9 bytes"):
        found_in(name, "length", io.BytesIO(pack(b"\0\0\0\1a\0\0\0\x09")))


@packings
def test_a_file_that_holds_less_than_was_read_has_changed(name, pack):
    with pytest.raises(FileChanged, match=r"ends before the place to go on at \(byte 2\)"):
        found_in(name, "lines", io.BytesIO(pack(b"a\n")), 4)


class Unreadable(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError(5, "Input/output error")


@packings
def test_a_disk_that_fails_is_not_a_damaged_file(name, pack):
    with pytest.raises(OSError, match="Input/output error") as caught:
        unpacked(Unreadable(pack(NOISE)), name).read(1)
    assert caught.value.errno == 5
