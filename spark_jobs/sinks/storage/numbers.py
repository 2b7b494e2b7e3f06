"""Numbers of data files: each folder's go on from its last one, whoever made it; no number is used twice.

The sink's part of the view keeps the last number of the folders that are alive: of each table's current versions the
newest dates. A folder that is not kept is looked up on the disk: the greatest of its data files and of the number in
its index file, so that what consumers removed does not come back.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from spark_jobs.cdc.errors import ConfigError
from spark_jobs.cdc.storage.paths import DataDir, data_name
from spark_jobs.sinks.storage.disk import Disk
from spark_jobs.sinks.storage.uri import NOT_EMPTY

KEPT_DATES: Final = 3
"""Date folders that are kept of a version and partition."""
SLACK: Final = 16
"""Folders beyond two a table that may be kept before they are looked through."""
FOLDERS: Final = "folders"


class UnknownOrigin(ConfigError):
    """A folder of the sink holds files that this changefeed did not write."""

    code = NOT_EMPTY


class Numbers:
    """``view``: last numbers by folder. ``adopt``: files of others are gone on behind."""

    def __init__(self, view: Mapping[str, int], disk: Disk, *, extension: str, width: int, adopt: bool) -> None:
        self._view = view
        self._disk = disk
        self._ending = extension.removeprefix(".")
        self._width = width
        self._adopt = adopt
        self._last: dict[str, int] = {}

    def next_path(self, folder: DataDir, *, ours: bool) -> str:
        """The next file of a folder. ``ours``: its version was made by this changefeed in an earlier batch."""
        path = folder.path
        last = self._last.get(path)
        if last is None:
            last = self._view.get(path)
        if last is None:
            self._disk.require_folder(f"{path}/meta")
            last = self._disk.taken(path)
            if last and not ours and not self._adopt:
                raise UnknownOrigin(
                    f"the sink's folder {path} holds files up to number {last} that this changefeed did not write; "
                    "choose another folder, or add adopt=continue or adopt=restart to the sink URI to go on behind them"
                )
        self._last[path] = last + 1
        name = f"{path}/{data_name(last + 1, self._ending, self._width)}"
        self._disk.require_free(name)
        return name

    def patch(
        self, alive: Callable[[], Iterable[tuple[str, int]]], tables: int, may_forget: Callable[[str], bool]
    ) -> dict[str, Any]:
        """The merge patch. ``alive``: paths of tables with a version that rows may still come for."""
        patch: dict[str, int | None] = dict(self._last)
        grown = len(self._view) + sum(1 for folder in self._last if folder not in self._view)
        if grown > 2 * tables + SLACK and any(folder not in self._view for folder in self._last):
            kept = _kept([*self._view, *self._last], set(alive()))
            patch |= {folder: None for folder in self._view if folder not in kept and may_forget(folder)}
        return {FOLDERS: patch} if patch else {}


def _kept(folders: Iterable[str], alive: set[tuple[str, int]]) -> set[str]:
    """The newest dates of each version and partition that is alive."""
    groups: dict[str, list[str]] = {}
    for folder in set(folders):
        schema, table, version, *_ = folder.split("/")
        if (f"{schema}/{table}", int(version)) in alive:
            groups.setdefault(_undated(folder), []).append(folder)
    return {folder for group in groups.values() for folder in sorted(group)[-KEPT_DATES:]}


def _undated(folder: str) -> str:
    """The folder above the date, if there is one: a lone number behind the version may be a partition or a year."""
    parts = folder.split("/")
    dated = len(parts) > 4 or (len(parts) == 4 and ("-" in parts[3] or len(parts[3]) == 4))
    return "/".join(parts[:-1]) if dated else folder
