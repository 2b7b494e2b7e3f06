"""What readers see is derived from the commit log: final names, index files, ``metadata``.

Everything here may be done twice, and by an owner that has just been replaced, without harm: files get the names that
the log gave them, an index file or ``metadata`` never goes back. Before each step the owner looks at its lease and at
the log's tail; so a process that slept in the middle stops instead of repeating what is old.

What is replaced is written to the owner's own folder first, then the owner looks, then it is renamed. A new owner
removes that folder right after its claim: an old one that falls asleep between the look and the rename has nothing left
to rename when it wakes up.
"""

import itertools
import os
import re
from collections.abc import Callable, Iterable
from typing import Final

from spark_jobs import failpoints
from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.storage.paths import METADATA, index_content, metadata_content, parse_metadata
from spark_jobs.commitlog.entries import Entry, FileRecord, file_number
from spark_jobs.store import durable

_DATA_FILE: Final = re.compile(r"^CDC(\d{6,})\.(json|csv)$")
Guard = Callable[[], None]
"""Raises when this owner must not write any more."""


class Publisher:
    """Writes below ``root`` (the sink folder); staged files are below ``staging``, what is about to get its name in
    ``own``, a folder of this owner alone."""

    def __init__(self, root: str, staging: str, own: str, guard: Guard) -> None:
        self._root = root
        self._staging = staging
        self._own = own
        self._guard = guard
        self._counter = itertools.count()

    def publish(self, entry: Entry) -> None:
        """Everything that a commit entry names, in the order in which readers may rely on it.

        The staging folder of an entry goes when all of it is published; so without one, data files have their names.
        """
        staged = bool(entry.files) and os.path.isdir(
            os.path.join(self._staging, entry.files[0].staged.partition("/")[0])
        )
        failpoints.reached("before-publish")
        self._guard()
        for record in entry.schema_files:
            self._schema_file(record.path, record.content.encode())
        folders = {record.path.rpartition("/")[0] for record in entry.files} if staged else set()
        for folder in folders:
            durable.make_folder(os.path.join(self._root, folder, "meta"))
        if staged:
            for file in entry.files:
                durable.link(os.path.join(self._staging, file.staged), os.path.join(self._root, file.path))
        for folder in folders:
            durable.sync_folder(os.path.join(self._root, folder))
        failpoints.reached("after-publish")
        self.indexes(entry.files)
        self.metadata(entry.checkpoint_ts)

    def indexes(self, files: list[FileRecord]) -> None:
        """The index file of every folder that got files names the last of them."""
        failpoints.reached("before-index")
        for folder, name in _last_names(files).items():
            if self._lags(folder, name):
                self._index(folder, name)
        failpoints.reached("after-index")

    def reassert(self, files: Iterable[FileRecord], checkpoint_ts: int) -> None:
        """Puts right an index file or ``metadata`` below what is committed: a late zombie may have put it there, or the
        machine may have lost its power before the file was on the disk."""
        for folder, name in _last_names(files).items():
            if self._lags(folder, name):
                self._index(folder, name)
        if 0 < self.published_checkpoint() < checkpoint_ts:
            self.metadata(checkpoint_ts)

    def make_durable(self, files: Iterable[FileRecord]) -> None:
        """Index files of those folders, and ``metadata``: before the entries that they can be made from are gone."""
        for folder in _last_names(files):
            durable.sync(self._index_path(folder))
        durable.sync(os.path.join(self._root, METADATA))

    def metadata(self, checkpoint_ts: int, *, may_go_back: bool = False) -> None:
        """``metadata`` says that everything up to ``checkpoint_ts`` is there; 0 says nothing."""
        failpoints.reached("before-metadata")
        path = os.path.join(self._root, METADATA)
        now = self.published_checkpoint()
        if checkpoint_ts and (checkpoint_ts > now or (may_go_back and checkpoint_ts != now)):
            self._replace(path, metadata_content(checkpoint_ts))
        failpoints.reached("after-metadata")

    def published_checkpoint(self) -> int:
        """What ``metadata`` says now; 0 if it is not there or cannot be read."""
        content = durable.read(os.path.join(self._root, METADATA))
        try:
            return parse_metadata(content) if content else 0
        except DecodeError:
            return 0

    def taken(self, folder: str) -> int:
        """The greatest number of a data file that lies in a folder; 0 if there is none."""
        try:
            names = os.listdir(os.path.join(self._root, folder))
        except (FileNotFoundError, NotADirectoryError):
            return 0
        return max((int(found[1]) for name in names if (found := _DATA_FILE.match(name))), default=0)

    def _schema_file(self, relative: str, content: bytes) -> None:
        path = os.path.join(self._root, relative)
        durable.make_folder(os.path.dirname(path))
        if not os.path.exists(path):
            durable.create(path, content, way=self._own)

    def _index_path(self, folder: str) -> str:
        return os.path.join(self._root, folder, "meta", "CDC.index")

    def _indexed(self, folder: str) -> int:
        """The number that a folder's index file names; 0 if there is none."""
        content = durable.read(self._index_path(folder))
        found = _DATA_FILE.match(content.decode("utf-8", "replace").strip()) if content else None
        return int(found[1]) if found else 0

    def _lags(self, folder: str, name: str) -> bool:
        """Whether the index file does not say that ``name`` is there; a consumer may have removed both since."""
        return self._indexed(folder) < file_number(name) and os.path.exists(os.path.join(self._root, folder, name))

    def _index(self, folder: str, name: str) -> None:
        self._replace(self._index_path(folder), index_content(name))

    def _replace(self, path: str, content: bytes) -> None:
        ready = os.path.join(self._own, str(next(self._counter)))
        try:
            durable.write(ready, content, sync=False)
            self._guard()
            os.replace(ready, path)
        except OSError as error:
            self._guard()
            raise durable.fault(error, path) from error


def _last_names(files: Iterable[FileRecord]) -> dict[str, str]:
    last: dict[str, str] = {}
    for file in files:
        folder, _, name = file.path.rpartition("/")
        if folder not in last or file_number(name) > file_number(last[folder]):
            last[folder] = name
    return last
