"""What is in the repository: nothing of the machine it was written on, nothing unlocked, nothing undocumented."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import pytest

from tests.imports import graph_of, sources_below

PROJECT: Final = Path(__file__).resolve().parents[1]
PRODUCT: Final = ("app", "cli", "migrations", "spark_jobs")
LONGEST_MODULE: Final = 400
LONGEST_TEST: Final = 650
# Not written by us, kept as they came.
FOREIGN: Final = ("app/docs/static/swagger-ui/", "tests/data/compose/")
# Used by name only: drivers that SQLAlchemy loads, and what Spark's Arrow conversion asks for.
LOADED_BY_NAME: Final = {"psycopg", "pymysql", "pandas"}
# Parts of a declared distribution that go under a name of their own.
COMES_WITH: Final = {"starlette": "fastapi", "py4j": "pyspark"}
# With a bracket in each word, so that this file does not break its own rules.
FORBIDDEN: Final = {
    "a path of one machine": re.compile(r"(?<![\w.}-])/(?:[w]ork|[r]oot|[U]sers|[h]ome/(?!weir\b)[a-z]\w*)/\w"),
    "a registry's address": re.compile(
        r"[m]aven\.org|[s]onatype\.|[p]ypi\.(?:org|python)|[p]ythonhosted|[r]egistry\.npm|[d]ocker\.io/|[d]eb\.debian"
        r"|[g]oproxy|[a]rtifactory|[p]roxy\.golang"
    ),
    "a secret": re.compile(
        r"-----BEGIN [A-Z ]*[P]RIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_\w{36}|\bxox[bp]-\w{10}|\bsk-\w{32}"
    ),
}


@cache
def tracked() -> tuple[str, ...]:
    """The files of the repository; of an unpacked archive, everything that is not ignored by name."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is not a git checkout")
    return tuple(name for name in listed.stdout.split("\0") if name and (PROJECT / name).is_file())


def _texts() -> Iterator[tuple[str, str]]:
    for name in tracked():
        if not name.startswith(FOREIGN):
            yield name, (PROJECT / name).read_bytes().decode("utf-8", "replace")


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    found = {name: match[0] for name, text in _texts() if (match := FORBIDDEN[what].search(text))}
    assert found == {}


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a path of one machine", "see " + "/work" + "/x/y"),
        ("a path of one machine", "'" + "/home" + "/ann/data'"),
        ("a registry's address", "https://" + "pypi" + ".org/simple"),
        ("a secret", "key = AKIA" + "A" * 16),
    ],
)
def test_what_is_forbidden_is_recognised(what: str, text: str) -> None:
    assert FORBIDDEN[what].search(text)


def test_modules_are_short() -> None:
    lines = {
        name: text.count("\n")
        for name, text in _texts()
        if name.endswith(".py") and not name.startswith("spark_jobs/cdc/proto/")
    }
    limits = {name: LONGEST_TEST if name.startswith("tests/") else LONGEST_MODULE for name in lines}
    assert {name: count for name, count in lines.items() if count > limits[name]} == {}


def test_every_module_says_what_it_is_for() -> None:
    sources = sources_below(PROJECT, PRODUCT)
    silent = [
        name for name, text in sources.items() if text.strip() and not text.lstrip().startswith(('"""', 'r"""', "#"))
    ]
    assert silent == []


@pytest.mark.parametrize("name", ["runtime.lock", "dev.lock", "bench.lock"])
def test_dependencies_are_locked_with_hashes_and_without_an_index(name: str) -> None:
    text = (PROJECT / "requirements" / name).read_text()
    requirements = re.findall(
        r"^([\w.\[\]-]+)==\S+(?: ;[^\\]*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.M
    )
    assert len(requirements) == len(re.findall(r"^[^\s#]", text, re.M)) > 0
    assert not re.search(r"^\s*-(?!-hash)|://", text, re.M)


def test_what_runs_and_what_is_developed_with_have_the_same_versions() -> None:
    def versions(name: str) -> set[str]:
        return set(re.findall(r"^\S+==\S+", (PROJECT / "requirements" / name).read_text(), re.M))

    assert versions("runtime.lock") <= versions("dev.lock")


def test_java_archives_are_locked_by_their_sums() -> None:
    lines = (PROJECT / "requirements/jars.sha256").read_text().splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{64}  (spark|broker)/[\w.-]+\.jar", line) for line in lines)
    named = re.findall(r'name="([\w.-]+)" rev="([\w.-]+)"', (PROJECT / "requirements/jars.xml").read_text())
    locked = {line.split("/")[-1] for line in lines}
    assert {f"{artifact}-{version}.jar" for artifact, version in named} <= locked


def test_the_kafka_connector_has_the_version_of_spark() -> None:
    spark = re.search(r"^pyspark==(\S+)", (PROJECT / "requirements/runtime.lock").read_text(), re.M)
    assert spark
    assert f"spark/spark-sql-kafka-0-10_2.13-{spark[1]}.jar" in (PROJECT / "requirements/jars.sha256").read_text()


def test_the_product_declares_what_it_imports_and_nothing_else() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[\[<>=!~ ]", text)[0].lower() for text in declared}
    brought = packages_distributions()
    graph = graph_of(sources_below(PROJECT, PRODUCT))
    modules = {item.what.split(".")[0] for items in graph.values() for item in items}
    used = {name.lower().replace("_", "-") for module in modules for name in brought.get(module, [])} - {"weir"}
    assert {COMES_WITH.get(name, name) for name in used} - names == set()
    assert names - used - LOADED_BY_NAME == set()


def test_each_make_target_is_listed_by_help() -> None:
    text = (PROJECT / "Makefile").read_text()
    targets = set(re.findall(r"^\.PHONY: (\w+)$", text, re.M)) - {"prerequisites"}
    said = subprocess.run(["make", "-s", "help"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make (\w+) +\S", said, re.M)) == targets
    assert {"run", "setup", "test", "torture", "bench", "check", "help"} <= targets
    assert text.index("help:") < text.index("setup:"), "the default target comes first"


def test_each_module_that_make_starts_is_there() -> None:
    started = re.findall(r"-m (app|bench|tests[\w.]*)", (PROJECT / "Makefile").read_text())
    assert len(started) >= 4
    paths = [PROJECT / module.replace(".", "/") for module in started]
    assert [
        str(path) for path in paths if not path.with_suffix(".py").exists() and not (path / "__main__.py").exists()
    ] == []


def test_ci_runs_the_checks_and_then_the_tests() -> None:
    lines = (PROJECT / ".ci/run").read_text()
    assert 0 < lines.index("make check") < lines.index("make test")
    assert (PROJECT / ".ci/run").stat().st_mode & 0o111
