"""Imports one module from another text than its file's."""

import importlib.abc
import importlib.machinery
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType


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
