"""Prometheus metrics, read from the database at each scrape, so that every replica tells the same."""

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app import TICDC_VERSION, VERSION
from app.changefeeds.conditions import Moment, conditions, lag_seconds, shown_state
from app.changefeeds.endpoints import moment_of
from app.changefeeds.record import STATE_NUMBERS, Changefeed, State
from app.context import Context
from app.owner.lease import LeaseRepository
from spark_jobs.cdc import tso

_LABELS: Final = ("namespace", "changefeed")
_AT_REST: Final = frozenset({State.STOPPED, State.FINISHED, State.REMOVED})

Value = Callable[[Changefeed, Moment], float | None]


def _lag(feed: Changefeed, ts: int, moment: Moment) -> float:
    """Before the first progress it is as old as the changefeed: an alert needs a number from the beginning."""
    known = lag_seconds(feed, ts, moment.now_ms)
    return max(moment.now_ms - feed.created_ms, 0) / 1000 if known is None else known


def _while_running(value: Value) -> Value:
    return lambda feed, moment: None if feed.state in _AT_REST else value(feed, moment)


def _physical(ts: int) -> float | None:
    return tso.physical_ms(ts) if ts else None


# name, meaning, value (None: no sample)
_GAUGES: Final[tuple[tuple[str, str, Value], ...]] = (
    (
        "ticdc_owner_checkpoint_ts",
        "Physical milliseconds of the checkpoint.",
        _while_running(lambda f, _: _physical(f.checkpoint_ts)),
    ),
    (
        "ticdc_owner_checkpoint_ts_lag",
        "Seconds that the checkpoint is behind.",
        _while_running(lambda f, moment: _lag(f, f.checkpoint_ts, moment)),
    ),
    (
        "ticdc_owner_resolved_ts",
        "Physical milliseconds of the resolved-ts.",
        _while_running(lambda f, _: _physical(f.resolved_ts)),
    ),
    (
        "ticdc_owner_resolved_ts_lag",
        "Seconds that the resolved-ts is behind.",
        _while_running(lambda f, moment: _lag(f, f.resolved_ts, moment)),
    ),
    (
        "ticdc_owner_status",
        "State: 0 normal, 2 failed, 3 stopped, 4 finished, 5 removed, 6 warning.",
        lambda f, moment: STATE_NUMBERS[shown_state(f, moment)],
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
        with self._context.database.read() as connection:
            feeds = self._context.feeds(connection).summaries()
            moment = moment_of(self._context, connection)
            lease = LeaseRepository(connection).current()
        for name, meaning, value in _GAUGES:
            yield _filled(GaugeMetricFamily(name, meaning, labels=_LABELS), feeds, value, moment)
        for name, meaning, value in _COUNTERS:
            yield _filled(CounterMetricFamily(name, meaning, labels=_LABELS), feeds, value, moment)
        yield GaugeMetricFamily("weir_captures", "Captures whose lease lasts.", value=moment.captures)
        wrong = GaugeMetricFamily(
            "weir_changefeed_condition", "What is not well now, by code.", labels=(*_LABELS, "code", "stage")
        )
        for feed in feeds:
            for found in {(c.code, c.stage) for c in conditions(feed, moment)}:
                wrong.add_metric((feed.keyspace, feed.name, *found), 1)
        yield wrong
        now_ms = moment.now_ms
        owned = lease.is_held(now_ms) and lease.holder == self._context.node_id if lease else False
        seconds = (now_ms - lease.since_ms) / 1000 if owned and lease else 0
        yield CounterMetricFamily("ticdc_owner_ownership_counter", "Seconds as the owner.", value=seconds)
        build = GaugeMetricFamily("ticdc_server_build_info", "Versions.", labels=("release_version", "weir_version"))
        build.add_metric((TICDC_VERSION, VERSION), 1)
        yield build


def _filled(
    family: GaugeMetricFamily | CounterMetricFamily, feeds: list[Changefeed], value: Value, moment: Moment
) -> Metric:
    for feed in feeds:
        number = value(feed, moment)
        if number is not None:
            family.add_metric((feed.keyspace, feed.name), number)
    return family
