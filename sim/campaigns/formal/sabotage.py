"""Replaces one piece of the RTL's source text before the RTL is imported."""

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

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
    return Path(importlib.util.find_spec(PACKAGE).origin).parent


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the changed text; Python's cache of the file is left alone."""

    def __init__(self, name: str, path: str, text: str):
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> Any:
        return compile(self._text, self.path, "exec")


class _Finder:
    def __init__(self, name: str, path: Path, text: str):
        self._name, self._path, self._text = name, path, text

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name != self._name:
            return None
        loader = _Loader(name, str(self._path), self._text)
        return importlib.util.spec_from_file_location(name, self._path, loader=loader)


def install(file: str, old: str, new: str) -> None:
    """Have this process import the changed file; nothing may have imported it before."""
    name = ".".join((PACKAGE, *Path(file).with_suffix("").parts))
    if name in sys.modules:
        raise RuntimeError(f"{name} is there already")
    sys.meta_path.insert(0, _Finder(name, _folder() / file, changed_source(file, old, new)))
