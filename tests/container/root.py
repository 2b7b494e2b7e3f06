"""A clean root of Debian's, and commands inside one.

No container engine is needed, but root, debootstrap, and namespaces (unshare). For ``python:3.11-slim-bookworm`` stands
a minimal bookworm with Debian's own Python 3.11, made to look alike: ``/usr/local/bin/python`` and ``pip``, and, as in
slim images, no manual pages. What a build machine's network needs is carried over: resolver, trust anchors, proxies,
pip's settings.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

BASES: Final = {"python:3.11-slim-bookworm": "bookworm"}
_PACKAGES: Final = "ca-certificates,netbase,python3,python3-venv,tzdata"
_NETWORK: Final = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SLIM: Final = "path-exclude /usr/share/man/*\npath-exclude /usr/share/doc/*\n"
_APT: Final = 'Acquire::Retries "5";\n'


def missing() -> str:
    """Why no root can be made here, "" when it can."""
    if os.geteuid() != 0:
        return "making a clean root needs root"
    for program, package in {"debootstrap": "make services", "unshare": "util-linux", "chroot": "coreutils"}.items():
        if not shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
            return f"{program} is not installed ({package})"
    probe = subprocess.run([*_namespaces(Path("/")), "true"], capture_output=True, check=False)
    return "" if probe.returncode == 0 else "this machine does not allow namespaces (unshare)"


def make_root(image: str, target: Path, cache: Path) -> None:
    """Fills ``target`` with the stand-in for ``image``, which is made once and kept in ``cache``."""
    suite = BASES[image]
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    kept = cache / f"{suite}-{recipe}"
    if not kept.exists():
        fresh = cache / f"{suite}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        cache.mkdir(parents=True, exist_ok=True)
        _bootstrap(suite, fresh)
        fresh.rename(kept)
    subprocess.run(["cp", "-a", "--reflink=auto", f"{kept}/.", str(target)], check=True)
    _carry_over_network(target)


def run(
    root: Path,
    command: Sequence[str],
    *,
    user: str = "0:0",
    folder: str = "/",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """A command to its end, its output as text."""
    return subprocess.run(
        inside(root, command, user=user, folder=folder, environment=environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def inside(root: Path, command: Sequence[str], *, user: str, folder: str, environment: Mapping[str, str]) -> list[str]:
    """The command line that runs ``command`` in that root, as process 1 of its own, with that environment alone."""
    uid, _, gid = user.partition(":")
    variables = {"PATH": _PATH, "HOME": _home(root, uid), **environment}
    return [
        *_namespaces(root),
        *("setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups", "--no-new-privs"),
        *("env", "-i", f"--chdir={folder}", *(f"{name}={value}" for name, value in variables.items())),
        *command,
    ]


def network_environment() -> dict[str, str]:
    """What a build step needs to reach registries from this machine."""
    return {name: value for name, value in os.environ.items() if name in _NETWORK or name.startswith("PIP_")}


def processes(root: Path) -> list[int]:
    """The processes whose root it is."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry / "root") == str(root):
                found.append(int(entry.name))
    return found


def _home(root: Path, uid: str) -> str:
    entries = (line.split(":") for line in (root / "etc/passwd").read_text().splitlines())
    return next((entry[5] for entry in entries if entry[2] == uid), "/")


def _namespaces(root: Path) -> list[str]:
    return ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", f"--root={root}", "--mount-proc"]


def _bootstrap(suite: str, target: Path) -> None:
    _checked(["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", suite, str(target)])
    (target / "etc/dpkg/dpkg.cfg.d/slim").write_text(_SLIM)
    (target / "etc/apt/apt.conf.d/80-weir").write_text(_APT)
    shutil.rmtree(target / "usr/share/man")
    (target / "dev/shm").mkdir(exist_ok=True)
    (target / "dev/shm").chmod(0o1777)
    _carry_over_network(target)
    made = run(target, ["python3", "-m", "venv", "/usr/local"])
    if made.returncode:
        raise RuntimeError(f"Python could not be put into /usr/local: {made.stdout}")


def _carry_over_network(root: Path) -> None:
    for name in ("resolv.conf", "hosts", "pip.conf"):
        if Path("/etc", name).exists():
            shutil.copyfile(f"/etc/{name}", root / "etc" / name)
    anchors = list(_certificates())
    for path in anchors:
        shutil.copy(path, root / "usr/local/share/ca-certificates")
    if anchors:
        _checked(inside(root, ["update-ca-certificates"], user="0:0", folder="/", environment={}))


def _certificates() -> Iterator[Path]:
    yield from Path("/usr/local/share/ca-certificates").glob("*.crt")


def _checked(command: Iterable[str]) -> None:
    done = subprocess.run(list(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
