"""What is missing is said in one sentence with the remedy, before anything else runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).resolve().parents[1]
SAYS: Final = "#!/bin/sh\necho 'openjdk version \"{}\" 2024-01-16' >&2\n"


def _program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def _check(python: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """With a PATH on which there is what the script itself calls, and whatever is in ``folder``."""
    for name in ("sh", "sed"):
        found = shutil.which(name)
        assert found
        if not (folder / name).exists():
            (folder / name).symlink_to(found)
    return subprocess.run(
        ["sh", str(PROJECT / "requirements/prerequisites.sh"), python],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(folder), **environment},
    )


@pytest.mark.parametrize("version", ["17.0.12", "21.0.4", "21"])
def test_nothing_is_said_when_all_is_there(tmp_path: Path, version: str) -> None:
    _program(tmp_path, "java", SAYS.format(version))
    done = _check(sys.executable, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("", "Java is missing; install Java 17 or 21"),
        ("1.8.0_392", "Java 8 does not fit Spark; install Java 17 or 21"),
        ("11.0.2", "Java 11 does not fit Spark; install Java 17 or 21"),
        ("25", "Java 25 does not fit Spark; install Java 17 or 21"),
        ("x", "Java of unknown version does not fit Spark; install Java 17 or 21"),
    ],
)
def test_java_that_does_not_fit_is_said(tmp_path: Path, version: str, said: str) -> None:
    if version:
        _program(tmp_path, "java", SAYS.format(version))
    done = _check(sys.executable, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"weir: {said}")
    assert done.stderr.count("\n") == 1


def test_java_home_is_asked_first(tmp_path: Path) -> None:
    _program(tmp_path, "java", SAYS.format("11.0.2"))
    _program(tmp_path / "jdk" / "bin", "java", SAYS.format("17.0.1"))
    assert _check(sys.executable, tmp_path, JAVA_HOME=str(tmp_path / "jdk")).returncode == 0


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("", "Python 3.11 or newer is missing"),
        ("#!/bin/sh\nexit 1\n", "is older than Python 3.11"),
        ('#!/bin/sh\ncase "$2" in *venv*) exit 1;; esac\n', "cannot make virtual environments"),
    ],
)
def test_python_that_does_not_fit_is_said(tmp_path: Path, script: str, said: str) -> None:
    python = str(_program(tmp_path, "python3", script)) if script else ""
    done = _check(python, tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_make_says_it_before_anything_else(tmp_path: Path) -> None:
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    command = ["make", "-s", "-C", str(PROJECT), "setup"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode != 0
    assert done.stderr.startswith("weir: Java is missing")
