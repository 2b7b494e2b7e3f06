"""Framing ``drainer``: TiDB Binlog's local files. What a frame is, and where reading goes on behind a damaged one, is
told by ``codecs/drainer/files``.
"""

from collections.abc import Iterator
from typing import BinaryIO

from spark_jobs.cdc.codecs.drainer import files
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.framing.base import Block, Cut, Fault, FramingError, Read, bytes_at

_STRAY = "no frame begins here (is this the framing?)"


def scan_drainer(read: Read, cut: Cut, begin: int, step: int) -> Iterator[Block | Fault]:
    """See ``base.Scan``. Checksums are verified."""
    reader = files.FrameReader(offset=begin)
    seen = expected = begin
    is_any = False
    while chunk := read(step):
        reader.feed(chunk)
        seen += len(chunk)
        for item in _items(_records(reader), cut, expected):
            is_any, expected = True, _behind(item, reader)
            yield item
        if seen - reader.offset > cut.max_bytes + step:
            yield Fault(reader.offset, f"a frame of more than {cut.max_bytes} bytes")
            return
    for item in _items(_last_records(reader, cut), cut, expected):
        is_any, expected = True, _behind(item, reader)
        yield item
    if reader.skipped_bytes and not is_any:
        yield Fault(begin, f"none of its {reader.skipped_bytes} bytes is a frame (is this the framing?)")
    elif cut.strict and reader.offset > expected:
        yield Fault(expected, _STRAY)
    else:
        cut.passed_over(reader.skipped_bytes)


def _behind(item: Block | Fault, reader: files.FrameReader) -> int:
    return item.end if isinstance(item, Block) else reader.offset


def _items(found: Iterator[files.Record | Fault], cut: Cut, expected: int) -> Iterator[Block | Fault]:
    """Records that follow each other become a block."""
    records: list[files.Record] = []
    for item in found:
        if isinstance(item, Fault):
            yield from _block(records)
            yield item
            records, expected = [], item.offset
            continue
        if cut.strict and item.offset > expected:
            yield from _block(records)
            yield Fault(expected, _STRAY)
            records = []
        records.append(item)
        expected = item.end
    yield from _block(records)


def _block(records: list[files.Record]) -> Iterator[Block]:
    if records:
        yield Block([one.payload for one in records], records[-1].end, lambda: [one.offset for one in records])


def _records(reader: files.FrameReader) -> Iterator[files.Record | Fault]:
    while True:
        begin = reader.offset
        try:
            record = reader.next_record()
        except DecodeError as error:
            yield Fault(begin if error.offset is None else error.offset, error.reason)
            continue
        if record is None:
            return
        yield record


def _last_records(reader: files.FrameReader, cut: Cut) -> Iterator[files.Record | Fault]:
    goes_on = True
    while goes_on:
        begin = reader.offset
        try:
            reader.finish(last_file=cut.last_file)
            return
        except DecodeError as error:
            yield Fault(begin if error.offset is None else error.offset, error.reason)
        goes_on = reader.offset > begin
        yield from _records(reader)


def seek_drainer(file: BinaryIO, cut: Cut, start: int, near: int, limit: int) -> int:
    """See ``base.Seek``. Reads magics and lengths alone; checksums are for who reads the payloads."""
    while start < min(near, limit):
        head = bytes_at(file, start, min(files.HEAD_BYTES, limit - start))
        size = files.frame_bytes(head)
        if size is None:
            raise FramingError("drainer", _STRAY, start)
        if size > cut.max_bytes + files.FRAME_BYTES:
            raise FramingError("drainer", f"a frame of more than {cut.max_bytes} bytes", start)
        if start + size > limit:
            if cut.last_file:
                return limit
            raise FramingError("drainer", f"the file ends inside a frame, after {limit - start} bytes of it", start)
        start += size
    return start
