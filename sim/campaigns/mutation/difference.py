"""Builds a graph that is 1 if a design differs from itself under another value of its select inputs."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from bitpath.sim.campaigns.circuits.aiger import Graph

Gate = tuple[int, int]


class Differences:
    """Differences from the design with 0 at the select inputs; logic that both have in common is kept once.

    ``chosen`` are the names of the select inputs.
    """

    def __init__(self, graph: Graph, chosen: Sequence[str]):
        self._graph = graph
        self.latches = len(graph.latches)
        # The other copy's latches are numbered after the design's.
        self._first_latch = graph.leaves - self.latches
        self._leaves = graph.leaves + self.latches
        self._gates: list[Gate] = []
        self._known: dict[Gate, int] = {}
        self._literals = [2 * variable for variable in range(graph.leaves)]
        apart = {1 + graph.names[name] for name in chosen}
        for variable in apart:
            self._literals[variable] = 0
        apart |= set(range(self._first_latch, graph.leaves))
        # Gates that may differ under another selection.
        self._apart: list[tuple[int, Gate]] = []
        for own, gate in enumerate(graph.gates, graph.leaves):
            self._literals.append(self._and(_renamed(self._literals, gate), self._gates, self._known))
            if gate[0] >> 1 in apart or gate[1] >> 1 in apart:
                apart.add(own)
                self._apart.append((own, gate))

    def of(self, values: Mapping[str, bool]) -> Graph:
        """Return the graph: one output, which is 1 where any output differs, the latches of both choices, and all inputs."""
        known: dict[Gate, int] = {}
        literals, gates = self._literals.copy(), self._gates.copy()
        for place, variable in enumerate(range(self._first_latch, self._graph.leaves)):
            literals[variable] = 2 * (self._graph.leaves + place)
        for name, value in values.items():
            literals[1 + self._graph.names[name]] = int(value)
        for own, gate in self._apart:
            literals[own] = self._and(_renamed(literals, gate), gates, known)

        same = [1]
        for output in self._graph.outputs:
            here, there = _now(self._literals, output), _now(literals, output)
            one = self._and((here, there ^ 1), gates, known)
            other = self._and((here ^ 1, there), gates, known)
            same.append(self._and((one ^ 1, other ^ 1), gates, known))
        # A tree: ABC goes through gates by recursion, for which a chain of thousands of outputs is too deep.
        while len(same) > 1:
            pairs = zip_longest(same[::2], same[1::2], fillvalue=1)
            same = [self._and(pair, gates, known) for pair in pairs]
        latches = [_now(of, latch) for of in (self._literals, literals) for latch in self._graph.latches]
        return _needed(self._graph.inputs, latches, same[0] ^ 1, gates)

    def _and(self, gate: Gate, gates: list[Gate], known: dict[Gate, int]) -> int:
        """Return the literal of an AND: a constant, one of its inputs, an existing gate or a new one."""
        low, high = gate = (gate[0], gate[1]) if gate[0] < gate[1] else (gate[1], gate[0])
        if low == 0 or high == low ^ 1:
            return 0
        if low in (1, high):
            return high
        literal = self._known.get(gate) or known.get(gate)
        if literal is None:
            literal = known[gate] = 2 * (self._leaves + len(gates))
            gates.append(gate)
        return literal


def _now(literals: list[int], literal: int) -> int:
    """Map a literal by the mapping of the variables."""
    return literals[literal >> 1] ^ literal & 1


def _renamed(literals: list[int], gate: Gate) -> Gate:
    """Return a gate with its inputs renumbered."""
    one, other = gate
    return literals[one >> 1] ^ one & 1, literals[other >> 1] ^ other & 1


def _needed(inputs: int, latches: list[int], output: int, gates: list[Gate]) -> Graph:
    """Return a graph of these latches and this output, without unused gates."""
    leaves = 1 + inputs + len(latches)
    needed = [False] * (leaves + len(gates))
    for literal in (*latches, output):
        needed[literal >> 1] = True
    for own in range(len(needed) - 1, leaves - 1, -1):
        if needed[own]:
            one, other = gates[own - leaves]
            needed[one >> 1] = needed[other >> 1] = True
    left: list[tuple[int, int]] = []
    literals = [2 * variable for variable in range(leaves)]
    for own, gate in enumerate(gates, leaves):
        literals.append(2 * (leaves + len(left)))
        if needed[own]:
            left.append(_renamed(literals, gate))
    return Graph(inputs, tuple(_now(literals, latch) for latch in latches), (_now(literals, output),), tuple(left))
