"""A real MariaDB (or MySQL) server on a free port, its data in a temporary folder."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any, Final

import pymysql

from tests.servers.ports import free_port

_START_SECONDS: Final = 60


def missing() -> str:
    """Why there can be no server here, "" when there can."""
    if _program("mariadbd") and _program("mariadb-install-db"):
        return ""
    return "MariaDB is not installed (make services)"


@contextlib.contextmanager
def mariadb() -> Iterator[str]:
    """A running server, as the SQLAlchemy URL of its ``test`` database; any local user may do anything."""
    folder = tempfile.mkdtemp(prefix="weir-mariadb-")
    user = _user()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    data, port = os.path.join(folder, "data"), free_port()
    try:
        _install(data, user)
        options = [f"--datadir={data}", f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/socket"]
        options += ["--skip-grant-tables", "--skip-networking=0", "--innodb-flush-log-at-trx-commit=0"]
        with open(os.path.join(folder, "log"), "wb") as log:
            command = [str(_program("mariadbd")), "--no-defaults", *options]
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **_as(user))
        try:
            _wait(server, port, folder)
            yield f"mysql+pymysql://root@127.0.0.1:{port}/test"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


def _user() -> pwd.struct_passwd | None:
    """The user to run as: the server refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("mysql", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _as(user: pwd.struct_passwd | None) -> dict[str, Any]:
    return {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _install(data: str, user: pwd.struct_passwd | None) -> None:
    command = [
        str(_program("mariadb-install-db")),
        "--no-defaults",
        f"--datadir={data}",
        "--auth-root-authentication-method=normal",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=os.path.dirname(data), **_as(user))
    if done.returncode:
        raise RuntimeError(f"mariadb-install-db failed: {done.stdout}{done.stderr}")


def _wait(server: subprocess.Popen[bytes], port: int, folder: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            pymysql.connect(host="127.0.0.1", port=port, user="root", connect_timeout=2).close()
            return
        except pymysql.err.OperationalError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(folder, "log")) as log:
                    raise RuntimeError(f"MariaDB did not start: {log.read()}") from error
            time.sleep(0.05)
