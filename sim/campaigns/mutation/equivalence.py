"""Proofs that mutants are no faults: that no input tells them from the design."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from threading import Lock

from bitpath.sim.campaigns.circuits import abc, aiger
from bitpath.sim.campaigns.mutation.difference import Differences
from bitpath.sim.campaigns.mutation.netlist import MUTATED
from bitpath.sim.campaigns.mutation.verdicts import TIMED_OUT
from bitpath.sim.engine import process
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.yosys import YosysTimeoutError, require_run
from bitpath.verif.kit.bench import MUTANT_PORT

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
        self._graphs: dict[str, aiger.Graph | None] = {}
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

    def _graph(self, top: str) -> aiger.Graph | None:
        """Return the graph of a module with all mutants; None where it was not made in time."""
        script = _TO_GRAPH.format(mutated=MUTATED, to_gates=abc.TO_GATES, top=top, graph=GRAPH)
        with suppress(YosysTimeoutError):
            require_run(self.what, self.folder, GRAPH, script, PREPARING_SECONDS)
            return aiger.read((self.folder / f"{GRAPH}.aig").read_bytes())
        return None

    def _same(self, difference: aiger.Graph, steps: str, seconds: float) -> bool | None:
        """Return True if the output is proved to be 0; None where the time of both solvers is up."""
        if difference.outputs[0] < 2:
            return difference.outputs == (0,)
        with TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            if not difference.latches and (said := _satisfiable(self.what, folder, difference)) is not None:
                return not said
            (folder / f"{GRAPH}.aig").write_bytes(difference.binary())
            try:
                require_run(self.what, folder, "prove", abc.reduction(folder, GRAPH, steps), seconds)
            except YosysTimeoutError:
                return None
            return aiger.constant_outputs(abc.reduced(folder, GRAPH).read_bytes()) == [0]

    def _select(self, number: int) -> dict[str, bool]:
        """Return the input that chooses a mutant, by the names of the graph's inputs."""
        names = [f"{MUTANT_PORT}[{bit}]" for bit in range(self.width)] if self.width > 1 else [MUTANT_PORT]
        return {name: bool(number >> bit & 1) for bit, name in enumerate(names)}


def _satisfiable(what: str, folder: Path, difference: aiger.Graph) -> bool | None:
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
