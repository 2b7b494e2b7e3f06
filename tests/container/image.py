"""An image made by executing a Dockerfile's instructions in a clean root, and containers of it."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.container import root as roots
from tests.container.dockerfile import Instruction, context_of, parse, settings_of
from tests.servers.processes import server

_START_SECONDS: Final = 120


@dataclass
class Image:
    """Its root, and what the Dockerfile says of running it."""

    project: Path
    root: Path
    cache: Path
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    folder: str = "/"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)
    stop_signal: str = "SIGTERM"

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """``docker exec``: a command beside the entry point, as the image's user."""
        return roots.run(self.root, command, user=self.user, folder=self.folder, environment=self.environment)


def build(project: Path, root: Path, cache: Path) -> Image:
    """Executes the project's Dockerfile in ``root``, an empty folder; the first step that fails is named."""
    image = Image(project, root, cache)
    for step in parse((project / "Dockerfile").read_text()):
        _STEPS[step.name](image, step)
    return image


def _from(image: Image, step: Instruction) -> None:
    roots.make_root(step.text, image.root, image.cache)


def _run(image: Image, step: Instruction) -> None:
    command = step.words if step.is_exec_form else ["/bin/sh", "-c", step.text]
    environment = {**roots.network_environment(), **image.environment}
    done = roots.run(image.root, command, user=image.user, folder=image.folder, environment=environment)
    if done.returncode:
        raise RuntimeError(f"Dockerfile, line {step.line}: RUN ended with {done.returncode}:\n{done.stdout[-4000:]}")


def _copy(image: Image, step: Instruction) -> None:
    *sources, target = step.words
    into = image.root / os.path.join(image.folder, target).lstrip("/")
    context = context_of(image.project)
    for source in sources:
        base = Path(source)
        files = [path for path in context if path == base or base in path.parents]
        if not files:
            raise RuntimeError(f"Dockerfile, line {step.line}: COPY finds no {source} in the build context")
        for path in files:
            place = into / (path.name if path == base else path.relative_to(base))
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(image.project / path, place)


def _env(image: Image, step: Instruction) -> None:
    image.environment.update(settings_of(step))


def _workdir(image: Image, step: Instruction) -> None:
    image.folder = os.path.join(image.folder, step.text)
    (image.root / image.folder.lstrip("/")).mkdir(parents=True, exist_ok=True)


def _health(image: Image, step: Instruction) -> None:
    _, _, command = step.text.partition("CMD ")
    image.health = json.loads(command)


def _keep(name: str) -> Callable[[Image, Instruction], None]:
    return lambda image, step: setattr(image, name, step.text)


def _keep_words(name: str) -> Callable[[Image, Instruction], None]:
    return lambda image, step: setattr(image, name, step.words)


_STEPS: Final[Mapping[str, Callable[[Image, Instruction], None]]] = {
    "FROM": _from,
    "RUN": _run,
    "COPY": _copy,
    "ENV": _env,
    "WORKDIR": _workdir,
    "HEALTHCHECK": _health,
    "USER": _keep("user"),
    "STOPSIGNAL": _keep("stop_signal"),
    "ENTRYPOINT": _keep_words("entrypoint"),
    "CMD": _keep_words("command"),
    "VOLUME": _keep_words("volumes"),
    "EXPOSE": _keep_words("ports"),
}


class Container:
    """A running entry point: process 1 of its own namespace."""

    def __init__(
        self, image: Image, process: subprocess.Popen[bytes], log: Path, environment: Mapping[str, str]
    ) -> None:
        self.image = image
        self.environment = environment
        self._process = process
        self._log = log

    def is_healthy(self) -> bool:
        """What the HEALTHCHECK says at this moment."""
        environment = {**self.image.environment, **self.environment}
        return (
            roots.run(self.image.root, self.image.health, user=self.image.user, environment=environment).returncode == 0
        )

    def wait_for(self, holds: Callable[[], bool], what: str, seconds: float = _START_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"waited in vain for {what}; the container's output:\n{self.output()}")
            time.sleep(0.2)

    def stop(self, seconds: float = 60) -> int:
        """``docker stop``: the stop signal to process 1; its exit status. Later than ``seconds`` is an error."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.Signals[self.image.stop_signal])
        return self._process.wait(seconds)

    def output(self) -> str:
        return self._log.read_text(errors="replace")[-6000:]


@contextmanager
def container(
    image: Image, log: Path, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Container]:
    """``docker run``: the entry point with these arguments, or the image's; whatever is left ends with the context."""
    given = dict(environment or {})
    command = [*image.entrypoint, *(arguments or image.command)]
    line = roots.inside(
        image.root, command, user=image.user, folder=image.folder, environment={**image.environment, **given}
    )
    with server(line, log) as process:
        yield Container(image, process, log, given)
