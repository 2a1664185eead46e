"""Fixtures shared by the tests of the commands and of the runner."""

import sys
from pathlib import Path

import numpy as np
import pytest

TOY = Path(__file__).parent / "toy"


@pytest.fixture(autouse=True)
def toy_on_path(monkeypatch):
    """Set PYTHONPATH: the toy design is not a package, and the bench in the simulator imports it."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(TOY)])


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
