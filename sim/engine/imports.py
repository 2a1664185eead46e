"""Who imports whom among this project's modules, read from the syntax trees."""

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PROJECT = "bitpath"
LOOPS = ("_loop", "_loops")
"""Ends of the names of compiled loops, which golden's operations give to `backend.loops` as strings."""


def module_file(module: str) -> Path:
    """The file of one of the project's modules; ValueError where there is none."""
    file = _file(module)
    if file is None:
        raise ValueError(f"no module {module!r}")
    return file


@cache
def _file(module: str) -> Path | None:
    project, *inner = module.split(".")
    if project != PROJECT or not inner or (package := importlib.util.find_spec(f"{project}.{inner[0]}")) is None:
        return None
    # By its path: to find a module below a package imports that package, and a bench wants a simulator around it.
    path = Path(str(package.origin)).parent.joinpath(*inner[1:])
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in candidates if file.is_file()), None)


def reached(module: str) -> frozenset[str]:
    """The project's modules that a module imports, and those that they import, with the packages around them and itself."""
    return _closure({module})


def imported_by(file: Path) -> frozenset[str]:
    """The project's modules that a file outside the packages imports, such as a test, and those that they import."""
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
    around = {module.rpartition(".")[0]} - {PROJECT}
    return frozenset(_project_modules(module_file(module))) | around


def _project_modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and str(node.value).endswith(LOOPS):
            names = [str(node.value)]
        yield from (name for name in names if _file(name) is not None)
