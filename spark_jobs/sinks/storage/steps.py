"""Cuts what a batch makes visible into steps.

A table's schema file appears after the files of its older versions and before those of its own, since TiCDC's consumers
drop rows of a version whose successor they have seen. Tables that no statement names together know nothing of one
another, so they share steps: a step is a *level*. A document stands above the files that its tables have so far; files
stand at their table's level. A database stands below its tables.
"""

from collections.abc import Iterable
from typing import TypeAlias

from spark_jobs.sinks.base import Document, FileRecord, Step

Key: TypeAlias = tuple[str, str]


class Steps:
    """Takes documents and files in their order."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._levels: dict[Key, int] = {}
        self._filled: dict[Key, int] = {}

    def file(self, key: Key, record: FileRecord) -> None:
        """A file of a table."""
        level = self._filled[key] = self._level(key)
        self._step(level).files.append(record)

    def document(self, keys: Iterable[Key], document: Document) -> None:
        """A document that separates these tables; ("shop", "") is a whole database."""
        keys = list(keys)
        for schema, table in tuple(keys):
            if not table:
                keys += [key for key in {**self._levels, **self._filled} if key[0] == schema and key[1]]
        level = max((self._level(key) + (self._filled.get(key) == self._level(key)) for key in keys), default=0)
        for key in keys:
            self._levels[key] = level
        self._step(level).documents.append(document)

    def cut(self) -> list[Step]:
        """All steps, in order."""
        return [step for step in self._steps if step.documents or step.files]

    def _level(self, key: Key) -> int:
        return max(self._levels.get(key, 0), self._levels.get((key[0], ""), 0))

    def _step(self, level: int) -> Step:
        while len(self._steps) <= level:
            self._steps.append(Step(documents=[], files=[]))
        return self._steps[level]
