"""Prometheus metrics, read from the database at each scrape, so that every replica tells the same."""

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app import TICDC_VERSION, VERSION
from app.captures.repository import CaptureRepository
from app.changefeeds.record import STATE_NUMBERS, Changefeed, State
from app.context import Context
from app.owner.lease import LeaseRepository
from spark_jobs.cdc import tso

_LABELS: Final = ("namespace", "changefeed")
_AT_REST: Final = frozenset({State.STOPPED, State.FINISHED, State.REMOVED})

Value = Callable[[Changefeed, int], float | None]


def _lag(ts: int, now_ms: int) -> float | None:
    return (now_ms - tso.physical_ms(ts)) / 1000 if ts else None


def _while_running(value: Value) -> Value:
    return lambda feed, now_ms: None if feed.state in _AT_REST else value(feed, now_ms)


# name, meaning, value (None: no sample)
_GAUGES: Final[tuple[tuple[str, str, Value], ...]] = (
    (
        "ticdc_owner_checkpoint_ts",
        "Physical milliseconds of the checkpoint.",
        _while_running(lambda f, _: tso.physical_ms(f.checkpoint_ts)),
    ),
    (
        "ticdc_owner_checkpoint_ts_lag",
        "Seconds that the checkpoint is behind.",
        _while_running(lambda f, now: _lag(f.checkpoint_ts, now)),
    ),
    (
        "ticdc_owner_resolved_ts",
        "Physical milliseconds of the resolved-ts.",
        _while_running(lambda f, _: tso.physical_ms(f.resolved_ts)),
    ),
    (
        "ticdc_owner_resolved_ts_lag",
        "Seconds that the resolved-ts is behind.",
        _while_running(lambda f, now: _lag(f.resolved_ts, now)),
    ),
    (
        "ticdc_owner_status",
        "State: 0 normal, 2 failed, 3 stopped, 4 finished, 5 removed, 6 warning.",
        lambda f, _: STATE_NUMBERS[f.state],
    ),
    ("weir_held_rows", "Rows that wait for a watermark.", lambda f, _: f.counters.held_rows),
)
_COUNTERS: Final[tuple[tuple[str, str, Value], ...]] = (
    ("ticdc_sink_dml_event_count", "Rows delivered.", lambda f, _: f.rows_total),
    ("ticdc_sink_write_bytes", "Bytes delivered.", lambda f, _: f.bytes_total),
    ("weir_repeats_dropped", "Rows that the source sent again.", lambda f, _: f.counters.repeats_dropped),
    ("weir_late_rows", "Rows below the resolved-ts.", lambda f, _: f.counters.late_rows),
    ("weir_dead_letters", "Messages that could not be decoded.", lambda f, _: f.counters.dead_letters),
    ("weir_ddl_unparsed", "DDL kept as raw text.", lambda f, _: f.counters.ddl_unparsed),
)


class Metrics(Collector):
    """One scrape."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterator[Metric]:
        now_ms = self._context.clock_ms()
        with self._context.database.read() as connection:
            feeds = self._context.feeds(connection).all()
            captures = CaptureRepository(connection).views()
            lease = LeaseRepository(connection).current()
        for name, meaning, value in _GAUGES:
            yield _filled(GaugeMetricFamily(name, meaning, labels=_LABELS), feeds, value, now_ms)
        for name, meaning, value in _COUNTERS:
            yield _filled(CounterMetricFamily(name, meaning, labels=_LABELS), feeds, value, now_ms)
        live = sum(capture.lease_until_ms > now_ms for capture in captures)
        yield GaugeMetricFamily("weir_captures", "Captures whose lease lasts.", value=live)
        owned = lease.is_held(now_ms) and lease.holder == self._context.node_id if lease else False
        seconds = (now_ms - lease.since_ms) / 1000 if owned and lease else 0
        yield CounterMetricFamily("ticdc_owner_ownership_counter", "Seconds as the owner.", value=seconds)
        build = GaugeMetricFamily("ticdc_server_build_info", "Versions.", labels=("release_version", "weir_version"))
        build.add_metric((TICDC_VERSION, VERSION), 1)
        yield build


def _filled(
    family: GaugeMetricFamily | CounterMetricFamily, feeds: list[Changefeed], value: Value, now_ms: int
) -> Metric:
    for feed in feeds:
        number = value(feed, now_ms)
        if number is not None:
            family.add_metric((feed.keyspace, feed.name), number)
    return family
