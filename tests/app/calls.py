"""Calls of the API that several tests make, and what their answers look like."""

import re

from spark_jobs.cdc import tso

JSON_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
PAST = tso.compose(1_763_694_000_000, 5)


def refused(reply, code, *words):
    """The reply is an error of TiCDC's shape with that code, in status 400."""
    assert reply.status_code == 400, reply.text
    body = reply.json()
    assert set(body) == {"error_msg", "error_code"}
    assert body["error_code"] == f"CDC:{code}", body
    assert f"[CDC:{code}]" in body["error_msg"]
    for word in words:
        assert word in body["error_msg"]
    return body["error_msg"]


def create(api, body, **params):
    reply = api.post("/api/v2/changefeeds", json=body, params=params)
    assert reply.status_code == 200, reply.text
    return reply.json()
