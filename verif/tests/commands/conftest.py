"""Fixtures shared by the tests of the commands and of the runner."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.engine import runner

TOY = Path(__file__).parent / "toy"


@pytest.fixture(autouse=True)
def toy_on_path(monkeypatch):
    """Set PYTHONPATH: the toy design is not a package, and the bench in the simulator imports it."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(TOY)])


@pytest.fixture
def run_unpacker(elsewhere, tmp_path):
    """Return a function that runs the unpacker's bench on a build that nobody made; tests fake the simulator."""
    config = UNITS["unpacker"].config_type()
    built = runner.Built("unpacker", config, "0" * 8, "icarus", False, False, tmp_path, "top", (), 0.0, 0.0)
    return partial(runner.run, built, UNITS["unpacker"].bench, seed=1)


@pytest.fixture
def saved(tmp_path):
    """Write two matrices to a.npy and b.npy; return the options that name them."""

    def save(a, b):
        for name, matrix in (("a", a), ("b", b)):
            np.save(tmp_path / f"{name}.npy", matrix)
        return f"--a {tmp_path / 'a.npy'} --b {tmp_path / 'b.npy'}"

    return save


@pytest.fixture
def matrices(saved):
    """Write a.npy [5, 130] and b.npy [130, 3]; return the arrays."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 130), (130, 3)))
    saved(a, b)
    return a, b
