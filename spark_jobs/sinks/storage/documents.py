"""Schema files of a batch: under which version there is room for them, and in which step they stand.

A path is taken when a file of another content has it. A file of another hand with the same structure serves a version
that rows started; a statement takes the next version that is free, since its text must be read.
"""

from collections.abc import Iterable

import msgspec

from spark_jobs.cdc.errors import DecodeError
from spark_jobs.cdc.storage import schema_file
from spark_jobs.cdc.storage.schema_file import SchemaFile
from spark_jobs.sinks.base import Document
from spark_jobs.sinks.storage.disk import Disk, NameTaken
from spark_jobs.sinks.storage.steps import Key, Steps


class Documents:
    """``disk`` None: nothing is looked at (when only structures are asked for)."""

    def __init__(self, disk: Disk | None, steps: Steps, *, adopt: bool) -> None:
        self._disk = disk
        self._steps = steps
        self._adopt = adopt
        self._made: dict[str, str] = {}

    def table(self, keys: Iterable[Key], file: SchemaFile) -> int:
        """A table's schema file, which separates ``keys``; returns its version."""
        return self._add(keys, file, may_move=self._adopt)

    def database(self, keys: Iterable[Key], file: SchemaFile) -> int:
        """That of a database. All have one hash, so statements of one commit-ts take one version after the other."""
        return self._add(keys, file, may_move=True)

    def _add(self, keys: Iterable[Key], file: SchemaFile, *, may_move: bool) -> int:
        while True:
            path, content = file.path, file.encode().decode()
            there = self._there(path)
            if there is None or there == content:
                self._made[path] = content
                self._steps.document(keys, Document(path, content))
                return file.version
            if not may_move and path not in self._made:
                raise NameTaken(
                    f"the schema file {self._disk.path(path) if self._disk else path} is there already with another "
                    "content, and was not written by this changefeed; move it away, then resume the changefeed"
                )
            if not file.query and _describes_the_same(there, file):
                return file.version
            file = msgspec.structs.replace(file, version=file.version + 1)

    def _there(self, path: str) -> str | None:
        made = self._made.get(path)
        if made is not None or self._disk is None:
            return made
        content = self._disk.read(path)
        if content is None:
            self._disk.require_free(path)
            return None
        return content.decode("utf-8", "replace")


def _describes_the_same(content: str, file: SchemaFile) -> bool:
    try:
        other = schema_file.parse(content.encode())
    except DecodeError:
        return False
    return (other.version, other.schema, other.table, other.checksum) == (
        file.version,
        file.schema,
        file.table,
        file.checksum,
    )
