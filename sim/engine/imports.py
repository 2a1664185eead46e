"""Modules and their sources: the import graph from the syntax trees, and the import of a module from another text."""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType

PROJECT = "bitpath"


def module_file(module: str) -> Path:
    """Return the file of one of the project's modules; raise ValueError for an unknown module."""
    file = _file(module)
    if file is None:
        raise ValueError(f"no module {module!r}")
    return file


@cache
def _file(module: str) -> Path | None:
    project, *inner = module.split(".")
    if project != PROJECT or not inner or (package := importlib.util.find_spec(f"{project}.{inner[0]}")) is None:
        return None
    # Search by path: finding a module through its package imports the package, and benches need a simulator.
    path = Path(str(package.origin)).parent.joinpath(*inner[1:])
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in candidates if file.is_file()), None)


def reached(module: str) -> frozenset[str]:
    """Return the project's modules that a module imports, directly or not, with their packages and itself."""
    return _closure({module})


def imported_by(file: Path) -> frozenset[str]:
    """Return the project's modules that a file outside the packages, such as a test, imports directly or not."""
    return _closure(set(_project_modules(file)))


def _closure(start: set[str]) -> frozenset[str]:
    found: set[str] = set()
    pending = start
    while pending:
        found |= pending
        pending = {name for module in pending for name in _direct(module)} - found
    return frozenset(found)


@cache
def _direct(module: str) -> frozenset[str]:
    # A folder of tests is no package.
    around = {name for name in [module.rpartition(".")[0]] if _file(name) is not None}
    return frozenset(_project_modules(module_file(module))) | around


def _project_modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name for name in names if _file(name) is not None)


# Imports one module from another text than its file's.


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds one module, and gives it a text; Python's cache of the file is left alone."""

    def __init__(self, module: str, text: str):
        self.module, self.text, self.file = module, text, ""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        # The real one's spec, for its name and place; tests read such things.
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None:
            spec.loader, self.file = self, str(spec.origin)
        return spec

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.text, self.file)
