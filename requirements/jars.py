"""Java archives: resolved once from ``jars.xml`` into ``jars/``, and held to the sums in ``jars.sha256``.

    python requirements/jars.py fetch [spark] [broker]    what is missing or differs, then the check of every sum
    python requirements/jars.py lock                      resolves everything anew and writes the sums

Ivy does the resolving; it comes inside pyspark, so that nothing but Java is needed. IVY_SETTINGS may name a settings
file of Ivy, for a mirror. Run with the Python that has pyspark.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = HERE.parent
JARS: Final = PROJECT / "jars"
LOCK: Final = HERE / "jars.sha256"
SETS: Final = ("spark", "broker")
_PAUSES_SECONDS: Final = (0, 2, 10, 30)


class JarsError(Exception):
    """The archives cannot be had; the text is one sentence with the remedy."""


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    command, *names = arguments or ["help"]
    try:
        if command == "fetch" and set(names) <= set(SETS):
            for name in names or SETS:
                fetch(name)
        elif command == "lock" and not names:
            lock()
        else:
            print(__doc__)
            return 2
    except JarsError as error:
        print(f"jars: {error}", file=sys.stderr)
        return 1
    return 0


def fetch(name: str) -> None:
    """Makes ``jars/<name>`` hold exactly the locked archives; quick when it does."""
    wanted = {path: total for path, total in _read_lock().items() if path.startswith(f"{name}/")}
    if _sums(JARS / name) == wanted:
        return
    with _resolved([name]) as folder:
        found = _sums(Path(folder) / name)
        if found != wanted:
            wrong = ", ".join(sorted(path for path, _ in set(found.items()) ^ set(wanted.items())))
            raise JarsError(f"what was downloaded is not what {LOCK.name} names ({wrong}); nothing was kept")
        _replace(Path(folder) / name, JARS / name)
    print(f"jars: {len(wanted)} archives in jars/{name}")


def lock() -> None:
    """Writes the sums of what ``jars.xml`` resolves to now, and keeps the archives."""
    with _resolved(SETS) as folder:
        sums = {path: total for name in SETS for path, total in _sums(Path(folder) / name).items()}
        for name in SETS:
            _replace(Path(folder) / name, JARS / name)
    LOCK.write_text("".join(f"{total}  {path}\n" for path, total in sorted(sums.items())))
    print(f"jars: {len(sums)} sums in {LOCK.name}")


def _resolved(names: Sequence[str]) -> "tempfile.TemporaryDirectory[str]":
    """A new folder inside ``jars/`` (so that moving is a rename) with one folder of archives for each name."""
    JARS.mkdir(exist_ok=True)
    folder = tempfile.TemporaryDirectory(prefix=".new-", dir=JARS)
    said: str | None = ""
    for pause in _PAUSES_SECONDS:
        if pause:
            print(f"jars: the download failed, again in {pause} s", file=sys.stderr)
        time.sleep(pause)
        said = _run_ivy(names, Path(folder.name))
        if said is None:
            return folder
    folder.cleanup()
    raise JarsError(f"the archives could not be downloaded; check the network and try again. Ivy said:\n{said}")


def _run_ivy(names: Sequence[str], target: Path) -> str | None:
    """None when all went well, else Ivy's last lines. What is already in the cache is not downloaded again."""
    settings = os.environ.get("IVY_SETTINGS")
    done = subprocess.run(
        [
            _java(),
            "-Djava.net.useSystemProxies=true",
            *("-jar", str(_ivy())),
            *(["-settings", settings] if settings else []),
            *("-ivy", str(HERE / "jars.xml"), "-cache", str(PROJECT / "build" / "ivy")),
            *("-retrieve", f"{target}/[conf]/[artifact]-[revision].[ext]"),
            *("-confs", *names, "-types", "jar", "bundle", "-warn"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    complete = all(any((target / name).glob("*.jar")) for name in names)
    return None if done.returncode == 0 and complete else "\n".join(done.stdout.splitlines()[-15:])


def _ivy() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsError("pyspark is not installed in this Python; run `make setup`")
    return next((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java:
        raise JarsError("Java is missing; install Java 17 or 21")
    return java


def _read_lock() -> dict[str, str]:
    """Path below ``jars/`` → sum."""
    pairs = (line.split() for line in LOCK.read_text().splitlines())
    return {path: total for total, path in pairs}


def _sums(folder: Path) -> dict[str, str]:
    return {f"{folder.name}/{path.name}": _sum(path) for path in sorted(folder.glob("*.jar"))}


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _replace(new: Path, old: Path) -> None:
    shutil.rmtree(old, ignore_errors=True)
    new.rename(old)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
