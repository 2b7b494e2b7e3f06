"""The lock on the door: with WEIR_ADMIN_TOKEN set, every call but liveness, readiness and documentation wants it."""

import re

import pytest

from app.errors import Unauthorized
from app.identity import require_admin
from tests.app.conftest import make_context
from tests.app.twin import CaptureTwin

TOKEN = "a-token-that-only-tests-use"


@pytest.fixture
def context(store, tmp_path, clock):
    return make_context(store, tmp_path / "home", clock, admin_token=TOKEN, capture_token="c" * 20)


def every_path(server):
    application, _ = server
    return [
        (method.upper(), re.sub(r"\{\w+\}", "1", path))
        for path, item in application.openapi()["paths"].items()
        for method in item
    ]


OPEN = {"/livez", "/readyz"}


def test_every_call_wants_the_token_but_those_that_probes_make(api, server):
    asked = every_path(server)
    assert len(asked) > 25
    for method, path in [*asked, ("GET", "/"), ("GET", "/status"), ("GET", "/nope")]:
        reply = api.request(method, path)
        if path in OPEN:
            assert reply.status_code in (200, 503), path
        else:
            assert (reply.status_code, reply.json()["error_code"]) == (401, "CDC:ErrCredentialNotFound"), path
            assert "WEIR_ADMIN_TOKEN" in reply.json()["error_msg"]
            assert reply.headers["www-authenticate"].startswith("Basic")


@pytest.mark.parametrize("path", ["/livez", "/docs", "/openapi.json", "/docs/static/exact.js"])
def test_the_documentation_is_open(api, path):
    assert api.get(path).status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        {"headers": {"authorization": f"Bearer {TOKEN}"}},
        {"headers": {"authorization": f"bearer {TOKEN}"}},
        {"auth": ("ada", TOKEN)},
        {"auth": ("", TOKEN)},
        {"auth": (TOKEN, "")},
    ],
    ids=["bearer", "any case", "a user's password", "no user", "in the user's place"],
)
def test_who_has_the_token_may(api, given):
    assert api.get("/api/v2/changefeeds", **given).status_code == 200


@pytest.mark.parametrize(
    "header",
    [f"Bearer {TOKEN}x", "Bearer", "Basic Og==", "Basic YWRhOndyb25n", "Basic !", "Digest x", "Bearer naïve".encode()],
)
def test_who_has_another_may_not(api, header):
    reply = api.get("/api/v2/changefeeds", headers={"authorization": header})
    assert reply.status_code == 401
    assert TOKEN not in reply.text


def test_the_history_tells_who_and_never_the_token(api, order):
    api.post("/api/v2/changefeeds", json=order(), auth=("ada", TOKEN)).raise_for_status()
    api.post("/api/v2/changefeeds/orders/pause", headers={"authorization": f"Bearer {TOKEN}"}).raise_for_status()
    api.post("/api/v2/changefeeds/orders/resume", auth=(TOKEN, "")).raise_for_status()
    shown = api.get("/api/v2/changefeeds/orders/history", auth=("ada", TOKEN))
    assert [item["who"].partition("@")[0] for item in shown.json()["items"]] == ["ada", "admin", "admin"]
    assert TOKEN not in shown.text


def test_captures_have_a_token_of_their_own(api):
    base = str(api.base_url)
    CaptureTwin(base, token="c" * 20).close()
    with pytest.raises(AssertionError, match="WEIR_CAPTURE_TOKEN"):
        CaptureTwin(base, token=TOKEN)


@pytest.mark.parametrize("path", ["/internal/v1/captures/../../../api/v2/changefeeds", "//livez", "/docs/static"])
def test_no_way_around(path):
    with pytest.raises(Unauthorized):
        require_admin(path.replace("/internal/v1/captures/../../..", ""), "", TOKEN)
