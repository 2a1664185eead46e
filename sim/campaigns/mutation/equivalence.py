"""Proofs that mutants are no faults: that no input tells them from the design."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from threading import Lock

from bitpath.sim.campaigns import circuits
from bitpath.sim.campaigns.circuits import Graph
from bitpath.sim.campaigns.mutation.hosts import MUTATED
from bitpath.sim.campaigns.mutation.verdicts import TIMED_OUT
from bitpath.sim.engine import process
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import YosysTimeoutError, require_yosys
from bitpath.verif.kit.bench import MUTANT_PORT

# Builds a graph that is 1 if a design differs from itself under another value of its select inputs.


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


PREPARING_SECONDS = 600
"""Time limit of making a graph."""
SECONDS, USUAL_SECONDS = 10, 2
"""Time limits of an attempt of ABC if patient and otherwise; the shorter one is enough for most proofs."""
ASKING_SECONDS = 5
"""Time limit of a call of z3."""
# zinit gives every register the reset value 0, with inverters around one that started at 1. A mutant may leave one bit of a wire
# without a register, and Yosys cannot merge that bit's reset value with those of the other bits.
_TO_GRAPH = """read_rtlil {mutated}
hierarchy -top {top}
flatten
hierarchy -top {top}
zinit
memory_collect
expose -evert t:$mem_v2 r:WR_PORTS>0 %i
{to_gates}
attrmap -remove init
setundef -init -zero
setundef -undriven -zero
opt_expr
opt_merge
opt_clean
techmap
opt_clean
setundef -undriven -zero
setundef -zero
aigmap
opt_clean
write_aiger -zinit -symbols {graph}.aig
"""
GRAPH = "graph"
ANSWERS = {"s SATISFIABLE": True, "s UNSATISFIABLE": False}
MODULE = "its module"
_SWEEP = "ifraig -p -C 10; ifraig -p -C 1000"
PROOFS = {
    MODULE: (True, _SWEEP),
    "cut registers": (True, _SWEEP),
    "induction": (False, "scorr -k; ifraig; scorr; scorr -F 2"),
}
"""Proofs by name: True if registers are cut into inputs and outputs, and ABC's commands.

With cut registers, outputs and next state must be equal in any state for any inputs: first in the mutant's module with free
inputs, then in the whole design. Induction proves equal outputs in every cycle from power-on. Sweeping proves the easy
equalities first, which are most of those between similar designs. A design without registers goes to z3 first, which finds a
distinguishing input at once, while sweeping would run to its time limit.

Writable memories are cut out of both: their inputs must be equal, and their outputs are assumed equal."""


@dataclass(frozen=True)
class Proof:
    """Return True if a mutant is proved equivalent; and the proof, one of PROOFS, or the reason against it."""

    proved: bool
    how: str


class Prover:
    """Proofs of the mutants of a netlist.

    Parameters
    ----------
    what : first words of error messages.
    netlist : its folder.
    top : its top module.
    width : bits of the input that selects a mutant.
    folder : an empty one, for graphs and attempts.
    """

    def __init__(self, what: str, netlist: Path, top: str, width: int, folder: Path):
        self.what, self.top, self.width, self.folder = what, top, width, folder
        # A copy: the WebAssembly follows no link out of its folder.
        copyfile(netlist / MUTATED, folder / MUTATED)
        self._making = Lock()
        self._graphs: dict[str, circuits.Graph | None] = {}
        self._made: dict[tuple[str, bool], Differences | None] = {}

    def prove(self, number: int, module: str, *, patient: bool = True) -> Proof:
        """Try to prove a mutant equal to the design; any number of calls at the same time.

        Raises SimulationError if Yosys or ABC ended with something else than an answer.

        Parameters
        ----------
        number : number of the mutant.
        module : module that contains it.
        patient : True for SECONDS an attempt, False for USUAL_SECONDS.
        """
        seconds, late = SECONDS if patient else USUAL_SECONDS, False
        for how, (cut, steps) in PROOFS.items():
            if how == MODULE and module == self.top:
                continue
            made = self._differences(module if how == MODULE else self.top, cut=cut)
            if made and not cut and not made.latches:
                # With its registers cut it was the same.
                continue
            proved = None if made is None else self._same(made.of(self._select(number)), steps, seconds)
            if proved:
                return Proof(True, how)
            late |= proved is None
        return Proof(False, f"{TIMED_OUT}: no proof in {SECONDS} s" if late else "no proof")

    def _differences(self, top: str, *, cut: bool) -> Differences | None:
        """Return the difference of a module from itself with any mutant; None where its graph was not made in time."""
        with self._making:
            if top not in self._graphs:
                self._graphs[top] = self._graph(top)
            graph = self._graphs[top]
            if (top, cut) not in self._made:
                self._made[top, cut] = (
                    Differences(graph.cut() if cut else graph, list(self._select(0))) if graph else None
                )
            return self._made[top, cut]

    def _graph(self, top: str) -> circuits.Graph | None:
        """Return the graph of a module with all mutants; None where it was not made in time."""
        script = _TO_GRAPH.format(mutated=MUTATED, to_gates=circuits.TO_GATES, top=top, graph=GRAPH)
        with suppress(YosysTimeoutError):
            require_yosys(self.what, self.folder, GRAPH, script, PREPARING_SECONDS)
            return circuits.read((self.folder / f"{GRAPH}.aig").read_bytes())
        return None

    def _same(self, difference: circuits.Graph, steps: str, seconds: float) -> bool | None:
        """Return True if the output is proved to be 0; None where the time of both solvers is up."""
        if difference.outputs[0] < 2:
            return difference.outputs == (0,)
        with TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            if not difference.latches and (said := _satisfiable(self.what, folder, difference)) is not None:
                return not said
            (folder / f"{GRAPH}.aig").write_bytes(difference.binary())
            try:
                require_yosys(self.what, folder, "prove", circuits.reduction(folder, GRAPH, steps), seconds)
            except YosysTimeoutError:
                return None
            return circuits.constant_outputs(circuits.reduced(folder, GRAPH).read_bytes()) == [0]

    def _select(self, number: int) -> dict[str, bool]:
        """Return the input that chooses a mutant, by the names of the graph's inputs."""
        names = [f"{MUTANT_PORT}[{bit}]" for bit in range(self.width)] if self.width > 1 else [MUTANT_PORT]
        return {name: bool(number >> bit & 1) for bit, name in enumerate(names)}


def _satisfiable(what: str, folder: Path, difference: circuits.Graph) -> bool | None:
    """Return True if z3 finds inputs that make its output 1; None where its time is up."""
    clauses, log = folder / f"{GRAPH}.cnf", folder / "z3.log"
    clauses.write_text(difference.clauses())
    z3 = Path(sys.executable).with_name("z3")
    with suppress(TimeoutError):
        process.run_logged(
            [str(z3), "-dimacs", clauses.name], env=os.environ, log=log, timeout=ASKING_SECONDS, folder=folder
        )
        said = log.read_text().split("\n")[0]
        if said not in ANSWERS:
            raise SimulationError(f"{what}: z3 gives no answer but this:\n{process.tail(log)}")
        return ANSWERS[said]
    return None
