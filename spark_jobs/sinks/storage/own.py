"""How an owner changes what readers see: in its own folder first, then a look at whether it may, then one rename.

A new owner removes that folder right after its claim: an old one that falls asleep between the look and the rename has
nothing left to rename when it wakes up.
"""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from spark_jobs.sinks.base import Site
from spark_jobs.sinks.storage.disk import OutputGone
from spark_jobs.store import durable

FEW = 4
"""Waits for the disk are made by threads from here on."""
THREADS = 16
T = TypeVar("T")


class Own:
    """Writes by way of ``site.own``. All waiting for the disk is done here; many files wait together."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._counter = itertools.count()
        self._pool: ThreadPoolExecutor | None = None

    def replace(self, path: str, content: bytes) -> None:
        """Puts ``content`` in place of ``path``, if this owner still may; not durable by itself."""
        ready = self._name()
        try:
            durable.write(ready, content, sync=False)
            self._site.guard()
            os.replace(ready, path)
        except OSError as error:
            self.failed()
            with contextlib.suppress(OSError):
                os.unlink(ready)
            raise durable.fault(error, path) from error

    @contextlib.contextmanager
    def written(self, contents: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, str]]]:
        """Durable files with private names, as (path, private name), for as long as the context lasts."""
        made = [(path, self._name(), content) for path, content in contents]
        try:
            self.each(lambda item: durable.write(item[1], item[2]), made)
            yield [(path, ready) for path, ready, _ in made]
        except OSError as error:
            self.failed()
            raise durable.fault(error, made[0][0]) from error
        finally:
            for _, ready, _ in made:
                with contextlib.suppress(OSError):
                    os.unlink(ready)

    def sync_folders(self, folders: Iterable[str]) -> None:
        """Makes the names in these folders durable; a folder that is gone needs nothing."""
        self.each(_sync_folder, list(folders))

    def sync_files(self, files: Iterable[str]) -> None:
        """Makes these files and their names durable; one that is gone needs nothing."""
        self.each(durable.sync, list(files))

    def each(self, function: Callable[[T], object], items: list[T]) -> None:
        """Calls ``function`` for all of them; the first error, when all are over."""
        if len(items) < FEW:
            _all(function, items)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="storage")
        futures = [self._pool.submit(_all, function, items[first::THREADS]) for first in range(THREADS)]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            raise errors[0]

    def failed(self) -> None:
        """Something could not be written: says so if the folders were removed, or if another owner is at work."""
        self.check()
        self._site.guard()

    def check(self) -> None:
        """Raises ``OutputGone`` if somebody has removed the commit log."""
        if not os.path.isdir(self._site.home):
            raise OutputGone(
                f"the commit log's folder {self._site.home} is gone: it was removed while the changefeed runs; put it "
                "back, or remove the changefeed and create it anew"
            )

    def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _name(self) -> str:
        return os.path.join(self._site.own, str(next(self._counter)))


def _all(function: Callable[[T], object], items: list[T]) -> None:
    for item in items:
        function(item)


def _sync_folder(path: str) -> None:
    try:
        durable.sync_folder(path)
    except durable.StorageFault:
        if os.path.isdir(path):
            raise
