"""An installed package adds a codec, a source and a sink by entry points; nothing of Weir is touched for it."""

import time
from pathlib import Path
from urllib.parse import quote

import pytest

from spark_jobs import plugins
from spark_jobs.cdc.codecs import codec
from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.filters.selection import selection_of
from spark_jobs.pipeline.delivery import Delivery, FeedConfig
from spark_jobs.pipeline.flow import Flow
from spark_jobs.sinks import parse_sink
from spark_jobs.sources import parse_source
from tests.pipeline.scene import run_here

PACKAGE = Path(__file__).parents[1] / "example_package"
MESSAGES = (
    "shop.orders 1772150400000 id=1 name=tea",
    "shop.items 1772150400001 id=5",
    "shop.orders 1772150400002 id=2 name=milk",
    "shop.orders 1772150400003 id=3 name=salt",
)


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGE))
    for registry in plugins._GROUPS.values():  # as they are again after the test
        monkeypatch.setattr(registry, "_paths", dict(registry._paths))
        monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))
    plugins.register_installed()


def deliver(tmp_path: Path, source: str, sink: str) -> Delivery:
    """One changefeed, until nothing is left of it."""
    config = FeedConfig(
        changefeed_id="feed",
        capture_id="capture",
        epoch=1,
        feed_uid=1,
        rewind_id=0,
        floor_ts=0,
        target_ts=0,
        source=parse_source(source),
        sink=parse_sink(sink),
        selection=selection_of({}),
        time_zone="UTC",
        folder=str(tmp_path / "checkpoint"),
    )
    delivery = Delivery(config, lambda: None)
    flow = Flow(
        None, delivery, run_here, 2, folder=str(tmp_path), start="", start_ts=0, rewind_ts=0, committed=lambda: None,
        say=lambda sentence: None,
    )  # fmt: skip
    flow.claim()
    flow.start()
    deadline = time.monotonic() + 60
    while delivery.view.number < 2 and time.monotonic() < deadline:
        flow.raise_fault()
        time.sleep(0.01)
    flow.stop()
    flow.raise_fault()
    return delivery


def test_its_codec_source_and_sink_work_together(installed, tmp_path):
    (tmp_path / "out").mkdir()
    delivery = deliver(
        tmp_path,
        f"example-list://here?protocol=example-pairs&messages={quote(';'.join(MESSAGES))}",
        f"example-notes://{tmp_path}/out?protocol=example-pairs",
    )
    notes = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    orders = "".join(f"{message}\n" for message in MESSAGES if message.startswith("shop.orders"))
    assert sorted(notes.values()) == sorted([orders, f"{MESSAGES[1]}\n"])
    assert delivery.view.totals.rows == 4


def test_its_codec_and_source_work_with_a_sink_of_ours(installed, tmp_path, capfdbinary):
    deliver(
        tmp_path,
        f"example-list://here?protocol=example-pairs&messages={quote(';'.join(MESSAGES))}",
        "stdout:?protocol=sql",
    )
    printed = capfdbinary.readouterr().out.decode().splitlines()
    assert printed[0] == "REPLACE INTO `shop`.`orders` (`id`, `name`) VALUES ('1', 'tea');"
    assert len(printed) == 4


def test_its_source_is_refused_by_name_when_it_is_not_installed():
    with pytest.raises(ConfigError, match="example-nothing"):
        parse_source("example-nothing://here?protocol=canal-json")
    with pytest.raises(ConfigError, match="example-nothing"):
        codec("example-nothing")
