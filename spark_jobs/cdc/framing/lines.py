"""Framing ``lines``: a message a line, ``hex``: a message a line in hexadecimal.

* The last line may lack its line end. Blank lines are no messages.
* With LF as the line end one CR before it belongs to it. CSV may have another line end, found from left to right.
* With a quote (CSV's) a row goes on until it has an even number of them.

A block is split in one go: a line costs a look at its end and at whether it is blank, and no step of Python's.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from operator import methodcaller
from typing import BinaryIO, Final, TypeAlias

import msgspec

from spark_jobs.cdc.framing.base import Block, Cut, Fault, Read, shorter

_Lines: TypeAlias = tuple[int, list[bytes], int]
"""Where they begin, lines without their ends, where they end."""

_SEARCH_BYTES: Final = 1 << 16
_ends_in_cr: Final = methodcaller("endswith", b"\r")


def scan_lines(read: Read, cut: Cut, begin: int, step: int) -> Iterator[Block | Fault]:
    """See ``base.Scan``. A line that is too long is a fault."""
    for item in _found(read, cut, begin, step):
        if isinstance(item, Fault):
            yield item
        else:
            yield from _blocks(*item, cut)


def seek_line(file: BinaryIO, cut: Cut, start: int, near: int, limit: int) -> int:
    """See ``base.Seek``. Reads from ``start`` on only if there are quotes, or a line end that overlaps itself."""
    if near <= start:
        return start
    if cut.quote or any(cut.line_end.startswith(cut.line_end[at:]) for at in range(1, len(cut.line_end))):
        return _seek_by_reading(file, cut, start, near, limit)
    at = max(start, near - len(cut.line_end))
    file.seek(at)
    rest = b""
    while at < limit:
        piece = file.read(min(_SEARCH_BYTES, limit - at))
        if not piece:
            raise shorter(at)
        at += len(piece)
        rest += piece
        found = rest.find(cut.line_end)
        if found >= 0:
            return at - len(rest) + found + len(cut.line_end)
        rest = rest[len(rest) - len(cut.line_end) + 1 :]
    return limit


def scan_hex(read: Read, cut: Cut, begin: int, step: int) -> Iterator[Block | Fault]:
    """See ``base.Scan``. A line that is not hexadecimal is a fault."""
    for item in scan_lines(
        read,
        msgspec.structs.replace(cut, max_bytes=2 * cut.max_bytes, line_end=b"\n", quote=b"", keep_blank=False),
        begin,
        step,
    ):
        if isinstance(item, Fault):
            yield item
            continue
        try:
            yield msgspec.structs.replace(item, messages=list(map(_from_hex, item.messages)))
        except ValueError:
            yield from map(_hex_line, item.offsets(), item.messages)


def seek_hex(file: BinaryIO, cut: Cut, start: int, near: int, limit: int) -> int:
    """See ``base.Seek``."""
    return seek_line(file, msgspec.structs.replace(cut, line_end=b"\n", quote=b""), start, near, limit)


def _from_hex(line: bytes) -> bytes:
    return bytes.fromhex(line.decode("ascii"))


def _hex_line(offset: int, line: bytes) -> Block | Fault:
    try:
        return Block([_from_hex(line)], offset + len(line), lambda: [offset])
    except ValueError as error:
        return Fault(offset, f"not hexadecimal: {error}")


def _found(read: Read, cut: Cut, begin: int, step: int) -> Iterator[_Lines | Fault]:
    found = _lines(read, cut, begin, step)
    return _rows(found, cut) if cut.quote else found


def _lines(read: Read, cut: Cut, begin: int, step: int) -> Iterator[_Lines | Fault]:
    """Whole lines, as many as there are. Of an unfinished one no more is kept than a message may have."""
    end = cut.line_end
    kept = len(end) - 1  # so many bytes may be the beginning of a line end
    at = seen = begin
    parts: list[bytes] = []
    size = 0
    carry = b""
    while chunk := read(step):
        seen += len(chunk)
        lines = (carry + chunk if carry else chunk).split(end)
        rest = lines.pop()
        carry = rest[-kept:] if kept else b""
        rest = rest[:-kept] if kept else rest
        if lines and size:
            size += len(lines[0])
            if size > cut.max_bytes:
                yield _too_long(at, cut)
                at += size + len(end)
                lines = lines[1:]
            else:
                lines[0] = b"".join((*parts, lines[0]))
            parts, size = [], 0
        if lines:
            following = seen - len(rest) - len(carry)
            yield at, lines, following
            at = following
        size += len(rest)
        if size > cut.max_bytes:
            parts = []
        elif rest:
            parts.append(rest)
    size += len(carry)
    if size > cut.max_bytes:
        yield _too_long(at, cut)
    elif size:
        yield at, [b"".join((*parts, carry))], at + size


def _rows(found: Iterator[_Lines | Fault], cut: Cut) -> Iterator[_Lines | Fault]:
    """Lines that quotes hold together become one."""
    parts: list[bytes] = []
    begin = following = size = 0
    is_open = is_odd = False
    for item in found:
        if isinstance(item, Fault):
            yield _too_long(begin, cut) if is_open else item
            is_open = is_odd = False
            continue
        at, lines, following = item
        rows: list[bytes] = []
        rows_begin = begin if is_open else at
        for line in lines:
            if not is_open:
                begin, parts, is_open = at, [], True
            size = at - begin + len(line)
            at = min(at + len(line) + len(cut.line_end), following)
            if size > cut.max_bytes:
                parts = []
            else:
                parts.append(line)
            is_odd ^= bool(line.count(cut.quote) & 1)
            if is_odd:
                continue
            is_open = False
            if size <= cut.max_bytes:
                rows.append(cut.line_end.join(parts))
                continue
            yield rows_begin, rows, begin
            yield _too_long(begin, cut)
            rows, rows_begin = [], at
        yield rows_begin, rows, begin if is_open else at
    if is_open:
        yield _too_long(begin, cut) if size > cut.max_bytes else (begin, [cut.line_end.join(parts)], following)


def _too_long(at: int, cut: Cut) -> Fault:
    return Fault(at, f"a line of more than {cut.max_bytes} bytes")


def _blocks(at: int, rows: list[bytes], following: int, cut: Cut) -> Iterator[Block | Fault]:
    if following - at > cut.max_bytes and max(map(len, rows), default=0) > cut.max_bytes:
        for row in rows:
            behind = min(at + len(row) + len(cut.line_end), following)
            if len(row) > cut.max_bytes:
                yield _too_long(at, cut)
            else:
                yield from _blocks(at, [row], behind, cut)
            at = behind
        return
    messages = rows
    if cut.line_end == b"\n" and any(map(_ends_in_cr, rows)):
        messages = [row.removesuffix(b"\r") for row in rows]
    if not all(messages) or (not cut.keep_blank and any(map(bytes.isspace, messages))):
        messages = [message for message in messages if _counts(message, cut)]
    if messages:
        yield Block(messages, following, partial(_offsets, at, rows, cut))


def _counts(message: bytes, cut: Cut) -> bool:
    return bool(message) and (cut.keep_blank or not message.isspace())


def _offsets(at: int, rows: Sequence[bytes], cut: Cut) -> Sequence[int]:
    offsets = []
    for row in rows:
        if _counts(row.removesuffix(b"\r") if cut.line_end == b"\n" else row, cut):
            offsets.append(at)
        at += len(row) + len(cut.line_end)
    return offsets


def _seek_by_reading(file: BinaryIO, cut: Cut, start: int, near: int, limit: int) -> int:
    file.seek(start)

    def read(size: int) -> bytes:
        return file.read(max(0, min(size, limit - file.tell())))

    at = start
    for item in _found(read, cut, start, _SEARCH_BYTES):
        if isinstance(item, Fault):
            continue
        at, rows, following = item
        for row in rows:
            if at >= near:
                return at
            at = min(at + len(row) + len(cut.line_end), following)
    return at if at >= near else limit
