"""What Spark runs gives the same bytes as what this process runs."""

import functools
import threading

import pytest

from spark_jobs.cdc.errors import DecodeError
from spark_jobs.host.execution import Execution
from spark_jobs.pipeline.bad_message import BadMessage
from spark_jobs.pipeline.flow import Flow
from tests.pipeline.messages import WIDER, ddl, insert, row, ts, watermark
from tests.pipeline.scene import Scene, deliver, run_here
from tests.rig.waiting import wait_for

CREATE = "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`name` VARCHAR(20))"
ROWS = 4000


def contents(scene):
    """Every file that readers see, by its path."""
    files = [path for path in scene.output.rglob("*") if path.is_file() and "_weir" not in path.parts]
    return {str(path.relative_to(scene.output)): path.read_bytes() for path in files}


def queue_messages(partition):
    """Rows of three tables, one of which changes in the middle, and watermarks; keys belong to one partition."""
    end = ts(10 * ROWS)
    messages = [ddl("orders", CREATE, ts(1), kind="CREATE")] if partition == 0 else []
    for number in range(partition, ROWS, 2):
        at = ts(10 * number + 10)
        if number == ROWS // 2:
            messages.append(ddl("orders", "ALTER TABLE `orders` ADD COLUMN `age` INT", at - 1))
        wide = number >= ROWS // 2
        values = {"id": str(number), "name": "żółć" if number % 3 else None} | ({"age": "7"} if wide else {})
        messages.append(row("orders", values, at, columns=WIDER))
        messages.append(insert(("items", "users")[number % 2], number, at))
        if number % 100 == partition:
            messages.append(watermark(at))
    return [*messages, watermark(end), insert("items", 10**6 + partition, end + 1)]


class Fed:
    """A changefeed of a topic on a real session, until ``done`` says that enough is committed."""

    def __init__(self, session, scene, source):
        self.delivery = scene.owner(source)
        self._changed = threading.Event()
        execution = Execution(session, "feed")
        self.flow = Flow(
            session,
            self.delivery,
            execution,
            execution.workers,
            folder=str(scene.path / "spark"),
            start="",
            start_ts=0,
            rewind_ts=0,
            committed=self._changed.set,
            say=lambda sentence: None,
        )

    def run_until(self, done):
        self.flow.claim()
        self.flow.start()
        try:
            wait_for(lambda: self._looked(done), "what is in the topic")
        finally:
            self.flow.stop()
        return self.delivery.view

    def _looked(self, done):
        self.flow.raise_fault()
        return done(self.delivery.view)


@pytest.fixture(params=["here", "in workers"])
def place(request, monkeypatch):
    """Where a batch is read: in this process, or in Spark's workers, however little it is."""
    if request.param == "in workers":
        monkeypatch.setattr("spark_jobs.pipeline.intake.SMALL_BYTES", 0)
        monkeypatch.setattr("spark_jobs.pipeline.lookout.SMALL_BYTES", 0)
    return request.param


@pytest.mark.parametrize(
    "sink",
    [
        "protocol=canal-json&enable-tidb-extension=true&file-size=100000",
        "protocol=csv",
        "protocol=canal-json&dialect=canal",
    ],
    ids=["passed on", "csv", "encoded"],
)
def test_a_batch_in_workers_gives_the_files_of_one_in_this_process(session, kafka, tmp_path, monkeypatch, sink):
    topic = f"large-{sink.split('&')[-1].replace('=', '-')}"
    kafka.create_topic(topic, partitions=2)
    for number in range(2):
        kafka.produce(topic, queue_messages(number), partition=number)
    outputs = []
    for name, small in (("here", 1 << 30), ("workers", 0)):
        monkeypatch.setattr("spark_jobs.pipeline.intake.SMALL_BYTES", small)
        monkeypatch.setattr("spark_jobs.pipeline.lookout.SMALL_BYTES", small)
        (tmp_path / name).mkdir()
        scene = Scene(tmp_path / name, sink=sink)
        source = f"kafka://{kafka.bootstrap}/{topic}?protocol=canal-json&start=earliest"
        view = Fed(session, scene, source).run_until(lambda view: view.totals.rows >= 2 * ROWS)
        assert view.totals.rows == 2 * ROWS
        assert view.totals.held_rows == 2
        assert view.resolved_ts == ts(10 * ROWS)
        assert len(view.tables) == 3
        outputs.append(contents(scene))
    assert outputs[0] == outputs[1]
    assert len([path for path in outputs[0] if "/orders/" in path and "/meta/" not in path]) >= 2


def test_what_was_held_comes_out_wherever_it_is_read(session, kafka, tmp_path, place):
    topic = f"held-{place.replace(' ', '-')}"
    kafka.create_topic(topic, partitions=1)
    kafka.produce(topic, [insert("orders", key, ts(100 + key)) for key in range(20)] + [watermark(ts(50))])
    scene = Scene(tmp_path)
    source = f"kafka://{kafka.bootstrap}/{topic}?protocol=canal-json&start=earliest"
    Fed(session, scene, source).run_until(lambda view: view.totals.held_rows == 20)
    kafka.produce(topic, [watermark(ts(109))])
    Fed(session, scene, source).run_until(lambda view: view.totals.held_rows == 10)
    assert scene.keys() == [str(key) for key in range(10)]


def test_a_bad_message_has_its_place_wherever_it_is_read(session, kafka, tmp_path, place):
    topic = f"bad-{place.replace(' ', '-')}"
    kafka.create_topic(topic)
    kafka.produce(topic, [insert("orders", 1, ts(1)), b'{"type":"INSERT"'])
    source = f"kafka://{kafka.bootstrap}/{topic}?protocol=canal-json&watermark=ignore&start=earliest"
    expected = f"topic {topic}, partition 0, offset 1: not a canal-json message"
    with pytest.raises(BadMessage, match=expected) as caught:
        Fed(session, Scene(tmp_path), source).run_until(lambda view: view.totals.rows)
    assert caught.value.code == DecodeError.code


@pytest.mark.parametrize(
    "sink", ["protocol=canal-json&enable-tidb-extension=true", "protocol=csv"], ids=["json", "csv"]
)
def test_splits_on_spark_give_the_files_of_splits_in_this_process(session, tmp_path, monkeypatch, sink):
    monkeypatch.setattr("spark_jobs.sources.folder.enumerator.SMALLEST_SPLIT", 100_000)
    monkeypatch.setattr("spark_jobs.pipeline.intake.SMALL_BYTES", 0)
    outputs = []
    for name, run in (("here", run_here), ("spark", Execution(session, "feed"))):
        (tmp_path / name).mkdir()
        scene = Scene(tmp_path / name, sink=sink)
        scene.put("a.json", *queue_messages(0)[:1500])
        scene.put("b.json", *queue_messages(0)[1500:])
        feed = scene.folder_feed(workers=2, run=run)
        deliver(feed)
        scene.put("c.json", *(insert("parcels", number, ts(10 * ROWS + number)) for number in range(1500)))
        deliver(feed)
        outputs.append(contents(scene))
        assert feed.delivery.view.number == 3
    assert outputs[0] == outputs[1]
    assert sum("/parcels/" in path and "CDC0" in path for path in outputs[0]) > 1, "a file of each split"


def test_a_file_that_a_worker_cannot_read_is_named(session, tmp_path, monkeypatch):
    monkeypatch.setattr("spark_jobs.pipeline.intake.SMALL_BYTES", 0)
    scene = Scene(tmp_path)
    path = scene.put("a.json", insert("orders", 1, ts(1)))

    def run(function, items, /, *, small):
        path.unlink()
        return Execution(session, "feed")(function, items, small=small)

    feed = scene.folder_feed(run=functools.partial(run))
    with pytest.raises(Exception, match=r"CDC:ErrSourceFileUnreadable.*a\.json is gone"):
        deliver(feed)
