"""Names of a bench's tests, as cocotb gives them, without a build and without a simulator.

A bench reads its configuration when it is imported, so that a process of its own imports it.
"""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from bitpath.golden.scalar.checked import one_of, suggestion
from bitpath.rtl.common.config import to_dict
from bitpath.sim.engine import tools


def check_filter(bench: str, config: Any, tests: str | None, env: Mapping[str, str] | None = None) -> None:
    """Raise ValueError unless a regular expression finds a test of a bench that applies to the configuration; None
    finds all tests."""
    if tests is None:
        return
    names = names_of(bench, config, env)
    found = [name for name in names if re.search(tests, name)]
    if not found:
        known = list(dict.fromkeys(name.partition("/")[0].rpartition(".")[2] for name in names))
        raise ValueError(
            f"--filter: {tests!r} matches no test of {bench}; it has {one_of(known)}{suggestion(tests, known)}"
        )
    if all(names[each] for each in found):
        raise ValueError(f"--filter: {tests!r} matches only tests that this configuration skips")


def names_of(bench: str, config: Any, env: Mapping[str, str] | None = None) -> dict[str, bool]:
    """Return the tests of a bench as ``module.name/parameter=value``, and True for those that are skipped.

    Raises ValueError with the last line of the error if the bench cannot be imported.
    """
    variables = {"BITPATH_CONFIG": json.dumps(to_dict(config)), **(env or {})}
    command = [sys.executable, "-P", "-m", __name__, bench]
    done = subprocess.run(command, env=tools.environment(variables), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{bench} cannot be imported: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, bool] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(bench: str) -> None:
    """Print the tests of a bench as JSON; cocotb collects those of a regression in the same way."""
    # cocotb has no public names for what its decorators return.
    from cocotb._decorators import Test, TestGenerator

    found: dict[str, bool] = {}
    for value in vars(importlib.import_module(bench)).values():
        tests = (
            [value] if isinstance(value, Test) else value.generate_tests() if isinstance(value, TestGenerator) else ()
        )
        found |= {each.fullname: each.skip for each in tests}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
