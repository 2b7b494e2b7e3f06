"""Who imports whom, read from source text: nothing is imported to find out."""

import ast
import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


class When(enum.Enum):
    """LOADING: as soon as the module is imported; LATER: inside a function; TYPES: only for the type checker."""

    LOADING = "when it is imported"
    LATER = "inside a function"
    TYPES = "for types"


@dataclass(frozen=True)
class Import:
    """Dotted modules; ``from a import b`` imports ``a.b`` where that is a module, else ``a``."""

    who: str
    what: str
    line: int
    when: When

    def __str__(self) -> str:
        return f"{self.who}:{self.line} imports {self.what} {self.when.value}"


Graph: TypeAlias = Mapping[str, tuple[Import, ...]]


def graph_of(sources: Mapping[str, str]) -> Graph:
    """Module name → its imports. ``sources``: module name → text; a package's name stands for its ``__init__``."""
    return {who: tuple(_imports(who, text, sources)) for who, text in sources.items()}


def sources_below(project: Path, packages: Iterable[str]) -> dict[str, str]:
    """Every module of these packages, by its dotted name."""
    paths = (path for package in packages for path in sorted((project / package).rglob("*.py")))
    return {_module(path.relative_to(project)): path.read_text() for path in paths}


def below(name: str, family: str) -> bool:
    """Whether a module is that package, or inside it."""
    return name == family or name.startswith(f"{family}.")


def loaded_with(graph: Graph, who: str) -> dict[str, str]:
    """What importing ``who`` imports, through other modules too: name → the chain that leads there."""
    found, waiting = {who: who}, [who]
    while waiting:
        module = waiting.pop()
        for name in _with_parents(item.what for item in graph.get(module, ()) if item.when is When.LOADING):
            if name not in found:
                found[name] = f"{found[module]} → {name}"
                waiting.append(name)
    return found


def _with_parents(names: Iterable[str]) -> Iterator[str]:
    """Importing ``a.b.c`` imports ``a`` and ``a.b`` too."""
    for name in names:
        parts = name.split(".")
        yield from (".".join(parts[:size]) for size in range(1, len(parts) + 1))


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(who: str, text: str, sources: Mapping[str, str]) -> Iterator[Import]:
    is_package = any(name.startswith(f"{who}.") for name in sources)
    package = who.split(".") if is_package else who.split(".")[:-1]
    for node, when in _statements(ast.parse(text), When.LOADING):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            up = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            targets = [_module_or_name(base, alias.name, sources) for alias in node.names]
        yield from (Import(who, target, node.lineno, when) for target in dict.fromkeys(targets))


def _module_or_name(base: str, name: str, sources: Mapping[str, str]) -> str:
    return f"{base}.{name}" if f"{base}.{name}" in sources else base


def _statements(node: ast.AST, when: When) -> Iterator[tuple[ast.Import | ast.ImportFrom, When]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, when
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _statements(child, When.LATER if when is When.LOADING else when)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from (pair for part in child.body for pair in _statements(ast.Module([part], []), When.TYPES))
            yield from (pair for part in child.orelse for pair in _statements(ast.Module([part], []), when))
        else:
            yield from _statements(child, when)
