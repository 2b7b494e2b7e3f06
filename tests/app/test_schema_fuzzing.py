"""Schemathesis against the OpenAPI document: whatever is sent, the answer is one that the document tells of."""

import json
import tempfile
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks

from app.api import make_api
from app.database import Database
from app.owner.loop import Owner
from tests.app.conftest import make_context
from tests.app.feeds import NOW

application = make_api(None)  # type: ignore[arg-type]
# The configuration has tests of its own, and generating that large a tree takes minutes; so does looking for brokers.
document = json.loads(json.dumps(application.openapi()).replace("kafka://", "gopher://"))
document["components"]["schemas"]["ReplicaConfig"] = {"type": "object"}
application.openapi_schema = document
schema = schemathesis.openapi.from_asgi("/openapi.json", application)


@pytest.fixture(scope="module", autouse=True)
def replica():
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/weir.db")
        database.migrate()
        application.state.context = make_context(database, Path(folder), lambda: NOW)
        Owner(application.state.context).tick()
        yield
        database.close()


@schema.exclude(path_regex="docs").parametrize()
@settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_brings_out_a_fault_of_weir(case):
    response = case.call()
    case.validate_response(
        response,
        checks=(checks.not_a_server_error, checks.response_schema_conformance, checks.content_type_conformance),
    )
