"""What the API says of a source that cannot be reached."""

from tests.app.calls import refused
from tests.servers.ports import free_port


def test_a_broker_that_is_not_there_is_named_by_its_kind(api, order):
    body = order(source_uri=f"kafka://127.0.0.1:{free_port()}/t?protocol=canal-json")
    refused(api.post("/api/v2/changefeeds", json=body), "ErrSourceURIInvalid", "nothing listens there")
