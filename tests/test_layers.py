"""The architecture as arrows: who may import whom. The tables below are the rule; the code is checked against them.

cli ──────────┐
app ────────┐ ▼                cdc      events, codecs, filters, schemas: pure, bytes in, values out
migrations  ├─► spark_jobs.cdc sources  what a source URI says (and reads, later, with Spark)
            └─► spark_jobs.{sources, sinks, uris, folders, store, wire, plugins}
spark_jobs ──► itself alone; Spark only once a job runs
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.imports import Graph, below, graph_of, loaded_with, sources_below

PROJECT: Final = Path(__file__).resolve().parents[1]
OURS: Final = ("app", "cli", "migrations", "spark_jobs")
WORLD: Final = (
    *("os", "pathlib", "shutil", "tempfile", "io", "glob", "socket", "ssl", "http", "urllib", "subprocess", "signal"),
    *("time", "random", "secrets", "uuid", "threading", "multiprocessing", "asyncio", "logging", "importlib"),
)
WORKERS: Final = (
    "job",
    "read",
    "pairs",
    "held",
    "spool",
    "gather",
    "repeats",
    "pieces",
    "order",
    "horizon",
    "bad_message",
)


@dataclass(frozen=True)
class Only:
    """Of all modules inside ``family`` (``*``: of all there are), ``who`` imports only ``may`` and itself."""

    who: str
    family: str
    may: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.who}, of {self.family}, imports only {', '.join(self.may)}"


@dataclass(frozen=True)
class Never:
    """``who`` imports none of ``what``, not even for the type checker."""

    who: str
    what: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.who} never imports {', '.join(self.what)}"


@dataclass(frozen=True)
class Light:
    """Importing ``who`` imports none of ``what``, through other modules neither; functions may, later."""

    who: str
    what: tuple[str, ...]

    def __str__(self) -> str:
        return f"importing {self.who} leaves {', '.join(self.what)} alone"


SHARED: Final = tuple(
    f"spark_jobs.{name}" for name in ("cdc", "sources", "sinks", "uris", "folders", "store", "wire", "plugins")
)
RULES: Final = (
    # The control plane knows what should run and validates with the code that will run; it runs none of it.
    Only("app", "spark_jobs", SHARED),
    Never("app", ("pyspark", "cli", "tests", "bench")),
    Light("app", ("pyspark", "pyarrow", "pandas", "spark_jobs.pipeline", "spark_jobs.commitlog")),
    # The data plane does not know the control plane, except by HTTP (link, wire). It zips into --py-files.
    Never("spark_jobs", ("app", "cli", "migrations", "tests", "bench")),
    Never("spark_jobs", ("fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "pydantic", "pydantic_settings")),
    # Spark comes with the session: what parses, plans, or runs in a worker can be imported and tested without it.
    Light("spark_jobs", ("pyspark",)),
    *(Light(f"spark_jobs.pipeline.{name}", ("spark_jobs.commitlog", "httpx")) for name in WORKERS),
    # The heart is pure: no I/O, clock, environment, randomness.
    Only(
        "spark_jobs.cdc", "*", ("msgspec", "google.protobuf", "google_crc32c", "re2", "sqlglot", "the standard library")
    ),
    Never("spark_jobs.cdc", WORLD),
    # Inside the data plane: from what runs to what is known, never back.
    Only(
        "spark_jobs.commitlog",
        "spark_jobs",
        ("spark_jobs.cdc", "spark_jobs.store", "spark_jobs.failpoints", "spark_jobs.sinks.base"),
    ),
    Only("spark_jobs.sources", "spark_jobs", ("spark_jobs.cdc", "spark_jobs.uris", "spark_jobs.folders")),
    Only(
        "spark_jobs.sinks",
        "spark_jobs",
        ("spark_jobs.cdc", "spark_jobs.uris", "spark_jobs.folders", "spark_jobs.store", "spark_jobs.failpoints"),
    ),
    # The pipeline knows neither its source nor its sink: only what they promise.
    Only(
        "spark_jobs.pipeline",
        "spark_jobs",
        (
            *("spark_jobs.cdc", "spark_jobs.commitlog", "spark_jobs.store", "spark_jobs.failpoints"),
            *("spark_jobs.sources.base", "spark_jobs.sinks.base"),
        ),
    ),
    *(Only(f"spark_jobs.{name}", "spark_jobs", ("spark_jobs.cdc",)) for name in ("uris", "wire", "store")),
    Only("spark_jobs.plugins", "spark_jobs", ("spark_jobs.cdc", "spark_jobs.sources", "spark_jobs.sinks")),
    # The command-line tool is the codec library, without Spark, service or network.
    Only("cli", "*", ("msgspec", "spark_jobs.cdc", "spark_jobs.plugins", "the standard library")),
    # Migrations stand alone: a table's shape of that day, not the one of today's code.
    Never("migrations", ("spark_jobs", "cli", "app.tables", "app.context")),
)


def breaches(graph: Graph, rule: Only | Never | Light) -> Iterator[str]:
    """One sentence for each import that the rule forbids."""
    for who in (name for name in graph if below(name, rule.who)):
        if isinstance(rule, Light):
            chains = loaded_with(graph, who)
            yield from (chain for name, chain in chains.items() if name in rule.what and name != who)
            continue
        for item in graph[who]:
            if isinstance(rule, Never):
                if any(below(item.what, what) for what in rule.what):
                    yield str(item)
            elif (rule.family == "*" or below(item.what, rule.family)) and not _is_allowed(item.what, rule):
                yield str(item)


def _is_allowed(what: str, rule: Only) -> bool:
    is_standard = "the standard library" in rule.may and what.split(".")[0] in sys.stdlib_module_names
    return is_standard or any(below(what, family) for family in (rule.who, *rule.may))


@cache
def _graph() -> Graph:
    return graph_of(sources_below(PROJECT, OURS))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_arrows_hold(rule: Only | Never | Light) -> None:
    assert any(below(name, rule.who) for name in _graph()), f"there is no {rule.who} any more: take its rule out"
    assert list(breaches(_graph(), rule)) == []


def test_no_source_or_sink_is_told_by_its_type_outside_its_folder() -> None:
    """What the pipeline, the host and the control plane need to know of one, its spec says."""
    found = [
        breach
        for path in sorted(path for package in OURS for path in (PROJECT / package).rglob("*.py"))
        for breach in types_asked_for(path.relative_to(PROJECT), path.read_text())
    ]
    assert found == []


def types_asked_for(path: Path, text: str) -> Iterator[str]:
    """Each ``isinstance``, ``type(…) is`` or ``match`` with a class of a source's or sink's own folder."""
    tree = ast.parse(text)
    own = ".".join(path.parts[:3])
    classes = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        and _folder_of_its_own(node.module) and not below(node.module, own)
        for alias in node.names
    }  # fmt: skip
    for node in ast.walk(tree):
        asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        if asks or isinstance(node, ast.Compare | ast.MatchClass):
            named = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & classes
            if named:
                yield f"{path}:{getattr(node, 'lineno', 0)} asks for {', '.join(sorted(named))}"


def _folder_of_its_own(module: str) -> bool:
    parts = module.split(".")
    return (
        parts[:1] == ["spark_jobs"] and parts[1:2] in (["sources"], ["sinks"]) and len(parts) > 2 and parts[2] != "base"
    )


def test_a_question_for_a_type_is_found() -> None:
    text = "from spark_jobs.sources.folder.uri import FolderSource\nok = isinstance(spec, FolderSource)\n"
    assert list(types_asked_for(Path("app/changefeeds/validation.py"), text)) == [
        "app/changefeeds/validation.py:2 asks for FolderSource"
    ]
    assert list(types_asked_for(Path("spark_jobs/sources/folder/split.py"), text)) == []


SAMPLE: Final = {
    "app": "",
    "app.api": "from spark_jobs.pipeline import flow",
    "app.quiet": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pyspark\n",
    "app.lazy": "def f():\n    import pyspark.sql\n",
    "app.deep": "from app.lazy import f\nfrom spark_jobs import sources\n",
    "spark_jobs": "",
    "spark_jobs.sources": "from . import kafka",
    "spark_jobs.sources.kafka": "try:\n    from pyspark.sql import SparkSession\nexcept ImportError:\n    pass",
    "spark_jobs.pipeline": "",
    "spark_jobs.pipeline.flow": "import google.cloud\nfrom ..sources.kafka import x",
    "spark_jobs.cdc": "import os.path\nimport msgspec\nimport collections.abc",
}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Only("app", "spark_jobs", SHARED), ["app.api:1 imports spark_jobs.pipeline.flow when it is imported"]),
        (
            Never("app", ("pyspark",)),
            ["app.quiet:3 imports pyspark for types", "app.lazy:2 imports pyspark.sql inside a function"],
        ),
        (
            Light("app.deep", ("pyspark",)),
            ["app.deep → spark_jobs.sources → spark_jobs.sources.kafka → pyspark"],
        ),
        (Light("app.lazy", ("pyspark",)), []),
        (Only("spark_jobs.cdc", "*", ("msgspec", "the standard library")), []),
        (Never("spark_jobs.cdc", ("os",)), ["spark_jobs.cdc:1 imports os.path when it is imported"]),
        (
            Only("spark_jobs.pipeline", "*", ("google.protobuf",)),
            [
                "spark_jobs.pipeline.flow:1 imports google.cloud when it is imported",
                "spark_jobs.pipeline.flow:2 imports spark_jobs.sources.kafka when it is imported",
            ],
        ),
    ],
    ids=str,
)
def test_a_wrong_arrow_is_found(rule: Only | Never | Light, said: list[str]) -> None:
    assert list(breaches(graph_of(SAMPLE), rule)) == said
