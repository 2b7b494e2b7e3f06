"""A capture: one Spark application that hosts changefeeds.

    python -m spark_jobs.capture --server http://127.0.0.1:8300

It registers with the control plane, says every second what it hosts and how far that is, and starts and stops
changefeeds to match the reply. It ends itself on SIGTERM (running batches are finished first), when its standard input
closes (its parent is gone), when its JVM has ended, and when a changefeed does not stop in time after the lease is
over.
"""

import argparse
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import uuid
from types import FrameType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import structlog

from spark_jobs.host import session as spark
from spark_jobs.host.assignment import HostedFeed
from spark_jobs.host.lease import Lease, seconds
from spark_jobs.host.link import Link
from spark_jobs.host.warm_up import warm_up
from spark_jobs.plugins import register_installed
from spark_jobs.wire import Assignment, FeedReport, Phase, Registration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSION: Final = "0.1.0"
IDLE_SECONDS: Final = 2.0
STOP_GRACE_SECONDS: Final = 3.0
DRAIN_SECONDS: Final = 15.0
log = structlog.get_logger("weir.capture")


class Capture:
    """Hosts changefeeds until it is told to end."""

    def __init__(self, link: Link, session: "SparkSession", capture_id: str) -> None:
        self._link = link
        self._session = session
        self._capture_id = capture_id
        self._lease = Lease()
        self._feeds: dict[tuple[str, int], HostedFeed] = {}  # the heartbeat's thread takes out: others walk over copies
        self._gone: list[FeedReport] = []
        self._draining = threading.Event()
        self._changed = threading.Event()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._wanted: list[Assignment] | None = None
        self._registered = False
        self._beat_seconds = 1.0

    @property
    def draining(self) -> bool:
        return self._draining.is_set()

    def drain(self) -> None:
        """Finishes running batches, then ends; returns at once."""
        self._draining.set()
        self._changed.set()

    def run(self) -> None:
        """Until drained."""
        threading.Thread(target=self._beats, name="heartbeat", daemon=True).start()
        threading.Thread(target=self._warm_up, name="warm-up", daemon=True).start()
        while not self._draining.is_set():
            self._changed.wait(0.5)
            self._changed.clear()
            self._match()
            self._watch_lease()
        self._stop_all(DRAIN_SECONDS)
        self._over.set()
        self._link.deregister(self._capture_id)

    def _warm_up(self) -> None:
        """Unless there is work at once, which warms up as well."""
        if self._draining.wait(IDLE_SECONDS) or self._feeds:
            return
        try:
            with tempfile.TemporaryDirectory(prefix="weir-warm-up-") as folder:
                if not warm_up(self._session, folder, self._draining) and not self.draining:
                    log.warning("the capture could not warm up", error="the query ended by itself")
        except Exception as error:  # it only makes the next one slower
            log.warning("the capture could not warm up", error=str(error)[:400])

    def _match(self) -> None:
        """Starts what is wanted and not here, stops what is here and not wanted, forgets what has ended."""
        with self._lock:
            wanted, self._wanted = self._wanted, None
        if wanted is not None:
            keys = {(item.changefeed_id, item.epoch) for item in wanted}
            for key, feed in list(self._feeds.items()):
                if key not in keys:
                    feed.ask_to_stop()
            for item in wanted:
                key = (item.changefeed_id, item.epoch)
                if key not in self._feeds and not self._is_stopping(item.changefeed_id):
                    log.info("assigned", changefeed=item.changefeed_id, epoch=item.epoch)
                    feed = HostedFeed(item, self._session, self._capture_id, self._lease)
                    with self._lock:
                        self._feeds[key] = feed
                    feed.start()

    def _is_stopping(self, changefeed_id: str) -> bool:
        """Whether an earlier assignment of it has not ended here: one at a time."""
        return any(key[0] == changefeed_id and not feed.ended for key, feed in list(self._feeds.items()))

    def _watch_lease(self) -> None:
        """At the end of the lease everything stops; what does not stop ends with the process."""
        if not self._registered or self._lease.left() > 0 or not self._running():
            return
        log.warning("the lease is over; stopping every changefeed")
        if not self._stop_all(STOP_GRACE_SECONDS):
            log.error("a changefeed did not stop after the lease was over; ending the process")
            end_now(1)
        with self._lock:
            self._feeds.clear()

    def _running(self) -> bool:
        return any(not feed.ended for feed in list(self._feeds.values()))

    def _stop_all(self, grace_seconds: float) -> bool:
        deadline = seconds() + grace_seconds
        for feed in list(self._feeds.values()):
            feed.ask_to_stop()
        while self._running() and seconds() < deadline:
            self._changed.wait(0.05)
            self._changed.clear()
        return not self._running()

    def _beats(self) -> None:
        """The heartbeat, in a thread that does nothing else."""
        while not self._over.is_set():
            began = seconds()
            try:
                self._beat()
            except Exception as error:
                if not self._over.is_set():
                    log.warning("no answer from the control plane", error=str(error))
            self._over.wait(max(0.05, self._beat_seconds - (seconds() - began)))

    def _beat(self) -> None:
        if not self._registered:
            self._register()
        with self._lock:
            feeds = list(self._feeds.items())
        reports = [(key, feed, feed.report()) for key, feed in feeds]
        sent_at = seconds()
        reply = self._link.beat(self._capture_id, [report for _, _, report in reports], self._draining.is_set())
        if not reply.known:
            self._registered = False
            return
        self._lease.renew(sent_at, reply.lease_seconds)
        for key, feed, report in reports:
            feed.reported(report)
            if feed.ended and report.phase is not Phase.RUNNING:
                self._forget(key, reply.assignments)
        with self._lock:
            self._wanted = reply.assignments
        self._changed.set()

    def _forget(self, key: tuple[str, int], assignments: list[Assignment]) -> None:
        """What ended and was reported goes, once the control plane does not list it any more."""
        if key not in {(item.changefeed_id, item.epoch) for item in assignments}:
            with self._lock:
                self._feeds.pop(key, None)

    def _register(self) -> None:
        context = self._session.sparkContext
        sent_at = seconds()
        reply = self._link.register(
            Registration(
                capture_id=self._capture_id,
                address=f"{socket.gethostname()}:{os.getpid()}",
                pid=os.getpid(),
                version=VERSION,
                spark_master=context.master or "",
                spark_version=context.version,
                spark_application_id=context.applicationId or "",
                spark_ui_url=context.uiWebUrl or "",
            )
        )
        self._beat_seconds = reply.heartbeat_seconds
        self._lease.renew(sent_at, reply.lease_seconds)
        self._registered = True
        log.info("registered", capture=self._capture_id)


def end_now(status: int) -> None:
    """Ends this process without waiting for anything; its JVM ends when the pipe between them closes."""
    sys.stdout.flush()
    os._exit(status)


def _end_with_parent(capture: Capture) -> None:
    """Standard input is a pipe that the parent holds open: its end is the parent's end."""

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        log.info("the parent is gone; ending")
        capture.drain()

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _end_with_jvm(capture: Capture, session: "SparkSession") -> None:
    """Without a JVM nothing can be delivered: at once, before a changefeed gets the blame."""

    def watch() -> None:
        spark.wait_for_end(session)
        if not capture.draining:
            log.error("the JVM has ended; ending")
            end_now(1)

    threading.Thread(target=watch, name="jvm", daemon=True).start()


def _address(text: str) -> str:
    """An argument that is an address of HTTP."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address such as http://127.0.0.1:8300")
    return text


def main() -> int:
    """Runs a capture until it is drained."""
    parser = argparse.ArgumentParser(prog="weir-capture", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--server", required=True, type=_address, help="address of the control plane, such as http://127.0.0.1:8300"
    )
    parser.add_argument("--version", action="version", version=f"Weir {VERSION}")
    parser.add_argument("--detached", action="store_true", help="do not end when standard input closes")
    arguments = parser.parse_args()
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.add_log_level,
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(),
    )
    logging.getLogger("py4j").setLevel(logging.WARNING)
    register_installed()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    capture_id = str(uuid.uuid4())
    with tempfile.TemporaryDirectory(prefix="weir-capture-") as work_folder:
        session = spark.start(
            os.environ.get("WEIR_SPARK_MASTER", "local[*]"), os.environ.get("WEIR_SPARK_CONF", ""), work_folder
        )
        with Link(arguments.server, os.environ.get("WEIR_CAPTURE_TOKEN", "")) as link:
            capture = Capture(link, session, capture_id)

            def on_signal(number: int, frame: FrameType | None) -> None:
                capture.drain()

            signal.signal(signal.SIGTERM, on_signal)
            _end_with_jvm(capture, session)
            if not arguments.detached and not sys.stdin.isatty():
                _end_with_parent(capture)
            capture.run()
        session.stop()
    log.info("ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
