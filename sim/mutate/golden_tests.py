"""``python -m bitpath.sim.mutate.golden_tests MODULE SOURCE TEST...``: tests with another source in a module's place.

In a process of its own, so that no module that holds something of the real one is left over.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import resource
import sys
from pathlib import Path
from types import ModuleType

import pytest

MOST_BYTES = 8 << 30


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds one module, and gives it the text of a file."""

    def __init__(self, module: str, source: Path):
        self.module, self.source = module, source

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> object:
        if fullname != self.module:
            return None
        # The real one's spec, for its name and place; tests read such things.
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader = self
        return spec

    def get_source(self, fullname: str) -> str:
        return self.source.read_text()


def main() -> int:
    """Run the tests up to the first failure, and return pytest's status."""
    module, source, *tests = sys.argv[1:]
    # A shift turned round makes integers that fill a machine.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    sys.meta_path.insert(0, Replaced(module, Path(source)))
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not deep and not simulator"]
    # The same examples each time, none from an earlier run: else chance decides of some faults.
    options.append("--hypothesis-profile=ci")
    return int(pytest.main([*options, *tests]))


if __name__ == "__main__":
    sys.exit(main())
