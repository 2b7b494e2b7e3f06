"""Fixtures that every test may use, and the rule about skipped tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import kafka as kafka_server

# How fast the machine is says nothing about the code.
settings.register_profile("weir", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("weir")


@pytest.fixture(scope="session")
def kafka() -> Iterator[kafka_server.Kafka]:
    """One broker for the whole run: tests take topics of their own."""
    reason = kafka_server.missing()
    if reason:
        pytest.skip(reason)
    with kafka_server.broker() as running:
        yield running


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """CI accepts no skip: what could not run there was not tested."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
