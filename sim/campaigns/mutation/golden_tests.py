"""``python -m bitpath.sim.campaigns.mutation.golden_tests MODULE SOURCE TEST``: a test file with another source in a module's place.

With ``--lines FILE`` the file gets the lines of golden, or those that compare results, that run. In a process of its own, so that no module that holds
something of the real one is left over.
"""

import argparse
import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from coverage import Coverage

from bitpath.sim.engine.imports import Replaced, module_file

MOST_BYTES = 8 << 30


@contextmanager
def kept_lines(file: Path) -> Iterator[None]:
    """Write which lines of possible targets run meanwhile, as JSON: by target, "golden/arrays/codec.py", their numbers."""
    root = module_file("bitpath.golden").resolve().parents[1]
    running = Coverage(
        data_file=None, config_file=False, include=[f"{root}/{each}/*" for each in ("golden", "sim", "verif/kit")]
    )
    with running.collect():
        yield
    data = running.get_data()
    lines = {str(Path(name).relative_to(root)): sorted(data.lines(name) or ()) for name in data.measured_files()}
    file.write_text(json.dumps(lines))


def main() -> int:
    """Run the file's tests up to the first failure, and return pytest's status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("source", type=Path)
    parser.add_argument("test")
    parser.add_argument("--lines", type=Path)
    given = parser.parse_args()
    # A shift in the wrong direction makes integers that fill the memory.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    sys.meta_path.insert(0, Replaced(given.module, given.source.read_text()))
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not deep and not simulator"]
    # Use the same examples in every run, without those of earlier runs; otherwise some verdicts are random.
    options.append("--hypothesis-profile=ci")
    with kept_lines(given.lines) if given.lines else nullcontext():
        return int(pytest.main([*options, given.test]))


if __name__ == "__main__":
    sys.exit(main())
