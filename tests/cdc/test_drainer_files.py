"""Drainer's local files: frames, junk, cut ends, names."""

import contextlib
import json
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.cdc.codecs.drainer.files import (
    FileName,
    FrameReader,
    Record,
    file_name,
    frame,
    in_order,
    parse_file_name,
    read_records,
)
from spark_jobs.cdc.errors import DecodeError

VECTORS = json.loads((Path(__file__).parents[1] / "data/tidb_binlog/file.json").read_text())
FRAME = frame(b"binlogtest")


def taken(reader: FrameReader) -> Record:
    record = reader.next_record()
    assert record is not None
    return record


def parsed(name: str) -> FileName:
    found = parse_file_name(name)
    assert found is not None
    return found


def payloads(data, **options):
    return [record.payload for record in read_records(data, **options)]


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["source"])
def test_a_frame_has_these_bytes(vector):
    payload, framed = bytes.fromhex(vector["payload_hex"]), bytes.fromhex(vector["frame_hex"])
    assert frame(payload) == framed
    assert int.from_bytes(framed[-4:], "little") == vector["crc32c"]
    assert [(r.payload, r.offset, r.end) for r in read_records(framed)] == [(payload, 0, vector["frame_len"])]


# --- junk and ends


@pytest.mark.parametrize("case", VECTORS["seek"]["cases"], ids=lambda case: f"from-{case['from_offset']}")
def test_the_next_magic_is_found_from_anywhere(case):
    junk = bytes.fromhex(VECTORS["magic_le_hex"]) + b"a" * 2044
    data = (FRAME + junk) * 2
    assert len(data) == VECTORS["seek"]["file_len"]
    reader = FrameReader(offset=case["from_offset"])
    reader.feed(data[case["from_offset"] : case["found"] + 4])
    assert reader.next_record() is None
    assert reader.offset == case["found"]


def test_a_magic_with_an_impossible_length_is_an_error_that_can_be_passed():
    reader = FrameReader()
    reader.feed((FRAME + VECTORS["magic"].to_bytes(4, "little") + b"a" * 2044) * 2)
    assert taken(reader).payload == b"binlogtest"
    with pytest.raises(DecodeError, match="at byte 26: a frame says that it is 7016996765293437281 bytes long"):
        reader.next_record()
    assert taken(reader).offset == 2074


def test_junk_between_frames_is_skipped():
    data = (FRAME + b"test") * 20
    ends = [record.end for record in read_records(data)]
    assert ends[10] == VECTORS["junk"]["reading_11_ends_at"]
    assert len(ends) == 20
    reader = FrameReader()
    reader.feed(data)
    while reader.next_record():
        pass
    reader.finish(last_file=False)
    assert reader.skipped_bytes == 80


def test_a_frame_cut_off_ends_the_last_file_and_breaks_every_other():
    case = VECTORS["truncated"]
    data = (FRAME * 4)[:73]
    assert len(payloads(data, offset=case["read_from"])) == case["records"]
    found: list[Record] = []
    with pytest.raises(DecodeError, match="at byte 52: the file ends inside a frame, after 21 bytes"):
        found.extend(read_records(data, offset=case["read_from"], last_file=False))
    assert len(found) == case["records"]


@pytest.mark.parametrize("size", range(1, len(FRAME)))
def test_a_frame_cut_anywhere_is_no_record(size):
    assert payloads(FRAME + FRAME[:size]) == [b"binlogtest"]
    with pytest.raises(DecodeError, match="inside a frame"):
        payloads(FRAME + FRAME[:size], last_file=False)


def test_a_wrong_checksum_is_an_error_that_can_be_passed():
    damaged = FRAME[:15] + b"X" + FRAME[16:]
    reader = FrameReader()
    reader.feed(damaged + FRAME)
    with pytest.raises(DecodeError, match="at byte 0: the checksum does not match"):
        reader.next_record()
    assert taken(reader).offset == 26


def longer(by: int) -> bytes:
    """A whole frame, but for its length."""
    return FRAME[:4] + (len(b"binlogtest") + by).to_bytes(8, "little") + FRAME[12:]


def test_a_damaged_length_does_not_hide_the_frames_behind_it():
    inside, beyond = FrameReader(), FrameReader()
    inside.feed(longer(40) + FRAME * 3)
    with pytest.raises(DecodeError, match="at byte 0: the checksum does not match"):
        inside.next_record()
    assert [taken(inside).offset for _ in range(3)] == [26, 52, 78]
    beyond.feed(longer(1000) + FRAME * 3)
    assert beyond.next_record() is None
    with pytest.raises(DecodeError, match="at byte 0: the file ends inside a frame, but whole frames follow"):
        beyond.finish(last_file=True)
    assert [taken(beyond).offset for _ in range(3)] == [26, 52, 78]
    beyond.finish(last_file=True)


def test_hidden_frames_are_searched_ten_times_in_a_file():
    reader = FrameReader()
    reader.feed((longer(40) + FRAME) * 50)
    found: list[int] = []
    for _ in range(100):
        with contextlib.suppress(DecodeError):
            record = reader.next_record()
            found += [record.offset] if record else []
    assert found[:10] == [52 * number + 26 for number in range(10)]
    assert len(found) < 50


@pytest.mark.parametrize("length", [-1, 2**31, 2**63 - 1])
def test_a_length_that_lies_is_refused_before_anything_is_allocated(length):
    data = FRAME[:4] + length.to_bytes(8, "little", signed=True) + FRAME[12:]
    with pytest.raises(DecodeError, match=f"says that it is {length} bytes long"):
        payloads(data)


@given(st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=8).filter(lambda junk: 4 not in junk))), st.data())
def test_records_are_the_same_whatever_the_pieces(parts, data):
    whole = b"".join(frame(payload) + junk for payload, junk in parts)
    reader = FrameReader()
    found: list[bytes] = []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        reader.feed(whole[:size])
        whole = whole[size:]
        while (record := reader.next_record()) is not None:
            found.append(record.payload)
    reader.finish(last_file=False)
    assert found == [payload for payload, _ in parts]


@given(st.binary(max_size=80))
def test_any_bytes_are_records_or_refused(junk):
    for data in (junk, FRAME + junk, FRAME[:4] + junk):
        try:
            payloads(data, last_file=False)
        except DecodeError:
            continue


# --- names


@pytest.mark.parametrize("case", VECTORS["names"]["cases"], ids=lambda case: case["name"])
def test_a_name_is_parsed_as_drainer_does(case):
    if case.get("error"):
        assert parse_file_name(case["name"]) is None
    else:
        assert (parsed(case["name"]).index, parsed(case["name"]).first_commit_ts) == (case["index"], case["ts"])


def test_a_name_with_four_parts_tells_its_first_commit_ts():
    file = parsed("binlog-0000000000000003-20180315121212-400000000000000001.tar.gz")
    assert (file.index, file.created, file.first_commit_ts) == (3, "20180315121212", 400000000000000001)
    assert file.packed


@pytest.mark.parametrize(
    "name", ["savepoint", ".lock", "binlog-1.tmp", "checkpoint", "binlog-", "binlog-1-2-3-4", "x/binlog-1"]
)
def test_other_names_are_no_data(name):
    assert parse_file_name(name) is None


def test_files_are_taken_in_order_and_other_names_left_out():
    names = VECTORS["names"]
    assert [file.name for file in in_order(reversed(names["filter_in"]))] == names["filter_out"]


@pytest.mark.parametrize("names", [["binlog-1", "binlog-3"], ["binlog-1", "binlog-0001"]], ids=["missing", "twice"])
def test_a_gap_between_files_is_an_error(names):
    with pytest.raises(DecodeError, match="does not follow"):
        in_order(names)


def test_a_new_name_is_parsed_back():
    name = file_name(7, datetime(2024, 2, 29, 1, 2, 3))
    assert name == "binlog-0000000000000007-20240229010203"
    assert parsed(name).index == 7
