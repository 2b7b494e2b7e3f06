"""``docs/guarantees.md``: behind each sentence stands a test that there is."""

import ast
import re
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).resolve().parent
PAGE: Final = TESTS.parent / "docs" / "guarantees.md"
_PROOF: Final = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_each_test_that_the_page_names_is_there() -> None:
    named = _PROOF.findall(PAGE.read_text())
    assert len(named) > 50
    assert [f"{path}::{name}" for path, name in named if name not in _tests_of(TESTS / path)] == []


def test_each_sentence_has_a_proof() -> None:
    promised = PAGE.read_text().split("## Not promised")[0]
    sentences = re.findall(r"^- .*?(?=^- |^\n|^#|\Z)", promised, re.M | re.S)
    assert len(sentences) > 30
    assert [sentence for sentence in sentences if not _PROOF.search(sentence)] == []


def _tests_of(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
