"""A table of names and import paths: each thing is imported when it is asked for, and others can be added."""

from collections.abc import Callable, Iterator, Mapping
from pkgutil import resolve_name
from typing import Final, Generic, TypeVar

from spark_jobs.cdc.errors import ConfigError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """``what`` names a thing in errors (``protocol``); ``is_one`` says whether what stands at a path is one of that
    name."""

    def __init__(self, what: str, paths: Mapping[str, str], is_one: Callable[[str, object], bool]) -> None:
        self._what = what
        self._paths: Final = dict(paths)
        self._is_one = is_one
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        found = self._loaded.get(name)
        if found is None:
            found = self._loaded[name] = self._load(name, self._paths[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def add(self, name: str, path: str) -> None:
        """Adds a thing: its name, and where it is (``package.module:NAME``).

        To add it again changes nothing. Raises ``ConfigError`` for a name that another one has.
        """
        known = self._paths.setdefault(name, path)
        if known != path:
            raise ConfigError(f"{self._what} {name!r} of {path} is {known} already")

    def _load(self, name: str, path: str) -> T:
        try:
            found: T = resolve_name(path)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(f"{self._what} {name!r} cannot be loaded from {path}: {error}") from error
        if not self._is_one(name, found):
            raise ConfigError(f"{path} is not the {self._what} {name!r}")
        return found
