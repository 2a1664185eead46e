"""Pages of the golden API: one page for each folder that defines public names, one section for each of its files.

A name is public if the ``__all__`` of a package lists it, or if a kernel finds it below ``nki``. Each object stands once, under
the shortest of its names.
"""

import inspect
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.util.inspect import stringify_signature

from bitpath import golden
from bitpath.golden.nki.launch.modules import install
from parts.docstrings import to_rst

PACKAGE = golden.__name__
FOLDER = Path(golden.__file__).resolve().parent


def _names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the names in ``__all__`` with their objects; without ``__all__``, every name that the module defines."""
    for name in getattr(module, "__all__", [each for each in vars(module) if each[0] != "_"]):
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            yield from _names(value)
        elif hasattr(module, "__all__") or getattr(value, "__module__", "") == module.__name__:
            yield f"{module.__name__}.{name}", value


def _offered() -> Iterator[tuple[str, Any]]:
    """Yield the public names of golden's packages, then those of the vendor's modules ``nki``, ``nki.isa`` and so on."""
    for file in sorted([*FOLDER.glob("*.py"), *FOLDER.glob("*/__init__.py")]):
        path = file.relative_to(FOLDER).with_suffix("").parts
        module = import_module(".".join([PACKAGE, *path]).removesuffix(".__init__"))
        if hasattr(module, "__all__"):
            yield from _names(module)
    for module in install():
        yield from ((f"{module}.{name}", value) for name, value in vars(sys.modules[module]).items())


def _order(named: tuple[str, Any]) -> tuple[bool, int, str]:
    name = named[0]
    return not name.startswith(PACKAGE), name.count("."), name


def sections() -> dict[str, dict[str, Any]]:
    """Return for each module its public functions and classes by name, alphabetically. Aliases are left out."""
    names: dict[Any, str] = {}
    for name, value in sorted(_offered(), key=_order):
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__name__ == name.rpartition(".")[2]:
            names.setdefault(value, name)
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for value, name in names.items():
        if value.__module__.startswith(PACKAGE):
            found[value.__module__][name] = value
    return dict(sorted(found.items()))


def _rst(lines: list[str]) -> str:
    return "\n".join(["```{eval-rst}", *lines, "```", "", ""])


def _about(module: str) -> list[str]:
    return to_rst((inspect.getdoc(import_module(module)) or "").splitlines())


def _directive(name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        return [f".. autoclass:: {name}", "   :members:", ""]
    # Sphinx reads parameters from the source, and fails on a signature that a decorator has changed.
    changed = hasattr(value, "__signature__")
    signature = stringify_signature(inspect.signature(value), unqualified_typehints=True) if changed else ""
    return [f".. autofunction:: {name}{signature}", ""]


def pages() -> dict[str, str]:
    """Return the Markdown of each page by its path: the page of a package leads to those of its folders."""
    texts: dict[str, str] = {}
    for module, objects in sections().items():
        package, room, *file = module.removeprefix(f"{PACKAGE}.").split(".")
        top = f"# {package}\n\n{_rst(_about(f'{PACKAGE}.{package}'))}```{{toctree}}\n:glob:\n:maxdepth: 1\n\n{package}/*\n```\n"
        texts.setdefault(package, top)
        texts.setdefault(f"{package}/{room}", f"# {package}: {room}\n\n")
        lines = [line for name, value in objects.items() for line in _directive(name, value)]
        heading = f"## {'.'.join(file)}\n\n" if file else ""
        texts[f"{package}/{room}"] += heading + _rst([*_about(module), *lines])
    return texts


def write(folder: Path) -> None:
    """Write the pages anew below a folder, which holds nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for page, text in pages().items():
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{page}.md").write_text(text)
