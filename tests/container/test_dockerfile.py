"""What the Dockerfile says, read by a linter and by our own reader; and that reader's own rules."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.container.dockerfile import Instruction, context_of, parse, settings_of

PROJECT: Final = Path(__file__).resolve().parents[2]
STEPS: Final = parse((PROJECT / "Dockerfile").read_text())


def _texts(name: str) -> list[str]:
    return [step.text for step in STEPS if step.name == name]


def _lint(path: Path) -> subprocess.CompletedProcess[str]:
    linter = shutil.which("hadolint", path=Path(sys.executable).parent)
    assert linter, "hadolint is among the development dependencies (make setup)"
    return subprocess.run([linter, "--no-color", str(path)], capture_output=True, text=True, check=False)


def test_the_linter_finds_nothing() -> None:
    done = _lint(PROJECT / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_finds_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM python:latest\nRUN cd /opt && sudo apt-get install x\nCMD python -m app\n")
    done = _lint(path)
    assert done.returncode != 0
    assert "DL3007" in done.stdout


def test_it_runs_as_a_user_that_is_not_root() -> None:
    user = _texts("USER")[-1]
    assert user.split(":")[0].isdigit()
    assert int(user.split(":")[0]) > 0


def test_one_entry_point_serves_both_roles() -> None:
    assert _texts("ENTRYPOINT") == ['["python", "-m"]']
    assert _texts("CMD") == ['["app"]']


def test_it_has_a_health_check_a_volume_and_an_orderly_end() -> None:
    assert "/readyz" in _texts("HEALTHCHECK")[0]
    assert _texts("VOLUME") == ["/data"]
    assert _texts("STOPSIGNAL") == ["SIGTERM"]


def test_the_build_context_holds_the_code_and_nothing_else() -> None:
    files = {path.as_posix() for path in context_of(PROJECT)}
    assert {"app/__main__.py", "spark_jobs/capture.py", "requirements/runtime.lock", "LICENSE"} <= files
    assert {path.split("/")[0] for path in files} == {
        *("LICENSE", "app", "cli", "migrations", "requirements", "spark_jobs")
    }
    assert not [path for path in files if path.endswith(".pyc")]


def test_browser_assets_are_in_the_build_context() -> None:
    assert PROJECT / "app/docs/static/swagger-ui/swagger-ui.css" in {PROJECT / path for path in context_of(PROJECT)}


def test_lines_are_joined_and_comments_dropped() -> None:
    text = '# c\n\nRUN a \\\n  # inside\n  && b\ncmd ["x", "y z"]\n'
    assert parse(text) == [Instruction("RUN", "a && b", 3), Instruction("CMD", '["x", "y z"]', 6)]
    assert parse(text)[1].words == ["x", "y z"]


def test_an_unknown_instruction_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 2: ONBUILD"):
        parse("FROM a\nONBUILD RUN b\n")


def test_settings_may_be_quoted() -> None:
    assert settings_of(Instruction("ENV", 'A=b C="d e"', 1)) == {"A": "b", "C": "d e"}


@pytest.mark.parametrize(
    ("ignore", "taken"),
    [
        ("*\n!a\n", ["a/x.py", "a/y.pyc"]),
        ("**/*.pyc\nb\n", [".dockerignore", "a/x.py", "c.txt"]),
        ("*\n!a\n**/*.pyc\n", ["a/x.py"]),
        ("a/*.py\n", [".dockerignore", "a/y.pyc", "b/z", "c.txt"]),
    ],
)
def test_the_last_pattern_that_matches_decides(tmp_path: Path, ignore: str, taken: list[str]) -> None:
    for name in ("a/x.py", "a/y.pyc", "b/z", "c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".dockerignore").write_text(ignore)
    assert [path.as_posix() for path in context_of(tmp_path)] == taken
