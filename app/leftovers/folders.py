"""The files of one life of a changefeed below its checkpoint folder: their names begin with the moment of its creation,
so that a later life under the same name keeps its own. I/O.
"""

import contextlib
import os
import shutil
from typing import Final

from app.leftovers.repository import Leftover

_BELOW: Final = ("spark", "_dead_letter")


def folder_of(checkpoint_root: str, left: Leftover) -> str:
    """The checkpoint folder; "" where it cannot be reached from here."""
    if "://" in checkpoint_root and not checkpoint_root.startswith("file://"):
        return ""
    return os.path.join(checkpoint_root.removeprefix("file://"), left.wire_id)


def paths(folder: str, left: Leftover) -> list[str]:
    """Everything that this life left."""
    found = []
    for below in _BELOW:
        with contextlib.suppress(OSError):
            names = os.listdir(os.path.join(folder, below)) if folder else []
            found += [os.path.join(folder, below, name) for name in names if name.startswith(f"{left.created_ms}-")]
    return sorted(found)


def bytes_of(path: str) -> int:
    """The size of a file, or of all files below a folder."""
    if not os.path.isdir(path):
        with contextlib.suppress(OSError):
            return os.path.getsize(path)
        return 0
    return sum(bytes_of(os.path.join(top, name)) for top, _, names in os.walk(path) for name in names)


def clean(folder: str, left: Leftover) -> None:
    """Removes them, and the folders that are empty then. What is gone already is no error."""
    for path in paths(folder, left):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)
    for name in (*(os.path.join(folder, below) for below in _BELOW), folder):
        with contextlib.suppress(OSError):
            os.rmdir(name)
