"""Fixtures shared by the tests of commands and campaigns."""

import sys
from pathlib import Path

import pytest

from bitpath.golden.arrays.parallel import THREADS
from bitpath.sim import __main__
from bitpath.sim.engine import cluster, paths
from bitpath.sim.flows import builds

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def same_output_everywhere(monkeypatch):
    """Keep the builds of the user's shell apart, and print no progress on a slow machine."""
    monkeypatch.delenv(paths.VARIABLE, raising=False)
    monkeypatch.setattr(builds, "FIRST_SECONDS", 3600)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Work in a temporary folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def in_process(monkeypatch):
    """Make pieces of campaigns run one after the other in a thread of this process, which sees a test's patches."""
    monkeypatch.setitem(cluster.LOCAL, "processes", False)
    monkeypatch.setenv(THREADS, "1")


@pytest.fixture
def bitpath(tmp_path, monkeypatch, capsys):
    """Run a command in a temporary folder with the checkout's simulator builds; return status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paths, "simulations", lambda: ROOT / "build" / "sim")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["bitpath", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            __main__.main()
        return int(exit_.value.code or 0), *capsys.readouterr()

    return call
