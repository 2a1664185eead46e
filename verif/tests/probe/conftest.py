"""A probe of each machine, made once, and results that some variant computed."""

import numpy as np
import pytest

from bitpath.sim.engine.options import MACHINES
from bitpath.sim.study.probe.make import make
from bitpath.sim.study.probe.probe import load, save


@pytest.fixture(scope="session")
def probes():
    """Return the probe of each machine with the classes that it separates."""
    return {machine: make(machine) for machine in MACHINES}


@pytest.fixture
def results(tmp_path):
    """Return a function that writes a probe with raw words by operation, as device scripts do, and returns the file."""

    def write(probe, words):
        save(probe, tmp_path / "probe.npz")
        with np.load(tmp_path / "probe.npz") as archive:
            arrays = dict(archive)
        np.savez(tmp_path / "results.npz", **arrays, **{f"{name}.result": each for name, each in words.items()})
        assert load(tmp_path / "results.npz")[0].digest == probe.digest
        return tmp_path / "results.npz"

    return write
