"""A storage consumer as TiCDC's new architecture has it, for what it would drop or pass over.

It follows index files; it goes through schema files and folders by version, a version's schema file first; it remembers
the greatest version of which it executed a statement, passes over statements at or below it and drops rows of folders
below it.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

_SCHEMA: Final = re.compile(r"schema_(\d+)_\d{10}\.json")


class Replay:
    """``look`` takes in what is visible now. ``rows``: by table, in the order in which they were applied."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._executed: dict[str, int] = {}
        self._read: dict[Path, int] = {}
        self._seen: set[Path] = set()
        self.looks = 0
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.statements: dict[str, list[str]] = {}
        self.faults: list[str] = []

    def look(self) -> None:
        """Schema files are listed before the index files are read."""
        self.looks += 1
        found: list[tuple[int, int, str, Path, int]] = []
        for path in self._root.glob("*/*/meta/schema_*.json"):
            match = _SCHEMA.fullmatch(path.name)
            if match and path not in self._seen:
                found.append((int(match[1]), 0, "/".join(path.parts[-4:-2]), path, 0))
        for path in self._root.glob("*/*/*/meta/CDC.index"):
            folder = path.parent.parent
            last = int(re.findall(r"\d+", path.read_text())[0])
            found.append((int(folder.name), 1, "/".join(folder.parts[-3:-1]), folder, last))
        for version, kind, table, path, last in sorted(found):
            if kind:
                self._take(table, version, path, last)
            else:
                self._execute(table, version, path)

    def _execute(self, table: str, version: int, path: Path) -> None:
        self._seen.add(path)
        query = json.loads(path.read_bytes())["Query"]
        if not query:
            return
        if version <= self._executed.get(table, 0):
            self.faults.append(f"{table}: passes over {query} under {version}")
            return
        self._executed[table] = version
        self.statements.setdefault(table, []).append(query)

    def _take(self, table: str, version: int, folder: Path, last: int) -> None:
        first = self._read.get(folder, 0) + 1
        self._read[folder] = last
        for number in range(first, last + 1):
            lines = (folder / f"CDC{number:06d}.json").read_bytes().splitlines()
            if version < self._executed.get(table, 0):
                self.faults.append(f"{table}: drops {len(lines)} rows of version {version}")
                continue
            self.rows.setdefault(table, []).extend(json.loads(line)["data"][0] for line in lines)
