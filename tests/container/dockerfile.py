"""Dockerfile and .dockerignore, as much of them as ours uses. What is not known is an error, never skipped.

An instruction ends with its line, unless that ends with a backslash; comment lines inside are dropped. A JSON array is
the exec form, anything else the shell form (Dockerfile reference). In .dockerignore the last pattern that matches a
path, or a folder above it, decides; `!` takes it in again.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spark_jobs.sources.folder.glob import matcher

KNOWN: Final = frozenset(
    (
        "FROM",
        "RUN",
        "COPY",
        "ENV",
        "USER",
        "WORKDIR",
        "VOLUME",
        "EXPOSE",
        "HEALTHCHECK",
        "STOPSIGNAL",
        "ENTRYPOINT",
        "CMD",
    )
)


@dataclass(frozen=True)
class Instruction:
    """``words``: the arguments of the exec form, or of a list such as COPY's; ``text``: all of it as it stands."""

    name: str
    text: str
    line: int

    @property
    def words(self) -> list[str]:
        if self.is_exec_form:
            return [str(word) for word in json.loads(self.text)]
        return self.text.split()

    @property
    def is_exec_form(self) -> bool:
        return self.text.startswith("[")


def parse(text: str) -> list[Instruction]:
    """Raises ``ValueError`` with the line for an instruction that is not known here."""
    return list(_instructions(text))


def _instructions(text: str) -> Iterator[Instruction]:
    parts: list[str] = []
    began = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or (not line.strip() and not parts):
            continue
        began = began if parts else number
        parts.append(line.strip().removesuffix("\\").strip())
        if line.rstrip().endswith("\\"):
            continue
        name, _, rest = " ".join(parts).partition(" ")
        if name.upper() not in KNOWN:
            raise ValueError(f"line {began}: {name} is not an instruction that this project uses")
        yield Instruction(name.upper(), rest.strip(), began)
        parts = []


def settings_of(instruction: Instruction) -> dict[str, str]:
    """``ENV a=b c="d e"`` as pairs."""
    found = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)', instruction.text)
    return {name: value[1:-1] if value.startswith('"') else value for name, value in found}


def context_of(project: Path) -> list[Path]:
    """The files that a build may take, relative to the project."""
    patterns = _patterns((project / ".dockerignore").read_text())
    files: list[Path] = []
    for top in sorted(project.iterdir()):
        candidates = sorted(top.rglob("*")) if top.is_dir() and _is_taken(Path(top.name), patterns) else [top]
        relative = (path.relative_to(project) for path in candidates if path.is_file())
        files += [path for path in relative if _is_taken(path, patterns)]
    return files


def _patterns(text: str) -> list[tuple[bool, str]]:
    lines = (line.strip() for line in text.splitlines())
    return [
        (line.startswith("!"), line.removeprefix("!").strip("/")) for line in lines if line and not line.startswith("#")
    ]


def _is_taken(path: Path, patterns: list[tuple[bool, str]]) -> bool:
    """The last pattern decides that means the file or a folder that it is in."""
    names = [path.as_posix(), *(folder.as_posix() for folder in list(path.parents)[:-1])]
    taken = True
    for takes, pattern in patterns:
        if any(map(matcher(pattern), names)):
            taken = takes
    return taken
