"""A capture's calls to the control plane (``wire``)."""

import contextlib
from types import TracebackType
from typing import Final

import httpx
import msgspec

from spark_jobs.wire import (
    INTERNAL_PREFIX,
    FeedReport,
    Heartbeat,
    HeartbeatReply,
    Registration,
    RegistrationReply,
)

TIMEOUT_SECONDS: Final = 3.0


class Link:
    """HTTP to one control plane. Every call raises ``httpx.HTTPError`` when it is not answered."""

    def __init__(self, server: str, token: str) -> None:
        headers = {"content-type": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._client = httpx.Client(
            base_url=server.rstrip("/"), headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )

    def __enter__(self) -> "Link":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def register(self, registration: Registration) -> RegistrationReply:
        reply = self._client.post(INTERNAL_PREFIX, content=msgspec.json.encode(registration))
        reply.raise_for_status()
        return msgspec.json.decode(reply.content, type=RegistrationReply)

    def beat(self, capture_id: str, feeds: list[FeedReport], draining: bool) -> HeartbeatReply:
        beat = Heartbeat(capture_id=capture_id, feeds=feeds, draining=draining)
        reply = self._client.post(f"{INTERNAL_PREFIX}/{capture_id}/beat", content=msgspec.json.encode(beat))
        reply.raise_for_status()
        return msgspec.json.decode(reply.content, type=HeartbeatReply)

    def deregister(self, capture_id: str) -> None:
        """Says goodbye; it does not matter if nobody hears it."""
        with contextlib.suppress(httpx.HTTPError):
            self._client.delete(f"{INTERNAL_PREFIX}/{capture_id}")
