"""Schemathesis against the OpenAPI document: whatever is sent, the answer is one that the document tells of."""

import json
import tempfile
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks

from app.api import make_api
from app.captures.repository import CaptureRepository
from app.database import Database
from app.owner.loop import Owner
from spark_jobs.wire import Registration
from tests.app.conftest import make_context
from tests.app.feeds import NOW

application = make_api(None)  # type: ignore[arg-type]
# The configuration has tests of its own, and generating that large a tree takes minutes; so does looking for brokers.
document = json.loads(json.dumps(application.openapi()).replace("kafka://", "gopher://"))
document["components"]["schemas"]["ReplicaConfig"] = {"type": "object"}
application.openapi_schema = document
schema = schemathesis.openapi.from_asgi("/openapi.json", application)

# Not held: a wrong method is 404, as in TiCDC; what is refused for its content (an unknown folder) is valid by its
# form.
CHECKS = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.use_after_free,
    checks.ensure_resource_availability,
    checks.ignored_auth,
)


@pytest.fixture(scope="module", autouse=True)
def replica():
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/weir.db")
        database.migrate()
        application.state.context = make_context(database, Path(folder), lambda: NOW)
        Owner(application.state.context).tick()
        with application.state.context.database.write() as connection:
            here = Registration(capture_id="c", address="h:1", pid=1, version="0.1.0")
            CaptureRepository(connection).register(here, now_ms=NOW, lease_until_ms=NOW + 50_000)
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
    case.validate_response(response, checks=CHECKS)


Calls = schema.exclude(path_regex="docs|stream|unsafe").as_state_machine()


class CallsInARow(Calls):  # type: ignore[valid-type,misc]
    """Calls that use what earlier ones answered."""

    def validate_response(self, response, case, **kwargs):
        case.validate_response(response, checks=CHECKS)


TestCallsInARow = CallsInARow.TestCase
TestCallsInARow.settings = settings(
    max_examples=40, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)
