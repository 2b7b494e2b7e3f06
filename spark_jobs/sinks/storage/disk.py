"""What lies in the sink's folder already: looked at before an entry of the commit log names anything."""

import errno
import os
import re
import stat
from typing import Final

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.sinks.storage.uri import NOT_EMPTY
from spark_jobs.store import durable

DATA_FILE: Final = re.compile(r"CDC(\d{6,})\.(json|csv)")


class NameTaken(ConfigError):
    """A name that the changefeed is about to use is somebody else's, or cannot be used."""

    code = NOT_EMPTY


class OutputGone(durable.StorageFault):
    """The output folder, or the changefeed's own below it, was removed while the changefeed runs."""


def file_number(name: str) -> int:
    """The number in a data file's name (``CDC000012.json`` → 12), 0 for any other."""
    found = DATA_FILE.fullmatch(name)
    return int(found[1]) if found else 0


class Disk:
    """Reads only. ``root``: the sink's folder; all other paths are relative to it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._fine: set[str] = set()

    def path(self, relative: str) -> str:
        """The whole path."""
        return os.path.join(self._root, relative)

    def read(self, relative: str) -> bytes | None:
        """The content of a file, None if there is none."""
        try:
            return durable.read(self.path(relative))
        except OSError:
            return None

    def indexed(self, folder: str) -> int:
        """The number that a folder's index file names; 0 if there is none."""
        content = self.read(f"{folder}/meta/CDC.index")
        return file_number(content.decode("utf-8", "replace").strip()) if content else 0

    def taken(self, folder: str) -> int:
        """The greatest number that was ever seen in a folder: of a data file, or in its index file."""
        try:
            names = os.listdir(self.path(folder))
        except (FileNotFoundError, NotADirectoryError):
            return 0
        return max([self.indexed(folder), *map(file_number, names)])

    def require_free(self, relative: str) -> None:
        """Refuses a name that something has already, or that lies where nothing can be made."""
        self.require_folder(relative.rpartition("/")[0])
        path = self.path(relative)
        try:
            os.lstat(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise durable.fault(error, path) from error
        raise NameTaken(
            f"the sink's file {path} is there already and was not written by this changefeed; move it away, then "
            "resume the changefeed"
        )

    def require_folder(self, relative: str) -> None:
        """Refuses a folder that is something else, or that cannot be written; likewise those above it."""
        existing = relative
        while existing not in self._fine:
            path = self.path(existing)
            try:
                found = os.stat(path)
            except (FileNotFoundError, NotADirectoryError):
                if not existing:
                    raise OutputGone(f"the output folder {self._root} is gone") from None
                existing = existing.rpartition("/")[0]
            except OSError as error:
                raise durable.fault(error, path) from error
            else:
                self._require_writable(path, found)
                self._fine.add(existing)
        self._fine.add(relative)

    def _require_writable(self, path: str, found: os.stat_result) -> None:
        if not stat.S_ISDIR(found.st_mode):
            raise NameTaken(
                f"{path} cannot be written: {os.strerror(errno.ENOTDIR)}; a folder must be there, move the file away, "
                "then resume the changefeed"
            )
        if not os.access(path, os.W_OK | os.X_OK):
            raise durable.fault(PermissionError(errno.EACCES, ""), path)
        if found.st_dev != os.stat(self._root).st_dev:
            raise NameTaken(
                f"{path} is on another file system than {self._root}, so files cannot get their names by hard links"
            )

    def forget(self) -> None:
        """Looks anew from here on."""
        self._fine.clear()
