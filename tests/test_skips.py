"""CI accepts no skip; elsewhere a skip is said by name and in the last line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
SKIPS = "import pytest\ndef test_first(): pass\ndef test_second(): pytest.skip('no such server here')\n"
PASSES = "def test_first(): pass\n"


def _run(folder: Path, source: str, ci: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_sample.py").write_text(source)
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(PROJECT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-ra", "-p", "tests.conftest", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)


@pytest.mark.parametrize(
    ("source", "ci", "status"),
    [(SKIPS, "true", 1), (SKIPS, "", 0), (PASSES, "true", 0)],
    ids=["a skip in CI", "a skip elsewhere", "no skip in CI"],
)
def test_only_a_skip_in_ci_fails_the_run(tmp_path: Path, source: str, ci: str, status: int) -> None:
    assert _run(tmp_path, source, ci).returncode == status


def test_a_skip_is_named_and_counted_in_the_last_line(tmp_path: Path) -> None:
    lines = _run(tmp_path, SKIPS, "").stdout.splitlines()
    assert any("no such server here" in line for line in lines)
    assert "1 passed, 1 skipped" in lines[-1]
