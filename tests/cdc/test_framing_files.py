"""Files are cut into ranges and read in blocks, and that changes nothing about their messages."""

import io
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.cdc.codecs.drainer.files import frame
from spark_jobs.cdc.framing import FRAMINGS, WHOLE, Block, Cut, Fault, FileChanged, FramingError, blocks, cut, scan

CSV = Cut(last_file=False, strict=True, quote=b'"', line_end=b"\r\n", keep_blank=True)
OWN_END = Cut(last_file=False, strict=True, line_end=b"||")

LINE = st.one_of(
    st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"").removesuffix(b"\r")),
    st.sampled_from([b"", b" ", b"\t", b"\r", b'{"a": 1}', b"x" * 300]),
)


@st.composite
def of_lines(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.tuples(LINE, st.sampled_from([b"\n", b"\r\n"]))))
    return b"".join(line + end for line, end in lines) + draw(LINE)


HEX = st.lists(
    st.tuples(st.binary(max_size=8).map(lambda data: data.hex().encode()), st.sampled_from([b"\n", b"\r\n"]))
)
MESSAGES = st.lists(st.binary(max_size=300))
FILES = {
    "lines": ("lines", WHOLE, of_lines()),
    "CSV": ("lines", CSV, st.text('a",\r\n \t', max_size=60).map(str.encode)),
    "a line end of one's own": ("lines", OWN_END, st.text("a|\n", max_size=60).map(str.encode)),
    "hex": ("hex", WHOLE, HEX.map(lambda lines: b"".join(line + end for line, end in lines))),
    "length": ("length", WHOLE, MESSAGES.map(lambda all_of_them: b"".join(map(FRAMINGS["length"].write, all_of_them)))),
    "drainer": ("drainer", WHOLE, MESSAGES.map(lambda all_of_them: b"".join(map(frame, all_of_them)))),
}


class File(io.BytesIO):
    """A file that gives at most so many bytes at a time, as a file without a buffer may."""

    most = 1 << 30

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self.most if size is None or size < 0 else min(size, self.most))


def file_of(data: bytes, most: int = 1 << 30) -> File:
    file = File(data)
    file.most = most
    return file


def found_in(parts: Iterator[Block]) -> list[tuple[int, bytes]]:
    return [(part.place(at), message) for part in parts for at, message in enumerate(part.messages)]


@pytest.mark.parametrize(("name", "how", "given_files"), FILES.values(), ids=FILES.keys())
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_however_a_file_is_cut_it_has_the_same_messages(name, how, given_files, data):
    content = data.draw(given_files)
    framing, size = FRAMINGS[name], len(content)
    whole = found_in(blocks(framing, file_of(content), 0, size, size, how=how))
    assert whole == [(one.offset, one.data) for one in framing.read(io.BytesIO(content), how)]
    file = file_of(content, data.draw(st.integers(1, 50)))
    ends = [0]
    for near in sorted(data.draw(st.lists(st.integers(0, size), max_size=5))):
        end = cut(framing, file, ends[-1], near, size, how)
        assert max(near, ends[-1]) <= end <= size
        assert cut(framing, file, 0, near, size, how) == end or near < ends[-1]
        ends.append(end)
    step = data.draw(st.integers(1, 64))
    parts = [found_in(blocks(framing, file, *ends_of, size, step, how)) for ends_of in pairwise([*ends, size])]
    assert [one for part in parts for one in part] == whole


@pytest.mark.parametrize(("name", "how", "given_files"), FILES.values(), ids=FILES.keys())
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_reading_goes_on_behind_any_block(name, how, given_files, data):
    content = data.draw(given_files)
    framing, size = FRAMINGS[name], len(content)
    step = data.draw(st.integers(1, 64))
    read = list(blocks(framing, file_of(content), 0, size, size, step, how))
    whole = found_in(iter(read))
    count = 0
    for block in read:
        count += len(block.messages)
        assert found_in(blocks(framing, file_of(content), block.end, size, size, how=how)) == whole[count:]


def test_lines_are_messages_without_their_ends_and_blank_ones_are_none():
    content = b"a\r\n\n  \n\t\r\nb \n\xff\xfe\n{}\r"
    *_, last = found = list(blocks(FRAMINGS["lines"], io.BytesIO(content), 0, len(content), len(content)))
    assert found_in(iter(found)) == [(0, b"a"), (10, b"b "), (13, b"\xff\xfe"), (16, b"{}")]
    assert last.end == len(content)


def test_a_boundary_is_the_first_byte_of_a_line():
    content = b"ab\ncd\r\n\ne"
    nears = range(len(content) + 1)
    ends = [cut(FRAMINGS["lines"], io.BytesIO(content), 0, near, len(content)) for near in nears]
    assert ends == [0, 3, 3, 3, 7, 7, 7, 7, 8, 9]


def test_a_boundary_is_looked_for_where_it_may_be_and_nowhere_else():
    """The payloads of framed messages are not read, nor the lines before ``near``."""
    payload = bytes(1 << 16)

    class Counted(io.BytesIO):
        count = 0

        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            self.count += len(data)
            return data

    for name in ("length", "drainer"):
        file = Counted(FRAMINGS[name].write(payload) * 100)
        size = len(file.getvalue())
        assert cut(FRAMINGS[name], file, 0, size // 2, size) == size // 2
        assert file.count <= 50 * 12
    file = Counted((b"x" * 99 + b"\n") * 100_000)
    assert cut(FRAMINGS["lines"], file, 0, 5_000_001, 10_000_000) == 5_000_100
    assert file.count <= 1 << 16


def small(**changes: object) -> Cut:
    return Cut(**({"last_file": False, "strict": True, "max_bytes": 4} | changes))  # type: ignore[arg-type]


TWO = frame(b"ab") + frame(b"c")
FAULTS = {
    # framing, content, how, messages before it, where it is, what is said
    "a long line": ("lines", b"ab\nabcde\nab\n", small(), [b"ab"], 3, "a line of more than 4 bytes"),
    "a long last line": ("lines", b"ab\nabcde", small(), [b"ab"], 3, "a line of more than 4 bytes"),
    "no hex": ("hex", b"00\r\n\n0x\n01\n", WHOLE, [b"\0"], 5, "not hexadecimal"),
    "a long message": ("length", b"\0\0\0\1a\0\0\0\5abcde", small(), [b"a"], 5, "a message of 5 bytes; the limit is 4"),
    "cut off in a length": ("length", b"\0\0\0\1a\0\0", WHOLE, [b"a"], 5, "ends inside the length"),
    "cut off in a message": ("length", b"\0\0\0\1a\0\0\0\2b", WHOLE, [b"a"], 5, "ends after 1 of the 2 bytes"),
    "cut off behind a length": ("length", b"\0\0\0\1a\0\0\0\2", WHOLE, [b"a"], 5, "ends after 0 of the 2 bytes"),
    "another framing": ("length", b'{"a": 1}\n', WHOLE, [], 0, "is this the framing"),
    "a wrong sum": ("drainer", TWO[:-1] + b"?", WHOLE, [b"ab"], 18, "checksum"),
    "no magic at first": ("drainer", b"junk" + TWO, WHOLE, [], 0, "no frame begins here"),
    "no magic between": ("drainer", frame(b"ab") + b"junk" + frame(b"c"), WHOLE, [b"ab"], 18, "no frame begins here"),
    "no magic at the end": ("drainer", TWO + b"junk", WHOLE, [b"ab", b"c"], 35, "no frame begins here"),
    "no magic at all": ("drainer", b'{"a": 1}\n', WHOLE, [], 0, "is this the framing"),
    "a frame cut off": ("drainer", TWO[:-1], WHOLE, [b"ab"], 18, "ends inside a frame"),
    "a head cut off": ("drainer", TWO[:22], WHOLE, [b"ab"], 18, "ends inside a frame"),
}


@pytest.mark.parametrize("step", [1, 3, 1 << 20])
@pytest.mark.parametrize(("name", "content", "how", "before", "at", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_bytes_that_are_no_message_are_an_error_with_their_place(name, content, how, before, at, said, step):
    got: list[bytes] = []
    size = len(content)
    parts = blocks(FRAMINGS[name], io.BytesIO(content), 0, size, size, step, how)
    with pytest.raises(FramingError, match=f"framing {name} at byte {at}: ") as caught:
        got.extend(message for block in parts for message in block.messages)
    assert got == before
    assert (caught.value.offset, said in caught.value.reason) == (at, True), caught.value.reason


@pytest.mark.parametrize(
    "case", [key for key, of in FAULTS.items() if of[0] in ("length", "drainer") if "sum" not in key]
)
def test_frames_that_cannot_be_followed_are_an_error_with_their_place(case):
    name, content, how, _, at, _ = FAULTS[case]
    with pytest.raises(FramingError) as caught:
        cut(FRAMINGS[name], io.BytesIO(content), 0, len(content), len(content), how)
    assert caught.value.offset == at


def test_faults_that_can_be_stepped_over_are_told_with_the_rest():
    content = b"00\n0x\n01\n"
    items = list(scan(FRAMINGS["hex"], io.BytesIO(content), 0, 9, 9))
    assert [item.offset if isinstance(item, Fault) else item.messages for item in items] == [[b"\0"], 3, [b"\1"]]


def test_the_end_of_the_last_drainer_file_may_be_a_frame_that_is_being_written():
    content, how = TWO[:-1], Cut(last_file=True, strict=True)
    assert found_in(blocks(FRAMINGS["drainer"], io.BytesIO(content), 0, 34, 34, how=how)) == [(0, b"ab")]
    assert cut(FRAMINGS["drainer"], io.BytesIO(content), 0, 20, 34, how) == 34
    with pytest.raises(FramingError, match="at byte 18: the file ends inside a frame"):
        list(blocks(FRAMINGS["drainer"], io.BytesIO(TWO), 0, 34, 35, how=how))


@pytest.mark.parametrize(("name", "content"), [("lines", b"a\nb\n"), ("length", b"\0\0\0\1a"), ("drainer", TWO)])
def test_a_file_of_another_size_has_changed(name, content):
    for size in (len(content) - 1, len(content) + 1):
        with pytest.raises(FileChanged, match=f"has {len(content)} bytes and no longer {size}"):
            list(blocks(FRAMINGS[name], io.BytesIO(content), 0, size, size))


def test_a_file_that_becomes_shorter_while_it_is_read_has_changed():
    content = b"ab\n" * 1000
    file = io.BytesIO(content)
    parts = blocks(FRAMINGS["lines"], file, 0, 3000, 3000, 300)
    assert len(next(parts).messages) == 100
    file.truncate(301)
    with pytest.raises(FileChanged) as caught:
        list(parts)
    assert caught.value.offset == 301
    with pytest.raises(FileChanged):
        cut(FRAMINGS["lines"], file, 0, 1000, 3000)


def test_what_a_file_holds_whose_size_is_not_known_is_read_to_its_end():
    assert found_in(blocks(FRAMINGS["lines"], io.BytesIO(b"a\nb"), 2, None, None)) == [(2, b"b")]


def test_a_long_line_is_put_together_once():
    content = b"x" * (8 << 20) + b"\ny"
    assert [
        len(message) for _, message in found_in(blocks(FRAMINGS["lines"], file_of(content, 4096), 0, None, None))
    ] == [
        8 << 20,
        1,
    ]
