"""Inputs that distinguish a design from its mutant, checked against all inputs."""

import random
from itertools import product

import pytest

from bitpath.sim.campaigns.circuits import Graph
from bitpath.sim.campaigns.mutation.equivalence import Differences

INPUTS, LATCHES, NAMES = 4, 2, "abcd"


def evaluated(graph, leaves):
    """Return next-state values of the latches, and the outputs, for these inputs and latch values."""
    values = [False, *leaves]

    def of(literal):
        return values[literal >> 1] ^ bool(literal & 1)

    for low, high in graph.gates:
        values.append(of(low) and of(high))
    return [of(literal) for literal in (*graph.latches, *graph.outputs)]


def random_graph(rng):
    first = 1 + INPUTS + LATCHES
    gates = [(rng.randrange(2 * own), rng.randrange(2 * own)) for own in range(first, 40)]
    latches, outputs = ([rng.randrange(80) for _ in range(count)] for count in (LATCHES, 3))
    return Graph(INPUTS, tuple(latches), tuple(outputs), tuple(gates), {name: k for k, name in enumerate(NAMES)})


@pytest.mark.parametrize("seed", range(30))
def test_of_inputs_and_states_of_both(seed):
    """The output says whether theirs differ, and each goes on from its own state."""
    rng = random.Random(seed)
    graph = random_graph(rng)
    differences = Differences(graph, "ab")
    # Twice: what one leaves must not be the other's.
    for a, b in ((1, 0), (0, 1), (1, 0)):
        difference = differences.of({"a": bool(a), "b": bool(b)})
        assert (difference.inputs, len(difference.latches), len(difference.outputs)) == (INPUTS, 2 * LATCHES, 1)
        for c, d, *states in product((False, True), repeat=2 + 2 * LATCHES):
            here = evaluated(graph, [False, False, c, d, *states[:LATCHES]])
            there = evaluated(graph, [bool(a), bool(b), c, d, *states[LATCHES:]])
            expected = [*here[:LATCHES], *there[:LATCHES], here[LATCHES:] != there[LATCHES:]]
            assert evaluated(difference, [False, False, c, d, *states]) == expected


@pytest.mark.parametrize("seed", range(30))
def test_what_is_alike_is_there_once(seed):
    """Without registers there is no difference where nothing else is chosen, and no gate that does not count."""
    graph = random_graph(random.Random(seed))
    graph = Graph(INPUTS + LATCHES, (), graph.outputs, graph.gates, graph.names)
    differences = Differences(graph, "ab")
    assert differences.of({"a": False, "b": False}) == Graph(INPUTS + LATCHES, (), (0,), ())
    difference = differences.of({"a": True, "b": False})
    assert len(set(difference.gates)) == len(difference.gates)
    used = {literal >> 1 for literal in (*difference.outputs, *(one for gate in difference.gates for one in gate))}
    assert set(range(difference.leaves, difference.leaves + len(difference.gates))) <= used


def test_outputs_are_compared_in_a_tree():
    """A thousand in a chain would be as many gates deep."""
    literals = tuple(range(4, 2004, 2))
    difference = Differences(Graph(1, literals, literals, (), {"a": 0}), "a").of({"a": True})
    depths = [0] * difference.leaves
    for low, high in difference.gates:
        depths.append(1 + max(depths[low >> 1], depths[high >> 1]))
    assert max(depths) < 16
