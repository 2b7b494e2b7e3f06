"""The references under ``docs/`` are made from the program, and complete."""

import re
from pathlib import Path

import pytest

from app.changefeeds.parameters import OF_SINKS, OF_SOURCES
from app.docs import reference
from app.docs.codes import CODES
from app.docs.config_schema import DOES, keys
from app.replica_config.effect import NO_USE, ONLY_WITH
from app.settings import variables
from spark_jobs.sinks import SINKS
from spark_jobs.sources import SOURCES

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", reference.FILES)
def test_a_reference_is_up_to_date(name):
    made = reference.FILES[name]()
    assert (PROJECT / "docs" / name).read_text() == made, "make it anew: python -m app.docs.reference"


def raised():
    """Every code that the program names."""
    found = set()
    for folder in ("app", "spark_jobs"):
        for path in (PROJECT / folder).rglob("*.py"):
            found |= set(re.findall(r"CDC:(Err[A-Za-z0-9]+)", path.read_text()))
    return found


def test_every_error_code_is_explained_and_no_other():
    codes = raised()
    assert codes - CODES.keys() == set()
    assert CODES.keys() - codes - {"ErrKafkaInvalidConfig"} == set()


def test_every_scheme_has_its_parameters_in_the_reference():
    assert OF_SOURCES.keys() == SOURCES.keys()
    assert OF_SINKS.keys() == SINKS.keys()


def test_every_setting_is_in_the_reference():
    text = reference.parameters()
    assert all(f"`{name}`" in text for name in variables())


def test_every_key_of_the_configuration_says_what_it_does():
    paths = {key.path for key in keys()}
    assert [key.path for key in keys() if not key.meaning] == []
    assert {*DOES, *NO_USE, *ONLY_WITH} - paths == set(), "no table names a key that is none"


def test_every_field_and_parameter_of_the_document_has_a_description(server):
    document = server[0].openapi()
    silent = [
        f"{model}.{name}"
        for model, schema in document["components"]["schemas"].items()
        for name, shown in schema.get("properties", {}).items()
        if not shown.get("description")
    ]
    for path, item in document["paths"].items():
        for operation in item.values():
            silent += [f"{path} {p['name']}" for p in operation.get("parameters", []) if not p.get("description")]
    assert silent == []


def test_states_and_choices_are_enums_and_what_is_required_is_marked(server):
    schemas = server[0].openapi()["components"]["schemas"]
    assert "warning" in schemas["ChangefeedInfo"]["properties"]["state"]["enum"]
    assert schemas["ReplicaConfig"]["properties"]["performance_mode"]["enum"] == ["throughput", "low-latency"]
    assert schemas["CreateRequest"]["required"] == ["sink_uri"]
    assert schemas["ReplicaConfig"]["properties"]["bdr_mode"]["description"].startswith("No effect: ")
    assert schemas["CreateRequest"]["additionalProperties"] is False
