"""The protocols as sources: the same stream gives the same rows, times are made up by rule, bad messages are told.

What a format cannot carry is said where the rows are compared; ``docs/formats.md`` has the whole lists.
"""

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence

import pyarrow
import pytest

from spark_jobs.cdc.codecs import CODECS
from spark_jobs.cdc.errors import EncodeError
from spark_jobs.cdc.events import INSERT, UPDATE, Ddl, Event, RowChange, TableSchema, TransactionMark
from spark_jobs.cdc.framing import FRAMINGS
from spark_jobs.pipeline.bad_message import BadMessage
from tests.pipeline.messages import row as canal_json_row
from tests.pipeline.scene import NOON, Queue, Scene, deliver, key_of, leftovers
from tests.pipeline.stream import BEGIN_MS, COLUMNS, Stream, written
from tests.storage_reader import Folder, read_folder

PROTOCOLS = ("canal-json", "canal", "tidb-binlog", "drainer", "datahub-blob")
TIMED = ("tidb-binlog", "drainer")
OPTIONS = {"canal-json": {"enable-tidb-extension": "true"}}
TABLE, OTHER = (TableSchema("shop", name, COLUMNS) for name in ("orders", "items"))
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
in_queues = pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "drainer"])


def framing_of(protocol: str) -> str:
    return "drainer" if protocol == "drainer" else "lines" if CODECS[protocol].text else "length"


def framed(protocol: str, messages: Sequence[bytes], framing: str = "") -> bytes:
    return b"".join(map(FRAMINGS[framing or framing_of(protocol)].write, messages))


def zst(content: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return bytes(sink.getvalue())


def output(scene: Scene, *, ordered: bool = True) -> Folder:
    folder = read_folder(scene.output, "canal-json", ordered=ordered)
    folder.check()
    assert folder.problems == []
    return folder


Found = dict[tuple[str, str], list[tuple[object, ...]]]


def rows_of(scene: Scene) -> Found:
    """The rows of every table in a consumer's order, without their times."""
    folder = output(scene)
    return {table: [(e.operation, e.before, e.after) for e in folder.events(table)] for table in folder.tables}


def through_a_folder(scene: Scene, name: str, content: bytes, options: str = "") -> None:
    scene.put(name, content, end=b"")
    deliver(scene.folder_feed(options))


PACKINGS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zst}
STREAM: list[Event] = list(Stream(3).tell().events)


@pytest.fixture(scope="module")
def plain_rows(tmp_path_factory) -> Found:
    """What canal-json gives from a file."""
    scene = Scene(tmp_path_factory.mktemp("reference"), plain=True)
    through_a_folder(scene, "a.json", framed("canal-json", written("canal-json", OPTIONS["canal-json"], STREAM)))
    return rows_of(scene)


@pytest.mark.parametrize("packing", PACKINGS)
@every_protocol
def test_the_same_stream_in_files_gives_the_same_rows(tmp_path, plain_rows, protocol, packing):
    scene = Scene(tmp_path, protocol=protocol)
    content = framed(protocol, written(protocol, OPTIONS.get(protocol, {}), STREAM))
    through_a_folder(scene, f"a.bin{packing}", PACKINGS[packing](content))
    assert rows_of(scene) == as_read(protocol, plain_rows)


@pytest.mark.parametrize(("protocol", "framing"), [(name, "hex") for name in PROTOCOLS] + [("canal-json", "length")])
def test_the_same_stream_in_another_framing_gives_the_same_rows(tmp_path, plain_rows, protocol, framing):
    scene = Scene(tmp_path, protocol=protocol)
    content = framed(protocol, written(protocol, OPTIONS.get(protocol, {}), STREAM), framing)
    through_a_folder(scene, "a.bin", content, f"&framing={framing}")
    assert rows_of(scene) == as_read(protocol, plain_rows)


@in_queues
def test_the_same_stream_in_a_queue_gives_the_same_rows(tmp_path, plain_rows, protocol):
    scene = Scene(tmp_path, protocol=protocol)
    messages = written(protocol, OPTIONS.get(protocol, {}), STREAM)
    feed, queue = scene.queue_feed("&watermark=ignore", partitions=1), Queue(1)
    for first in range(0, len(messages), 40):
        feed.advance(queue.batch({0: messages[first : first + 40]}), NOON)
    assert rows_of(scene) == as_read(protocol, plain_rows)


def as_read(protocol: str, rows: Found) -> Found:
    """What the format leaves of the rows: DataHub's dates have milliseconds; all else is there."""
    if protocol != "datahub-blob":
        return rows
    text = json.dumps([[list(table), found] for table, found in rows.items()])
    dated = re.sub(r'("at": "[^"]+)"', r'\1.000"', text)
    return {tuple(table): [tuple(one) for one in found] for table, found in json.loads(dated)}


# times


def change(ms: int, key: int, table: TableSchema = TABLE, commit_ts: int = 0) -> RowChange:
    return RowChange(INSERT, table, None, (key, "m", 1, "1.00", None, None), commit_ts or ms << 18, ms, ms + 2)


def ddl(ms: int, table: str = "orders") -> Ddl:
    query = f"ALTER TABLE `{table}` COMMENT = 'x'"
    return Ddl(schema="shop", table=table, query=query, canal_type="ALTER", commit_ts=ms << 18, es_ms=ms, ts_ms=ms)


def stamps(scene: Scene, table: str = "orders") -> list[int]:
    return [event.commit_ts for event in output(scene).events(("shop", table))]


UNTIMED = [("canal-json", {}), ("canal-json", {"dialect": "canal"}), ("canal", {}), ("datahub-blob", {})]
untimed = pytest.mark.parametrize(("protocol", "options"), UNTIMED, ids=lambda value: str(value))


@untimed
def test_times_that_are_not_told_grow_with_each_message(tmp_path, protocol, options):
    scene = Scene(tmp_path, protocol=protocol)
    events = [change(BEGIN_MS, 1), change(BEGIN_MS, 2), change(BEGIN_MS - 5000, 3), change(BEGIN_MS + 1, 4)]
    through_a_folder(scene, "a.bin", framed(protocol, written(protocol, options, events)))
    first = BEGIN_MS << 18
    assert stamps(scene) == [first, first + 1, first + 2, (BEGIN_MS + 1) << 18]


@untimed
def test_times_that_are_not_told_grow_over_batches_and_owners(tmp_path, protocol, options):
    scene = Scene(tmp_path, protocol=protocol)
    for number in range(3):
        events = [change(BEGIN_MS, 2 * number), change(BEGIN_MS, 2 * number + 1)]
        through_a_folder(scene, f"{number}.bin", framed(protocol, written(protocol, options, events)))
    assert stamps(scene) == [(BEGIN_MS << 18) + number for number in range(6)]


@pytest.mark.parametrize("protocol", TIMED)
def test_times_that_are_told_stay_as_they_are_even_where_they_step_back(tmp_path, protocol):
    scene = Scene(tmp_path, protocol=protocol)
    events = [change(BEGIN_MS, 1), change(BEGIN_MS - 7, 2), change(BEGIN_MS + 1, 3)]
    through_a_folder(scene, "a.bin", framed(protocol, written(protocol, {}, events)))
    came = [(e.commit_ts >> 18, key_of(e)) for e in output(scene, ordered=False).events(("shop", "orders"))]
    assert came == [(BEGIN_MS, "1"), (BEGIN_MS - 7, "2"), (BEGIN_MS + 1, "3")]


def mark(kind: str, ms: int) -> TransactionMark:
    return TransactionMark(kind=kind, transaction_id="7", es_ms=ms, ts_ms=ms, commit_ts=ms << 18)  # type: ignore[arg-type]


def test_in_one_message_times_grow_with_statements_and_transactions_and_not_with_rows(tmp_path):
    scene = Scene(tmp_path, protocol="canal")
    ms = BEGIN_MS
    events: list[Event] = [
        *(mark("BEGIN", ms), change(ms, 1), change(ms, 2), change(ms, 3, OTHER), change(ms, 4), mark("END", ms)),
        *(mark("BEGIN", ms), change(ms, 5), mark("END", ms)),
        *(ddl(ms), change(ms, 6), change(ms, 7)),
    ]
    (message,) = written("canal", {"max-batch-size": "100"}, events)
    through_a_folder(scene, "a.bin", framed("canal", [message]))
    first = ms << 18
    assert stamps(scene) == [first, first, first, first + 1, first + 3, first + 3]
    assert stamps(scene, "items") == [first]
    assert [file.version for file in output(scene).schemas["shop", "orders"] if file.query] == [first + 2]


@pytest.mark.parametrize("protocol", TIMED)
def test_a_transaction_in_one_message_has_one_time(tmp_path, protocol):
    scene = Scene(tmp_path, protocol=protocol)
    events = [change(BEGIN_MS, key, (TABLE, OTHER)[key % 2]) for key in range(10)]
    (message,) = written(protocol, {}, events)
    through_a_folder(scene, "a.bin", framed(protocol, [message]))
    assert stamps(scene) == stamps(scene, "items") == [BEGIN_MS << 18] * 5


# bad messages


def six(protocol: str) -> list[bytes]:
    """Six messages of an insert each."""
    return [written(protocol, OPTIONS.get(protocol, {}), [change(BEGIN_MS + key, key)])[0] for key in range(6)]


def spoilt(message: bytes) -> bytes:
    return message[:-3] + b"\xff\xfe"


def keys(scene: Scene, table: str = "orders") -> list[str]:
    return [key_of(event) for event in output(scene).events(("shop", table))]


def letters(scene: Scene) -> list[tuple[str, int, bytes]]:
    """Stream, offset and bytes of everything that was put aside."""
    files = sorted((scene.path / "checkpoint" / "_dead_letter").iterdir())
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [(line["stream"], line["offset"], base64.b64decode(line["message"])) for line in lines]


@every_protocol
def test_a_bad_message_in_a_file_stops_everything_at_its_place(tmp_path, protocol):
    scene = Scene(tmp_path, protocol=protocol)
    messages = six(protocol)
    content = framed(protocol, [*messages[:4], spoilt(messages[4]), messages[5]])
    offset = len(framed(protocol, messages[:4]))
    line = content[:offset].count(b"\n") + 1
    place = rf"file .*/source/a\.bin, line {line} \(byte {offset}\): .*nothing was skipped"
    with pytest.raises(BadMessage, match=place) as caught:
        through_a_folder(scene, "a.bin", content)
    assert caught.value.code == "CDC:ErrDecodeFailed"
    assert not (scene.output / "shop").exists()
    assert leftovers(scene) == []


@in_queues
def test_a_bad_message_in_a_queue_stops_everything_at_its_place(tmp_path, protocol):
    scene = Scene(tmp_path, protocol=protocol)
    messages = six(protocol)
    feed, queue = scene.queue_feed("&watermark=ignore"), Queue()
    feed.advance(queue.batch({0: messages[:2], 1: messages[2:3]}), NOON)
    with pytest.raises(BadMessage, match=r"topic t, partition 1, offset 2: .*nothing was skipped"):
        feed.advance(queue.batch({0: messages[3:4], 1: [messages[4], spoilt(messages[5])]}), NOON)
    assert sorted(keys(scene)) == ["0", "1", "2"]


@every_protocol
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_a_bad_message_is_put_aside_with_its_place_and_its_bytes(tmp_path, protocol, packing):
    scene = Scene(tmp_path, protocol=protocol)
    messages = six(protocol)
    bad = spoilt(messages[4])
    content = PACKINGS[packing](framed(protocol, [*messages[:4], bad, messages[5]]))
    through_a_folder(scene, f"a.bin{packing}", content, "&bad-message=dead-letter")
    assert keys(scene) == ["0", "1", "2", "3", "5"]
    assert letters(scene) == [(f"a.bin{packing}", len(framed(protocol, messages[:4])), bad)]


@in_queues
def test_a_bad_message_in_a_queue_is_put_aside(tmp_path, protocol):
    scene = Scene(tmp_path, protocol=protocol)
    messages = six(protocol)
    feed, queue = scene.queue_feed("&watermark=ignore&bad-message=dead-letter", partitions=1), Queue(1)
    feed.advance(queue.batch({0: [*messages[:4], spoilt(messages[4]), messages[5]]}), NOON)
    assert keys(scene) == ["0", "1", "2", "3", "5"]
    assert letters(scene) == [("t", 4, spoilt(messages[4]))]
    assert feed.delivery.view.totals.dead_letters == 1


def of_two_tables(protocol: str, key: int) -> bytes:
    options = {"max-batch-size": "10"} if protocol == "canal" else {}
    events = [change(BEGIN_MS + key, 10 * key, TABLE), change(BEGIN_MS + key, 10 * key + 1, OTHER)]
    (message,) = written(protocol, options, events)
    return message


@pytest.mark.parametrize("protocol", ["canal", "tidb-binlog", "drainer"])
@pytest.mark.parametrize("policy", ["fail", "dead-letter"])
def test_a_transaction_of_which_a_part_is_bad_is_left_out_whole(tmp_path, protocol, policy):
    """The second table of the second message has a value that is longer than the message."""
    scene = Scene(tmp_path, protocol=protocol)
    messages = [of_two_tables(protocol, key) for key in range(3)]
    at = messages[1].rindex(b"1.00")
    messages[1] = messages[1][: at - 1] + b"\x7f" + messages[1][at:]
    content = framed(protocol, messages)
    if policy == "fail":
        with pytest.raises(BadMessage, match=rf"byte {len(framed(protocol, messages[:1]))}"):
            through_a_folder(scene, "a.bin", content)
        return
    through_a_folder(scene, "a.bin", content, "&bad-message=dead-letter")
    assert (keys(scene), keys(scene, "items")) == (["0", "20"], ["1", "21"])
    assert [letter[2] for letter in letters(scene)] == [messages[1]]


@pytest.mark.parametrize("protocol", ["canal", "tidb-binlog", "drainer"])
def test_a_transaction_of_which_a_part_cannot_be_written_is_left_out_whole(tmp_path, protocol):
    """The second table has a name that no folder can have."""
    scene = Scene(tmp_path, protocol=protocol)
    options = {"max-batch-size": "10"} if protocol == "canal" else {}
    odd = TableSchema("shop", "x" * 300, COLUMNS)
    (bad,) = written(protocol, options, [change(BEGIN_MS, 7), change(BEGIN_MS, 8, odd)])
    through_a_folder(scene, "a.bin", framed(protocol, [bad, of_two_tables(protocol, 1)]), "&bad-message=dead-letter")
    assert (keys(scene), keys(scene, "items")) == (["10"], ["11"])
    assert [letter[2] for letter in letters(scene)] == [bad]


# partial rows


def key_only(kind: str, key: int, ms: int, *, marked: bool) -> bytes:
    message = json.loads(canal_json_row("orders", {"id": str(key)}, ms << 18, kind=kind))
    if marked:
        message["_tidb"]["onlyHandleKey"] = True
    return json.dumps(message).encode()


def test_rows_of_which_the_key_alone_was_sent_are_passed_on_where_the_mark_has_a_place(tmp_path):
    scene = Scene(tmp_path)
    messages = [change(BEGIN_MS, 1), change(BEGIN_MS + 3, 3)]
    first, last = written("canal-json", OPTIONS["canal-json"], messages)
    marked = key_only("INSERT", 2, BEGIN_MS + 1, marked=True)
    through_a_folder(scene, "a.json", framed("canal-json", [first, marked, last]))
    (place,) = read_folder(scene.output, "canal-json").tables["shop", "orders"]
    lines = b"".join((scene.output / place.path / name).read_bytes() for name in place.files).splitlines()
    assert [json.loads(line)["data"][0]["id"] for line in lines] == ["1", "2", "3"]
    assert [json.loads(line)["_tidb"].get("onlyHandleKey", False) for line in lines] == [False, True, False]


@pytest.mark.parametrize("sink", ["protocol=canal-json", "protocol=canal-json&dialect=canal", "protocol=csv"])
def test_rows_of_which_the_key_alone_was_sent_are_no_whole_rows(tmp_path, sink):
    scene = Scene(tmp_path, sink=sink)
    marked = key_only("INSERT", 2, BEGIN_MS, marked=True)
    with pytest.raises(BadMessage, match=r"line 1 \(byte 0\)") as caught:
        through_a_folder(scene, "a.json", marked + b"\n")
    assert caught.value.code == EncodeError.code


def test_deletes_of_keys_alone_define_no_structure(tmp_path):
    scene = Scene(tmp_path)
    first, last = written("canal-json", OPTIONS["canal-json"], [change(BEGIN_MS, 1), change(BEGIN_MS + 3, 3)])
    partial = key_only("DELETE", 1, BEGIN_MS + 1, marked=False)
    through_a_folder(scene, "a.json", framed("canal-json", [first, partial, last]))
    assert [len(file.names) for file in read_folder(scene.output, "canal-json").schemas["shop", "orders"]] == [6]


# halves of updates


def update(key: int, ms: int, table: TableSchema = TABLE) -> list[bytes]:
    old, new = (key, "old", 1, "1.00", None, None), (key, "new", 1, "1.00", None, None)
    event = RowChange(UPDATE, table, old, new, ms << 18, ms, ms, sequence=key)
    return written("datahub-blob", {"sequence-keep": "all"}, [event])


def blob(key: int, ms: int, table: TableSchema = TABLE) -> bytes:
    return written("datahub-blob", {}, [change(ms, key, table)])[0]


def operations(scene: Scene) -> list[str]:
    found = output(scene).events(("shop", "orders"))
    return [event.operation + key_of(event) for event in found]


def test_a_half_waits_over_batches_and_owners_and_so_does_the_checkpoint(tmp_path):
    scene = Scene(tmp_path, protocol="datahub-blob")
    before, after = update(7, BEGIN_MS + 1)
    through_a_folder(scene, "1.json", framed("datahub-blob", [blob(1, BEGIN_MS), before, blob(2, BEGIN_MS + 9)]))
    assert operations(scene) == ["I1"]
    assert output(scene).checkpoint == ((BEGIN_MS + 1) << 18) - 1
    through_a_folder(scene, "2.json", framed("datahub-blob", [blob(3, BEGIN_MS + 10)]))
    assert operations(scene) == ["I1"]
    through_a_folder(scene, "3.json", framed("datahub-blob", [after]))
    assert operations(scene) == ["I1", "U7", "I2", "I3"]
    assert output(scene).checkpoint == ((BEGIN_MS + 10) << 18) + 1


def test_a_half_that_stays_alone_is_a_delete_or_an_insert(tmp_path):
    """An update that changed the key went to two shards."""
    scene = Scene(tmp_path, protocol="datahub-blob")
    before, _ = update(7, BEGIN_MS + 1)
    _, after = update(8, BEGIN_MS + 2)
    many = [blob(100 + number, BEGIN_MS + 10 + number) for number in range(1000)]
    through_a_folder(scene, "1.json", framed("datahub-blob", [before, after, *many]))
    assert operations(scene)[:3] == ["D7", "I8", "I100"]
    assert len(operations(scene)) == 1002


def test_what_is_wrong_behind_a_half_is_told_where_it_stands(tmp_path):
    scene = Scene(tmp_path, protocol="datahub-blob")
    before, after = update(7, BEGIN_MS + 1)
    odd = TableSchema("shop", "x" * 300, COLUMNS)
    bad = blob(2, BEGIN_MS + 3, odd)
    messages = [before, blob(1, BEGIN_MS + 2), bad, blob(3, BEGIN_MS + 4), after, blob(4, BEGIN_MS + 5)]
    through_a_folder(scene, "1.json", framed("datahub-blob", messages), "&bad-message=dead-letter")
    assert operations(scene) == ["U7", "I1", "I3", "I4"]
    assert letters(scene) == [("1.json", len(framed("datahub-blob", messages[:2])), bad)]


def test_an_update_that_cannot_be_written_is_put_aside_with_both_its_halves(tmp_path):
    scene = Scene(tmp_path, protocol="datahub-blob")
    halves = update(7, BEGIN_MS, TableSchema("shop", "x" * 300, COLUMNS))
    content = framed("datahub-blob", [halves[0], blob(1, BEGIN_MS), halves[1]])
    through_a_folder(scene, "1.json", content, "&bad-message=dead-letter")
    assert operations(scene) == ["I1"]
    assert [letter[2] for letter in letters(scene)] == halves


# order


@pytest.mark.parametrize("sink", ["canal-json", "csv"])
def test_a_statement_whose_time_steps_back_separates_all_the_same(tmp_path, sink):
    """TiDB Binlog tells times, and sends again after a restart; without watermarks its partition's order counts."""
    scene = Scene(tmp_path, protocol="tidb-binlog", sink=f"protocol={sink}&enable-tidb-extension=true")
    feed, queue = scene.queue_feed(), Queue(2)
    rows = [change(BEGIN_MS + at, at) for at in (10, 20, 21)]
    events: list[Event] = [*rows[:2], ddl(BEGIN_MS + 15), rows[2]]
    strand = [written("tidb-binlog", {}, [event])[0] for event in events]
    feed.advance(queue.batch({0: strand, 1: written("tidb-binlog", {}, [change(BEGIN_MS + 1, 5, OTHER)])}), NOON)
    folder = read_folder(scene.output, sink, ordered=False)
    counts = [
        sum((scene.output / place.path / name).read_bytes().count(b"\r\n") for name in place.files)
        for place in folder.tables["shop", "orders"]
    ]
    assert counts == [2, 1]
