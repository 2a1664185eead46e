"""Proofs that mutants are no faults: that no input tells them from the design."""

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
"""Limit on each proof, and what most take."""
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
write_aiger -zinit -symbols {miter}.aig
"""
MITER = "miter"
MODULE = "its module"
_CUT = "expose -dff -evert-dff {top}"
_SWEEP = "ifraig -p -C 10; ifraig -p -C 1000"
PROOFS = {
    MODULE: (_CUT, _SWEEP),
    "cut registers": (_CUT, _SWEEP),
    "induction": ("", "scorr -k; ifraig; scorr; scorr -F 2"),
}
"""What is done to the registers before design and mutant are compared, and how ABC compares. With registers as inputs and
outputs: whatever the state, and whatever the inputs, outputs and next state are the same; first of the module that has the
mutant, with anything at its inputs, then of the whole. Else by what follows from power-on in every cycle. Sweeping looks for
what is easily shown to be the same first, which is most of two designs alike.

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

    def prove(self, number: int, module: str, *, patient: bool = True) -> Proof:
        """Try to prove a mutant equal to the design; any number of calls at the same time.

        Parameters
        ----------
        number : of the mutant.
        module : in which it is.
        patient : whether each attempt gets SECONDS, or USUAL_SECONDS.

        Raises
        ------
        SimulationError : Yosys or ABC ended with something else than an answer.
        """
        seconds, late = SECONDS if patient else USUAL_SECONDS, False
        for how, (registers, steps) in PROOFS.items():
            if how == MODULE and module == self.top:
                continue
            graph = self._graph(module if how == MODULE else self.top, registers)
            proved = None if graph is None else self._reduces(graph.fixed(_select(number, self.width)), steps, seconds)
            if proved:
                return Proof(True, how)
            late |= proved is None
        return Proof(False, f"{TIMED_OUT}: no proof in {SECONDS} s" if late else "no proof")

    def _graph(self, top: str, registers: str) -> aiger.Graph | None:
        """Of a module's difference from that of any mutant, which inputs choose; None where it was not made in time."""
        with self._making:
            if (top, registers) not in self._graphs:
                fields = {"mutated": MUTATED, "port": MUTANT_PORT, "width": self.width, "none": f"{self.width}'b0"}
                fields |= {"to_gates": abc.TO_GATES, "miter": MITER, "top": top, "registers": registers.format(top=top)}
                graph = None
                with suppress(YosysTimeoutError):
                    require_run(self.what, self.folder, MITER, _MITER.format(**fields), PREPARING_SECONDS)
                    graph = aiger.read((self.folder / f"{MITER}.aig").read_bytes())
                self._graphs[top, registers] = graph
            return self._graphs[top, registers]

    def _reduces(self, difference: aiger.Graph, steps: str, seconds: float) -> bool | None:
        """Whether ABC reduces it to 0; None where its time is up."""
        with TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            (folder / f"{MITER}.aig").write_bytes(difference.binary())
            try:
                require_run(self.what, folder, "prove", abc.reduction(folder, MITER, steps), seconds)
            except YosysTimeoutError:
                return None
            return aiger.constant_outputs(abc.reduced(folder, MITER).read_bytes()) == [0]


def _select(number: int, width: int) -> dict[str, bool]:
    """What chooses a mutant, by the names of the miter's inputs."""
    names = [f"in_{MUTANT_PORT}[{bit}]" for bit in range(width)] if width > 1 else [f"in_{MUTANT_PORT}"]
    return {name: bool(number >> bit & 1) for bit, name in enumerate(names)}
