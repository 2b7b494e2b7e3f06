"""``compose.yaml`` is what Compose accepts, and fits the image that it runs."""

import json
import re
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

from app.settings import Settings
from tests.container.dockerfile import parse

PROJECT: Final = Path(__file__).resolve().parents[2]
SCHEMA: Final = json.loads((PROJECT / "tests/data/compose/compose-spec.json").read_text())
TEXT: Final = (PROJECT / "compose.yaml").read_text()


@pytest.fixture
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(TEXT)
    return loaded


def test_it_is_valid_by_the_schema_of_the_compose_specification(compose: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(compose)


def test_the_schema_tells_right_from_wrong(compose: dict[str, Any]) -> None:
    compose["services"]["weir"]["port"] = ["8300"]
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(compose)


def test_it_runs_weir_postgresql_and_kafka(compose: dict[str, Any]) -> None:
    images = {name: service["image"].split(":")[0] for name, service in compose["services"].items()}
    assert images == {"weir": "weir", "capture": "weir", "postgres": "postgres", "kafka": "apache/kafka"}


def test_whatever_waits_for_a_service_waits_for_one_with_a_health_check(compose: dict[str, Any]) -> None:
    checked = {name for name, service in compose["services"].items() if "test" in service.get("healthcheck", {})}
    awaited = {name for service in compose["services"].values() for name in service.get("depends_on", {})}
    assert awaited == checked | {"weir"}, "weir's own check is in the image"


def test_only_this_machine_reaches_the_ports(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_no_secret_has_a_value_in_the_file() -> None:
    secrets = re.findall(r"(?:PASSWORD|SECRET_KEY|TOKEN): (.*)", TEXT)
    assert secrets
    assert all(re.fullmatch(r"\$\{\w+:\?.*\}", value) for value in secrets)


def test_every_setting_of_weir_exists(compose: dict[str, Any]) -> None:
    dockerfile = (PROJECT / "Dockerfile").read_text()
    named = set(re.findall(r"WEIR_([A-Z_]+)", dockerfile + TEXT))
    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_named_volumes_are_mounted_where_the_image_declares_them(compose: dict[str, Any]) -> None:
    declared = [step.text for step in parse((PROJECT / "Dockerfile").read_text()) if step.name == "VOLUME"]
    mounts = compose["services"]["weir"]["volumes"]
    assert [mount.partition(":")[2] for mount in mounts] == declared
