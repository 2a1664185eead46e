"""Proofs that mutants are no faults: that no input tells them from the design."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from threading import Lock

from bitpath.sim import abc, aiger
from bitpath.sim.mutate.netlist import MUTATED
from bitpath.sim.mutate.verdicts import TIMED_OUT
from bitpath.sim.yosys import YosysTimeoutError, require_run
from bitpath.verif.kit.bench import MUTANT_PORT

PREPARING_SECONDS = 600
"""Limit on making a graph."""
SECONDS, USUAL_SECONDS = 20, 2
"""Limit on each proof, and what most take together with others; where they take more, each is tried by itself."""
_MITER = """read_rtlil {mutated}
hierarchy -top {top}
flatten
hierarchy -top {top}
memory_collect
expose -evert t:$mem_v2 r:WR_PORTS>0 %i
{to_gates}
setundef -undriven -zero
opt_expr
opt_merge
opt_clean
{registers}
rename {top} gate
copy gate gold
cd gold
rename {port} none
delete -input none
connect -set none {none}
add -input {port} {width}
cd
miter -equiv -flatten gold gate miter
hierarchy -top miter
techmap
opt_clean
setundef -undriven -zero
setundef -zero
aigmap
opt_clean
write_aiger -zinit -symbols {graph}
"""
GRAPH = "miter.aig"
MODULE = "its module"
_CUT = "expose -dff -evert-dff {top}"
_SWEEP = "ifraig -p; ifraig -p -C 1000"
PROOFS = {
    MODULE: (_CUT, _SWEEP),
    "constants": (_CUT, "strash"),
    "cut registers": (_CUT, _SWEEP),
    "induction": ("", "scorr -k; ifraig; scorr; scorr -F 2"),
}
"""What is done to the registers before design and mutant are compared, and how ABC compares. With registers as inputs and
outputs: whatever the state, and whatever the inputs, outputs and next state are the same; first of the module that has the
mutant, with anything at its inputs, then of the whole, where constants alone may be enough. Else by what follows from power-on
in every cycle.

Memories that are written stand outside in each: what they get must be the same, and what they give is."""


@dataclass(frozen=True)
class Proof:
    """Of one mutant: whether it is proved to be no fault; and how, one of PROOFS, or why not."""

    proved: bool
    how: str


class Prover:
    """Proofs of the mutants of a netlist.

    Parameters
    ----------
    what : begins the sentence of the errors.
    netlist : its folder.
    top : its top module.
    width : of the input that chooses a mutant, in bits.
    folder : an empty one, for graphs and attempts.
    """

    def __init__(self, what: str, netlist: Path, top: str, width: int, folder: Path):
        self.what, self.top, self.width, self.folder = what, top, width, folder
        # A copy: the WebAssembly follows no link out of its folder.
        copyfile(netlist / MUTATED, folder / MUTATED)
        self._making = Lock()
        self._graphs: dict[tuple[str, str], aiger.Graph | None] = {}

    def prove(self, modules: Mapping[int, str], *, patient: bool = True) -> dict[int, Proof]:
        """Try to prove mutants equal to the design; any number of calls at the same time.

        Parameters
        ----------
        modules : of the mutants, by their numbers.
        patient : whether those that are not proved as fast as most get SECONDS, each.

        Raises
        ------
        SimulationError : Yosys or ABC ended with something else than an answer.
        """
        found: dict[int, Proof] = {}
        late: set[int] = set()
        for how, (registers, steps) in PROOFS.items():
            tops = defaultdict(list)
            for number, module in modules.items():
                if number not in found and not (how == MODULE and module == self.top):
                    tops[module if how == MODULE else self.top].append(number)
            for top, numbers in tops.items():
                graph = self._graph(top, registers)
                answers = dict.fromkeys(numbers) if graph is None else self._answers(graph, steps, numbers, patient)
                found |= {number: Proof(True, how) for number, proved in answers.items() if proved}
                late |= {number for number, proved in answers.items() if proved is None}
        why = {True: f"{TIMED_OUT}: no proof in {SECONDS} s", False: "no proof"}
        return found | {number: Proof(False, why[number in late]) for number in modules if number not in found}

    def _graph(self, top: str, registers: str) -> aiger.Graph | None:
        """Of a module's difference from that of any mutant, which inputs choose; None where it was not made in time."""
        with self._making:
            if (top, registers) not in self._graphs:
                fields = {"mutated": MUTATED, "port": MUTANT_PORT, "width": self.width, "none": f"{self.width}'b0"}
                fields |= {"to_gates": abc.TO_GATES, "graph": GRAPH, "top": top, "registers": registers.format(top=top)}
                graph = None
                with suppress(YosysTimeoutError):
                    require_run(self.what, self.folder, "miter", _MITER.format(**fields), PREPARING_SECONDS)
                    graph = aiger.read((self.folder / GRAPH).read_bytes())
                self._graphs[top, registers] = graph
            return self._graphs[top, registers]

    def _answers(self, graph: aiger.Graph, steps: str, numbers: Sequence[int], patient: bool) -> dict[int, bool | None]:
        """Of each mutant whether ABC reduces its difference from the design to 0; None where its time was up."""
        try:
            return self._reduce(graph, steps, numbers, SECONDS * patient + USUAL_SECONDS * len(numbers))
        except YosysTimeoutError:
            if len(numbers) == 1 or not patient:
                return dict.fromkeys(numbers)
        alone = [self._answers(graph, steps, [number], True) for number in numbers]
        return {number: answer for each in alone for number, answer in each.items()}

    def _reduce(self, graph: aiger.Graph, steps: str, numbers: Sequence[int], seconds: int) -> dict[int, bool | None]:
        with TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            script = ""
            for number in numbers:
                (folder / f"{number}.aig").write_bytes(graph.fixed(_select(number, self.width)).binary())
                script += abc.reduction(folder, str(number), steps)
            require_run(self.what, folder, "prove", script, seconds)
            reduced = [abc.reduced(folder, str(number)).read_bytes() for number in numbers]
        return {number: aiger.constant_outputs(each) == [0] for number, each in zip(numbers, reduced, strict=True)}


def _select(number: int, width: int) -> dict[str, bool]:
    """What chooses a mutant, by the names of the miter's inputs."""
    names = [f"in_{MUTANT_PORT}[{bit}]" for bit in range(width)] if width > 1 else [f"in_{MUTANT_PORT}"]
    return {name: bool(number >> bit & 1) for bit, name in enumerate(names)}
