"""The RTL with one piece of its text replaced, before anything has imported it."""

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from bitpath.verif.formal.property import Sabotage

PACKAGE = "bitpath.rtl"


def changed_source(sabotage: Sabotage, folder: Path) -> str:
    """The text of the changed file of the RTL in ``folder``; ValueError unless it has the piece once."""
    text = (folder / sabotage.file).read_text()
    count = text.count(sabotage.old)
    if count != 1 or sabotage.old == sabotage.new:
        raise ValueError(f"sabotage: rtl/{sabotage.file} has {sabotage.old!r} {count} times; it is to be replaced once")
    return text.replace(sabotage.old, sabotage.new)


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the changed text; what Python cached of the file is left alone."""

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


def install(sabotage: Sabotage) -> None:
    """Have this process import the changed file; nothing may have imported it before."""
    package = importlib.util.find_spec(PACKAGE)
    folder = Path(package.origin).parent
    name = ".".join((PACKAGE, *Path(sabotage.file).with_suffix("").parts))
    if name in sys.modules:
        raise RuntimeError(f"{name} is there already")
    sys.meta_path.insert(0, _Finder(name, folder / sabotage.file, changed_source(sabotage, folder)))
