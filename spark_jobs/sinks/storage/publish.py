"""Makes steps visible, each after the one before. Whoever finds an entry of the commit log may do it again.

Of a step: documents, then data files under their final names, then the index files that name them; no reader relies on
a file that no index file names. What is there already with the same content is done; so is what an index file covers
(consumers may have removed it), and a batch that was published to its end. Anything else under a name is a fault.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Final
from zlib import crc32

from spark_jobs import failpoints
from spark_jobs.cdc.storage.paths import index_content
from spark_jobs.sinks.base import Document, FileRecord, Site, Step
from spark_jobs.sinks.storage.disk import Disk, file_number
from spark_jobs.sinks.storage.folders import Folders
from spark_jobs.sinks.storage.own import Own
from spark_jobs.store import durable

PUBLISHED: Final = "published"
RECENT: Final = 200
"""Folders that are looked after while nothing else runs."""


class Publisher:
    """Writes below ``root``; staged files are below ``site.staging``."""

    def __init__(self, root: str, site: Site, disk: Disk, own: Own) -> None:
        self._root = root
        self._site = site
        self._disk = disk
        self._own = own
        self._folders = Folders(root, own)
        self._unsettled: dict[str, str] = {}
        self._recent: dict[str, str] = {}

    def publish(self, steps: Sequence[Step]) -> None:
        """All steps, in order; what is left is durable when it returns."""
        mark = _mark_of(steps)
        done = bool(mark) and self._published() == mark
        for number, step in enumerate(steps):
            failpoints.reached("before-publish")
            self._site.guard()
            if not done:
                self._documents(step.documents)
                self._files(step.files)
            failpoints.reached("after-publish")
            failpoints.reached("before-index")
            self._index_all(step.files)
            if any(later.documents for later in steps[number + 1 :]):
                # after a power cut, too, no document may be seen before the files of this step
                self._own.sync_files(map(self._index_path, _last_names(step.files)))
            failpoints.reached("after-index")
        self._folders.settle()
        if mark and not done:
            self._own.replace(os.path.join(self._site.home, PUBLISHED), mark)

    def reassert(self, folders: Iterable[tuple[str, int]]) -> None:
        """Puts right index files below what is committed: a late zombie may have put them there, or the machine may
        have lost its power before they were on the disk."""
        for folder, number in folders:
            if self._disk.indexed(folder) < number:
                name = self._named(folder, number)
                if name:
                    self._put_index(folder, name)

    def recent(self) -> list[tuple[str, int]]:
        """Folders that were written to lately, with their last number."""
        return [(folder, file_number(name)) for folder, name in self._recent.items()]

    def is_unsettled(self, folder: str) -> bool:
        """Whether the folder was written to since ``settle``."""
        return folder in self._unsettled

    def settle(self, more: Iterable[str] = ()) -> None:
        """Makes the index files of all folders durable that were written to since the last time, and of ``more``."""
        self._own.sync_files(map(self._index_path, {*self._unsettled, *more}))
        self._unsettled.clear()
        self._folders.forget()

    def _documents(self, documents: Sequence[Document]) -> None:
        wanted = {document.path: document.content.encode() for document in documents}
        missing = [(path, content) for path, content in wanted.items() if not self._is_there(path, content)]
        with self._own.written(missing) as made:
            for path, ready in made:
                folder = path.rpartition("/")[0]
                self._folders.make(folder)
                try:
                    os.link(ready, self._disk.path(path))
                except OSError as error:
                    if not isinstance(error, FileExistsError) or not self._is_there(path, wanted[path]):
                        self._own.failed()
                        raise durable.fault(error, self._disk.path(path)) from error
                self._folders.changed(folder)

    def _is_there(self, path: str, content: bytes) -> bool:
        there = self._disk.read(path)
        if there is not None and there != content:
            raise durable.StorageFault(
                f"{self._disk.path(path)} is there already with another content than this changefeed's; move it away"
            )
        return there is not None

    def _files(self, files: Sequence[FileRecord]) -> None:
        folders = {file.path.rpartition("/")[0] for file in files}
        for folder in folders:
            self._folders.make(f"{folder}/meta")
        for file in files:
            self._link(file)
        self._folders.sync(folders)

    def _link(self, file: FileRecord) -> None:
        source, target = os.path.join(self._site.staging, file.staged), self._disk.path(file.path)
        try:
            os.link(source, target)
        except FileExistsError:
            self._require_same(file, source, target)
        except FileNotFoundError:
            self._link_again(file, source, target)
        except OSError as error:
            self._own.failed()
            raise durable.fault(error, target) from error

    def _link_again(self, file: FileRecord, source: str, target: str) -> None:
        """Either the staged file is gone, or the folder, which a consumer may have removed meanwhile."""
        folder = file.path.rpartition("/")[0]
        if os.path.exists(source):
            self._folders.forget()
            self._folders.make(f"{folder}/meta")
            durable.link(source, target)
        elif os.path.lexists(target):
            self._require_same(file, source, target)
        elif not self._is_over(file, folder):
            self._own.failed()
            raise durable.StorageFault(f"{target}: neither it nor its staged form {source} is there")

    def _is_over(self, file: FileRecord, folder: str) -> bool:
        """Whether it was published before. Entries of older versions know no digest; their staging folder went last."""
        if file_number(file.path.rpartition("/")[2]) <= self._disk.indexed(folder):
            return True
        batch, slash, _ = file.staged.partition("/")
        return not file.digest and bool(slash) and not os.path.isdir(os.path.join(self._site.staging, batch))

    def _require_same(self, file: FileRecord, source: str, target: str) -> None:
        try:
            if os.path.samefile(source, target):
                return
        except FileNotFoundError:  # another owner is at it too, and has removed the staged name
            if not file.digest:
                return
        if not file.digest or not _has_content(target, file):
            raise durable.StorageFault(f"{target} is there already and was not written by this changefeed")

    def _index_all(self, files: Sequence[FileRecord]) -> None:
        for folder, name in _last_names(files).items():
            self._unsettled[folder] = name
            self._recent.pop(folder, None)
            self._recent[folder] = name
            if self._disk.indexed(folder) < file_number(name) and os.path.exists(self._disk.path(f"{folder}/{name}")):
                self._put_index(folder, name)
        while len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]

    def _put_index(self, folder: str, name: str) -> None:
        self._folders.make(f"{folder}/meta")
        self._own.replace(self._index_path(folder), index_content(name))

    def _named(self, folder: str, number: int) -> str:
        """The data file with that number, in whatever width; "" if a consumer has removed it."""
        try:
            names = os.listdir(self._disk.path(folder))
        except OSError:
            return ""
        return next((name for name in names if file_number(name) == number), "")

    def _index_path(self, folder: str) -> str:
        return self._disk.path(f"{folder}/meta/CDC.index")

    def _published(self) -> bytes | None:
        return durable.read(os.path.join(self._site.home, PUBLISHED))


def _last_names(files: Iterable[FileRecord]) -> dict[str, str]:
    last: dict[str, str] = {}
    for file in files:
        folder, _, name = file.path.rpartition("/")
        if folder not in last or file_number(name) > file_number(last[folder]):
            last[folder] = name
    return last


def _mark_of(steps: Sequence[Step]) -> bytes:
    """Tells a batch from all others: staged names are random. Nothing of one that has no files."""
    staged = [file.staged for step in steps for file in step.files]
    return f"{staged[0]} {staged[-1]} {len(staged)}".encode() if staged else b""


def _has_content(path: str, file: FileRecord) -> bool:
    if os.path.getsize(path) != file.bytes:
        return False
    digest = 0
    with open(path, "rb") as content:
        while block := content.read(1 << 20):
            digest = crc32(block, digest)
    return digest == file.digest
