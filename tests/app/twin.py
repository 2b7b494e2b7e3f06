"""A capture's twin: it speaks the wire protocol over HTTP and runs nothing."""

import threading
import uuid

import httpx
import msgspec
from msgspec.structs import replace

from spark_jobs.wire import (
    CAN_RETRY,
    CAN_SKIP,
    INTERNAL_PREFIX,
    Assignment,
    Fault,
    FeedReport,
    Heartbeat,
    HeartbeatReply,
    Phase,
    Registration,
    RegistrationReply,
)


class CaptureTwin:
    """Registers at once. ``beat`` by hand, or ``live`` in a thread: it runs what it is given, stops what it is not."""

    def __init__(
        self,
        server: str,
        *,
        token: str = "",
        capture_id: str = "",
        register: bool = True,
        abilities: tuple[str, ...] = (CAN_SKIP, CAN_RETRY),
    ) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=server, headers=headers, timeout=30)
        self.capture_id = capture_id or f"twin-{uuid.uuid4().hex[:8]}"
        self.abilities = list(abilities)
        self.running: dict[str, Assignment] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if register:
            self.register()

    def register(self) -> RegistrationReply:
        body = Registration(
            capture_id=self.capture_id, address="127.0.0.1:1", pid=1, version="0.1.0", abilities=self.abilities
        )
        reply = self._http.post(INTERNAL_PREFIX, content=msgspec.json.encode(body))
        assert reply.status_code == 200, reply.text
        return msgspec.json.decode(reply.content, type=RegistrationReply)

    def beat(self, *reports: FeedReport, draining: bool = False) -> HeartbeatReply:
        body = Heartbeat(capture_id=self.capture_id, feeds=list(reports), draining=draining)
        reply = self._http.post(f"{INTERNAL_PREFIX}/{self.capture_id}/beat", content=msgspec.json.encode(body))
        assert reply.status_code == 200, reply.text
        return msgspec.json.decode(reply.content, type=HeartbeatReply)

    def report(self, assignment: Assignment, phase: Phase = Phase.RUNNING, **changes) -> FeedReport:
        report = FeedReport(changefeed_id=assignment.changefeed_id, epoch=assignment.epoch, phase=phase)
        return replace(report, **changes)

    def fail(self, assignment: Assignment, code: str, *, retryable: bool = True, message: str = "it broke") -> None:
        fault = Fault(code=code, message=message, time_ms=0, retryable=retryable)
        self.beat(self.report(assignment, Phase.FAILED, fault=fault))

    def goodbye(self) -> None:
        assert self._http.delete(f"{INTERNAL_PREFIX}/{self.capture_id}").status_code == 200

    def live(self, seconds: float = 0.02) -> None:
        """Goes on beating, quickly, until ``close``."""

        def run() -> None:
            while not self._ended.wait(seconds):
                self._live_once()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def _live_once(self) -> None:
        reports = [self.report(assignment) for assignment in self.running.values()]
        wanted = {assignment.changefeed_id: assignment for assignment in self.beat(*reports).assignments}
        gone = [old for name, old in self.running.items() if name not in wanted or wanted[name].epoch != old.epoch]
        if gone:
            self.beat(*(self.report(old, Phase.STOPPED) for old in gone))
        self.running = wanted

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._http.close()
