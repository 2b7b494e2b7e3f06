"""Folders of the sink: made as they are needed, and made durable together."""

import os
from collections.abc import Iterable

from spark_jobs.sinks.storage.disk import OutputGone
from spark_jobs.sinks.storage.own import Own
from spark_jobs.store import durable


class Folders:
    """Remembers which folders are there and whose names are not durable yet. Paths are relative to ``root``.

    An owner's first batch may be one that another owner began, so folders that it finds count as not durable.
    """

    def __init__(self, root: str, own: Own) -> None:
        self._root = root
        self._own = own
        self._there: set[str] = set()
        self._changed: set[str] = set()
        self._is_first = True

    def make(self, folder: str) -> None:
        """Makes a folder and those above it; never the sink's own."""
        if folder in self._there:
            return
        path = os.path.join(self._root, folder)
        if not os.path.isdir(path):
            if not folder:
                raise OutputGone(f"the output folder {self._root} is gone: it was removed while the changefeed runs")
            self.make(folder.rpartition("/")[0])
            try:
                os.mkdir(path)
            except FileExistsError:
                pass
            except OSError as error:
                self._own.failed()
                raise durable.fault(error, path) from error
            self.changed(folder.rpartition("/")[0])
        elif self._is_first and folder:
            self.make(folder.rpartition("/")[0])
            self.changed(folder.rpartition("/")[0])
        self._there.add(folder)

    def changed(self, folder: str) -> None:
        """Names in it are not durable yet."""
        self._changed.add(folder)

    def sync(self, folders: Iterable[str]) -> None:
        """Makes the names in these folders durable now."""
        now = set(folders)
        self._own.sync_folders(os.path.join(self._root, folder) for folder in now)
        self._changed -= now

    def settle(self) -> None:
        """Makes all names durable."""
        self.sync(set(self._changed))
        self._is_first = False

    def forget(self) -> None:
        """Looks anew from here on: consumers may have removed folders."""
        self._there.clear()
