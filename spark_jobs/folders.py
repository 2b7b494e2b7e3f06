"""Local folders that URIs name: safe paths, permitted roots, readable and writable checks."""

import contextlib
import os
import secrets

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.uris import Uri


def local_path(uri: Uri, *, what: str, code: str) -> str:
    """The absolute folder of a ``file://`` URI; refuses hosts, relative paths and ``..``."""
    if uri.hosts not in ("", "localhost"):
        raise ConfigError(
            f"{what}: file:// takes an absolute path and no host; write file:///{uri.hosts}{uri.path}", code=code
        )
    if uri.user or uri.password:
        raise ConfigError(f"{what}: file:// takes no user or password", code=code)
    if not uri.path.startswith("/") or uri.path.strip("/") == "":
        raise ConfigError(f"{what}: file:// needs an absolute folder such as file:///var/lib/feed", code=code)
    if "\0" in uri.path:
        raise ConfigError(f"{what}: the path {uri.path!r} contains a NUL character", code=code)
    if ".." in uri.path.split("/"):
        raise ConfigError(f"{what}: the path {uri.path!r} contains '..'; give the folder itself", code=code)
    return os.path.normpath(uri.path)


def require_inside(path: str, roots: tuple[str, ...] | None, *, what: str, code: str) -> None:
    """Refuses a path outside ``roots`` (symbolic links resolved); None permits any."""
    if roots is None:
        return
    real = os.path.realpath(path)
    for root in roots:
        top = os.path.realpath(root)
        if real == top or real.startswith(top.rstrip("/") + "/"):
            return
    allowed = ", ".join(roots) or "none"
    raise ConfigError(f"{what}: {path} is outside the folders that WEIR_FILE_ROOTS permits ({allowed})", code=code)


def overlap(one: str, other: str) -> bool:
    """Whether two folders are the same, or one is within the other (symbolic links resolved)."""
    first, second = (os.path.realpath(path).rstrip("/") + "/" for path in (one, other))
    return first.startswith(second) or second.startswith(first)


def check_readable(path: str, *, what: str, code: str) -> None:
    """Refuses a folder that is not there or cannot be listed."""
    if not os.path.isdir(path):
        raise ConfigError(f"{what}: there is no folder {path}; create it first", code=code)
    try:
        os.listdir(path)
    except OSError as error:
        raise ConfigError(f"{what}: the folder {path} cannot be read: {error.strerror}", code=code) from None


def check_writable(path: str, *, what: str, code: str) -> None:
    """Proves that files can be written, linked and removed in the folder; where it is not there yet, in the nearest
    folder above it. Leaves nothing behind."""
    existing = path
    while not _is_there(existing, path, what, code):
        existing = os.path.dirname(existing)
    probe = os.path.join(existing, f".weir-probe-{secrets.token_hex(6)}")
    try:
        with open(probe, "xb") as file:
            file.write(b"weir")
        os.link(probe, probe + "-link")
    except OSError as error:
        raise ConfigError(f"{what}: the folder {path} cannot be written: {error.strerror}", code=code) from None
    finally:
        for leftover in (probe, probe + "-link"):
            with contextlib.suppress(OSError):
                os.unlink(leftover)


def _is_there(existing: str, path: str, what: str, code: str) -> bool:
    try:
        os.lstat(existing)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigError(f"{what}: the folder {path} cannot be written: {error.strerror}", code=code) from None
    return True
