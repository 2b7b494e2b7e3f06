"""Apache Flink beside Weir: its jars from PyPI in an environment of their own, one warm JVM that takes orders."""

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.events import NAMES
from bench.input import CACHE

HERE: Final = Path(__file__).parent
LOCK: Final = HERE.parent / "requirements" / "bench.lock"
VENV: Final = CACHE / "flink"
CLASSES: Final = CACHE / "flink-classes"
TEXTS: Final = ",".join(f"`{name}` STRING" for name in NAMES)
TYPED: Final = (
    "`id` BIGINT,`user_id` BIGINT,`status` TINYINT,`amount` DECIMAL(10,2),`name` STRING,`email` STRING,"
    "`created_at` TIMESTAMP(0),`updated_at` TIMESTAMP(6),`note` STRING,`score` DOUBLE"
)


class Flink:
    """A JVM with Flink. ``run`` takes the columns of the tables, a folder, and a folder or None (blackhole)."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, columns: str, source: Path, output: Path | None) -> float:
        """Seconds that the job itself ran, without the start of its cluster."""
        if output is not None:
            shutil.rmtree(output, ignore_errors=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{columns}\t{source}\t{output or ''}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("Flink ended; see above")
        return int(answer) / 1000


def version() -> str:
    """As it stands in the lock file."""
    return LOCK.read_text().partition("==")[2].split()[0]


@contextlib.contextmanager
def flink(parallelism: int) -> Iterator[Flink]:
    """A running JVM; installs and compiles on first use."""
    jars = f"{_jars()}/*"
    CLASSES.mkdir(parents=True, exist_ok=True)
    subprocess.run(["javac", "-cp", jars, "-d", str(CLASSES), str(HERE / "flink" / "Bench.java")], check=True)
    command = [
        "java",
        f"-Dlog4j2.configurationFile={HERE}/flink/log4j2.properties",
        "-cp",
        f"{CLASSES}:{jars}",
        "Bench",
    ]
    process = subprocess.Popen(
        [*command, str(parallelism)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr, text=True
    )
    try:
        yield Flink(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def _jars() -> Path:
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
    subprocess.run([*pip, "--only-binary", ":all:", "-r", str(LOCK)], check=True)
    (found,) = VENV.glob("lib/python*/site-packages/pyflink/lib")
    return found
