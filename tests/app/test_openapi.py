"""The API's documentation: complete, true, exact, and without another host."""

import json
import re
import shutil
import subprocess
from decimal import Decimal

import jsonschema
import pytest

from app.docs.pages import STATIC

METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def spec(server):
    application, _ = server
    return application.openapi()


def operations(spec):
    return [
        (f"{method.upper()} {path}", operation)
        for path, item in spec["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]


def test_every_call_of_the_contract_is_there(spec):
    calls = {name for name, _ in operations(spec)}
    feed = "/api/v2/changefeeds/{changefeed_id}"
    assert {
        "GET /api/v2/changefeeds",
        "POST /api/v2/changefeeds",
        *(f"{method} {feed}" for method in ("GET", "PUT", "DELETE")),
        *(f"GET {feed}/{part}" for part in ("status", "checkpoint", "progress", "logs", "history", "synced")),
        *(f"POST {feed}/{part}" for part in ("pause", "resume")),
        *(f"{method} /api/v2/upstreams/{{upstream_id}}" for method in ("GET", "PUT", "DELETE")),
        "GET /api/v2/captures",
        "GET /api/v2/processors",
        "POST /api/v2/tso",
        "POST /api/v2/verify_table",
        "GET /livez",
        "GET /readyz",
        "GET /metrics",
    } <= calls
    assert not [call for call in calls if "internal" in call]


def examples_of(operation):
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    given = [("the body", content.get("schema"), example["value"]) for example in content.get("examples", {}).values()]
    (status,) = operation["responses"].keys() & {"200", "202"}
    reply = operation["responses"][status]["content"]
    if "application/json" in reply:
        given.append(("the reply", reply["application/json"]["schema"], reply["application/json"].get("example")))
    return given


def test_every_call_has_a_worked_example_that_is_true_to_its_schema(spec):
    for name, operation in operations(spec):
        assert operation["summary"], name
        assert operation["description"], name
        body = operation.get("requestBody")
        assert body is None or body["content"]["application/json"]["examples"], name
        for what, schema, example in examples_of(operation):
            assert example is not None, (name, what)
            assert schema is not None, (name, what)
            jsonschema.validate(example, {**schema, "components": spec["components"]})


def body_of(spec, call, case):
    method, path = call.split()
    content = spec["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]
    return content["examples"][case]["value"]


def test_the_examples_can_be_sent_as_they_are(api, context):
    (context.settings.home / "demo" / "source").mkdir(parents=True)
    spec = api.get("/openapi.json").json()
    feeds, feed = "/api/v2/changefeeds", "/api/v2/changefeeds/{changefeed_id}"
    orders = [
        (f"POST {feeds}", "from a folder"),
        (f"POST {feed}/pause", None),
        (f"PUT {feed}", "another filter"),
        (f"PUT {feed}", "a target"),
        (f"POST {feed}/resume", "deliver again"),
        ("POST /api/v2/verify_table", "a filter"),
        ("POST /api/v2/tso", "as cdc cli sends it"),
        ("POST /api/v2/upstreams", "a folder"),
        ("PUT /api/v2/upstreams/{upstream_id}", "a folder"),
    ]
    for call, case in orders:
        method, path = call.format(changefeed_id="sample", upstream_id=1).split()
        body = body_of(spec, call, case) if case else None
        reply = api.request(method, path, json=body)
        assert reply.status_code == 200, (call, reply.text)


def test_every_part_of_a_path_has_an_example(spec):
    for name, operation in operations(spec):
        for parameter in operation.get("parameters", []):
            assert parameter["in"] != "path" or parameter["examples"], (name, parameter["name"])


def whole_numbers(value):
    if isinstance(value, dict):
        return [number for item in value.values() for number in whole_numbers(item)]
    if isinstance(value, list):
        return [number for item in value for number in whole_numbers(item)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


def test_a_browser_shows_every_number_of_the_specification_exactly(spec):
    """A browser prints the shortest text that reads back as the same double, as Python's repr does."""
    large = [number for number in whole_numbers(spec) if number > 2**53]
    assert large, "the examples show TSOs"
    assert [number for number in large if Decimal(repr(float(number))) != number] == []


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed (make services)")
@pytest.mark.parametrize(
    "text",
    [
        '{"ts":462341862432243713,"a":[1,{},[],"x\\"{,}: y\\\\"],"n":null,"f":-1.5e+3}',
        "[]",
        "5",
        '{"a":{"b":[[1],[2]]}}',
    ],
    ids=["all kinds", "empty", "a number", "nested"],
)
def test_the_page_indents_replies_without_touching_a_number(text):
    script = f"process.stdout.write(require({str(STATIC / 'exact.js')!r}).indented({text!r}))"
    shown = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout
    assert shown == json.dumps(json.loads(text), indent=2).replace("-1500.0", "-1.5e+3")


def test_the_page_and_its_assets_come_from_here(api):
    page = api.get("/docs")
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assets = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(assets) == 4
    for asset in assets:
        assert "//" not in asset
        assert api.get(f"/{asset}").status_code == 200
    assert api.get("/openapi.json").json()["openapi"].startswith("3.")


def test_the_bundled_assets_come_with_their_licence():
    assert {"LICENSE", "NOTICE", "README.md"} <= {path.name for path in (STATIC / "swagger-ui").iterdir()}
