"""Golden without the compiler, numba's mode for debugging: every function of every loop gives the bits of its kernel."""

import ast
import json
import os
import subprocess
import sys

import pytest

from bitpath.golden.arrays import kernels
from bitpath.golden.arrays.parallel import THREADS
from bitpath.sim.campaigns.mutation.golden import COMPILERS
from bitpath.verif.tests.golden import interpreted


def compiled_functions():
    """Return all functions of golden that numba compiles, as module.name."""
    return {
        f"{path.stem}.{each.name}"
        for path in kernels._SOURCES
        for each in ast.walk(ast.parse(path.read_text()))
        if isinstance(each, ast.FunctionDef)
        for decorator in each.decorator_list
        if getattr(getattr(decorator, "func", decorator), "id", None) in COMPILERS
    }


@pytest.mark.parametrize("extent", ["few", pytest.param("all", marks=pytest.mark.deep)])
def test_golden_without_the_compiler(extent):
    command = [sys.executable, "-W", "error", "-m", interpreted.__name__, extent]
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", THREADS: "1"}
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=env)
    found = json.loads(ran.stdout)
    functions = compiled_functions()
    assert len(functions) > 100
    assert functions <= set(found["ran"])
    assert found["results"] == interpreted.results(extent)
