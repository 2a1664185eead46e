"""Import graph of this project's modules, from their syntax trees."""

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
