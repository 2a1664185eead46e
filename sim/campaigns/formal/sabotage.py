"""Replaces one piece of the RTL's source text before the RTL is imported."""

import sys
from pathlib import Path

from bitpath.sim.engine.imports import module_file
from bitpath.sim.engine.replaced import Replaced

PACKAGE = "bitpath.rtl"


def changed_source(file: str, old: str, new: str) -> str:
    """Return the text of a file below ``rtl/`` with one piece replaced; raise ValueError unless it occurs once."""
    text = (_folder() / file).read_text()
    count = text.count(old)
    if count != 1 or old == new:
        raise ValueError(
            f"sabotage: rtl/{file} has {old!r} {count} times; it is to be replaced once, by something else"
        )
    return text.replace(old, new)


def _folder() -> Path:
    return module_file(PACKAGE).parent


def install(file: str, old: str, new: str) -> None:
    """Have this process import the changed file; nothing may have imported it before."""
    name = ".".join((PACKAGE, *Path(file).with_suffix("").parts))
    if name in sys.modules:
        raise RuntimeError(f"{name} is there already")
    sys.meta_path.insert(0, Replaced(name, changed_source(file, old, new)))
