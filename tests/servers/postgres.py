"""A real PostgreSQL server on a free port, its data in a temporary folder, as a user it accepts (it refuses root)."""

import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from tests.servers.ports import free_port

_PATTERNS: Final = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")
_START_SECONDS: Final = 60


def binaries() -> str | None:
    """The folder of the server's programs, the newest version's; None when it is not installed."""
    on_path = shutil.which("initdb")
    if on_path:
        return os.path.dirname(os.path.realpath(on_path))
    found = sorted(folder for pattern in _PATTERNS for folder in glob.glob(pattern))
    return found[-1] if found else None


def missing() -> str:
    """Why there can be no server here, "" when there can."""
    if binaries() is None:
        return "PostgreSQL is not installed (make services)"
    if os.geteuid() == 0 and _user() is None:
        return "PostgreSQL refuses root, and there is no user postgres or nobody"
    return ""


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """A running server, as the SQLAlchemy URL of its maintenance database."""
    folder = tempfile.mkdtemp(prefix="weir-postgres-")
    user = _user() if os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    port, data = free_port(), os.path.join(folder, "data")
    try:
        _run(user, [f"{binaries()}/initdb", "-D", data, "-U", "weir", "-A", "trust", "-E", "UTF8", "--no-sync"], folder)
        options = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": folder, "fsync": "off"}
        command = [f"{binaries()}/postgres", "-D", data]
        command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with open(os.path.join(folder, "log"), "wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **_as(user))
        try:
            _wait(server, port, folder)
            yield f"postgresql://weir@127.0.0.1:{port}/postgres"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> pwd.struct_passwd | None:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _as(user: pwd.struct_passwd | None) -> dict[str, Any]:
    return {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _run(user: pwd.struct_passwd | None, command: list[str], folder: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, **_as(user))
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr}")


def _wait(server: subprocess.Popen[bytes], port: int, folder: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(f"host=127.0.0.1 port={port} user=weir dbname=postgres connect_timeout=2").close()
            return
        except psycopg.OperationalError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(folder, "log")) as log:
                    raise RuntimeError(f"PostgreSQL did not start: {log.read()}") from error
            time.sleep(0.05)
