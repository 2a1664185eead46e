"""The fewest dots: greedy, z3's proof, and the bounds."""

import sys
from itertools import combinations

import numpy as np
import pytest

from bitpath.sim.study.probe.make import select
from bitpath.verif.kit.testplan import covers

CHAIN = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
"""Each class differs from the first in a dot of its own."""


def separates(labels, chosen):
    return len(np.unique(labels[:, list(chosen)], axis=0)) == len(labels)


@pytest.fixture
def without_z3(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "z3", None)


@covers("probe.fewest", "A claim of minimality must be a proof")
@pytest.mark.parametrize(
    ("labels", "size"),
    [
        (CHAIN, 4),
        (np.array([[0, 0, 0], [1, 0, 1], [0, 1, 2]]), 1),
        (np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 2),
        (np.array([[0, 1]]), 0),
    ],
)
def test_by_hand(labels, size, without_z3):
    """The set of dots is the smallest by brute force; without z3, or after its time, the bound is one; a probe is the
    same again."""
    found = select(labels)
    assert len(found.chosen) == size
    assert found.bound <= size
    assert separates(labels, found.chosen) or not size


def test_rows_that_no_dot_separates():
    with pytest.raises(ValueError, match="no dot of the pool separates some classes"):
        select(np.array([[0, 1], [0, 1], [1, 1]]))


@covers("probe.fewest")
@pytest.mark.deep  # the extra formal is there
@pytest.mark.parametrize("seed", range(20))
def test_the_smallest_set_by_brute_force(seed):
    pytest.importorskip("z3", reason="the extra formal is not installed")
    labels = np.random.default_rng(seed).choice(3, (7, 8), p=[0.8, 0.1, 0.1])
    # A dot for each class, so that a set exists.
    labels = np.concatenate([labels, np.eye(7, dtype=int)], axis=1)
    smallest = next(n for n in range(16) if any(separates(labels, each) for each in combinations(range(15), n)))
    found = select(labels)
    assert (len(found.chosen), found.bound) == (smallest, smallest)
    assert separates(labels, found.chosen)


@covers("probe.fewest")
def test_greedy_alone_states_a_lower_bound(without_z3):
    found = select(CHAIN)
    assert (found.bound, found.proof) == (4, "by counting")  # a dot for each of four classes
    labels = np.random.default_rng(3).choice(2, (30, 80), p=[0.8, 0.2])
    found = select(labels)
    assert 5 <= found.bound < len(found.chosen)
    assert found.proof == "by counting; the extra formal has z3, which proves more"


@covers("probe.fewest")
@pytest.mark.deep  # the extra formal is there
def test_a_search_that_runs_out_of_time_states_the_bound_reached(monkeypatch):
    pytest.importorskip("z3", reason="the extra formal is not installed")
    monkeypatch.setattr("bitpath.sim.study.probe.make.SECONDS", 0.001)
    labels = np.random.default_rng(0).choice(2, (60, 300), p=[0.9, 0.1])
    labels = np.concatenate([labels, np.eye(60, dtype=int)], axis=1)
    found = select(labels)
    assert separates(labels, found.chosen)
    assert 6 <= found.bound <= len(found.chosen)
    assert "stopped" in found.proof
