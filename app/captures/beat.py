"""What a registration and a heartbeat change. Database only; the caller owns the transaction.

A report counts only when its capture still holds that changefeed under that epoch; anything else is an echo.
"""

import random
from typing import Final

import msgspec
from sqlalchemy import Connection

from app.captures.repository import CaptureRepository
from app.changefeeds.record import Changefeed, State
from app.changefeeds.reports import ReportRepository
from app.changefeeds.repository import ChangefeedRepository
from app.history.repository import Entry, HistoryRepository
from app.lifecycle import FENCED, Released, Reported, Unheard, decide
from app.masking import masked_text
from app.sealing import Seal
from app.settings import Settings
from spark_jobs.cdc import tso
from spark_jobs.wire import (
    Assignment,
    DdlEvent,
    Fault,
    FeedReport,
    Heartbeat,
    HeartbeatReply,
    LogLine,
    Phase,
    Registration,
    RegistrationReply,
)

LEASE_SECONDS: Final = 6.0
LONGEST_STATEMENT: Final = 100_000
HEARTBEAT_SECONDS: Final = 1.0
LEASE_MS: Final = int(LEASE_SECONDS * 1000)
_WHAT_HAPPENED: Final = {State.WARNING: "fault", State.FAILED: "fault", State.FINISHED: "finish"}


class Beats:
    """Registrations and heartbeats within one transaction. ``released``: the uids that a capture let go of."""

    def __init__(self, connection: Connection, seal: Seal, settings: Settings) -> None:
        self._captures = CaptureRepository(connection)
        self._feeds = ChangefeedRepository(connection, seal)
        self._reports = ReportRepository(connection)
        self._history = HistoryRepository(connection)
        self._settings = settings
        self.released: list[int] = []

    def register(self, registration: Registration, now_ms: int) -> RegistrationReply:
        """A capture that registers runs nothing yet: what an earlier life of it held is free again."""
        self._captures.register(registration, now_ms=now_ms, lease_until_ms=now_ms + LEASE_MS)
        self._release_all(registration.capture_id, now_ms)
        return RegistrationReply(lease_seconds=LEASE_SECONDS, heartbeat_seconds=HEARTBEAT_SECONDS)

    def beat(self, beat: Heartbeat, now_ms: int) -> HeartbeatReply:
        """Takes the reports in and answers with everything that the capture should run."""
        known = self._captures.renew(beat.capture_id, lease_until_ms=now_ms + LEASE_MS, draining=beat.draining)
        if not known:
            return HeartbeatReply(known=False, lease_seconds=LEASE_SECONDS)
        capture = self._captures.get(beat.capture_id)
        address = capture.address if capture else ""
        held = {feed.wire_id: feed for feed in self._feeds.of_capture(beat.capture_id, lock=True)}
        reports = {(report.changefeed_id, report.epoch): report for report in beat.feeds}
        for name, feed in held.items():
            report = reports.get((name, feed.epoch))
            if report is None:
                held[name] = self._save(feed, decide(feed, Unheard(), now_ms=now_ms))
            else:
                held[name] = self._take(feed, report, beat.capture_id, address, now_ms)
        listed = [feed for feed in held.values() if feed.capture_id == beat.capture_id and feed.wants_to_run]
        return HeartbeatReply(
            known=True, lease_seconds=LEASE_SECONDS, assignments=[self._assignment(feed) for feed in listed]
        )

    def goodbye(self, capture_id: str, now_ms: int) -> None:
        """A capture that ends in good order has stopped everything."""
        self._captures.delete(capture_id)
        self._release_all(capture_id, now_ms)

    def _release_all(self, capture_id: str, now_ms: int) -> None:
        for feed in self._feeds.of_capture(capture_id, lock=True):
            self._save(feed, decide(feed, Released(), now_ms=now_ms))

    def _take(self, feed: Changefeed, report: FeedReport, capture_id: str, address: str, now_ms: int) -> Changefeed:
        report = _storable(report, now_ms)
        lines = [LogLine(text=text) for text in report.logs] + report.lines
        if lines:
            self._reports.add_lines(feed.uid, [_storable_line(line, now_ms) for line in lines])
        if report.ddl:
            self._reports.add_statements(feed.uid, [_storable_statement(event, now_ms) for event in report.ddl])
        if report.tables is not None:
            self._feeds.save_tables(feed.uid, report.tables)
        event = Reported(_without_secrets(report), address)
        after = self._save(feed, decide(feed, event, now_ms=now_ms, chance=random.random()))
        self._remember(feed, after, report, capture_id, now_ms)
        return after

    def _save(self, before: Changefeed, after: Changefeed) -> Changefeed:
        if not after.capture_id:
            self.released.append(before.uid)
        return self._feeds.save(before, after)

    def _remember(
        self, before: Changefeed, after: Changefeed, report: FeedReport, capture_id: str, now_ms: int
    ) -> None:
        fenced = report.phase is Phase.FAILED and report.fault is not None and report.fault.code == FENCED
        if before.state == after.state and before.error == after.error and not fenced:
            return
        what = "fence" if before.state == after.state and fenced else _WHAT_HAPPENED.get(after.state, "recover")
        entry = Entry(
            time_ms=now_ms,
            who=capture_id,
            what=what,
            from_state=before.state,
            to_state=after.state,
            detail=f"epoch {before.epoch}",
            error=after.error,
        )
        self._history.add(after, entry)

    def _assignment(self, feed: Changefeed) -> Assignment:
        return Assignment(
            changefeed_id=feed.wire_id,
            epoch=feed.epoch,
            feed_uid=feed.created_ms,
            source_uri=feed.source_uri,
            sink_uri=feed.sink_uri,
            replica_config=msgspec.Raw(feed.replica_config.encode()),
            start_ts=feed.start_ts,
            target_ts=feed.target_ts,
            start_position=feed.start_position,
            rewind_ts=feed.rewind_ts,
            rewind_id=feed.rewind_id,
            checkpoint_root=self._settings.checkpoint_root,
            time_zone=self._settings.time_zone,
            skips=feed.orders.skips,
            retries=[order for order in feed.orders.retries if order.retry_id > feed.orders.retried],
        )


def _storable_line(line: LogLine, now_ms: int) -> LogLine:
    return msgspec.structs.replace(line, text=masked_text(line.text), time_ms=line.time_ms or now_ms)


def _storable_statement(event: DdlEvent, now_ms: int) -> DdlEvent:
    return msgspec.structs.replace(event, query=event.query[:LONGEST_STATEMENT], time_ms=event.time_ms or now_ms)


def _storable(report: FeedReport, now_ms: int) -> FeedReport:
    """The report; or, if a number in it is too large to be stored, that its changefeed has failed: one changefeed with
    nonsense in its source must not keep a capture's heartbeat from the others."""
    numbers = (report.checkpoint_ts, report.resolved_ts, report.batch_id, report.rows_total, report.bytes_total)
    if max(numbers) <= tso.MAX_TSO:
        return report
    fault = Fault(
        code="CDC:ErrDecodeFailed",
        message=f"its progress came to {max(numbers)}, which is above the largest TSO; the source's times are not real",
        time_ms=now_ms,
        retryable=False,
    )
    return FeedReport(
        changefeed_id=report.changefeed_id, epoch=report.epoch, phase=Phase.FAILED, fault=fault, logs=report.logs
    )


def _without_secrets(report: FeedReport) -> FeedReport:
    if report.fault is None:
        return report
    fault = msgspec.structs.replace(report.fault, message=masked_text(report.fault.message))
    return msgspec.structs.replace(report, fault=fault)
