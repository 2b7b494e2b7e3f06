"""Durable files on a local or mounted file system: created only if absent, or replaced whole.

A name appears with its whole content or not at all: content goes to a temporary name beside it first. ``create`` uses a
hard link, which fails when the name is taken, so two writers can never both succeed.
"""

import contextlib
import errno
import itertools
import os
import secrets
from typing import Final

from spark_jobs.cdc.errors import EnvironmentFault

_counter: Final = itertools.count()
_PROCESS: Final = secrets.token_hex(4)
"""Process ids repeat: every container has a process 1."""
_FULL: Final = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}


class StorageFault(EnvironmentFault):
    """The file system refused; the message says which file and why."""

    code = "CDC:ErrStorageWriteFailed"


def fault(error: OSError, path: str) -> StorageFault:
    """The error of an operating-system call as a sentence."""
    reason = _FULL.get(error.errno or 0) or os.strerror(error.errno or 0)
    return StorageFault(f"{path} cannot be written: {reason}")


def _temporary(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{_PROCESS}-{os.getpid()}-{next(_counter)}.tmp")


def write(path: str, content: bytes, *, sync: bool = True) -> None:
    """Writes a new file; the folder must exist."""
    with open(path, "xb", buffering=0) as file:
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]
        if sync:
            os.fsync(file.fileno())


def create(path: str, content: bytes, *, way: str = "") -> bool:
    """Creates ``path`` with ``content``, durably; False, without touching it, when it is there already. ``way``: a
    folder for the temporary name, on the same file system; "": beside ``path``."""
    temporary = _temporary(os.path.join(way, os.path.basename(path)) if way else path)
    try:
        write(temporary, content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        sync_folder(os.path.dirname(path))
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise fault(error, path) from error
    return True


def replace(path: str, content: bytes, *, sync: bool = False) -> None:
    """Puts ``content`` in place of ``path`` in one step."""
    temporary = _temporary(path)
    try:
        write(temporary, content, sync=sync)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise fault(error, path) from error


def link(source: str, target: str) -> bool:
    """Gives the durable file ``source`` its final name; False when ``target`` is that same file already.

    Raises ``StorageFault`` when another file has that name.
    """
    try:
        os.link(source, target)
        return True
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):  # another owner is at it too, and has removed the staged name
            if not os.path.samefile(source, target):
                raise StorageFault(f"{target} is there already and was not written by this changefeed") from None
        return False
    except FileNotFoundError:
        if os.path.exists(target):
            return False
        raise StorageFault(f"{target}: neither it nor its staged form {source} is there") from None
    except OSError as error:
        raise fault(error, target) from error


def make_folder(path: str) -> bool:
    """Creates a folder and those above it, durably; False when it is there already."""
    if os.path.isdir(path):
        return False
    parent = os.path.dirname(path)
    make_folder(parent)
    try:
        os.mkdir(path)
    except FileExistsError:
        return False
    except OSError as error:
        raise fault(error, path) from error
    sync_folder(parent)
    return True


def sync_folder(path: str) -> None:
    """Makes the names in a folder durable."""
    try:
        _sync(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise fault(error, path) from error


def sync(path: str) -> None:
    """Makes a file and its name durable; nothing to do for one that is not there."""
    try:
        _sync(path, os.O_RDONLY)
        _sync(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    except OSError as error:
        raise fault(error, path) from error


def sync_content(path: str) -> None:
    """Makes a file's content durable, not its name; raises ``OSError``."""
    _sync(path, os.O_RDONLY)


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: str) -> bytes | None:
    """The content, None when there is no such file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
